#include "round/release.h"

#include <cmath>
#include <stdexcept>

#include "aggregate/accumulator.h"
#include "aggregate/spectrum.h"
#include "base/parallel.h"

namespace sotto::server {
namespace {

void RequirePlausible(const JobConfig& config, const PartialSum& total) {
  if (total.sums.size() != config.coordinates()) {
    throw std::invalid_argument("a sum has another number of coordinates than the job's updates");
  }
  if (config.codec->noise && total.counts.reported > config.plan.planned_reports) {
    throw std::invalid_argument("a sum holds more updates than the plan has reports");
  }
}

// Adds zero updates until the sum has the noise of the planned reports. Returns how many. Under
// constant_work the zero updates that the sum does not need are computed too, and forgotten.
uint32_t TopUp(const JobConfig& config, const UpdateCodec& codec, uint32_t reported,
               const Key& server_key, Accumulator& sum) {
  if (!config.codec->noise) return 0;
  const auto planned = static_cast<uint32_t>(config.plan.planned_reports);
  const uint32_t missing = planned - reported;
  Accumulator unused(config.process.constant_work ? sum.size() : 0);
  ParallelFor(
      config.process.threads, config.process.constant_work ? planned : missing, [&](size_t i, int) {
        codec.AddZeroUpdate(server_key, static_cast<uint32_t>(i), i < missing ? sum : unused);
      });
  return missing;
}

// The bits are read only from the sum, after its noise is complete.
void SetNextClip(const JobConfig& config, const TrainTask& task, double cohort,
                 Span<const int64_t> noisy, ReleaseResult* release) {
  release->next_clip_l2 = static_cast<double>(config.ClipFor(task.round + 1));
  if (!config.clip_schedule) return;
  const float clip_l2 = task.training.clip_l2;
  double fraction = 0;
  const int64_t bit_sum = noisy[config.model->parameters];
  release->next_clip_l2 = static_cast<double>(config.NextClip(clip_l2, bit_sum, cohort, &fraction));
  release->unclipped_fraction = fraction;
}

// The accuracies, too.
void EstimateAccuracy(const JobConfig& config, const privacy::Plan& plan, Span<const int64_t> noisy,
                      ReleaseResult* release) {
  if (!config.evaluates_on_devices) return;
  release->device_accuracy = config.EstimateAccuracy(noisy[config.coordinates() - 1], plan);
}

double SquaredNorm(Span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

// What the noisy sum and the update that is estimated from it look like.
UpdateFigures FiguresOf(const NoisySum& noisy, Span<const float> update, const std::string& order) {
  const std::vector<float> mean = MeanUpdate(noisy);
  const double noise_power = noisy.noise_sigma * noisy.noise_sigma;
  const double noise = static_cast<double>(mean.size()) * noise_power;
  const double rest = SquaredNorm({mean.data(), mean.size()}) - noise;
  UpdateFigures figures;
  if (noise > 0 && rest > 0) figures.noise_to_signal = std::sqrt(noise / rest);
  figures.before = PowerInBands({mean.data(), mean.size()}, noisy.tensors, order);
  figures.after = PowerInBands(update, noisy.tensors, order);
  figures.noise = noise_power;
  return figures;
}

// The first coordinates of the mean update are the cohort's mean histogram, times C.
ErrorHistogram HistogramOf(const JobConfig& config, const TrainTask& task, const NoisySum& noisy) {
  const double devices_per_unit = noisy.divisor / static_cast<double>(task.training.clip_l2);
  ErrorHistogram histogram;
  histogram.edges = config.error_edges;
  for (const int64_t sum : noisy.sum.first(config.error_edges.size() + 1)) {
    const double mean = static_cast<double>(sum) * noisy.unit / noisy.divisor;
    histogram.counts.push_back(mean * devices_per_unit);
  }
  histogram.noise_deviation = noisy.noise_sigma * devices_per_unit;
  return histogram;
}

}  // namespace

double MeanNoiseSigma(const JobConfig& config, const TrainTask& task, double cohort) {
  if (!config.codec->noise) return 0;
  const auto sigma = static_cast<double>(task.quantizer_scale);
  const double own = std::ldexp(task.private_noise_q20, -20) * sigma;
  const double of_sum =
      std::sqrt(static_cast<double>(config.plan.planned_reports)) * std::hypot(sigma, own);
  return of_sum / cohort;
}

ReleaseResult MakeRelease(const JobConfig& config, const privacy::Plan& plan, const TrainTask& task,
                          PartialSum total, const Key& server_key, Span<const float> parameters,
                          const Estimator& estimator, Optimiser& optimiser) {
  RequirePlausible(config, total);
  const std::unique_ptr<const UpdateCodec> codec = config.codec->make(task);
  Accumulator sum(std::move(total.sums));
  ReleaseResult release;
  release.topped_up = TopUp(config, *codec, total.counts.reported, server_key, sum);
  const double cohort = plan.ExpectedCohort();
  SetNextClip(config, task, cohort, sum.sums(), &release);
  EstimateAccuracy(config, plan, sum.sums(), &release);
  const std::vector<TrainedTensor> tensors =
      TrainedTensors(*config.model, config.aggregation.smoothing_image);
  const NoisySum noisy = {sum.sums().first(config.model->parameters),
                          codec->SumUnit(),
                          cohort,
                          MeanNoiseSigma(config, task, cohort),
                          {tensors.data(), tensors.size()}};
  release.parameters.assign(parameters.begin(), parameters.end());
  if (config.MeasuresErrors(task.round)) {
    release.errors = HistogramOf(config, task, noisy);
    return release;
  }
  const std::vector<float> update = estimator.Estimate(noisy);
  if (config.process.observes_updates) {
    release.figures =
        FiguresOf(noisy, {update.data(), update.size()}, config.aggregation.smoothing_order);
  }
  // Divergence follows from the noisy sum. So the round counts as released and is charged, and the
  // model stays unchanged.
  release.diverged = !optimiser.Step({update.data(), update.size()},
                                     {release.parameters.data(), release.parameters.size()});
  return release;
}

}  // namespace sotto::server
