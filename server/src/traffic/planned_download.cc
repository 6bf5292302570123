#include "traffic/planned_download.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "aggregate/methods.h"
#include "aggregate/released_grid.h"
#include "aggregate/tensors.h"
#include "round/release.h"
#include "sotto/initial_weights.h"
#include "sotto/model_difference.h"
#include "sotto/posix/check.h"

namespace sotto::server {
namespace {

constexpr int kDraws = 24;            // of participations whose downloads are coded
constexpr uint32_t kMostRounds = 60;  // later ones cost no more

// Of a larger net only a part is made, with the deviation that the estimator leaves of its noise.
constexpr uint32_t kMostCoordinates = 1 << 14;

double RootMeanSquare(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// Models as the job's rounds would release them, if all of an update were noise.
class NoiseModels {
 public:
  explicit NoiseModels(const JobConfig& job)
      : job_(job),
        estimator_(MakeEstimator(job.aggregation)),
        optimiser_(MakeOptimiser(job.aggregation)),
        tensors_(TrainedTensors(*job.model, job.aggregation.smoothing_image)) {
    std::vector<float> model(job.model->parameters);
    posix::Check(InitialWeights(*job.model, Key{{1}}, {model.data(), model.size()}),
                 "the initial weights");
    if (model.size() > kMostCoordinates) {
      const double deviation = DeviationIn(0);
      gain_ = RootMeanSquare(Estimate(0, deviation)) / deviation;
      model.resize(kMostCoordinates);
    }
    models_.push_back(std::move(model));
  }

  // The model from which the devices of a round train.
  const std::vector<float>& Before(uint32_t round) {
    while (models_.size() <= round) Release();
    return models_[round];
  }

 private:
  double SigmaIn(uint32_t round) const {
    return MeanNoiseSigma(job_, job_.TaskFor(round, job_.ClipFor(round)),
                          job_.plan.ExpectedCohort());
  }

  // Of a coordinate of the mean update. Without noise it is as long as the bound allows.
  double DeviationIn(uint32_t round) const {
    const double sigma = SigmaIn(round);
    return sigma > 0 ? sigma
                     : static_cast<double>(job_.ClipFor(round)) /
                           std::sqrt(static_cast<double>(job_.model->parameters));
  }

  // The estimate of a mean update of that deviation, of all coordinates.
  std::vector<float> Estimate(uint32_t round, double deviation) {
    const std::unique_ptr<const UpdateCodec> codec =
        job_.codec->make(job_.TaskFor(round, job_.ClipFor(round)));
    const double cohort = job_.plan.ExpectedCohort();
    std::normal_distribution<double> normal(0, deviation * cohort / codec->SumUnit());
    std::vector<int64_t> sum(job_.model->parameters);
    for (int64_t& value : sum) value = std::llround(normal(random_));
    return estimator_->Estimate({{sum.data(), sum.size()},
                                 codec->SumUnit(),
                                 cohort,
                                 SigmaIn(round),
                                 {tensors_.data(), tensors_.size()}});
  }

  std::vector<float> Update(uint32_t round) {
    const double deviation = DeviationIn(round);
    if (!gain_) return Estimate(round, deviation);
    std::normal_distribution<double> normal(0, *gain_ * deviation);
    std::vector<float> update(models_.back().size());
    for (float& value : update) value = static_cast<float>(normal(random_));
    return update;
  }

  // Under noise that is beyond float32 the model stays as it is: such a run ends there.
  void Release() {
    const std::vector<float> update = Update(static_cast<uint32_t>(models_.size() - 1));
    models_.push_back(models_.back());
    std::vector<float>& model = models_.back();
    (void)optimiser_->Step({update.data(), update.size()}, {model.data(), model.size()});
  }

  const JobConfig& job_;
  const std::unique_ptr<const Estimator> estimator_;
  const std::unique_ptr<Optimiser> optimiser_;
  const std::vector<TrainedTensor> tensors_;
  std::optional<double> gain_;  // of the estimator on noise, of a net that is made in part
  std::vector<std::vector<float>> models_;
  std::mt19937_64 random_{1};
};

// Which model a device holds that is asked in a round; round 0: the initial one.
class Gaps {
 public:
  explicit Gaps(const JobConfig& job)
      : is_uniform_(job.plan.sampling == privacy::Sampling::kUniform ||
                    job.plan.sampling == privacy::Sampling::kPoisson),
        chance_(std::min(1.0, job.plan.ExpectedCohort() / static_cast<double>(job.plan.devices))) {}

  // 0: it was never asked.
  uint32_t HeldIn(uint32_t round, std::mt19937_64& random) const {
    const double gap =
        is_uniform_ && chance_ < 1
            ? 1.0 + static_cast<double>(std::geometric_distribution<uint32_t>(chance_)(random))
            : std::ceil(1 / chance_);
    return gap > round ? 0 : round - static_cast<uint32_t>(gap);
  }

 private:
  bool is_uniform_;
  double chance_;
};

//   whole  coordinates of the net, of which `wanted` may be a part
double CodeBytes(const std::vector<float>& held, const std::vector<float>& wanted, uint32_t whole,
                 uint32_t padding) {
  const std::optional<int> exponent = GridOf({wanted.data(), wanted.size()});
  if (!exponent) return 4.0 * whole;
  std::vector<uint8_t> code(MaxDifferenceBytes(wanted.size()));
  size_t size = 0;
  posix::Check(EncodeDifference({held.data(), held.size()}, {wanted.data(), wanted.size()},
                                *exponent, {code.data(), code.size()}, &size),
               "the code of a model");
  const double all = static_cast<double>(size) * whole / static_cast<double>(wanted.size());
  return padding == 0 ? all : std::ceil(all / padding) * padding;
}

}  // namespace

PlannedParticipation PlanParticipation(const JobConfig& job, double upload, const LinkShape& link) {
  const double raw = 4.0 * job.model->parameters;
  PlannedParticipation planned;
  if (job.aggregation.grid > 0) planned.download = DownloadsOf(job, kDownloadPadding);
  const double download = planned.download ? std::min(planned.download->mean, raw) : raw;
  const Offer offer = download < raw ? Offer::kCode : Offer::kFloat32;
  planned.parts = ParticipationIn(job, offer, download, upload, link);
  planned.as_float32 = ParticipationIn(job, Offer::kNone, raw, raw, link).Total();
  return planned;
}

PlannedDownload DownloadsOf(const JobConfig& job, uint32_t padding) {
  if (job.aggregation.grid == 0) {
    throw std::invalid_argument("without a grid models are downloaded as float32");
  }
  NoiseModels models(job);
  const Gaps gaps(job);
  std::mt19937_64 random(2);
  const auto rounds = static_cast<uint32_t>(std::min<int64_t>(job.plan.rounds, kMostRounds));
  std::map<std::pair<uint32_t, uint32_t>, double> sizes;
  const auto size_of = [&](uint32_t held, uint32_t wanted) {
    if (wanted == 0) return 0.0;
    const auto [entry, is_new] = sizes.try_emplace({held, wanted}, 0.0);
    if (!is_new) return entry->second;
    (void)models.Before(wanted);  // whose making moves the held one
    entry->second =
        CodeBytes(models.Before(held), models.Before(wanted), job.model->parameters, padding);
    return entry->second;
  };
  PlannedDownload planned;
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto round = static_cast<uint32_t>(random() % rounds);
    const uint32_t held = gaps.HeldIn(round, random);
    const double bytes = size_of(held, round);
    planned.mean += bytes / kDraws;
    planned.largest = std::max(planned.largest, bytes);
    planned.first += size_of(0, round) / kDraws;
  }
  return planned;
}

}  // namespace sotto::server
