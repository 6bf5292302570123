#include "codec/quantized_binomial.h"

#include <algorithm>
#include <bitset>
#include <cmath>

#include "codec/baseline.h"
#include "sotto/update_scale.h"

namespace sotto::server::baseline {
namespace {

constexpr int32_t kCoins = 64;  // m: one word of the keystream
constexpr int kStepBits = 18;   // a step is 2^18 in Q20: a quarter of the deviation

int32_t CountHeads(uint64_t coins) {
  return static_cast<int32_t>(std::bitset<kCoins>(coins).count());
}

// L: the least number of steps that is above every value. Values are in the box (update_scale.h).
int32_t LargestLevel(double clip_in_sigmas) {
  const double largest = std::min(clip_in_sigmas, static_cast<double>(kMaxClipInBox));
  return static_cast<int32_t>(std::floor(4 * largest)) + 1;
}

// The multiple of the step below or above the value, at random; its mean is the value.
int32_t RoundAtRandom(int32_t value, uint64_t random) {
  const auto fraction = static_cast<int32_t>(random >> (64 - kStepBits));
  return (value + fraction) >> kStepBits;
}

}  // namespace

QuantizedBinomial::QuantizedBinomial(const TrainTask& task)
    : Baseline(task),
      offset_(LargestLevel(static_cast<double>(task.training.clip_l2) / noise_sigma()) +
              kCoins / 2),
      bits_(BitsFor(static_cast<uint32_t>(2 * offset_))) {}

size_t QuantizedBinomial::MaxSize(uint32_t coordinates) const {
  return CodesSize(coordinates, bits_);
}

std::vector<uint8_t> QuantizedBinomial::Encode(const Key& key, Span<const int32_t> values) const {
  RandomValues random(key);
  std::vector<uint32_t> codes;
  for (const int32_t value : values) {
    const int32_t level = RoundAtRandom(value, random.Bits());
    const int32_t noise = CountHeads(random.Bits()) - kCoins / 2;
    codes.push_back(static_cast<uint32_t>(level + noise + offset_));
  }
  random.Check();
  std::vector<uint8_t> encoded;
  AppendCodes({codes.data(), codes.size()}, bits_, &encoded);
  return encoded;
}

bool QuantizedBinomial::Decode(ByteSpan encoded, Span<int32_t> noisy) const {
  std::vector<uint32_t> codes(noisy.size());
  if (!ReadCodes(encoded, bits_, {codes.data(), codes.size()})) return false;
  for (size_t j = 0; j < noisy.size(); ++j) {
    if (codes[j] > static_cast<uint32_t>(2 * offset_)) return false;
    noisy[j] = (static_cast<int32_t>(codes[j]) - offset_) * (1 << kStepBits);
  }
  return true;
}

}  // namespace sotto::server::baseline
