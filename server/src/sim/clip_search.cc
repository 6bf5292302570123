#include "sim/clip_search.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <numeric>
#include <stdexcept>

#include "codec/codecs.h"
#include "spec/job_field.h"
#include "spec/make_job.h"

namespace sotto::server {
namespace {

constexpr uint32_t kDevicesWithNorms = 8;
constexpr float kNoClip = 1000;  // far above the norm of an update that trains

// Two digits: what a person would type.
float Rounded(double clip) {
  return static_cast<float>(std::strtod(fmt::format("{:.2g}", clip).c_str(), nullptr));
}

// The same training without privacy, by one device after the other.
SimulationRequest OneByOne(const SimulationRequest& request) {
  SimulationRequest one = request;
  FindNamed("none", &one.job.codec);
  one.job.plan.sampling = privacy::Sampling::kUniform;
  one.participations.reset();
  one.job.plan.cohort = 1;
  one.job.plan.rounds = std::min(kDevicesWithNorms, request.fleet.devices);
  one.job.training.clip_l2 = kNoClip;
  one.evaluate_every = 0;
  return one;
}

double NormOf(const std::vector<float>& values) {
  return std::sqrt(std::accumulate(values.begin(), values.end(), 0.0, [](double sum, float value) {
    return sum + static_cast<double>(value) * static_cast<double>(value);
  }));
}

double MedianNorm(const SimulationRequest& request, const TrainTest& data) {
  SimulationConfig config = MakeSimulation(OneByOne(request));
  for (uint32_t round = 0; round < kDevicesWithNorms; ++round) config.update_rounds.insert(round);
  const SimulationResult result = Simulate(config, data, [](const RoundReport&) {});
  std::vector<double> norms;
  for (const MeanUpdateOfRound& update : result.updates) {
    const double norm = NormOf(update.values);
    if (norm > 0 && std::isfinite(norm)) norms.push_back(norm);
  }
  if (norms.empty()) {
    throw std::runtime_error(
        "the updates of the devices that were tried are zero or diverge, so no clip follows from "
        "them; change --learning-rate, or name --clip");
  }
  const auto middle = norms.begin() + static_cast<std::ptrdiff_t>(norms.size() / 2);
  std::nth_element(norms.begin(), middle, norms.end());
  return *middle;
}

// The plan, cut to a number of rounds at the same noise.
SimulationRequest PlanWithClip(const SimulationRequest& request, float clip) {
  SimulationRequest plan = request;
  plan.job.training.clip_l2 = clip;
  const JobConfig whole = MakeJob(plan, plan.fleet.devices);
  const int64_t rounds = RoundsOfAClip(whole.plan.rounds);
  plan.noise_multiplier = whole.plan.NoiseMultiplier();
  plan.participations = whole.plan.participations;
  plan.job.plan.rounds = rounds;
  plan.given.insert("rounds");
  plan.evaluate_every = static_cast<uint32_t>(rounds);
  return plan;
}

class Search {
 public:
  Search(const SimulationRequest& request, const TrainTest& data, const ClipSearchOptions& options)
      : request_(request), data_(data), options_(options) {}

  ClipSearch Run() {
    found_.norm = MedianNorm(request_, data_);
    Try(0);
    Try(-1);
    const int direction = found_.best == 1 ? -1 : 1;
    for (int step = found_.best == 1 ? -2 : 1; MayGoOn(); step += direction) {
      Try(step);
      if (found_.best + 1 != found_.runs.size()) break;
    }
    return std::move(found_);
  }

 private:
  bool MayGoOn() const { return !found_.stopped && found_.runs.size() < options_.most_runs; }

  // The bound is the first guess times 2^step.
  void Try(int step) {
    if (found_.stopped) return;
    const float clip = Rounded(std::ldexp(found_.norm, step));
    SimulationConfig config = MakeSimulation(PlanWithClip(request_, clip));
    config.stop = options_.stop;
    const SimulationResult result = Simulate(config, data_, [&](const RoundReport& report) {
      if (options_.on_round) options_.on_round(++done_, clip, config, report);
    });
    found_.stopped = result.stopped;
    if (result.stopped) return;
    found_.runs.push_back({clip, *result.last});
    if (IsBetter(*result.last, found_.runs[found_.best].last)) found_.best = found_.runs.size() - 1;
  }

  const SimulationRequest& request_;
  const TrainTest& data_;
  const ClipSearchOptions& options_;
  ClipSearch found_;
  size_t done_ = 0;
};

}  // namespace

int64_t RoundsOfAClip(int64_t rounds) { return std::min(rounds, kMostRoundsOfAClip); }

bool IsBetter(const Evaluation& a, const Evaluation& b) {
  if (!std::isfinite(a.loss) || !std::isfinite(b.loss)) return std::isfinite(a.loss);
  if (a.accuracy() != b.accuracy()) return a.accuracy() > b.accuracy();
  return a.loss < b.loss;
}

ClipSearch SearchClip(const SimulationRequest& request, const TrainTest& data,
                      const ClipSearchOptions& options) {
  if (options.most_runs < 2) throw std::invalid_argument("a search of the clip takes two runs");
  return Search(request, data, options).Run();
}

}  // namespace sotto::server
