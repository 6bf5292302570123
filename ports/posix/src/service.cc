#include "sotto/posix/service.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace sotto::posix {
namespace {

// A variable of the environment, "" without it.
std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsThisProcess(const std::string& process) { return process == std::to_string(getpid()); }

// One datagram to the socket that the manager listens on: NOTIFY_SOCKET, a path or, behind @, a
// name in Linux' abstract namespace. A manager that does not listen is no reason to end. Source:
// sd_notify(3), which promises the protocol.
void Tell(const std::string& state) {
  const std::string name = Variable("NOTIFY_SOCKET");
  sockaddr_un address = {};
  if (name.size() < 2 || name.size() >= sizeof(address.sun_path)) return;
  if (name[0] != '/' && name[0] != '@') return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  const size_t size = offsetof(sockaddr_un, sun_path) + name.size() + (name[0] == '/' ? 1 : 0);
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return;
  (void)sendto(descriptor, state.data(), state.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size));
  close(descriptor);
}

// The watchdog's time in microseconds. 0: no watchdog asks this process.
uint64_t WatchdogTime() {
  const std::string process = Variable("WATCHDOG_PID");
  if (!process.empty() && !IsThisProcess(process)) return 0;
  const std::string text = Variable("WATCHDOG_USEC");
  uint64_t time_us = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), time_us);
  return error == std::errc() && end == text.data() + text.size() ? time_us : 0;
}

}  // namespace

bool IsService() { return IsThisProcess(Variable("SYSTEMD_EXEC_PID")); }

void TellReady() { Tell("READY=1"); }

void TellStatus(const std::string& line) {
  std::string one_line = line;
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  Tell("STATUS=" + one_line);
}

void TellStopping() { Tell("STOPPING=1"); }

WatchdogSigns::WatchdogSigns() {
  const uint64_t time_us = WatchdogTime();
  if (time_us > 0) period_ms_ = std::max<uint64_t>(time_us / 1000 / 3, 1);
}

void WatchdogSigns::Alive(uint64_t now_ms) {
  if (period_ms_ == 0 || now_ms < next_ms_) return;
  next_ms_ = now_ms + period_ms_;
  Tell("WATCHDOG=1");
}

}  // namespace sotto::posix
