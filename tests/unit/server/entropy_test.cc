// Tests of the entropy of encoded updates, and of the range code against it. All samples are fixed
// by seeds.
#include "certificate/entropy.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

#include "sotto/update_codec.h"
#include "unit/csv.h"

namespace sotto::server {
namespace {

// lrq_entropy*.csv: the integral computed with 50 digits.
TEST(IntegerEntropy, AgreesWithTheIntegral) {
  int compared = 0;
  for (const char* file : {"lrq_entropy.csv", "lrq_entropy_small.csv"}) {
    for (const auto& row : ReadCsv(file)) {
      if (row[0] != "normal") continue;
      const double expected = std::stod(row[2]);
      EXPECT_NEAR(IntegerEntropy(Distribution::kNormal, std::stod(row[1])), expected,
                  1e-3 * expected)
          << "ratio " << row[1];
      ++compared;
    }
  }
  EXPECT_GE(compared, 8);
}

TEST(IntegerEntropy, OfALaplaceUpdateIsThatOfManySamples) {
  // -log2 P(M | dither) over 200,000 draws: deviation below 0.4 % of the mean; six of them.
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const double scale : {0.1, 2.0}) {
    double bits = 0;
    constexpr int kSamples = 200000;
    for (int i = 0; i < kSamples; ++i) {
      const double a = normal(random);
      const double b = normal(random);
      const double c = normal(random);
      const double r = std::sqrt(a * a + b * b + c * c);
      const double w = (r + std::sqrt(-2 * std::log1p(-std::exp(-r * r / 2)))) / scale;
      const double u = uniform(random);
      const double v = (u < 0.5 ? std::log(2 * u) : -std::log(2 - 2 * u)) / std::sqrt(2.0);
      const double offset = uniform(random);
      const double first = (std::floor(v / w + 1 - offset) - 1 + offset) * w;
      bits -= std::log2(Below(Distribution::kLaplace, first + w) -
                        Below(Distribution::kLaplace, first));
    }
    const double expected = IntegerEntropy(Distribution::kLaplace, scale);
    EXPECT_NEAR(bits / kSamples, expected, 0.03 * expected) << "scale " << scale;
  }
}

double MeanBits(Distribution distribution, double scale, uint32_t coordinates, int updates) {
  double bits = 0;
  for (int i = 0; i < updates; ++i) {
    std::mt19937_64 random(static_cast<uint64_t>(i));
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<float> update(coordinates);
    for (float& value : update) {
      const double u = uniform(random);
      const double laplace = (u < 0.5 ? std::log(2 * u) : -std::log(2 - 2 * u)) / std::sqrt(2.0);
      value = static_cast<float>(
          scale * (distribution == Distribution::kNormal ? normal(random) : laplace));
    }
    Key key;
    key.bytes[0] = static_cast<uint8_t>(i);
    const UpdateFormat format = {Coding::kRange, DitherKind::kGaussian, 0};
    UpdateEncoder encoder;
    EXPECT_EQ(encoder.Begin(key, format, {update.data(), update.size()}, kMaxClipInScales, 1.0f),
              Status::kOk);
    std::vector<uint8_t> bytes(MaxUpdateSize(coordinates, format));
    size_t size = 0;
    EXPECT_EQ(encoder.Read({bytes.data(), bytes.size()}, &size), Status::kOk);
    EXPECT_TRUE(encoder.is_done());
    bits += 8.0 * static_cast<double>(size);
  }
  return bits / updates;
}

// Header and end included. The samples are fixed by their seeds; the mean over them varies far less
// than the slack.
TEST(RangeCode, IsAFewPercentAboveTheEntropy) {
  for (const Distribution distribution : {Distribution::kNormal, Distribution::kLaplace}) {
    for (const double scale : {0.02, 0.05, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0}) {
      const double entropy = IntegerEntropy(distribution, scale);
      EXPECT_LE(MeanBits(distribution, scale, 100000, 2), 1.03 * entropy * 100000 + 8 * 24)
          << "scale " << scale;
      EXPECT_LE(MeanBits(distribution, scale, 7850, 10), 1.05 * entropy * 7850 + 8 * 16)
          << "scale " << scale;
    }
  }
}

}  // namespace
}  // namespace sotto::server
