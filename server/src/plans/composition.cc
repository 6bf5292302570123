#include "plans/composition.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "accounting/binomial.h"
#include "accounting/log_space.h"
#include "plans/private_noise.h"

namespace sotto::privacy {
namespace {

// The most settings that are charged for the colluders' choice of a round.
constexpr int64_t kMostChoices = 8;

// The numbers of honest encodings that a uniform cohort can have (lemma 4).
struct HonestReports {
  int64_t least = 0;  // B - c; the noise of fewer is not accounted
  int64_t most = 0;
  int64_t devices = 0;  // M
};

HonestReports HonestReportsOf(const Plan& plan) {
  const int64_t devices = plan.devices - plan.colluders;
  return {plan.cohort - plan.colluders, std::min(plan.cohort, devices), devices};
}

double Ratio(int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

// The rate of lemma 9.
double DominatingRate(const Plan& plan, double noise_multiplier) {
  const HonestReports honest = HonestReportsOf(plan);
  const bool is_one_choice = honest.least == honest.most;
  if (is_one_choice || honest.least <= 0 || !(noise_multiplier > 0)) return plan.SamplingRate();
  const double mu = 1 / noise_multiplier;
  const double weight = std::exp(-mu * mu / 8);
  const double rate = Ratio(honest.most, honest.devices) *
                      std::pow(Ratio(honest.least, honest.most), weight / 2) *
                      (1 + kArithmeticMargin);
  return std::clamp(rate, plan.SamplingRate(), 1.0);
}

// The settings of lemma 6, in blocks of neighbouring n. The least n is left out: the pair of lemma
// 9 has its noise, and a rate that is no smaller.
std::vector<RateAndNoise> Choices(const Plan& plan, double sensitivity) {
  const HonestReports honest = HonestReportsOf(plan);
  std::vector<RateAndNoise> choices;
  if (honest.least <= 0) return choices;
  const int64_t block = std::max<int64_t>(1, (honest.most - honest.least - 1) / kMostChoices + 1);
  for (int64_t most = honest.most; most > honest.least; most -= block) {
    const int64_t least = std::max(most - block, honest.least) + 1;
    choices.push_back({Ratio(most, honest.devices), plan.SumDeviation(least) / sensitivity});
  }
  return choices;
}

// ln Pr[some draw of the rounds exceeds the cap], given that all colluders are drawn (lemma 5).
double LogCapExcess(const Plan& plan, int64_t rounds) {
  if (plan.planned_reports <= plan.colluders) return 0;
  return std::log(static_cast<double>(rounds)) +
         LogBinomialTail(plan.devices - plan.colluders, plan.SamplingRate(),
                         plan.planned_reports - plan.colluders);
}

// Rounds of one plan under `adjacency`.
Composition ComposeJob(const Plan& plan, int64_t rounds, Adjacency adjacency) {
  const bool is_paired = PairedAdjacency(plan.sampling) == adjacency;
  const double widening = is_paired ? 1.0
                                    : SensitivityFactor(Adjacency::kReplaceOne) /
                                          SensitivityFactor(PairedAdjacency(plan.sampling));
  const double sensitivity = widening * plan.Sensitivity();
  const int64_t honest_reports = plan.planned_reports - plan.colluders;
  const bool is_poisson = is_paired && plan.sampling == Sampling::kPoisson;

  Composition all;
  const double noise_multiplier = plan.SumDeviation(honest_reports) / sensitivity;
  all.rounds = {
      {is_paired ? plan.sampling : Sampling::kNone, noise_multiplier, plan.SamplingRate(), rounds}};
  if (is_paired && plan.sampling == Sampling::kUniform) {
    all.rounds.front().sampling_rate = DominatingRate(plan, noise_multiplier);
    all.rounds.front().choices = Choices(plan, sensitivity);
  }
  // +infinity if there is no noise or no honest noise to share the change.
  all.deviations.shift =
      sensitivity / (static_cast<double>(std::max<int64_t>(honest_reports, 0)) * plan.noise_sigma);
  all.deviations.certificate = plan.certificate;
  all.deviations.coordinates = static_cast<double>(plan.dimension) *
                               static_cast<double>(plan.planned_reports) *
                               static_cast<double>(rounds);
  if (plan.Trust() == TrustMode::kPrivateNoise) {
    all.deviations.log_refusal = std::log(2.0 * static_cast<double>(rounds)) + kLogFalseRefusal;
  }
  if (is_poisson) all.deviations.log_cap_excess = LogCapExcess(plan, rounds);
  return all;
}

double LogOfSum(double log_a, double log_b) {
  LogSum sum;
  sum.Add(log_a);
  sum.Add(log_b);
  return sum.Log();
}

void Append(const Composition& more, Composition* all) {
  all->rounds.insert(all->rounds.end(), more.rounds.begin(), more.rounds.end());
  Deviations& sum = all->deviations;
  CertificateBounds& worst = sum.certificate;
  const CertificateBounds& other = more.deviations.certificate;
  worst = {std::max(worst.eta, other.eta), std::max(worst.tau, other.tau),
           std::min(worst.range, other.range)};
  sum.coordinates += more.deviations.coordinates;
  sum.shift = std::max(sum.shift, more.deviations.shift);
  sum.log_cap_excess = LogOfSum(sum.log_cap_excess, more.deviations.log_cap_excess);
  sum.log_refusal = LogOfSum(sum.log_refusal, more.deviations.log_refusal);
}

}  // namespace

Composition ComposeReleases(const Plan& plan, int64_t rounds,
                            const std::vector<SpentRounds>& before) {
  const Adjacency adjacency = PairedAdjacency(plan.sampling);
  std::vector<SpentRounds> jobs = before;
  jobs.push_back({plan, rounds});
  Composition all;
  for (SpentRounds& job : jobs) {
    if (job.rounds == 0) continue;
    job.plan.colluders = std::max(job.plan.colluders, plan.colluders);
    Composition one = ComposeJob(job.plan, job.rounds, adjacency);
    if (job.plan.participants_known) one = WithDrawsKnown(std::move(one));
    if (all.rounds.empty()) {
      all = one;
    } else {
      Append(one, &all);
    }
  }
  return all;
}

Composition WithDrawsKnown(Composition composition) {
  composition.deviations.log_cap_excess = -kInfinity;
  for (GaussianRounds& group : composition.rounds) {
    group.sampling = Sampling::kNone;
    group.choices.clear();
  }
  return composition;
}

}  // namespace sotto::privacy
