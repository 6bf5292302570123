// Statistical tests of the baselines' noise, each over 2^18 coordinates under one fixed key, for
// values on and off the codec's lattice.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "codec/gaussian_float32.h"
#include "codec/quantized_binomial.h"
#include "codec/quantized_gaussian.h"
#include "sotto/bytes.h"

namespace sotto::server::baseline {
namespace {

constexpr size_t kCoordinates = size_t{1} << 18;

// In units of the noise's deviation: steps of bq are quarters.
constexpr double kValues[] = {0.0, 0.3, -1.125, 4.0};

Key FixedKey() {
  Key key;
  key.bytes[0] = 77;
  return key;
}

// Noise of this deviation, and a clipping bound of five.
TrainTask TaskOf(float noise_sigma) {
  TrainTask task;
  task.quantizer_scale = noise_sigma;
  task.training.clip_l2 = 5 * noise_sigma;
  return task;
}

// The noise that the codec adds to a coordinate of this value, in units of the noise's deviation.
std::vector<double> Errors(const Baseline& codec, double value) {
  const std::vector<int32_t> values(kCoordinates, static_cast<int32_t>(value * 0x1p20));
  const std::vector<uint8_t> encoded = codec.Encode(FixedKey(), {values.data(), values.size()});
  std::vector<int32_t> noisy(kCoordinates);
  EXPECT_TRUE(codec.Decode({encoded.data(), encoded.size()}, {noisy.data(), noisy.size()}));
  std::vector<double> errors;
  for (size_t j = 0; j < kCoordinates; ++j) {
    errors.push_back((static_cast<double>(noisy[j]) - values[j]) * 0x1p-20);
  }
  return errors;
}

// The estimate of the mean has deviation sqrt(variance / n). The estimate of the variance has at
// most deviation variance * sqrt(2 / n), for a kurtosis of at most 3. The test tolerates six
// deviations of each: false failures have probability 2e-9 on either side. A variance that is off
// by 2.4 % fails with the same certainty.
void ExpectMeanZeroAndVariance(const std::vector<double>& errors, double variance) {
  double sum = 0;
  double square = 0;
  for (const double error : errors) {
    sum += error;
    square += error * error;
  }
  const auto n = static_cast<double>(errors.size());
  EXPECT_NEAR(sum / n, 0, 6 * std::sqrt(variance / n));
  EXPECT_NEAR(square / n, variance, 6 * variance * std::sqrt(2 / n));
}

TEST(BaselineNoise, OfFloat32HasMeanZeroAndTheDeviation) {
  for (const double value : kValues) {
    ExpectMeanZeroAndVariance(Errors(GaussianFloat32(TaskOf(0.08F)), value), 1);
  }
}

// sqrt(n) D above 3.1 has probability 2 exp(-2 * 3.1^2) = 9e-9 at most.
TEST(BaselineNoise, OfFloat32IsGaussianAsFarAsSamplesTell) {
  std::vector<double> errors = Errors(GaussianFloat32(TaskOf(0.08F)), 0.3);
  std::sort(errors.begin(), errors.end());
  const auto n = static_cast<double>(errors.size());
  double distance = 0;
  for (size_t i = 0; i < errors.size(); ++i) {
    const double cdf = 0.5 * std::erfc(-errors[i] / std::sqrt(2.0));
    distance = std::max(
        {distance, cdf - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - cdf});
  }
  EXPECT_LT(std::sqrt(n) * distance, 3.1);
}

// The variance that random rounding adds to value + N(0, 1): the mean of (y - a)(b - y), where a
// and b are the levels around y.
double RoundingVariance(double value, double range, double step) {
  constexpr double kGrid = 1e-3;
  double sum = 0;
  for (double t = -9; t < 9; t += kGrid) {
    const double level = (value + t + range) / step;
    const double f = level - std::floor(level);
    sum += f * (1 - f) * std::exp(-t * t / 2);
  }
  return sum * kGrid * step * step / std::sqrt(2 * std::acos(-1.0));
}

TEST(BaselineNoise, OfQgIsTheGaussianAndTheRoundingsVariance) {
  for (const double value : kValues) {
    const std::vector<int32_t> values(kCoordinates, static_cast<int32_t>(value * 0x1p20));
    const std::vector<uint8_t> encoded =
        QuantizedGaussian(TaskOf(0.5F)).Encode(FixedKey(), {values.data(), values.size()});
    const uint32_t range_q20 = LoadU32Le(encoded.data());
    const double range = range_q20 * 0x1p-20;
    const double step = 2 * range / ((1 << QuantizerBits(range_q20)) - 1);
    const double rounding = RoundingVariance(value, range, step);
    EXPECT_GT(rounding, 0.1);
    ExpectMeanZeroAndVariance(Errors(QuantizedGaussian(TaskOf(0.5F)), value), 1 + rounding);
  }
}

// A value at the fraction f of a step adds f (1 - f) steps^2 by rounding.
TEST(BaselineNoise, OfBqIsTheBinomialsVarianceAndTheRoundings) {
  for (const double value : kValues) {
    const double f = 4 * value - std::floor(4 * value);
    ExpectMeanZeroAndVariance(Errors(QuantizedBinomial(TaskOf(0.5F)), value), 1 + f * (1 - f) / 16);
  }
}

}  // namespace
}  // namespace sotto::server::baseline
