#include "codec/lrq_codec.h"

#include <cmath>

#include "aggregate/dither_engine.h"
#include "codec/update_codec.h"
#include "plans/private_noise.h"
#include "sotto/key_labels.h"
#include "sotto/posix/check.h"
#include "sotto/posix/run_key.h"
#include "sotto/private_noise.h"
#include "sotto/update_codec.h"

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

size_t LrqCodec::MaxSize(uint32_t coordinates) const {
  return MaxUpdateSize(coordinates, task_.format);
}

double LrqCodec::SumUnit() const {
  return std::ldexp(static_cast<double>(task_.quantizer_scale), -20);
}

Verdict LrqCodec::Add(const UpdateOrigin& origin, ByteSpan encoded, Accumulator& sum) const {
  Key round_key;
  const UpdateIdentity identity = {task_.job_id,  origin.device_id, task_.round,
                                   task_.attempt, origin.nonce,     origin.salt};
  if (DeriveRoundKey(origin.secret, identity, &round_key) != Status::kOk) {
    return Verdict::kMalformed;
  }
  SecretValues noisy(sum.size());
  const UpdateBound bound = BoundOf(task_, sum.size());
  const Status status =
      DecodeUpdate(round_key, task_.format, encoded, noisy.view(), FastEngine(), &bound);
  if (status == Status::kOutOfRange) return Verdict::kBeyondBound;
  if (status != Status::kOk) return Verdict::kMalformed;
  sum.Add(Span<const int32_t>(noisy.view()));
  return Verdict::kAdded;
}

void LrqCodec::AddZeroUpdate(const Key& server_key, uint32_t number, Accumulator& sum) const {
  const uint8_t zero_update[1] = {0};
  const UpdateFormat unpadded = {Coding::kRange, task_.format.dither, 0};
  SecretValues noise(sum.size());
  const Key key =
      posix::DeriveKey(server_key, key_label::kZero, task_.round, task_.attempt, number);
  posix::Check(DecodeUpdate(key, unpadded, zero_update, noise.view(), FastEngine()),
               "topping the noise up");
  sum.Add(Span<const int32_t>(noise.view()));
  if (task_.private_noise_q20 == 0) return;
  const Key seed =
      posix::DeriveKey(server_key, key_label::kZeroPrivate, task_.round, task_.attempt, number);
  posix::Check(PrivateNoise(seed, task_.private_noise_q20).Generate(0, noise.view()),
               "topping the noise up");
  sum.Add(Span<const int32_t>(noise.view()));
}

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
