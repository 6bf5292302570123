// One-vs-all in fixed point.
#include "base/exact_arithmetic.h"
#include "nn/fixed_net_kernels.h"
#include "sotto/loss.h"

namespace sotto::nn::internal {
namespace {

constexpr int64_t kOneQ30 = int64_t{1} << 30;

// e^-|y|, in units of 2^-30.
int32_t ExpOfMinus(int32_t y) {
  const int64_t magnitude = y < 0 ? -int64_t{y} : y;
  return Exp(Fixed<32, 20>::Round<Activation::kFractionBits>(-magnitude)).raw();
}

// 1 / (1 + e^-y), in units of 2^-30, for e = e^-|y|.
int64_t FixedLogistic(int32_t y, int32_t e) {
  const auto sum = static_cast<uint64_t>(kOneQ30 + e);
  const auto larger = static_cast<int64_t>(Divide(uint64_t{1} << 60, sum).quotient);
  return y < 0 ? kOneQ30 - larger : larger;
}

}  // namespace

// log(1 + e^y) = max(y, 0) + log(1 + e^-|y|).
float FixedOneVsAllErrors(Span<float> outputs, const Target& target) {
  const uint32_t positive = outputs.size() == 1 ? 1 - target.label : target.label;
  int64_t loss = 0;  // in units of 2^-24
  for (uint32_t k = 0; k < outputs.size(); ++k) {
    const int32_t y = LoadRaw(&outputs[k]);
    const int32_t e = ExpOfMinus(y);
    loss += (y > 0 ? y : 0) + LogOfSum(static_cast<uint64_t>(kOneQ30 + e)).raw();
    int64_t error = FixedLogistic(y, e);
    if (k == positive) {
      loss -= y;
      error -= kOneQ30;
    }
    StoreRaw(Delta::Round<30>(error).raw(), &outputs[k]);
  }
  return static_cast<float>(loss) * 0x1p-24f;
}

}  // namespace sotto::nn::internal
