#include "codec/quantized_gaussian.h"

#include <algorithm>
#include <cmath>

#include "codec/baseline.h"
#include "sotto/bytes.h"
#include "sotto/dither.h"

namespace sotto::server::baseline {
namespace {

constexpr size_t kHeaderSize = 4;
constexpr uint32_t kMaxRangeQ20 = 0x7fffffff;

// 2^bits - 1 steps between the levels of [-range, range].
double StepQ20(uint32_t range_q20, int bits) {
  return std::ldexp(range_q20, 1) / ((1 << bits) - 1);
}

uint32_t RangeOf(Span<const double> noisy) {
  double largest = 1;
  for (const double value : noisy) largest = std::max(largest, std::fabs(value));
  return static_cast<uint32_t>(std::ceil(largest));
}

}  // namespace

int QuantizerBits(uint32_t range_q20) {
  // kMinStepQ27 is 2 sqrt(2 ln 2).
  const uint64_t width_q27 = uint64_t{2 * 128} * range_q20;
  const uint64_t least_steps = (width_q27 + kMinStepQ27 - 1) / kMinStepQ27;
  return BitsFor(static_cast<uint32_t>(least_steps));
}

size_t QuantizedGaussian::MaxSize(uint32_t coordinates) const {
  return kHeaderSize + CodesSize(coordinates, QuantizerBits(kMaxRangeQ20));
}

std::vector<uint8_t> QuantizedGaussian::Encode(const Key& key, Span<const int32_t> values) const {
  RandomValues random(key);
  std::vector<double> noisy(values.size());
  std::vector<double> coins(values.size());
  for (size_t j = 0; j < values.size(); ++j) noisy[j] = values[j] + random.Gaussian() * 0x1p20;
  for (double& coin : coins) coin = random.Uniform();
  random.Check();
  return EncodeNoisy({noisy.data(), noisy.size()}, {coins.data(), coins.size()});
}

std::vector<uint8_t> QuantizedGaussian::EncodeNoisy(Span<const double> noisy,
                                                    Span<const double> coins) {
  const uint32_t range = RangeOf(noisy);
  const int bits = QuantizerBits(range);
  const double levels_per_unit = 1 / StepQ20(range, bits);
  const uint32_t last = (uint32_t{1} << bits) - 1;
  std::vector<uint32_t> levels(noisy.size());
  for (size_t j = 0; j < noisy.size(); ++j) {
    // The level is never negative, so the conversion rounds it down.
    const double level = (noisy[j] + range) * levels_per_unit + coins[j];
    levels[j] = std::min(static_cast<uint32_t>(level), last);
  }
  std::vector<uint8_t> encoded(kHeaderSize);
  encoded.reserve(kHeaderSize + CodesSize(levels.size(), bits));
  StoreU32Le(range, encoded.data());
  AppendCodes({levels.data(), levels.size()}, bits, &encoded);
  return encoded;
}

bool QuantizedGaussian::Decode(ByteSpan encoded, Span<int32_t> noisy) const {
  if (encoded.size() < kHeaderSize) return false;
  const uint32_t range = LoadU32Le(encoded.data());
  if (range == 0 || range > kMaxRangeQ20) return false;
  const int bits = QuantizerBits(range);
  std::vector<uint32_t> levels(noisy.size());
  if (!ReadCodes(encoded.subspan(kHeaderSize), bits, {levels.data(), levels.size()})) return false;
  const double step = StepQ20(range, bits);
  for (size_t j = 0; j < noisy.size(); ++j) {
    noisy[j] = static_cast<int32_t>(std::lrint(levels[j] * step - range));
  }
  return true;
}

}  // namespace sotto::server::baseline
