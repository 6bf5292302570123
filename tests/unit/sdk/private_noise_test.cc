// A device's own noise: the same in every pass, and bound to its seed.
#include "sotto/private_noise.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "sotto/quantizer.h"

namespace sotto {
namespace {

Key Seed(uint8_t number) {
  Key seed;
  seed.bytes[31] = number;
  return seed;
}

std::vector<int32_t> Generate(const PrivateNoise& noise, uint32_t first, size_t count) {
  std::vector<int32_t> values(count, 77);
  EXPECT_EQ(noise.Generate(first, {values.data(), values.size()}), Status::kOk);
  return values;
}

TEST(PrivateNoise, OfACoordinateIsTheSameInEveryPass) {
  const PrivateNoise noise(Seed(1), 1 << 20);
  const std::vector<int32_t> whole = Generate(noise, 0, 1000);
  EXPECT_EQ(Generate(noise, 0, 1000), whole);
  for (uint32_t first = 0; first < 1000; first += kDitherBatch) {
    const size_t count = std::min<size_t>(kDitherBatch, 1000 - first);
    EXPECT_EQ(Generate(noise, first, count),
              std::vector<int32_t>(whole.begin() + first,
                                   whole.begin() + first + static_cast<long>(count)));
  }
}

TEST(PrivateNoise, BelongsToItsSeed) {
  const std::vector<int32_t> a = Generate(PrivateNoise(Seed(1), 1 << 20), 0, 1000);
  const std::vector<int32_t> b = Generate(PrivateNoise(Seed(2), 1 << 20), 0, 1000);
  int equal = 0;
  for (size_t j = 0; j < a.size(); ++j) equal += a[j] == b[j] ? 1 : 0;
  EXPECT_LT(equal, 5);
}

// The correlation of two coordinates at a distance deviates by 1 / sqrt(n): 0.01; 6.2 of them at
// each of the ten distances: 6e-9.
TEST(PrivateNoise, OfOneCoordinateTellsNothingOfAnother) {
  constexpr uint32_t kDeviation = 1 << 22;
  const std::vector<int32_t> noise = Generate(PrivateNoise(Seed(3), kDeviation), 0, 10000);
  for (const size_t distance : {1, 2, 3, 8, 15, 16, 17, 32, 64, 256}) {
    double product = 0;
    for (size_t j = distance; j < noise.size(); ++j) {
      product += static_cast<double>(noise[j]) * noise[j - distance];
    }
    EXPECT_NEAR(product / kDeviation / kDeviation / 10000, 0, 0.062) << distance;
  }
}

TEST(PrivateNoise, OfDeviationZeroIsNone) {
  EXPECT_FALSE(PrivateNoise().is_on());
  EXPECT_EQ(Generate(PrivateNoise(Seed(1), 0), 0, 20), std::vector<int32_t>(20, 0));
}

TEST(PrivateNoise, BeginsWithABatch) {
  int32_t value = 0;
  EXPECT_EQ(PrivateNoise(Seed(1), 5).Generate(8, {&value, 1}), Status::kInvalidArgument);
}

TEST(AddPrivateNoise, IsCutOffAtTheFormatsLimit) {
  EXPECT_EQ(AddPrivateNoise(5, -7), -2);
  EXPECT_EQ(AddPrivateNoise(0, kMaxValueQ20), kMaxValueQ20);
  EXPECT_EQ(AddPrivateNoise(1, kMaxValueQ20), kMaxValueQ20);
  EXPECT_EQ(AddPrivateNoise(-1, -kMaxValueQ20), -kMaxValueQ20);
  EXPECT_EQ(AddPrivateNoise(1 << 27, INT32_MAX), kMaxValueQ20);
  EXPECT_EQ(AddPrivateNoise(-(1 << 27), -INT32_MAX), -kMaxValueQ20);
}

// Noise that int32 cannot hold was replaced by the nearest it can; the sum does not tell.
TEST(AddPrivateNoise, DoesNotSeeThatTheNoiseWasCutOffBefore) {
  constexpr auto kLargest = static_cast<int32_t>(kMaxPrivateClipInScales) * (1 << 20);
  EXPECT_EQ(AddPrivateNoise(-kLargest, INT32_MAX), kMaxValueQ20);
  EXPECT_EQ(AddPrivateNoise(kLargest, -INT32_MAX), -kMaxValueQ20);
}

}  // namespace
}  // namespace sotto
