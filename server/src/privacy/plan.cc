#include "privacy/plan.h"

#include <algorithm>
#include <cmath>

#include "privacy/arguments.h"
#include "privacy/binomial.h"

namespace sotto::privacy {
namespace {

double SumDeviation(const Plan& plan, int64_t reports) {
  return std::sqrt(static_cast<double>(std::max<int64_t>(reports, 0))) * plan.noise_sigma;
}

void ValidateCohort(const Plan& plan) {
  Require(plan.devices >= 1 && plan.devices <= kMaxTrials, "devices", plan.devices, "in [1, 10^9]");
  Require(plan.cohort >= 1 && plan.cohort <= plan.devices, "cohort", plan.cohort,
          "in [1, devices]");
  if (plan.sampling == Sampling::kNone) {
    Require(plan.cohort == plan.devices, "cohort", plan.cohort,
            "the number of devices when nothing is sampled");
  }
  if (plan.sampling == Sampling::kPoisson) {
    Require(plan.planned_reports >= 1 && plan.planned_reports <= plan.devices, "planned_reports",
            plan.planned_reports, "in [1, devices]: the cap on a Poisson draw");
  } else {
    Require(plan.planned_reports == plan.cohort, "planned_reports", plan.planned_reports,
            "the cohort, which is of fixed size");
  }
}

Deviations DeviationsOf(const Plan& plan, int64_t rounds) {
  const double honest_reports =
      static_cast<double>(std::max<int64_t>(plan.planned_reports - plan.colluders, 0));
  Deviations deviations;
  // +infinity where there is no noise or nobody honest to share the change.
  deviations.shift = plan.Sensitivity() / (honest_reports * plan.noise_sigma);
  deviations.certificate = plan.certificate;
  deviations.coordinates = static_cast<double>(plan.dimension) *
                           static_cast<double>(plan.planned_reports) * static_cast<double>(rounds);
  if (plan.sampling == Sampling::kPoisson) {
    deviations.log_cap_excess =
        std::log(static_cast<double>(rounds)) +
        LogBinomialTail(plan.devices, plan.SamplingRate(), plan.planned_reports);
  }
  return deviations;
}

}  // namespace

void Plan::Validate() const {
  ValidateCohort(*this);
  Require(rounds >= 1, "rounds", rounds, "at least 1");
  Require(dimension >= 1, "dimension", dimension, "at least 1");
  Require(clip_l2 > 0 && std::isfinite(clip_l2), "clip_l2", clip_l2, "finite and above 0");
  Require(noise_sigma >= 0 && std::isfinite(noise_sigma), "noise_sigma", noise_sigma,
          "finite and at least 0");
  Require(colluders >= 0, "colluders", colluders, "at least 0");
  RequireDelta(delta);
  certificate.Validate();
}

double Plan::SamplingRate() const {
  return static_cast<double>(cohort) / static_cast<double>(devices);
}

double Plan::Sensitivity() const { return SensitivityFactor(PairedAdjacency(sampling)) * clip_l2; }

double Plan::NoiseMultiplier() const {
  return SumDeviation(*this, planned_reports) / Sensitivity();
}

double Plan::AccountedNoiseMultiplier() const {
  return SumDeviation(*this, planned_reports - colluders) / Sensitivity();
}

Statement Account(const Plan& plan, int64_t rounds_released) {
  plan.Validate();
  Require(rounds_released >= 0 && rounds_released <= plan.rounds, "rounds_released",
          rounds_released, "in [0, rounds]");
  Statement statement;
  statement.delta = plan.delta;
  statement.adjacency = PairedAdjacency(plan.sampling);
  statement.sampling = plan.sampling;
  statement.rounds = rounds_released;
  statement.colluders = plan.colluders;
  statement.noise_multiplier = plan.NoiseMultiplier();
  statement.accounted_noise_multiplier = plan.AccountedNoiseMultiplier();
  if (rounds_released == 0) return statement;

  const double z = statement.accounted_noise_multiplier;
  Deviations deviations = DeviationsOf(plan, rounds_released);
  statement.released = StateGuarantee({{plan.sampling, z, plan.SamplingRate(), rounds_released}},
                                      plan.delta, deviations);
  // Who is drawn depends on no data, so to those who see the draw the cap reveals nothing.
  deviations.log_cap_excess = -kInfinity;
  statement.network =
      StateGuarantee({{Sampling::kNone, z, 1.0, rounds_released}}, plan.delta, deviations);
  statement.epsilon = statement.released.epsilon;
  statement.epsilon_network = statement.network.epsilon;
  statement.order = statement.released.order;
  statement.order_at_edge = statement.released.order_at_edge;
  return statement;
}

double SigmaForNoiseMultiplier(const Plan& plan, double noise_multiplier) {
  Plan noiseless = plan;
  noiseless.noise_sigma = 0.0;
  noiseless.Validate();
  Require(noise_multiplier > 0 && std::isfinite(noise_multiplier), "noise multiplier",
          noise_multiplier, "finite and above 0");
  return noise_multiplier * plan.Sensitivity() /
         std::sqrt(static_cast<double>(plan.planned_reports));
}

}  // namespace sotto::privacy
