// The asymptotic forms of the Gau-LRQ paper, for comparison only.
#include "published/asymptotic.h"

#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "accounting/conversion.h"
#include "plans/statement.h"

namespace sotto::privacy {
namespace {

// Nothing that is stated as a guarantee can be made from these figures by accident.
static_assert(!std::is_convertible_v<AsymptoticEpsilon, double>);
static_assert(!std::is_convertible_v<AsymptoticEpsilon, ConvertedEpsilon>);
static_assert(!std::is_convertible_v<AsymptoticEpsilon, Guarantee>);
static_assert(!std::is_convertible_v<AsymptoticEpsilon, Statement>);
static_assert(!std::is_convertible_v<AsymptoticNoise, double>);

const AsymptoticPlan kPlan = {0.5, 1920, 80, 1e-5};

std::vector<double> Scaled(std::vector<double> factors, double sigma) {
  for (double& factor : factors) factor *= sigma;
  return factors;
}

TEST(AsymptoticTest, ConstantNoiseIsLemma1) {
  const double expected = 2 * 0.5 * std::sqrt(300 * 80 * std::log(1e5)) / (1920 * 3.0);
  EXPECT_NEAR(AsymptoticConstantNoise(kPlan, 300, 3).sigma, expected, 1e-14 * expected);
}

TEST(AsymptoticTest, DynamicNoiseIsEquation17) {
  const double epsilon = 2.0;
  const double tau = 0.9;
  const double constant = AsymptoticConstantNoise(kPlan, 40, epsilon).sigma;
  const std::vector<double> sigmas = Scaled(DynamicNoiseFactors(40, tau), constant);
  double sum = 0.0;
  for (int i = 0; i < 40; ++i) sum += std::pow(tau, -i / 2.0);
  for (int k = 0; k < 40; ++k) {
    const double square = 4 * 0.5 * 0.5 * 80 * std::log(1e5) / (1920.0 * 1920 * epsilon * epsilon) *
                          sum * std::pow(tau, k / 2.0);
    EXPECT_NEAR(sigmas[static_cast<size_t>(k)], std::sqrt(square), 1e-13 * std::sqrt(square));
  }
}

TEST(AsymptoticTest, Lemma4GivesEverySchedulesEpsilonBack) {
  for (const double tau : {1.0, 0.985, 0.9, 0.5}) {
    const double constant = AsymptoticConstantNoise(kPlan, 200, 2.5).sigma;
    const std::vector<double> sigmas = Scaled(DynamicNoiseFactors(200, tau), constant);
    EXPECT_NEAR(AsymptoticEpsilonOf(kPlan, sigmas).value, 2.5, 1e-11) << "tau " << tau;
  }
}

TEST(AsymptoticTest, NoiseFallsFromRoundToRoundUnlessTauIsOne) {
  const std::vector<double> falling = DynamicNoiseFactors(50, 0.98);
  for (size_t k = 1; k < falling.size(); ++k) EXPECT_LT(falling[k], falling[k - 1]);
  for (const double factor : DynamicNoiseFactors(50, 1.0)) EXPECT_NEAR(factor, 1, 1e-14);
}

TEST(AsymptoticTest, TheFormulaIsNotAGuarantee) {
  // It states 3 where the accountant cannot get below 5.
  const AsymptoticPlan plan = {1.0, 1000, 50, 1e-5};
  const double sigma = AsymptoticConstantNoise(plan, 30, 3).sigma;
  const double z = sigma * std::sqrt(50.0) / 2;
  EXPECT_GT(Epsilon({{Sampling::kUniform, z, 0.05, 30}}, 1e-5).Guarantee(), 5);
}

TEST(AsymptoticTest, BadArgumentsThrow) {
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(AsymptoticConstantNoise({bad, 10, 5, 1e-5}, 1, 1), std::invalid_argument);
    EXPECT_THROW(AsymptoticConstantNoise({1, 10, 5, bad}, 1, 1), std::invalid_argument);
    EXPECT_THROW(AsymptoticConstantNoise(kPlan, 1, bad), std::invalid_argument);
    EXPECT_THROW(AsymptoticEpsilonOf(kPlan, {bad}), std::invalid_argument);
    EXPECT_THROW(DynamicNoiseFactors(10, bad), std::invalid_argument);
  }
  EXPECT_THROW(AsymptoticConstantNoise({1, 10, 11, 1e-5}, 1, 1), std::invalid_argument);
  EXPECT_THROW(AsymptoticConstantNoise({1, 10, 0, 1e-5}, 1, 1), std::invalid_argument);
  EXPECT_THROW(AsymptoticConstantNoise(kPlan, 0, 1), std::invalid_argument);
  EXPECT_THROW(AsymptoticEpsilonOf(kPlan, {}), std::invalid_argument);
  EXPECT_THROW(DynamicNoiseFactors(0, 0.9), std::invalid_argument);
  EXPECT_THROW(DynamicNoiseFactors(10, 1.1), std::invalid_argument);
  EXPECT_THROW(DynamicNoiseFactors(1000000, 0.1), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::privacy
