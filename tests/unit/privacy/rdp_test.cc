// RDP of one round, against independent values and limits.
#include "accounting/rdp.h"

#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

#include "unit/privacy/accountant_csv.h"
#include "unit/privacy/figures.h"

namespace sotto::privacy {
namespace {

const double kNan = std::nan("");

using Rho = double (*)(double noise_multiplier, double rate, double order);

size_t CheckRows(const char* mechanism, Rho rho) {
  size_t checked = 0;
  for (const AccountantRow& row : ReadAccountantRows(mechanism)) {
    if (row.quantity != "rdp") continue;
    SCOPED_TRACE(row.id);
    ExpectRelative(rho(row.noise_multipliers[0], row.rates[0], row.alpha), row.value, 1e-10);
    ++checked;
  }
  return checked;
}

TEST(RdpTest, PoissonMatchesEveryIndependentValue) {
  EXPECT_EQ(CheckRows("poisson_gaussian", RdpPoisson), 55u);
}

TEST(RdpTest, UniformByTheorem9MatchesEveryIndependentValue) {
  EXPECT_EQ(CheckRows("wor_gaussian_thm9", RdpUniform), 60u);
}

TEST(RdpTest, QuadratureEqualsTheBinomialSumAtIntegerOrders) {
  for (const double z : {0.05, 0.1, 0.3, 0.7, 1.0, 3.0, 20.0, 1000.0}) {
    for (const double q : {1e-9, 1e-6, 1e-3, 0.05, 0.5, 0.999}) {
      for (const int64_t order : {2, 3, 4, 7, 16, 64, 256, 1024}) {
        SCOPED_TRACE(testing::Message() << "z " << z << " q " << q << " order " << order);
        ExpectRelative(RdpPoisson(z, q, static_cast<double>(order)),
                       RdpPoissonBinomial(z, q, order), 1e-11);
      }
    }
  }
}

TEST(RdpTest, ValuesAreNeverNanNeverNegativeAndNeverAboveTheUnsampledGaussian) {
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
    for (const double z : {0.0, 5e-324, 1e-160, 1e-20, 1e-6, 1e-3, 0.004, 0.02, 0.3, 1e3, 1e200}) {
      for (const double q : {0.0, 1e-300, 1e-6, 0.3, 1 - 1e-16, 1.0}) {
        for (const double order : {1 + 1e-15, 1.00001, 1.5, 2.0, 63.5, 1024.0, 50000.5}) {
          SCOPED_TRACE(testing::Message()
                       << Name(sampling) << " z " << z << " q " << q << " order " << order);
          const double rho = Rdp(sampling, z, q, order);
          EXPECT_GE(rho, 0);  // false for NaN
          if (q > 0 && std::isfinite(rho)) {
            EXPECT_LE(rho, RdpUnsampled(z, order));
          }
        }
      }
    }
  }
}

TEST(RdpTest, ValuesStayFiniteAtHighOrdersAndLittleNoise) {
  EXPECT_TRUE(std::isfinite(RdpPoisson(0.02, 0.01, 1024)));
  EXPECT_TRUE(std::isfinite(RdpPoisson(0.1, 0.01, 1023.5)));
  EXPECT_TRUE(std::isfinite(RdpUniform(0.02, 0.01, 1024)));
}

TEST(RdpTest, WithoutNoiseTheLossIsInfiniteUnlessNobodyTakesPart) {
  EXPECT_EQ(RdpPoisson(0, 0.1, 2), kInf);
  EXPECT_EQ(RdpUniform(0, 0.1, 2), kInf);
  EXPECT_EQ(RdpUnsampled(0, 2), kInf);
  EXPECT_EQ(RdpPoisson(0, 0, 2), 0);
  EXPECT_EQ(RdpUniform(0, 0, 2), 0);
}

TEST(RdpTest, FullParticipationIsTheUnsampledGaussian) {
  for (const double order : {1.2, 2.0, 7.7}) {
    EXPECT_EQ(RdpPoisson(1.3, 1, order), order / (2 * 1.3 * 1.3));
    EXPECT_EQ(RdpUniform(1.3, 1, order), order / (2 * 1.3 * 1.3));
  }
}

TEST(RdpTest, CurvesRiseWithTheOrderAndTheRateAndFallWithTheNoise) {
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
    for (const double z : {0.4, 1.0, 5.0}) {
      for (const double q : {1e-4, 0.02, 0.4}) {
        for (const double order : {1.05, 1.9, 2.0, 3.3, 17.0, 80.5}) {
          const double rho = Rdp(sampling, z, q, order);
          const double rounding = 1e-11 * rho;
          EXPECT_GE(Rdp(sampling, z, q, order * 1.1), rho - rounding);
          EXPECT_GE(Rdp(sampling, z, q * 1.1, order), rho - rounding);
          EXPECT_LE(Rdp(sampling, z * 1.1, q, order), rho + rounding);
        }
      }
    }
  }
}

TEST(RdpTest, WhereQuadratureIsTooDearTheChordIsABoundAndExactAtIntegers) {
  const double z = 0.002;
  ExpectRelative(RdpPoisson(z, 0.3, 2), RdpPoissonBinomial(z, 0.3, 2), 1e-14);
  const double middle = 1.5 * RdpPoisson(z, 0.3, 2.5);
  EXPECT_GT(middle, 1.5 * RdpPoissonBinomial(z, 0.3, 2));
  EXPECT_LE(middle, 2 * RdpPoissonBinomial(z, 0.3, 3));
  EXPECT_LE(RdpPoisson(z, 0.3, 2.5), RdpUnsampled(z, 2.5));
}

TEST(RdpTest, RealOrdersOfUniformSamplingLieOnTheChord) {
  const double moment_at_4 = 3 * RdpUniform(1.1, 0.05, 4);
  const double moment_at_5 = 4 * RdpUniform(1.1, 0.05, 5);
  ExpectRelative(3.25 * RdpUniform(1.1, 0.05, 4.25), 0.75 * moment_at_4 + 0.25 * moment_at_5,
                 1e-14);
}

TEST(RdpTest, BadArgumentsThrow) {
  for (const double z : {-1.0, kNan, kInf}) {
    EXPECT_THROW(RdpPoisson(z, 0.1, 2), std::invalid_argument);
    EXPECT_THROW(RdpPoissonBinomial(z, 0.1, 2), std::invalid_argument);
    EXPECT_THROW(RdpUniform(z, 0.1, 2), std::invalid_argument);
    EXPECT_THROW(RdpUnsampled(z, 2), std::invalid_argument);
  }
  for (const double q : {-0.1, 1.1, kNan}) {
    EXPECT_THROW(RdpPoisson(1, q, 2), std::invalid_argument);
    EXPECT_THROW(RdpUniform(1, q, 2), std::invalid_argument);
  }
  for (const double order : {1.0, 0.0, -2.0, kNan, kInf}) {
    EXPECT_THROW(RdpPoisson(1, 0.1, order), std::invalid_argument);
    EXPECT_THROW(RdpUniform(1, 0.1, order), std::invalid_argument);
    EXPECT_THROW(RdpUnsampled(1, order), std::invalid_argument);
  }
}

TEST(RdpTest, AnErrorSaysWhatTheValueIsAndWhatIsAllowed) {
  try {
    RdpPoisson(1, 1.5, 2);
    FAIL() << "a rate of 1.5 was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "sampling rate is 1.5; it must be in [0, 1]");
  }
}

}  // namespace
}  // namespace sotto::privacy
