#include "service/monitor.h"

#include <cmath>
#include <utility>

#include "sotto/posix/files.h"

namespace sotto::server {
namespace {

constexpr uint64_t kWriteMs = 5000;
constexpr uint64_t kLookMs = 60000;

}  // namespace

void ServeMonitor::SetJob(uint64_t rounds_planned, uint64_t rounds_released, double epsilon_budget,
                          const std::vector<privacy::Claim>& claims) {
  const std::lock_guard<std::mutex> lock(mutex_);
  job_.rounds_planned = rounds_planned;
  job_.rounds_released = rounds_released;
  job_.epsilon_budget = std::isfinite(epsilon_budget) ? epsilon_budget : 0;
  job_.claims = claims;
}

void ServeMonitor::OnOutcome(const RoundOutcome& outcome) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++job_.attempts;
  if (outcome.released) job_.rounds_released = outcome.round + 1;
  job_.rounds.Add(outcome);
  if (!outcome.spent.claims.empty()) job_.claims = outcome.spent.claims;
}

void ServeMonitor::OnEvaluation(const Evaluation& evaluation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  job_.evaluation = evaluation;
}

std::string ServeMonitor::Text(const NetworkFigures& figures, uint64_t eligible_devices) {
  const std::lock_guard<std::mutex> lock(mutex_);
  job_.eligible_devices = eligible_devices;
  return MetricsText(figures, job_);
}

void ServeMonitor::OnWarning() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++job_.warnings;
}

void ServeMonitor::Alive(const Server& server, uint64_t eligible_devices, uint64_t now_ms) {
  watchdog_.Alive(now_ms);
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
    job_.eligible_devices = eligible_devices;
    due_ = MetricsText(figures, job_);
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
    job_.eligible_devices = eligible_devices;
    due_ = MetricsText(server.Figures(), job_);
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

void ServeMonitor::Write() {
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

}  // namespace sotto::server
