// RDP of uniform cohorts: Theorems 9 and 27, and the moments B(l).

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "accounting/rdp.h"
#include "unit/csv.h"
#include "unit/privacy/figures.h"

namespace sotto::privacy {
namespace {

// B(l) by its binomial sum, where long double survives the cancellation.
long double AlternatingSum(long double z, int l) {
  long double sum = 0;
  long double choose = 1;
  for (int i = 0; i <= l; ++i) {
    sum += (i % 2 == 0 ? choose : -choose) * std::exp(i * (i - 1) / (2 * z * z));
    choose = choose * (l - i) / (i + 1);
  }
  return sum;
}

TEST(RatioMomentsTest, IntegralsEqualTheAlternatingSums) {
  for (const double z : {0.8, 1.0, 1.3, 1.7, 2.2}) {
    RatioMoments moments(z);
    for (int l = 2; l <= std::min<int>(8, static_cast<int>(moments.Last())); l += 2) {
      SCOPED_TRACE(testing::Message() << "z " << z << " l " << l);
      ExpectRelative(std::exp(moments.Log(l)), static_cast<double>(AlternatingSum(z, l)), 1e-12);
    }
  }
}

TEST(RatioMomentsTest, TheSecondMomentIsKnownInClosedForm) {
  for (const double z : {0.9, 3.0, 9.99, 10.01, 31.4, 1e3, 1e6, 1e150}) {
    RatioMoments moments(z);
    ExpectRelative(moments.Log(2), std::log(std::expm1(1 / (z * z))), 1e-14);
  }
}

TEST(RatioMomentsTest, WithMuchNoiseTheyAreTheGaussiansOwn) {
  // L - 1 is nearly x / z^2: B(l) is nearly (l - 1)!! / z^l.
  RatioMoments moments(1e12);
  double log_double_factorial = 0.0;
  for (int64_t l = 2; l <= moments.Last(); l += 2) {
    log_double_factorial += std::log(static_cast<double>(l - 1));
    const double expected = log_double_factorial - static_cast<double>(l) * std::log(1e12);
    EXPECT_NEAR(moments.Log(l), expected, 1e-9) << "l " << l;
  }
}

TEST(RatioMomentsTest, PastTheLastTheyAreOfNoUse) {
  for (const double z : {0.3, 1.0, 2.0, 4.0}) {
    RatioMoments moments(z);
    const auto l = static_cast<double>(moments.Last());
    EXPECT_GE(moments.Log(moments.Last()), l * (l - 1) / (2 * z * z) - std::log(2.0)) << "z " << z;
  }
}

TEST(UniformRdpTest, Theorem27MatchesEveryHighPrecisionValue) {
  size_t checked = 0;
  for (const std::vector<std::string>& row : ReadCsv("uniform_theorem27.csv")) {
    SCOPED_TRACE(testing::Message() << "z " << row[0] << " q " << row[1] << " order " << row[2]);
    const double rho = RdpUniformTheorem27(std::stod(row[0]), std::stod(row[1]), std::stod(row[2]));
    ExpectRelative(rho, std::stod(row[3]), 1e-12);
    ++checked;
  }
  EXPECT_EQ(checked, 12u * 4u * 11u);
}

TEST(UniformRdpTest, Theorem27IsNeverAboveTheorem9AndOftenBelow) {
  int below = 0;
  for (const double z : {0.3, 1.0, 3.0, 10.0, 100.0}) {
    for (const double q : {1e-4, 0.01, 0.2, 0.9}) {
      for (const double order : {1.5, 2.0, 3.0, 10.5, 100.0, 1000.0}) {
        const double theorem9 = RdpUniform(z, q, order);
        const double theorem27 = RdpUniformTheorem27(z, q, order);
        EXPECT_LE(theorem27, theorem9) << "z " << z << " q " << q << " order " << order;
        below += theorem27 < 0.999 * theorem9 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(below, 20);
}

TEST(UniformRdpTest, ExtremesStayFinitePositiveAndBelowTheUnsampledGaussian) {
  for (const double z : {0.3, 1.0, 9.9, 10.1, 100.0, 1e4}) {
    for (const double q : {1e-9, 1e-4, 0.5, 1.0}) {
      for (const double order : {1.0001, 2.0, 999.5, 1024.0, 2049.0, 5000.0}) {
        const double rho = RdpUniformTheorem27(z, q, order);
        EXPECT_GT(rho, 0) << "z " << z << " q " << q << " order " << order;
        EXPECT_LE(rho, RdpUnsampled(z, order));
      }
    }
  }
}

TEST(UniformRdpTest, TheOrderOfTheQuestionsChangesNoAnswer) {
  const std::vector<double> orders = {2.0, 17.5, 300.0, 3.0, 1.01, 40.0, 17.5};
  UniformRdp upward(12.0, 0.03, UniformTheorem::kTheorem27);
  std::vector<double> values;
  for (const double order : orders) values.push_back(upward(order));
  UniformRdp downward(12.0, 0.03, UniformTheorem::kTheorem27);
  for (size_t i = orders.size(); i-- > 0;) EXPECT_EQ(downward(orders[i]), values[i]);
}

TEST(UniformRdpTest, WithoutNoiseTheLossIsInfiniteUnlessNobodyTakesPart) {
  EXPECT_TRUE(std::isinf(RdpUniformTheorem27(0, 0.1, 2)));
  EXPECT_EQ(RdpUniformTheorem27(0, 0, 2), 0);
}

TEST(UniformRdpTest, BadArgumentsThrow) {
  for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(UniformRdp(bad, 0.1, UniformTheorem::kTheorem27), std::invalid_argument);
    EXPECT_THROW(UniformRdp(1, bad, UniformTheorem::kTheorem27), std::invalid_argument);
    EXPECT_THROW(RdpUniformTheorem27(1, 0.1, bad), std::invalid_argument);
  }
  EXPECT_THROW(RdpUniformTheorem27(1, 0.1, 1), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::privacy
