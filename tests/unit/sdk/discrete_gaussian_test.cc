// The sampler's distribution is the discrete Gaussian. Fixed seeds; a right sampler fails here with
// a probability of 1e-8 at most.
#include "sotto/discrete_gaussian.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "unit/trials.h"

namespace sotto {
namespace {

constexpr int kDraws = Trials(1000000);

Key TestKey(uint8_t number) {
  Key key;
  key.bytes[0] = number;
  key.bytes[1] = 0xd6;
  return key;
}

// 6.3 deviations of a frequency: 3e-10, two-sided.
void ExpectFrequency(double hits, double draws, double probability) {
  const double deviation = std::sqrt(draws * probability * (1 - probability));
  EXPECT_NEAR(hits, draws * probability, 6.3 * deviation) << probability;
}

TEST(DrawExpMinus, IsTrueWithExactlyThatProbability) {
  const uint32_t cases[][2] = {{1, 1},  {1, 2},    {3, 7},
                               {9, 10}, {1, 1000}, {0x7ffffffe, 0x7fffffff}};
  uint32_t stream = 0;
  for (const auto& [numerator, denominator] : cases) {
    RandomStream random(TestKey(1), stream++);
    int hits = 0;
    for (int i = 0; i < kDraws; ++i) hits += DrawExpMinus(numerator, denominator, &random) ? 1 : 0;
    ExpectFrequency(hits, kDraws, std::exp(-static_cast<double>(numerator) / denominator));
    EXPECT_EQ(random.status(), Status::kOk);
  }
}

TEST(DrawExpMinus, OfZeroIsAlwaysTrue) {
  RandomStream random(TestKey(1), 100);
  for (int i = 0; i < 10000; ++i) ASSERT_TRUE(DrawExpMinus(0, 1 + random.Below(100), &random));
}

// The statistic is beyond k + 2 sqrt(k x) + 2 x with probability e^-x at most (Laurent and Massart,
// "Adaptive estimation of a quadratic functional by model selection", 2000, Lemma 1); x = 21:
// 8e-10. Every cell is expected to be hit 200 times or more (with few trials 20).
void ExpectChiSquare(const std::vector<double>& counts, const std::vector<double>& expected) {
  double statistic = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    ASSERT_GE(expected[i], Trials(200)) << i;
    statistic += std::pow(counts[i] - expected[i], 2) / expected[i];
  }
  const auto freedom = static_cast<double>(counts.size() - 1);
  EXPECT_LT(statistic, freedom + 2 * std::sqrt(21 * freedom) + 42) << freedom << " degrees";
}

struct Sigma {
  uint32_t numerator;
  uint32_t denominator;
  double value() const { return static_cast<double>(numerator) / denominator; }
};

std::vector<int64_t> Draw(const Sigma& sigma, uint32_t stream) {
  RandomStream random(TestKey(2), stream);
  std::vector<int64_t> values;
  for (int i = 0; i < kDraws; ++i) {
    values.push_back(DrawDiscreteGaussian(sigma.numerator, sigma.denominator, &random));
  }
  EXPECT_EQ(random.status(), Status::kOk);
  return values;
}

// The cell of x: `width` integers each, and one beyond about 2.5 sigma on either side.
int64_t CellOf(int64_t x, int64_t width, int64_t last) {
  const int64_t cell = x >= 0 ? x / width : -((-x + width - 1) / width);
  return std::max(-last - 1, std::min(last, cell));
}

// Sums the probabilities of the integers one by one.
void ExpectDiscreteGaussian(const Sigma& sigma, uint32_t stream) {
  const double s = sigma.value();
  const int64_t width = std::max<int64_t>(1, std::llround(s / 8));
  const int64_t last =
      std::max<int64_t>(1, static_cast<int64_t>(2.5 * s / static_cast<double>(width)));
  const auto reach = static_cast<int64_t>(std::ceil(9 * s)) + 9;
  std::map<int64_t, double> expected;
  double total = 0;
  for (int64_t x = -reach; x <= reach; ++x) {
    const double weight = std::exp(-0.5 * std::pow(static_cast<double>(x) / s, 2));
    expected[CellOf(x, width, last)] += weight;
    total += weight;
  }
  std::map<int64_t, double> counts;
  for (const int64_t x : Draw(sigma, stream)) ++counts[CellOf(x, width, last)];
  std::vector<double> a;
  std::vector<double> b;
  for (const auto& [cell, weight] : expected) {
    a.push_back(counts[cell]);
    b.push_back(kDraws * weight / total);
  }
  ExpectChiSquare(a, b);
}

// From a deviation below the grid to one far above it.
TEST(DiscreteGaussian, HasTheProbabilitiesOfItsDefinition) {
  uint32_t stream = 0;
  for (const Sigma& sigma :
       {Sigma{1, 2}, Sigma{1, 1}, Sigma{33, 10}, Sigma{1000, 1}, Sigma{1000000, 1}}) {
    SCOPED_TRACE(sigma.value());
    ExpectDiscreteGaussian(sigma, stream++);
  }
}

// A coarse grid hidden below a large deviation would show in the low digits: they are uniform up to
// e^-(2 pi^2 10^12 / 256).
TEST(DiscreteGaussian, OfALargeDeviationUsesEveryInteger) {
  for (const uint32_t numerator : {1000000u, (1u << 26) - 1, 1u << 26}) {
    std::vector<double> counts(16);
    for (const int64_t x : Draw({numerator, 1}, 10 + numerator)) {
      ++counts[static_cast<size_t>(x & 15)];
    }
    ExpectChiSquare(counts, std::vector<double>(16, kDraws / 16.0));
  }
}

// Variance sigma^2, up to less than 1e-15 for sigma >= 2; its estimate deviates by sqrt(2 / n) of
// it. Six deviations of each: 4e-9 in all.
TEST(DiscreteGaussian, HasMeanZeroAndItsVariance) {
  for (const Sigma& sigma : {Sigma{5, 2}, Sigma{1u << 26, 1}, Sigma{0x7fffffff, 1}}) {
    double sum = 0;
    double squares = 0;
    for (const int64_t x : Draw(sigma, sigma.numerator)) {
      const double scaled = static_cast<double>(x) / sigma.value();
      sum += scaled;
      squares += scaled * scaled;
    }
    EXPECT_NEAR(sum / kDraws, 0, 6.3 / std::sqrt(kDraws));
    EXPECT_NEAR(squares / kDraws, 1, 6.3 * std::sqrt(2.0 / kDraws));
  }
}

}  // namespace
}  // namespace sotto
