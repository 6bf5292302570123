#include "plans/composition.h"

#include <algorithm>
#include <cmath>

#include "accounting/binomial.h"
#include "accounting/gdp.h"
#include "accounting/grouping.h"
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

// The most groups in which the rounds of a schedule are charged, each with all its choices.
constexpr size_t kMostGroups = 64;

// True if the records of who was drawn say what a device is charged for.
bool CountsTurns(const SpentRounds& job, Adjacency adjacency) {
  return job.turns.has_value() && adjacency == Adjacency::kReplaceOne;
}

// The rounds that one device is charged for.
int64_t ChargedRounds(const SpentRounds& job, Adjacency adjacency) {
  const int64_t charged = job.plan.ChargedRounds(job.rounds);
  return CountsTurns(job, adjacency) ? std::min(charged, *job.turns) : charged;
}

// Rounds of a job by their RoundTerms::noise_per_clip(), which stands in noise_multiplier: the
// `charged` costliest ones.
std::vector<GaussianRounds> RatiosOf(const SpentRounds& job, Sampling sampling, int64_t charged) {
  const RoundSchedule& schedule = job.plan.schedule;
  if (charged == 0) return {};
  if (schedule.IsConstant()) return {{sampling, 1.0, 1.0, charged}};
  std::vector<GaussianRounds> ratios;
  for (int64_t t = 0; t < job.rounds; ++t) {
    const double ratio = schedule.TermsOf(t).noise_per_clip();
    ratios.push_back({sampling, ratio, 1.0, 1});
  }
  if (charged == job.rounds) return ratios;
  std::sort(ratios.begin(), ratios.end(), [](const GaussianRounds& a, const GaussianRounds& b) {
    return a.noise_multiplier < b.noise_multiplier;
  });
  ratios.resize(static_cast<size_t>(charged));
  return ratios;
}

// Rounds as an accountant composes them. Where the draws are secret, all rounds count; where they
// are known, those in which the device was drawn.
class JobRounds {
 public:
  //   draws_known  to every adversary
  JobRounds(const SpentRounds& job, Adjacency adjacency, bool draws_known)
      : job_(job), is_paired_(PairedAdjacency(job.plan.sampling) == adjacency) {
    const bool is_drawn_secretly = is_paired_ && !draws_known;
    sampling_ = is_drawn_secretly ? Accounted(job.plan.sampling) : Sampling::kNone;
    const int64_t known = ChargedRounds(job, adjacency);
    charged_ = sampling_ == Sampling::kNone ? known : job.rounds;
    const double widening = is_paired_ ? 1.0
                                       : SensitivityFactor(Adjacency::kReplaceOne) /
                                             SensitivityFactor(PairedAdjacency(job.plan.sampling));
    sensitivity_ = widening * job.plan.Sensitivity();
    ratios_ = RatiosOf(job, sampling_, charged_);
    known_ratios_ = known == charged_ ? ratios_ : RatiosOf(job, Sampling::kNone, known);
  }

  double sensitivity() const { return sensitivity_; }
  int64_t charged() const { return charged_; }  // in the worse of the two cases
  bool is_poisson() const { return sampling_ == Sampling::kPoisson; }

  // The smallest ratio of noise to bound.
  double LeastRatio() const {
    return std::min_element(ratios_.begin(), ratios_.end(),
                            [](const GaussianRounds& a, const GaussianRounds& b) {
                              return a.noise_multiplier < b.noise_multiplier;
                            })
        ->noise_multiplier;
  }

  std::vector<GaussianRounds> Sampled() const {
    if (sampling_ == Sampling::kNone) return Unsampled();
    std::vector<GaussianRounds> rounds;
    for (const GaussianRounds& group : Grouped(ratios_, kMostGroups)) {
      rounds.push_back(WithRatio(group));
    }
    return rounds;
  }

  // Each round draws the device at the plan's rate, and has the noise of the worst choice.
  std::vector<GaussianRounds> Watched() const {
    std::vector<GaussianRounds> rounds = Sampled();
    for (GaussianRounds& group : rounds) {
      if (group.sampling == Sampling::kNone) continue;
      group.sampling_rate = job_.plan.SamplingRate();
      group.choices.clear();
    }
    return rounds;
  }

  std::vector<GaussianRounds> Unsampled() const {
    std::vector<GaussianRounds> rounds;
    for (const GaussianRounds& group : known_ratios_) {
      rounds.push_back(WithRatio(group));
      rounds.back().sampling = Sampling::kNone;
      rounds.back().choices.clear();
    }
    const bool is_limit = job_.plan.sampling == Sampling::kPasses;  // to kArithmeticMargin
    return rounds.size() == 1 && !is_limit ? rounds : MergedUnsampled(rounds);
  }

 private:
  GaussianRounds WithRatio(const GaussianRounds& group) const {
    Plan plan = job_.plan;
    plan.noise_sigma *= group.noise_multiplier;
    const int64_t honest_reports = plan.planned_reports - plan.colluders;
    GaussianRounds rounds = {sampling_, plan.SumDeviation(honest_reports) / sensitivity_,
                             plan.SamplingRate(), group.rounds};
    if (sampling_ == Sampling::kUniform) {
      rounds.sampling_rate = DominatingRate(plan, rounds.noise_multiplier);
      rounds.choices = Choices(plan, sensitivity_);
    }
    return rounds;
  }

