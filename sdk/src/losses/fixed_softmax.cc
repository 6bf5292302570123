// Softmax and cross-entropy in fixed point: of a single layer, and of any net.
#include "base/exact_arithmetic.h"
#include "nn/fixed_net_kernels.h"
#include "sotto/loss.h"

namespace sotto::nn {
namespace {

// The multiplier and the shift that turn e_i into e_i / sum_i e_i, in units of 2^-30.
struct Normaliser {
  uint64_t multiplier;  // below 2^32
  int shift;
};

// `sum` is in units of 2^-30 and at least 1. The divisor is its 32 leading bits: the bits left out
// are less than 2^-31 of it.
Normaliser MakeNormaliser(uint64_t sum) {
  const int zeros = CountLeadingZeros(sum);
  const uint64_t leading = (sum << zeros) >> 32;
  return {INT64_MAX / leading, 65 - zeros};
}

}  // namespace

int64_t FixedSoftmaxErrors(Span<float> scores, uint32_t label) {
  int32_t largest = Score::kMinRaw;
  for (const float& score : scores) {
    const int32_t raw = LoadRaw(&score);
    largest = raw > largest ? raw : largest;
  }
  const int64_t margin = int64_t{largest} - LoadRaw(&scores[label]);
  uint64_t sum = 0;
  for (float& score : scores) {
    const Error e = Exp(Score::FromRaw(LoadRaw(&score)) - Score::FromRaw(largest));
    sum += static_cast<uint64_t>(e.raw());
    StoreRaw(e.raw(), &score);
  }
  const Normaliser normaliser = MakeNormaliser(sum);
  for (float& score : scores) {
    const uint64_t product = static_cast<uint64_t>(LoadRaw(&score)) * normaliser.multiplier;
    StoreRaw(static_cast<int32_t>(product >> normaliser.shift), &score);
  }
  StoreRaw(LoadRaw(&scores[label]) - (1 << Error::kFractionBits), &scores[label]);
  return LogOfSum(sum).raw() + margin * (1 << (24 - Score::kFractionBits));
}

namespace internal {

float FixedSoftmaxNetErrors(Span<float> outputs, const Target& target) {
  constexpr int kOutputShift = Activation::kFractionBits - Score::kFractionBits;
  constexpr int kErrorShift = Error::kFractionBits - Delta::kFractionBits;
  FixedShift(outputs.data(), outputs.size(), kOutputShift, outputs.data());
  const int64_t loss = FixedSoftmaxErrors(outputs, target.label);
  FixedShift(outputs.data(), outputs.size(), kErrorShift, outputs.data());
  return static_cast<float>(loss) * 0x1p-24f;
}

}  // namespace internal
}  // namespace sotto::nn
