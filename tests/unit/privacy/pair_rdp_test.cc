// RDP of the pair that dominates a uniform cohort, and the filter that uses it.
#include "accounting/pair_rdp.h"

#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

#include "accounting/accountant.h"
#include "accounting/log_space.h"
#include "accounting/rdp.h"

namespace sotto::privacy {
namespace {

// Values by mpmath's quad, 25 digits: log1p(integral over x > 1/2 of
//   N(x; 0, z^2) e^l (e^((a-1) l) - 1) (1 - e^(-a l)), l = log1p(q expm1((x - 1/2) / z^2))) / (a -
//   1).
TEST(PairRdpTest, ItIsTheIntegral) {
  struct Row {
    double z, q, order, rho;
  };
  for (const Row& row :
       {Row{1, 0.05, 5, 0.022104669282487636}, Row{0.5625, 0.05, 2.2, 0.0885067939723164148},
        Row{2, 0.5, 20, 1.77965888383404862}, Row{0.25, 0.01, 1.5, 0.667691915444564496},
        Row{5, 0.001, 64, 1.51302828296122143e-6}, Row{1, 1e-6, 8, 1.16982926938344394e-11},
        Row{20, 0.5, 120, 0.0405223602861630305},
        Row{1, 1e-9, 1 + 0x1p-16, 1.4623159491894981e-18}}) {
    EXPECT_NEAR(RdpReplacePair(row.z, row.q, row.order), row.rho, 1e-11 * row.rho);
  }
}

TEST(PairRdpTest, ItIsTheUnsampledGaussianOutOfReachAndNeverAboveIt) {
  for (const double z : {0.01, 0.3, 1.0, 40.0}) {
    for (const double order : {1.001, 2.0, 17.5, 4000.0}) {
      const double unsampled = RdpUnsampled(z, order);
      EXPECT_EQ(RdpReplacePair(z, 1, order), unsampled);
      EXPECT_EQ(RdpReplacePair(z, 1e-10, order), unsampled);
      EXPECT_EQ(RdpReplacePair(z, 0, order), 0);
      double before = 0;
      for (const double rate : {1e-6, 1e-3, 0.02, 0.5, 0.999}) {
        const double rho = RdpReplacePair(z, rate, order);
        EXPECT_LE(rho, unsampled);
        EXPECT_GE(rho, before * (1 - 1e-11));
        before = order * rate > 64 ? 0 : rho;
      }
    }
  }
  EXPECT_EQ(RdpReplacePair(0, 0.1, 2), kInfinity);
  EXPECT_THROW(RdpReplacePair(1, 1.1, 2), std::invalid_argument);
  EXPECT_THROW(RdpReplacePair(1, 0.1, 1), std::invalid_argument);
  EXPECT_THROW(RdpReplacePair(-1, 0.1, 2), std::invalid_argument);
}

// The pair's own composition is the tightest that a filter could reach.
TEST(PairRdpTest, AFilterOfUniformCohortsIsCloseToTheirPairs) {
  const std::vector<GaussianRounds> rounds = {{Sampling::kUniform, 0.5625, 0.05, 30}};
  for (const double delta : {5e-4, 1e-5}) {
    const double pld = AccountFor(rounds, delta, Accountant("pld")).epsilon;
    const Accountant filter = Accountant::RdpFilter(BestFilterOrder(rounds, delta));
    const double filtered = AccountFor(rounds, delta, filter).epsilon;
    EXPECT_GT(filtered, pld);
    EXPECT_LT(filtered, 1.4 * pld);
    EXPECT_LT(filtered, 0.82 * AccountFor(rounds, delta, Accountant("rdp")).epsilon);
  }
}

TEST(PairRdpTest, AFilterOfUnsampledGaussiansIsExact) {
  const std::vector<GaussianRounds> known = {{Sampling::kNone, 3.0, 1.0, 7},
                                             {Sampling::kNone, 1.5, 1.0, 2}};
  const AccountedEpsilon exact = AccountFor(known, 1e-5, Accountant::GaussianFilter(5));
  EXPECT_EQ(exact.epsilon, AccountFor(known, 1e-5).epsilon);
  EXPECT_STREQ(exact.winner, "gaussian");
  EXPECT_GT(AccountFor(known, 1e-5, Accountant::RdpFilter(5)).epsilon, exact.epsilon);
  const std::vector<GaussianRounds> sampled = {known[0], {Sampling::kPoisson, 1.5, 0.1, 2}};
  EXPECT_EQ(AccountFor(sampled, 1e-5, Accountant::GaussianFilter(5)).epsilon,
            AccountFor(sampled, 1e-5, Accountant::RdpFilter(5)).epsilon);
  EXPECT_NE(Accountant::GaussianFilter(5), Accountant::RdpFilter(5));
}

}  // namespace
}  // namespace sotto::privacy
