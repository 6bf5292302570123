#include "codec/update_limit.h"

#include <cmath>

#include "plans/private_noise.h"

namespace sotto::server {
namespace {

// The integer at or above `value`. 0 <= value < 2^128.
Wide RoundUp(double value) {
  const double high = std::floor(std::ldexp(value, -64));
  Wide wide;
  wide.high = static_cast<uint64_t>(high);
  // A double of 2^64 or more has at most 53 bits, so the difference is exact.
  const double low = std::ceil(value - std::ldexp(high, 64));
  if (low >= 0x1p64) {
    ++wide.high;
  } else {
    wide.low = static_cast<uint64_t>(low);
  }
  return wide;
}

}  // namespace

UpdateBound BoundOf(const TrainTask& task, size_t coordinates) {
  UpdateBound bound;
  bound.max_squares_q40 = MaxSquaresQ40(task.training.clip_l2, task.quantizer_scale);
  bound.clip_bit_q20 = task.clip_bit_q20;
  bound.accuracy_q20 = task.accuracy_q20;
  if (task.private_noise_q20 != 0) {
    bound.max_squares_q40 = RoundUp(
        privacy::MaxNoisySquaresQ40(static_cast<double>(bound.max_squares_q40.low),
                                    static_cast<double>(coordinates), task.private_noise_q20));
  }
  return bound;
}

}  // namespace sotto::server
