#include "plans/composition.h"

#include <algorithm>
#include <cmath>

#include "accounting/binomial.h"
#include "accounting/log_space.h"
#include "plans/private_noise.h"

namespace sotto::privacy {
namespace {

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
  all.rounds = {{is_paired ? plan.sampling : Sampling::kNone,
                 plan.SumDeviation(honest_reports) / sensitivity, plan.SamplingRate(), rounds}};
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
  if (is_poisson) {
    all.deviations.log_cap_excess =
        std::log(static_cast<double>(rounds)) +
        LogBinomialTail(plan.devices, plan.SamplingRate(), plan.planned_reports);
  }
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
    const Composition one = ComposeJob(job.plan, job.rounds, adjacency);
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
  for (GaussianRounds& group : composition.rounds) group.sampling = Sampling::kNone;
  return composition;
}

}  // namespace sotto::privacy
