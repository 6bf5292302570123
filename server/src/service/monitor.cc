#include "service/monitor.h"

#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <utility>

#include "sotto/posix/files.h"

namespace sotto::server {
namespace {

constexpr uint64_t kWriteMs = 5000;
constexpr uint64_t kLookMs = 60000;
constexpr int64_t kStoreLookSeconds = 5;  // rounds may be short, and disks fill fast

// Beyond these a minute an operator wants to know.
constexpr double kManyFailures = 60;
constexpr double kManyStrangers = 600;
constexpr double kLongStallMs = 50;

}  // namespace

void ServeMonitor::SetJob(uint64_t rounds_planned, uint64_t rounds_released, double epsilon_budget,
                          const std::vector<privacy::Claim>& claims) {
  const std::lock_guard<std::mutex> lock(mutex_);
  job_.rounds_planned = rounds_planned;
  job_.rounds_released = rounds_released;
  job_.epsilon_budget = std::isfinite(epsilon_budget) ? epsilon_budget : 0;
  job_.claims = claims;
  job_.evaluation.reset();
  job_.end = Halt::kWaiting;
}

void ServeMonitor::WatchStore(const std::string& store, int64_t attempts, uint64_t release_bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  store_ = store;
  job_.store_attempts = attempts;
  release_bytes_ = release_bytes;
  told_.clear();
  next_store_look_ = 0;
}

void ServeMonitor::OnOutcome(const RoundOutcome& outcome) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++job_.attempts;
  ++job_.store_attempts;
  if (outcome.released) job_.rounds_released = outcome.round + 1;
  job_.rounds.Add(outcome);
  if (!outcome.spent.claims.empty()) job_.claims = outcome.spent.claims;
}

void ServeMonitor::OnEnd(Halt end) {
  const std::lock_guard<std::mutex> lock(mutex_);
  job_.end = end;
}

void ServeMonitor::OnEvaluation(const Evaluation& evaluation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  job_.evaluation = evaluation;
}

std::string ServeMonitor::Text(const NetworkFigures& figures, uint64_t eligible_devices) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return TextOf(figures, eligible_devices);
}

// The caller holds the mutex.
std::string ServeMonitor::TextOf(const NetworkFigures& figures, uint64_t eligible_devices) {
  job_.eligible_devices = eligible_devices;
  if (count_) job_.device_states = count_();
  return MetricsText(figures, job_);
}

void ServeMonitor::OnWarning() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++job_.warnings;
}

void ServeMonitor::Alive(const Server& server, uint64_t eligible_devices, uint64_t now_ms) {
  watchdog_.Alive(now_ms);
  LookForStoreAlarms();
  const bool must_write = !file_.empty() && now_ms >= next_write_ms_;
  const bool must_look = now_ms >= next_look_ms_;
  if (!must_write && !must_look) return;
  const NetworkFigures figures = server.Figures();
  if (must_look) LookForAlarms(figures, now_ms);
  if (!must_write) return;
  next_write_ms_ = now_ms + kWriteMs;
  std::string failure;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    due_ = TextOf(figures, eligible_devices);
    failure = failure_;
  }
  const bool is_new = failure != last_failure_;
  last_failure_ = failure;
  if (is_new && !failure.empty()) warn_("WARNING: metrics are not written: " + failure);
}

void ServeMonitor::WriteLast(const Server& server, uint64_t eligible_devices) {
  if (file_.empty()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    due_ = TextOf(server.Figures(), eligible_devices);
  }
  Write();
}

void ServeMonitor::LookForAlarms(const NetworkFigures& now, uint64_t now_ms) {
  next_look_ms_ = now_ms + kLookMs;
  const bool is_first = last_look_ms_ == 0;
  const double minutes = static_cast<double>(now_ms - last_look_ms_) / 60000;
  const NetworkFigures before = std::exchange(last_look_, now);
  last_look_ms_ = now_ms;
  if (is_first) return;
  for (const std::string& alarm : NetworkAlarms(before, now, minutes)) warn_(alarm);
}

void ServeMonitor::LookForStoreAlarms() {
  std::vector<std::string> lines;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!job_.store || !std::exchange(has_looked_, false)) return;
    for (const StoreAlarm& alarm :
         StoreAlarms(store_, *job_.store, job_.store_attempts, release_bytes_)) {
      if (told_.insert(alarm.kind).second) lines.push_back(alarm.text);
    }
  }
  for (const std::string& line : lines) warn_(line);
}

// In the pool: a file system may take its time.
void ServeMonitor::LookAtStoreIfDue() {
  std::string store;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto now = static_cast<int64_t>(std::time(nullptr));
    if (store_.empty() || now < next_store_look_) return;
    next_store_look_ = now + kStoreLookSeconds;
    store = store_;
  }
  const std::optional<StoreFigures> figures = LookAtStore(store);
  const std::lock_guard<std::mutex> lock(mutex_);
  job_.store = figures;
  has_looked_ = true;
}

void ServeMonitor::Write() {
  LookAtStoreIfDue();
  std::string text;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    text.swap(due_);
  }
  if (text.empty()) return;
  std::string failure;
  try {
    posix::ReplaceTextFile(file_, text);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  failure_ = failure;
}

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
        "WARNING: the event loop served no device for {:.0f} ms: this host is busy with other "
        "programs, or slow; let the server raise its priority (CAP_SYS_NICE, or `ulimit -e 30`)",
        now.loop_stall_ms_max));
  }
  return alarms;
}

}  // namespace sotto::server
