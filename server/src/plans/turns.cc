#include "plans/turns.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "accounting/arguments.h"
#include "accounting/gdp.h"
#include "accounting/one_length.h"

namespace sotto::privacy {
namespace {

void RequireCounts(int64_t first, const char* name, int64_t cohort, int64_t devices) {
  Require(first >= 1 && first <= 1'000'000'000, name, first, "in [1, 10^9]");
  Require(devices >= 1 && devices <= 1'000'000'000, "devices", devices, "in [1, 10^9]");
  Require(cohort >= 1 && cohort <= devices, "cohort", cohort, "in [1, devices]");
}

// mu^2 of a turn in a round whose noise_per_clip() is 1.
double FirstMuSquared(const Plan& plan) {
  const double sensitivity = SensitivityFactor(Adjacency::kReplaceOne) * plan.ClipWithExtras();
  const double mu = sensitivity / plan.SumDeviation(plan.planned_reports - plan.colluders);
  return mu * mu;
}

double CoordinatesOf(const Plan& plan) {
  return static_cast<double>(plan.dimension) * static_cast<double>(plan.planned_reports);
}

// The sum of the `most` largest values of 1 / noise_per_clip()^2 over the first `rounds` rounds.
double LargestSquares(const RoundSchedule& schedule, int64_t rounds, int64_t most) {
  if (schedule.IsConstant()) return static_cast<double>(most);
  std::vector<double> squares;
  for (int64_t t = 0; t < rounds; ++t) {
    const double ratio = schedule.TermsOf(t).noise_per_clip();
    squares.push_back(1 / (ratio * ratio));
  }
  std::sort(squares.begin(), squares.end(), std::greater<>());
  return std::accumulate(squares.begin(), squares.begin() + most, 0.0);
}

}  // namespace

Turns operator+(const Turns& a, const Turns& b) {
  return {SaturatingSum(a.count, b.count), a.mu_squared + b.mu_squared,
          a.coordinates + b.coordinates, a.too_long + b.too_long};
}

Turns TurnIn(const Plan& plan, int64_t round) {
  plan.Validate();
  Require(round >= 0, "round", round, "at least 0");
  const double ratio = plan.schedule.TermsOf(round).noise_per_clip();
  return {1, FirstMuSquared(plan) / (ratio * ratio), CoordinatesOf(plan), plan.TooLong(1)};
}

Turns LimitOf(const Plan& plan) {
  plan.Validate();
  Require(plan.sampling == Sampling::kPasses, "sampling", Name(plan.sampling), "passes");
  const int64_t rounds = plan.LimitRounds();
  const int64_t charged = plan.ChargedRounds(rounds);
  return {plan.participations,
          FirstMuSquared(plan) * LargestSquares(plan.schedule, rounds, charged),
          CoordinatesOf(plan) * static_cast<double>(charged),
          plan.TooLong(1) * static_cast<double>(charged)};
}

Turns LifeLimit(double epsilon, double delta, const CertificateBounds& certificate) {
  RequirePositive(epsilon, "epsilon");
  RequireDelta(delta);
  Turns limit;
  limit.count = std::numeric_limits<int64_t>::max();
  const double mu = GdpMu(epsilon * (1 - kLifeEncoderShare), delta * (1 - 3 * kDeltaShare));
  limit.mu_squared = mu * mu;
  limit.too_long = kDeltaShare * delta / DeltaOfOneLength(epsilon * (1 + kArithmeticMargin), 1, 1);
  constexpr double kMostCoordinates = 0x1p80;
  constexpr int kSteps = 60;
  double few = 0.0;  // logarithms to base 2
  double many = 80.0;
  const auto is_covered = [&](double log_coordinates) {
    const Turns turns = {1, limit.mu_squared, std::exp2(log_coordinates), limit.too_long};
    return GuaranteeOf(turns, delta, certificate).epsilon <= epsilon;
  };
  if (!is_covered(few)) return limit;
  limit.coordinates = kMostCoordinates;
  if (is_covered(many)) return limit;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (few + many) / 2;
    (is_covered(middle) ? few : many) = middle;
  }
  limit.coordinates = std::exp2(few);
  return limit;
}

bool HasRoom(const Turns& used, const Turns& turn, const Turns& limit) {
  const Turns after = used + turn;
  return after.count <= limit.count &&
         after.mu_squared <= limit.mu_squared * (1 + kArithmeticMargin) &&
         after.coordinates <= limit.coordinates &&
         after.too_long <= limit.too_long * (1 + kArithmeticMargin);
}

Guarantee GuaranteeOf(const Turns& turns, double delta, const CertificateBounds& certificate) {
  Require(turns.mu_squared >= 0, "mu^2", turns.mu_squared, "at least 0");
  RequireDelta(delta);
  if (turns.mu_squared == 0) return {};
  Deviations deviations;
  deviations.certificate = certificate;
  deviations.coordinates = turns.coordinates;
  if (turns.too_long > 0) {
    deviations.log_too_long = std::log(turns.too_long * (1 + kArithmeticMargin));
  }
  const double noise_multiplier = 1 / std::sqrt(turns.mu_squared * (1 + kArithmeticMargin));
  return StateGuarantee({{Sampling::kNone, noise_multiplier, 1.0, 1}}, delta, deviations);
}

int64_t DefaultCohort(int64_t devices) {
  constexpr int64_t kMost = 100;
  Require(devices >= 1, "devices", devices, "at least 1");
  return std::min(kMost, devices - devices / 2);
}

int64_t ParticipationsFor(int64_t rounds, int64_t cohort, int64_t devices) {
  RequireCounts(rounds, "rounds", cohort, devices);
  return (rounds * cohort - 1) / devices + 1;
}

int64_t RoundsFor(int64_t participations, int64_t cohort, int64_t devices) {
  RequireCounts(participations, "participations", cohort, devices);
  return participations * devices / cohort;
}

// The condition is concave in T and holds at 0, so it holds up to the largest T.
int64_t RoundsForOwners(const std::vector<int64_t>& devices_of, int64_t participations,
                        int64_t cohort) {
  const int64_t devices = std::accumulate(devices_of.begin(), devices_of.end(), int64_t{0});
  if (devices < cohort) return 0;
  int64_t few = 0;
  int64_t many = RoundsFor(participations, cohort, devices) + 1;
  while (many - few > 1) {
    const int64_t rounds = few + (many - few) / 2;
    int64_t turns = 0;
    for (const int64_t count : devices_of) turns += std::min(rounds, participations * count);
    (turns >= rounds * cohort ? few : many) = rounds;
  }
  return few;
}

double SignalToNoise(double mu, int64_t devices, int64_t cohort, int64_t dimension) {
  Require(mu > 0, "mu", mu, "above 0");
  RequireCounts(dimension, "dimension", cohort, devices);
  return mu / 2 *
         std::sqrt(static_cast<double>(devices) * static_cast<double>(cohort) /
                   static_cast<double>(dimension));
}

double DevicesTimesCohortFor(double ratio, double mu, int64_t dimension) {
  RequirePositive(ratio, "ratio");
  RequirePositive(mu, "mu");
  Require(dimension >= 1, "dimension", dimension, "at least 1");
  const double per_mu = 2 * ratio / mu;
  return per_mu * per_mu * static_cast<double>(dimension);
}

double OwnerMu(double mu, int64_t devices, bool may_share_cohorts) {
  Require(mu >= 0, "mu", mu, "at least 0");
  Require(devices >= 1, "devices", devices, "at least 1");
  const auto count = static_cast<double>(devices);
  return mu * (may_share_cohorts ? count : std::sqrt(count));
}

}  // namespace sotto::privacy
