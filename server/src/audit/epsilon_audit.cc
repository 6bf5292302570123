#include "audit/epsilon_audit.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include "accounting/accountant.h"
#include "accounting/figures.h"
#include "base/mean_deviation.h"
#include "plans/statement.h"

namespace sotto::server {
namespace {

constexpr uint32_t kFewestRepeats = 1000;
// A plan may keep more noise than was asked for, by rounding, never less.
constexpr double kRounding = 1e-9;

privacy::Claim ClaimAt(privacy::Plan plan, CanaryView view, double delta) {
  plan.delta = delta;
  const privacy::Statement statement = privacy::Account(plan, plan.rounds);
  if (view == CanaryView::kReleases) return statement.Headline();
  const privacy::Claim* claim =
      statement.Find(privacy::Adversary::kServer, privacy::View::kOneUpdate);
  if (claim == nullptr) {
    throw std::invalid_argument("without private noise nothing is claimed of a single update");
  }
  return *claim;
}

// A uniform cohort at the far corner is, to the adversary, a Poisson round of the same rate whose
// canary moves the sum by all of the sensitivity: N(0, z^2) without it and at -v, and a mixture
// with N(1, z^2) at +v. In a job of passes the canary's rounds are known, and no others count.
double Reachable(const privacy::Plan& plan, double delta) {
  privacy::Sampling sampling = privacy::Accounted(plan.sampling);
  if (sampling == privacy::Sampling::kUniform) sampling = privacy::Sampling::kPoisson;
  std::vector<privacy::GaussianRounds> rounds;
  for (int64_t t = 0; t < plan.rounds; ++t) {
    if (plan.sampling == privacy::Sampling::kPasses && !CanaryTakesTurn(plan, t)) continue;
    rounds.push_back({sampling, plan.NoiseMultiplier(t), plan.SamplingRate(), 1});
  }
  return privacy::AccountFor(rounds, delta).epsilon;
}

// Solves for the shift s of a release that holds the canary, drawn with probability q in each of T
// rounds, and for the deviation z of a round's noise, by moments. With passes T are the canary's
// rounds, and q = 1.
//   mean(with) - mean(without) = T q s,   variance(with) = T (z^2 + q (1 - q) s^2).
void Estimate(const CanaryReleases& releases, CanaryView view, EpsilonAudit* audit) {
  const bool is_update = view == CanaryView::kOneUpdate;
  const privacy::Plan& plan = audit->plan;
  const bool is_known = is_update || plan.sampling == privacy::Sampling::kPasses;
  const double q = is_known ? 1 : plan.SamplingRate();
  const auto rounds = is_update ? 1.0 : static_cast<double>(plan.ChargedRounds(plan.rounds));
  audit->shift =
      (MeanDeviationOf(releases.with).mean - MeanDeviationOf(releases.without).mean) / (rounds * q);
  const double variance = std::pow(MeanDeviationOf(releases.with).deviation, 2) / rounds -
                          q * (1 - q) * audit->shift * audit->shift;
  audit->noise_multiplier = std::sqrt(std::max(variance, 0.0));
}

// What the plan itself keeps less of than was asked for.
void CheckPlan(const AskedPrivacy& asked, EpsilonAudit* audit) {
  const double z = audit->plan.NoiseMultiplier();
  if (privacy::SigmaForNoiseMultiplier(audit->plan, z) <
      audit->plan.noise_sigma * (1 - kRounding)) {
    audit->violations.push_back(fmt::format(
        "a job that asks for the noise multiplier {:.6g} gets less noise than that", z));
  }
  if (asked.noise_multiplier) {
    const double planned = audit->plan.NoiseMultiplier();
    if (planned >= *asked.noise_multiplier * (1 - kRounding)) return;
    audit->violations.push_back(
        fmt::format("the plan has the noise multiplier {:.6g}, less than the {:.6g} asked for",
                    planned, *asked.noise_multiplier));
  } else if (!(audit->claim.epsilon <= asked.epsilon * (1 + kRounding))) {
    audit->violations.push_back(
        fmt::format("the plan costs epsilon {}, more than the {:.6g} asked for",
                    privacy::EpsilonText(audit->claim.epsilon), asked.epsilon));
  }
}

void CheckMeasured(EpsilonAudit* audit) {
  const EpsilonTest* worst = nullptr;
  const auto excess = [](const EpsilonTest& t) { return t.measured.epsilon_lower - t.claimed; };
  for (const EpsilonTest& test : audit->tests) {
    if (test.is_violated() && (worst == nullptr || excess(test) > excess(*worst))) worst = &test;
  }
  if (worst != nullptr) {
    audit->violations.push_back(fmt::format(
        "epsilon is at least {} at delta {}, where the job claims at most {}: the noise is too "
        "small, or a device moves the sum by more than the bound",
        privacy::LowerBoundText(worst->measured.epsilon_lower),
        privacy::DeltaText(worst->measured.delta), privacy::EpsilonText(worst->claimed)));
  }
  if (audit->refused == 0) return;
  audit->violations.push_back(fmt::format(
      "{} of the canary's {} updates came out of the device's encoder as none within the bound "
      "does: the encoder does not enforce it",
      audit->refused, audit->drawn));
}

}  // namespace

EpsilonAudit AuditEpsilon(const JobConfig& config, CanaryView view, const AskedPrivacy& asked,
                          const EpsilonAuditOptions& options, const Key& key,
                          const std::function<void(double)>& done) {
  if (options.repeats < kFewestRepeats || options.repeats % 2 != 0) {
    throw std::invalid_argument(
        "an audit of epsilon takes an even number of repeats, at least 1000");
  }
  const CanaryReleases releases =
      DrawReleases(config, view, key, options.repeats, options.threads, done);
  std::vector<double> deltas = {config.plan.delta};
  deltas.insert(deltas.end(), options.deltas.begin(), options.deltas.end());
  EpsilonAudit audit;
  audit.plan = config.plan;
  audit.claim = ClaimAt(config.plan, view, config.plan.delta);
  audit.drawn = releases.drawn;
  audit.refused = releases.refused;
  for (const MeasuredEpsilon& measured :
       MeasureEpsilon({releases.with.data(), releases.with.size()},
                      {releases.without.data(), releases.without.size()}, deltas, options.error)) {
    const double claimed = ClaimAt(config.plan, view, measured.delta).epsilon;
    const double reachable =
        view == CanaryView::kReleases ? Reachable(config.plan, measured.delta) : claimed;
    audit.tests.push_back({measured, claimed, std::min(reachable, claimed)});
  }
  Estimate(releases, view, &audit);
  if (view == CanaryView::kReleases) CheckPlan(asked, &audit);
  CheckMeasured(&audit);
  return audit;
}

}  // namespace sotto::server
