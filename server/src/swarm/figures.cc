#include "swarm/figures.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sotto::server {
namespace {

constexpr double kFirstBinMs = 0.01;
constexpr double kBinRatio = 1.02;

double Rate(uint64_t count, uint64_t from_ns, uint64_t to_ns) {
  return to_ns <= from_ns
             ? 0
             : static_cast<double>(count) / (kSecondsPerNs * static_cast<double>(to_ns - from_ns));
}

}  // namespace

void Latencies::Add(double ms) {
  const double bin =
      std::ceil(std::log(std::max(ms, kFirstBinMs) / kFirstBinMs) / std::log(kBinRatio));
  ++bins_[std::min(static_cast<size_t>(bin), kBins - 1)];
  ++count_;
}

double Latencies::Percentile(double share) const {
  if (count_ == 0) return 0;
  const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count_)));
  uint64_t seen = 0;
  size_t bin = 0;
  while (bin + 1 < kBins && seen + bins_[bin] < std::max<uint64_t>(wanted, 1)) seen += bins_[bin++];
  return kFirstBinMs * std::pow(kBinRatio, static_cast<double>(bin));
}

void Figures::Count(uint64_t SwarmCounts::*what) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++(counts_.*what);
}

void Figures::OnConnected() {
  const std::lock_guard<std::mutex> lock(mutex_);
  counts_.connected_max = std::max(counts_.connected_max, ++counts_.connected);
}

void Figures::OnDisconnected() {
  const std::lock_guard<std::mutex> lock(mutex_);
  --counts_.connected;
}

void Figures::OnTraffic(uint64_t in, uint64_t out) {
  const std::lock_guard<std::mutex> lock(mutex_);
  counts_.bytes_in += in;
  counts_.bytes_out += out;
}

void Figures::OnTask(const Task& task, uint64_t now_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++counts_.tasks;
  attempts_.try_emplace(task, Attempt{now_ns, now_ns, 0});
}

void Figures::OnAccepted(const Task& task, const Participation& cost, uint64_t began_ns,
                         uint64_t now_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++counts_.accepted;
  counts_.bytes_up += cost.bytes_up;
  counts_.bytes_down += cost.bytes_down;
  counts_.turns += cost.turns;
  Attempt& attempt = attempts_.try_emplace(task, Attempt{began_ns, now_ns, 0}).first->second;
  ++attempt.accepted;
  attempt.last_ns = now_ns;
  latencies_.Add(1e-6 * static_cast<double>(now_ns - began_ns));
}

SwarmCounts Figures::Counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

uint64_t Figures::rounds() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return attempts_.size();
}

SwarmSummary Figures::Summarise() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  SwarmSummary summary;
  summary.counts = counts_;
  std::vector<double> rates;
  uint64_t first_ns = UINT64_MAX;
  uint64_t last_ns = 0;
  for (const auto& [task, attempt] : attempts_) {
    if (attempt.accepted == 0) continue;
    rates.push_back(Rate(attempt.accepted, attempt.first_ns, attempt.last_ns));
    first_ns = std::min(first_ns, attempt.first_ns);
    last_ns = std::max(last_ns, attempt.last_ns);
  }
  if (rates.empty()) return summary;
  std::sort(rates.begin(), rates.end());
  summary.rounds = rates.size();
  summary.best_round_updates_s = rates.back();
  summary.median_round_updates_s = rates[rates.size() / 2];
  summary.busy_seconds = kSecondsPerNs * static_cast<double>(last_ns - first_ns);
  summary.updates_s = Rate(counts_.accepted, first_ns, last_ns);
  summary.latency_ms_p50 = latencies_.Percentile(0.50);
  summary.latency_ms_p95 = latencies_.Percentile(0.95);
  summary.latency_ms_p99 = latencies_.Percentile(0.99);
  return summary;
}

}  // namespace sotto::server
