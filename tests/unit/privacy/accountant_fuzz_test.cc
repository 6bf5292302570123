// Random plans for every accountant: each answers, no figure is NaN, no upper bound is below a
// lower one, and more rounds never cost less. CTest's time limit finds a loop that does not end.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include "accounting/accountant.h"
#include "accounting/gdp.h"
#include "accounting/pld.h"
#include "unit/trials.h"

namespace sotto::privacy {
namespace {

using Rounds = std::vector<GaussianRounds>;

class RandomPlans {
 public:
  explicit RandomPlans(uint64_t seed) : random_(seed) {}

  double LogUniform(double low, double high) {
    const double log_low = std::log(low);
    return std::exp(log_low + Share() * (std::log(high) - log_low));
  }

  GaussianRounds Group(Sampling sampling) {
    GaussianRounds group;
    group.sampling = sampling;
    group.noise_multiplier = LogUniform(1e-3, 1e4);
    group.sampling_rate = Share() < 0.1 ? 1.0 : LogUniform(1e-7, 1);
    group.rounds = static_cast<int64_t>(LogUniform(1, 1e9));
    return group;
  }

  // One or two groups; unsampled rounds mix with either sampling.
  Rounds Plan() {
    const Sampling sampling = Share() < 0.5 ? Sampling::kPoisson : Sampling::kUniform;
    Rounds rounds = {Group(sampling)};
    if (Share() < 0.3) rounds.push_back(Group(Share() < 0.5 ? sampling : Sampling::kNone));
    return rounds;
  }

  double Delta() { return Share() < 0.1 ? 1 - LogUniform(1e-12, 0.5) : LogUniform(1e-12, 0.5); }

 private:
  double Share() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  std::mt19937_64 random_;
};

Rounds Twice(Rounds rounds) {
  for (GaussianRounds& group : rounds) group.rounds *= 2;
  return rounds;
}

testing::Message Describe(const Rounds& rounds, double delta) {
  testing::Message text;
  text << "delta " << delta;
  for (const GaussianRounds& r : rounds) {
    text << "; " << Name(r.sampling) << " z " << r.noise_multiplier << " q " << r.sampling_rate
         << " T " << r.rounds;
  }
  return text;
}

// The exact epsilon of one of the rounds, for Poisson sampling and for none.
double OneRound(const GaussianRounds& r, double delta) {
  const double q = r.sampling == Sampling::kNone ? 1.0 : r.sampling_rate;
  if (delta >= q) return 0;
  const double unsampled = GdpEpsilon(1 / r.noise_multiplier, delta / q);
  return unsampled > 700 ? unsampled + std::log(q) : std::log1p(q * std::expm1(unsampled));
}

double KnownLowerBound(const Rounds& rounds, double delta) {
  double lower = 0;
  for (const GaussianRounds& r : rounds) {
    if (r.sampling != Sampling::kUniform) lower = std::max(lower, OneRound(r, delta));
  }
  return lower;
}

void ExpectBounds(const Rounds& rounds, double delta) {
  SCOPED_TRACE(Describe(rounds, delta));
  double lower = KnownLowerBound(rounds, delta);
  std::vector<AccountedEpsilon> figures;
  for (const Accountant accountant : OfferedAccountants()) {
    figures.push_back(AccountFor(rounds, delta, accountant));
    lower = std::max(lower, figures.back().epsilon_lower.value_or(0.0));
  }
  for (const AccountedEpsilon& figure : figures) {
    EXPECT_FALSE(std::isnan(figure.epsilon)) << figure.winner;
    EXPECT_FALSE(std::isnan(figure.numeric_error)) << figure.winner;
    EXPECT_GE(figure.epsilon, 0) << figure.winner;
    if (figure.is_upper_bound) {
      EXPECT_GE(figure.epsilon, lower * (1 - 1e-9)) << figure.winner;
    }
  }
}

TEST(AccountantFuzzTest, NoUpperBoundIsBelowALowerBound) {
  RandomPlans plans(1);
  for (int i = 0; i < Trials(60); ++i) {
    const Rounds rounds = plans.Plan();
    ExpectBounds(rounds, plans.Delta());
  }
}

TEST(AccountantFuzzTest, MoreRoundsNeverCostLess) {
  RandomPlans plans(2);
  for (int i = 0; i < Trials(300); ++i) {
    const Rounds rounds = plans.Plan();
    const double delta = plans.Delta();
    SCOPED_TRACE(Describe(rounds, delta));
    const Accountant rdp("rdp");
    EXPECT_GE(AccountFor(Twice(rounds), delta, rdp).epsilon,
              AccountFor(rounds, delta, rdp).epsilon * (1 - 1e-9));
  }
  for (int i = 0; i < Trials(20); ++i) {
    const Rounds rounds = plans.Plan();
    const double delta = plans.Delta();
    SCOPED_TRACE(Describe(rounds, delta));
    EXPECT_GE(Pld(Twice(rounds), delta).Epsilon(delta),
              Pld(rounds, delta).Epsilon(delta, Bound::kLower));
  }
}

// In each of these plans the step of the grid was NaN, and the discretisation never ended. The
// first three: the errors of the sampled masses, after so many rounds, exceed the loss. The others:
// every loss but a few rare ones is equal to the last bit, so its variance underflows.
TEST(AccountantFuzzTest, PlansWhoseStepWasNanHaveAFiniteFigure) {
  for (const double delta : {1e-5, 1e-6}) {
    for (const Rounds& rounds : {
             Rounds{{Sampling::kUniform, 1.0, 0.01, 120000}},
             Rounds{{Sampling::kUniform, 0.6, 0.001, 60000}},
             Rounds{{Sampling::kUniform, 2.0, 0.001, 3000000}},
             Rounds{{Sampling::kPoisson, 1.0 / 32, 0.01, 10}},
             Rounds{{Sampling::kPoisson, 0.033, 0.01, 100}},
             Rounds{{Sampling::kPoisson, 0.04, 0.001, 1000}},
             Rounds{{Sampling::kPoisson, 0.06, 0.05, 30}},
         }) {
      SCOPED_TRACE(Describe(rounds, delta));
      const Pld pld(rounds, delta);
      const double upper = pld.Epsilon(delta);
      EXPECT_LT(upper, 1e5);
      EXPECT_LE(upper, 1.01 * AccountFor(rounds, delta, Accountant("rdp")).epsilon);
      EXPECT_LE(pld.Epsilon(delta, Bound::kLower), upper);
      EXPECT_GE(upper, KnownLowerBound(rounds, delta) * (1 - 1e-9));
    }
  }
}

TEST(AccountantFuzzTest, NumbersOfRoundsDoNotOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const Rounds merged =
      Canonical({{Sampling::kPoisson, 1, 0.1, kMost}, {Sampling::kPoisson, 1, 0.1, kMost}});
  ASSERT_EQ(merged.size(), 1U);
  EXPECT_EQ(merged[0].rounds, kMost);
}

}  // namespace
}  // namespace sotto::privacy
