#include "sotto/private_noise.h"

#include "sotto/discrete_gaussian.h"
#include "sotto/quantizer.h"

namespace sotto {
namespace {

int64_t CutOff(int64_t value, int64_t limit) {
  return value > limit ? limit : value < -limit ? -limit : value;
}

}  // namespace

Status PrivateNoise::Generate(uint32_t first, Span<int32_t> noise_q20) const {
  if (first % kDitherBatch != 0) return Status::kInvalidArgument;
  for (size_t begin = 0; begin < noise_q20.size(); begin += kDitherBatch) {
    const size_t left = noise_q20.size() - begin;
    RandomStream random(seed_, first / kDitherBatch + static_cast<uint32_t>(begin / kDitherBatch));
    for (int32_t& noise : noise_q20.subspan(begin, left < kDitherBatch ? left : kDitherBatch)) {
      const int64_t drawn = is_on() ? DrawDiscreteGaussian(deviation_q20_, 1, &random) : 0;
      noise = static_cast<int32_t>(CutOff(drawn, INT32_MAX));
    }
    if (random.status() != Status::kOk) return random.status();
  }
  return Status::kOk;
}

int32_t AddPrivateNoise(int32_t v_q20, int32_t noise_q20) {
  return static_cast<int32_t>(CutOff(static_cast<int64_t>(v_q20) + noise_q20, kMaxValueQ20));
}

}  // namespace sotto
