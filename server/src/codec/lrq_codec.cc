#include "codec/lrq_codec.h"

#include <cmath>

#include "aggregate/dither_engine.h"
#include "codec/secret_values.h"
#include "codec/update_limit.h"
#include "sotto/key_labels.h"
#include "sotto/posix/check.h"
#include "sotto/posix/run_key.h"
#include "sotto/private_noise.h"
#include "sotto/update_codec.h"

namespace sotto::server {

size_t LrqCodec::MaxSize(uint32_t coordinates) const {
  return MaxUpdateSize(coordinates, task_.format);
}

double LrqCodec::SumUnit() const {
  return std::ldexp(static_cast<double>(task_.quantizer_scale), -20);
}

Verdict LrqCodec::Add(const UpdateOrigin& origin, ByteSpan encoded, Accumulator& sum) const {
  Key round_key;
  if (DeriveRoundKey(origin.secret,
                     {task_.job_id, origin.device_id, task_.round, task_.attempt, origin.nonce},
                     &round_key) != Status::kOk) {
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

}  // namespace sotto::server
