#include "plans/plan.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "accounting/arguments.h"
#include "accounting/binomial.h"
#include "accounting/log_space.h"

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

// What is composed into one epsilon: the ideal rounds, and how far the released ones are from them.
struct Composition {
  std::vector<GaussianRounds> rounds;
  Deviations deviations;
};

// Rounds of one plan under `adjacency`, see Account().
Composition Compose(const Plan& plan, int64_t rounds, Adjacency adjacency) {
  const bool is_paired = PairedAdjacency(plan.sampling) == adjacency;
  const double widening = is_paired ? 1.0
                                    : SensitivityFactor(Adjacency::kReplaceOne) /
                                          SensitivityFactor(PairedAdjacency(plan.sampling));
  const double sensitivity = widening * plan.Sensitivity();
  const int64_t honest_reports = plan.planned_reports - plan.colluders;
  const bool is_poisson = is_paired && plan.sampling == Sampling::kPoisson;

  Composition all;
  all.rounds = {{is_paired ? plan.sampling : Sampling::kNone,
                 SumDeviation(plan, honest_reports) / sensitivity, plan.SamplingRate(), rounds}};
  // +infinity where there is no noise or nobody honest to share the change.
  all.deviations.shift =
      sensitivity / (static_cast<double>(std::max<int64_t>(honest_reports, 0)) * plan.noise_sigma);
  all.deviations.certificate = plan.certificate;
  all.deviations.coordinates = static_cast<double>(plan.dimension) *
                               static_cast<double>(plan.planned_reports) *
                               static_cast<double>(rounds);
  if (is_poisson) {
    all.deviations.log_cap_excess =
        std::log(static_cast<double>(rounds)) +
        LogBinomialTail(plan.devices, plan.SamplingRate(), plan.planned_reports);
  }
  return all;
}

// All coordinates are charged at the worse of the two certificates and the larger of the two
// shifts: for jobs of one program they are the same.
void Append(const Composition& more, Composition* all) {
  all->rounds.insert(all->rounds.end(), more.rounds.begin(), more.rounds.end());
  Deviations& sum = all->deviations;
  CertificateBounds& worst = sum.certificate;
  const CertificateBounds& other = more.deviations.certificate;
  worst = {std::max(worst.eta, other.eta), std::max(worst.tau, other.tau),
           std::min(worst.range, other.range)};
  sum.coordinates += more.deviations.coordinates;
  sum.shift = std::max(sum.shift, more.deviations.shift);
  LogSum excess;
  excess.Add(sum.log_cap_excess);
  excess.Add(more.deviations.log_cap_excess);
  sum.log_cap_excess = excess.Log();
}

Composition ComposeAll(const Plan& plan, int64_t rounds, const std::vector<SpentRounds>& before) {
  const Adjacency adjacency = PairedAdjacency(plan.sampling);
  std::vector<SpentRounds> jobs = before;
  jobs.push_back({plan, rounds});
  Composition all;
  for (SpentRounds& job : jobs) {
    if (job.rounds == 0) continue;
    // Whoever tells his noise today tells that of earlier jobs too.
    job.plan.colluders = std::max(job.plan.colluders, plan.colluders);
    const Composition one = Compose(job.plan, job.rounds, adjacency);
    if (all.rounds.empty()) {
      all = one;
    } else {
      Append(one, &all);
    }
  }
  return all;
}

int64_t CountRounds(const std::vector<SpentRounds>& jobs) {
  int64_t rounds = 0;
  for (const SpentRounds& job : jobs) {
    job.plan.Validate();
    Require(job.rounds >= 0, "earlier rounds", job.rounds, "at least 0");
    rounds += job.rounds;
  }
  return rounds;
}

Claim MakeClaim(const Statement& statement, Adversary adversary, View view, double epsilon,
                std::string accountant, std::vector<Assumption> assumptions) {
  Claim claim;
  claim.adversary = adversary;
  claim.view = view;
  claim.adjacency = adversary == Adversary::kServer ? Adjacency::kReplaceOne : statement.adjacency;
  claim.sensitivity = SensitivityFactor(claim.adjacency);
  claim.colluders = statement.colluders;
  claim.trust_mode = statement.trust_mode;
  claim.epsilon = epsilon;
  claim.delta = statement.delta;
  claim.accountant = std::move(accountant);
  claim.assumptions = std::move(assumptions);
  return claim;
}

std::vector<Claim> ClaimsOf(const Statement& s) {
  std::vector<Claim> claims = {
      MakeClaim(s, Adversary::kPublic, View::kReleases, s.epsilon, s.accountant,
                {Assumption::kServerFollowsProtocol, Assumption::kParticipationIsSecret,
                 Assumption::kReportingIndependentOfData, Assumption::kRandomBitsAreUniform}),
      MakeClaim(s, Adversary::kNetwork, View::kReleasesAndParticipants, s.epsilon_network,
                s.network.gaussian.winner,
                {Assumption::kServerFollowsProtocol, Assumption::kReportingIndependentOfData,
                 Assumption::kLengthsAndTimesTellNothing, Assumption::kRandomBitsAreUniform})};
  if (s.trust_mode != TrustMode::kPrivateNoise) return claims;
  const std::vector<Assumption> against_server = {
      Assumption::kReportingIndependentOfData, Assumption::kTimesTellNothing,
      Assumption::kUpdatesAsRecorded, Assumption::kPrivateNoiseIsSecret,
      Assumption::kRandomBitsAreUniform};
  claims.push_back(MakeClaim(s, Adversary::kServer, View::kEveryUpdate, s.epsilon_server, "rdp",
                             against_server));
  claims.push_back(MakeClaim(s, Adversary::kServer, View::kOneUpdate, s.epsilon_server_update,
                             "rdp", against_server));
  return claims;
}