  const SpentRounds& job_;
  bool is_paired_;
  int64_t charged_ = 0;
  Sampling sampling_ = Sampling::kNone;
  double sensitivity_ = 0.0;
  std::vector<GaussianRounds> ratios_;
  std::vector<GaussianRounds> known_ratios_;
};

Deviations DeviationsOf(const SpentRounds& job, const JobRounds& rounds) {
  const Plan& plan = job.plan;
  const int64_t honest_reports = plan.planned_reports - plan.colluders;
  Deviations deviations;
  // +infinity if there is no noise or no honest noise to share the change.
  deviations.shift =
      rounds.sensitivity() / (static_cast<double>(std::max<int64_t>(honest_reports, 0)) *
                              (plan.noise_sigma * rounds.LeastRatio()));
  deviations.certificate = plan.certificate;
  deviations.coordinates = static_cast<double>(plan.dimension) *
                           static_cast<double>(plan.planned_reports) *
                           static_cast<double>(rounds.charged());
  if (plan.Trust() == TrustMode::kPrivateNoise) {
    deviations.log_refusal =
        std::log(2.0 * static_cast<double>(rounds.charged())) + kLogFalseRefusal;
  }
  if (plan.too_long > 0) deviations.log_too_long = std::log(plan.TooLong(rounds.charged()));
  if (rounds.is_poisson()) deviations.log_cap_excess = LogCapExcess(plan, job.rounds);
  return deviations;
}

// Rounds of one plan under `adjacency`.
Composition ComposeJob(const SpentRounds& job, Adjacency adjacency, bool draws_known) {
  const JobRounds rounds(job, adjacency, draws_known);
  if (rounds.charged() == 0) return {};
  return {rounds.Sampled(), rounds.Unsampled(), rounds.Watched(), DeviationsOf(job, rounds)};
}

double LogOfSum(double log_a, double log_b) {
  LogSum sum;
  sum.Add(log_a);
  sum.Add(log_b);
  return sum.Log();
}

void Append(const Composition& more, Composition* all) {
  all->rounds.insert(all->rounds.end(), more.rounds.begin(), more.rounds.end());
  all->unsampled.insert(all->unsampled.end(), more.unsampled.begin(), more.unsampled.end());
  all->watched.insert(all->watched.end(), more.watched.begin(), more.watched.end());
  Deviations& sum = all->deviations;
  CertificateBounds& worst = sum.certificate;
  const CertificateBounds& other = more.deviations.certificate;
  worst = {std::max(worst.eta, other.eta), std::max(worst.tau, other.tau),
           std::min(worst.range, other.range)};
  sum.coordinates += more.deviations.coordinates;
  sum.shift = std::max(sum.shift, more.deviations.shift);
  sum.log_cap_excess = LogOfSum(sum.log_cap_excess, more.deviations.log_cap_excess);
  sum.log_refusal = LogOfSum(sum.log_refusal, more.deviations.log_refusal);
  sum.log_too_long = LogOfSum(sum.log_too_long, more.deviations.log_too_long);
}

// Lemma 13.
void CapByLife(const Plan& plan, Composition* all) {
  const double mu = UnsampledMu(all->rounds);
  if (mu * mu > plan.life_mu_squared) {
    const double z = (1 - kArithmeticMargin) / std::sqrt(plan.life_mu_squared);
    all->rounds = MergedUnsampled({{Sampling::kNone, z, 1.0, 1}});
    all->unsampled = all->watched = all->rounds;
    if (plan.life_too_long > 0) all->deviations.log_too_long = std::log(plan.life_too_long);
  }
  all->deviations.coordinates = std::min(all->deviations.coordinates, plan.life_coordinates);
}

}  // namespace

Composition ComposeReleases(const Plan& plan, int64_t rounds,
                            const std::vector<SpentRounds>& before) {
  const Adjacency adjacency = PairedAdjacency(plan.sampling);
  const bool is_passes = plan.sampling == Sampling::kPasses;
  std::vector<SpentRounds> jobs = before;
  jobs.push_back({plan, is_passes && rounds > 0 ? plan.LimitRounds() : rounds, rounds});
  Composition all;
  for (SpentRounds& job : jobs) {
    job.plan.colluders = std::max(job.plan.colluders, plan.colluders);
    job.plan.devices = job.plan.AccountedDevices();
    const Composition one = ComposeJob(job, adjacency, job.plan.participants_known || is_passes);
    if (one.rounds.empty()) continue;
    if (all.rounds.empty()) {
      all = one;
    } else {
      Append(one, &all);
    }
  }
  if (plan.life_mu_squared > 0 && !all.rounds.empty()) CapByLife(plan, &all);
  return all;
}

Composition WithDrawsKnown(Composition composition) {
  composition.deviations.log_cap_excess = -kInfinity;
  composition.rounds = composition.unsampled;
  return composition;
}

Composition WithDrawsWatched(Composition composition) {
  composition.deviations.log_cap_excess = -kInfinity;
  composition.rounds = composition.watched;
  return composition;
}

}  // namespace sotto::privacy
