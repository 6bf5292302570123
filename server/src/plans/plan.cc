#include "plans/plan.h"

#include <algorithm>
#include <cmath>

#include "accounting/arguments.h"
#include "accounting/binomial.h"
#include "accounting/one_length.h"

namespace sotto::privacy {
namespace {

void ValidateCohort(const Plan& plan) {
  Require(plan.devices >= 1 && plan.devices <= kMaxTrials, "devices", plan.devices, "in [1, 10^9]");
  Require(plan.rate_devices >= 0 && (plan.rate_devices == 0 || plan.sampling == Sampling::kPoisson),
          "rate_devices", plan.rate_devices, "0 unless the sampling is Poisson");
  const int64_t planned_for = plan.rate_devices == 0 ? plan.devices : plan.rate_devices;
  Require(plan.cohort >= 1 && plan.cohort <= planned_for, "cohort", plan.cohort, "in [1, devices]");
  const bool is_passes = plan.sampling == Sampling::kPasses;
  if (Accounted(plan.sampling) == Sampling::kNone && !is_passes) {
    Require(plan.cohort == plan.devices, "cohort", plan.cohort,
            "the number of devices when nothing is sampled");
  }
  if (plan.sampling == Sampling::kPoisson) {
    Require(plan.planned_reports >= 1 && plan.planned_reports <= planned_for, "planned_reports",
            plan.planned_reports, "in [1, devices]: the cap on a Poisson draw");
  } else {
    Require(plan.planned_reports == plan.cohort, "planned_reports", plan.planned_reports,
            "the cohort, which is of fixed size");
  }
  Require(plan.device_floor == 0 ||
              (plan.sampling == Sampling::kUniform && plan.device_floor >= plan.cohort),
          "device_floor", plan.device_floor, "0, or of uniform cohorts at least the cohort");
  Require(is_passes ? plan.participations >= 1 : plan.participations == 0, "participations",
          plan.participations, is_passes ? "at least 1" : "0 unless the sampling is passes");
  Require(plan.limit_rounds == 0 ||
              (is_passes && plan.limit_rounds > 0 && plan.limit_rounds <= plan.rounds),
          "limit_rounds", plan.limit_rounds, "0, or of passes in [1, rounds]");
  Require(plan.life_mu_squared == 0 || (is_passes && plan.life_mu_squared > 0), "life_mu_squared",
          plan.life_mu_squared, "0, or of passes above 0");
  Require(is_passes || plan.order == Order::kConnected, "order", Name(plan.order),
          "connected unless the sampling is passes");
  Require(plan.order == Order::kConnected || !plan.participants_known, "order", Name(plan.order),
          "connected where rounds close as soon as all have reported");
}

}  // namespace

void Plan::Validate() const {
  ValidateCohort(*this);
  Require(rounds >= 1, "rounds", rounds, "at least 1");
  Require(dimension >= 1, "dimension", dimension, "at least 1");
  RequirePositive(clip_l2, "clip_l2");
  Require(clip_bit_scale >= 0 && std::isfinite(clip_bit_scale), "clip_bit_scale", clip_bit_scale,
          "finite and at least 0");
  Require(accuracy_scale >= 0 && std::isfinite(accuracy_scale), "accuracy_scale", accuracy_scale,
          "finite and at least 0");
  Require(noise_sigma >= 0 && std::isfinite(noise_sigma), "noise_sigma", noise_sigma,
          "finite and at least 0");
  schedule.Validate(rounds);
  Require(schedule.IsConstant() || (clip_bit_scale == 0 && accuracy_scale == 0),
          "extra coordinates of an update", 1,
          "absent if the bound or the noise follows a schedule");
  Require(colluders >= 0, "colluders", colluders, "at least 0");
  RequireDelta(delta);
  Require(private_noise_multiplier >= 0 && std::isfinite(private_noise_multiplier),
          "private_noise_multiplier", private_noise_multiplier, "finite and at least 0");
  Require(too_long >= 0 && too_long < 1, "too_long", too_long, "in [0, 1)");
  Require(too_long == 0 || Trust() == TrustMode::kTrustedServer, "too_long", too_long,
          "0 where devices add their own noise");
  certificate.Validate();
  Require(accountant.StatesGuarantees(), "accountant", accountant.name(),
          "one that gives an upper bound");
}

TrustMode Plan::Trust() const {
  return private_noise_multiplier > 0 ? TrustMode::kPrivateNoise : TrustMode::kTrustedServer;
}

int64_t Plan::ChargedRounds(int64_t released) const {
  return sampling == Sampling::kPasses ? std::min(released, participations) : released;
}

int64_t Plan::LimitRounds() const { return limit_rounds == 0 ? rounds : limit_rounds; }

int64_t Plan::AccountedDevices() const {
  return device_floor == 0 ? devices : std::min(devices, device_floor);
}

double Plan::SamplingRate() const {
  return static_cast<double>(cohort) /
         static_cast<double>(rate_devices == 0 ? devices : rate_devices);
}

double Plan::ExpectedCohort() const {
  return rate_devices == 0 ? static_cast<double>(cohort)
                           : SamplingRate() * static_cast<double>(devices);
}

double Plan::ClipWithExtras() const {
  const double with_bit = clip_bit_scale == 0 ? clip_l2 : JointClip(clip_l2, clip_bit_scale);
  return accuracy_scale == 0 ? with_bit : JointClip(with_bit, accuracy_scale);
}

double Plan::ExtraScale() const {
  return accuracy_scale == 0 ? clip_bit_scale : std::hypot(clip_bit_scale, accuracy_scale);
}

double Plan::Sensitivity() const {
  return SensitivityFactor(PairedAdjacency(sampling)) * ClipWithExtras();
}

double Plan::PrivateNoiseSigma() const {
  return SensitivityFactor(Adjacency::kReplaceOne) * clip_l2 * private_noise_multiplier;
}

double Plan::TooLong(int64_t charged) const {
  return UpdatesOfOneLength(planned_reports, charged) * too_long;
}

double Plan::SumDeviation(int64_t reports) const {
  return std::sqrt(static_cast<double>(std::max<int64_t>(reports, 0))) * noise_sigma;
}

double Plan::NoiseMultiplier(int64_t round) const {
  return SumDeviation(planned_reports) / Sensitivity() * schedule.TermsOf(round).noise_per_clip();
}

double Plan::AccountedNoiseMultiplier(int64_t round) const {
  return SumDeviation(planned_reports - colluders) / Sensitivity() *
         schedule.TermsOf(round).noise_per_clip();
}

int64_t CountRounds(const std::vector<SpentRounds>& jobs) {
  int64_t rounds = 0;
  for (const SpentRounds& job : jobs) rounds = std::min(rounds + job.rounds, kUnknownTurns);
  return rounds;
}

double SigmaForNoiseMultiplier(const Plan& plan, double noise_multiplier) {
  Plan noiseless = plan;
  noiseless.noise_sigma = 0.0;
  noiseless.Validate();
  RequirePositive(noise_multiplier, "noise multiplier");
  return noise_multiplier * plan.Sensitivity() /
         std::sqrt(static_cast<double>(plan.planned_reports));
}

Plan WithExtras(Plan plan, double bit_share, double accuracy_share) {
  Require(bit_share >= 0, "bit share", bit_share, "at least 0");
  Require(accuracy_share >= 0, "accuracy share", accuracy_share, "at least 0");
  const double update_share = 1 - bit_share - accuracy_share;
  Require(update_share > 0, "the updates' share", update_share, "above 0");
  const double noise_multiplier = plan.NoiseMultiplier();
  plan.clip_bit_scale = 2 * plan.clip_l2 * std::sqrt(bit_share / update_share);
  plan.accuracy_scale = 2 * plan.clip_l2 * std::sqrt(accuracy_share / update_share);
  plan.noise_sigma = SigmaForNoiseMultiplier(plan, noise_multiplier);
  return plan;
}

double DefaultDelta(int64_t devices) {
  constexpr double kMost = 1e-5;
  Require(devices >= 1, "devices", devices, "at least 1");
  return std::min(kMost, kMostDevicesLeftOut / static_cast<double>(devices));
}

NoiseSplit SplitNoise(const Plan& plan) {
  const double joint = plan.ClipWithExtras();
  const double bit = plan.clip_bit_scale / 2 / joint;
  const double z = plan.NoiseMultiplier();
  NoiseSplit split = SplitNoise(PairedAdjacency(plan.sampling), z, bit * bit);
  if (plan.accuracy_scale != 0) split.update_noise_multiplier = z * joint / plan.clip_l2;
  return split;
}

double AccuracySumDeviation(const Plan& plan) {
  return plan.SumDeviation(plan.planned_reports) / plan.accuracy_scale;
}

}  // namespace sotto::privacy
