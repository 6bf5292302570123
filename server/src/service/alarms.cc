#include <fmt/format.h>

#include "service/metrics.h"

namespace sotto::server {
namespace {

// Beyond these a minute an operator wants to know.
constexpr double kManyFailures = 60;
constexpr double kManyStrangers = 600;
constexpr double kLongStallMs = 50;

}  // namespace

std::vector<std::string> NetworkAlarms(const NetworkFigures& before, const NetworkFigures& now,
                                       double minutes) {
  std::vector<std::string> alarms;
  if (const uint64_t refused = now.refused - before.refused; refused > 0) {
    alarms.push_back(fmt::format(
        "ALARM: {} connections were closed at once for want of room: all {} are taken by devices "
        "and handshakes. Raise --max-connections, or the limit of open files (ulimit -n)",
        refused, now.max_connections));
  }
  const auto rate = [&](uint64_t from, uint64_t to) {
    return static_cast<double>(to - from) / minutes;
  };
  if (rate(before.failed_handshakes, now.failed_handshakes) > kManyFailures) {
    alarms.push_back(fmt::format(
        "WARNING: {} handshakes failed: somebody tries keys, or devices have wrong ones. Addresses "
        "that fail are slowed down; a firewall can shut them out",
        now.failed_handshakes - before.failed_handshakes));
  }
  const uint64_t strangers_before = before.made_room + before.no_client_hello + before.overdue;
  const uint64_t strangers = now.made_room + now.no_client_hello + now.overdue;
  if (rate(strangers_before, strangers) > kManyStrangers) {
    alarms.push_back(fmt::format(
        "WARNING: {} connections came without a key and were closed: somebody floods the port. "
        "Devices come before strangers; a firewall can shut the source out",
        strangers - strangers_before));
  }
  if (now.loop_stall_ms_max > kLongStallMs && now.loop_stall_ms_max > before.loop_stall_ms_max) {
    alarms.push_back(fmt::format(
        "WARNING: the event loop served nobody for {:.0f} ms: this host is busy with other "
        "programs, or slow; let the server raise its priority (CAP_SYS_NICE, or `ulimit -e 30`)",
        now.loop_stall_ms_max));
  }
  return alarms;
}

}  // namespace sotto::server