Statement WithClaims(Statement statement) {
  statement.claims = ClaimsOf(statement);
  return statement;
}

}  // namespace

void Plan::Validate() const {
  ValidateCohort(*this);
  Require(rounds >= 1, "rounds", rounds, "at least 1");
  Require(dimension >= 1, "dimension", dimension, "at least 1");
  Require(clip_l2 > 0 && std::isfinite(clip_l2), "clip_l2", clip_l2, "finite and above 0");
  Require(clip_bit_scale >= 0 && std::isfinite(clip_bit_scale), "clip_bit_scale", clip_bit_scale,
          "finite and at least 0");
  Require(noise_sigma >= 0 && std::isfinite(noise_sigma), "noise_sigma", noise_sigma,
          "finite and at least 0");
  Require(colluders >= 0, "colluders", colluders, "at least 0");
  RequireDelta(delta);
  Require(private_noise_multiplier >= 0 && std::isfinite(private_noise_multiplier),
          "private_noise_multiplier", private_noise_multiplier, "finite and at least 0");
  certificate.Validate();
  Require(accountant.StatesGuarantees(), "accountant", accountant.name(),
          "one that gives an upper bound");
}

TrustMode Plan::Trust() const {
  return private_noise_multiplier > 0 ? TrustMode::kPrivateNoise : TrustMode::kTrustedServer;
}

double Plan::SamplingRate() const {
  return static_cast<double>(cohort) / static_cast<double>(devices);
}

double Plan::ClipWithBit() const {
  return clip_bit_scale == 0 ? clip_l2 : JointClip(clip_l2, clip_bit_scale);
}

double Plan::Sensitivity() const {
  return SensitivityFactor(PairedAdjacency(sampling)) * ClipWithBit();
}

double Plan::PrivateNoiseSigma() const {
  return SensitivityFactor(Adjacency::kReplaceOne) * clip_l2 * private_noise_multiplier;
}

double Plan::NoiseMultiplier() const {
  return SumDeviation(*this, planned_reports) / Sensitivity();
}

double Plan::AccountedNoiseMultiplier() const {
  return SumDeviation(*this, planned_reports - colluders) / Sensitivity();
}

Statement Account(const Plan& plan, int64_t rounds_released,
                  const std::vector<SpentRounds>& before) {
  plan.Validate();
  Require(rounds_released >= 0 && rounds_released <= plan.rounds, "rounds_released",
          rounds_released, "in [0, rounds]");
  Statement statement;
  statement.delta = plan.delta;
  statement.adjacency = PairedAdjacency(plan.sampling);
  statement.sampling = plan.sampling;
  statement.trust_mode = plan.Trust();
  statement.epsilon_server = EpsilonAgainstServer(plan, rounds_released, before);
  statement.epsilon_server_update = EpsilonAgainstServer(plan, 1);
  statement.private_noise_multiplier = plan.private_noise_multiplier;
  statement.rounds = rounds_released;
  statement.earlier_rounds = CountRounds(before);
  statement.colluders = plan.colluders;
  statement.noise_multiplier = plan.NoiseMultiplier();
  statement.accounted_noise_multiplier = plan.AccountedNoiseMultiplier();
  if (statement.rounds + statement.earlier_rounds == 0) return WithClaims(statement);

  Composition all = ComposeAll(plan, rounds_released, before);
  statement.released = StateGuarantee(all.rounds, plan.delta, all.deviations, plan.accountant);
  // Who is drawn depends on no data, so to those who see the draw the cap reveals nothing.
  all.deviations.log_cap_excess = -kInfinity;
  for (GaussianRounds& group : all.rounds) group.sampling = Sampling::kNone;
  statement.network = StateGuarantee(all.rounds, plan.delta, all.deviations, plan.accountant);
  statement.epsilon = statement.released.epsilon;
  statement.epsilon_network = statement.network.epsilon;
  statement.accountant = statement.released.gaussian.winner;
  statement.numeric_error = statement.released.gaussian.numeric_error;
  statement.order = statement.released.gaussian.order;
  statement.order_at_edge = statement.released.gaussian.order_at_edge;
  return WithClaims(statement);
}

double EpsilonAgainstServer(const Plan& plan, int64_t updates,
                            const std::vector<SpentRounds>& before) {
  plan.Validate();
  Require(updates >= 0, "updates", updates, "at least 0");
  if (plan.Trust() != TrustMode::kPrivateNoise) return kInfinity;
  std::vector<GaussianRounds> seen;
  seen.push_back({Sampling::kNone, plan.private_noise_multiplier, 1.0, updates});
  for (const SpentRounds& job : before) {
    const int64_t count = std::max(job.rounds, job.updates);
    if (count == 0) continue;
    if (job.plan.Trust() != TrustMode::kPrivateNoise) return kInfinity;
    seen.push_back({Sampling::kNone, job.plan.private_noise_multiplier, 1.0, count});
  }
  if (updates == 0 && seen.size() == 1) return 0.0;
  return Epsilon(seen, plan.delta).Guarantee();
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

Plan WithClipBit(Plan plan, double bit_share) {
  const double noise_multiplier = plan.NoiseMultiplier();
  const NoiseSplit split = SplitNoise(PairedAdjacency(plan.sampling), noise_multiplier, bit_share);
  plan.clip_bit_scale = split.bit_scale_per_clip * plan.clip_l2;
  plan.noise_sigma = SigmaForNoiseMultiplier(plan, noise_multiplier);
  return plan;
}

NoiseSplit SplitNoise(const Plan& plan) {
  const double bit = plan.clip_bit_scale / 2 / plan.ClipWithBit();
  return SplitNoise(PairedAdjacency(plan.sampling), plan.NoiseMultiplier(), bit * bit);
}

}  // namespace sotto::privacy
