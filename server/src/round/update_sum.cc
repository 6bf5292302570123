#include "round/update_sum.h"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "aggregate/dither_engine.h"
#include "aggregate/parallel.h"
#include "sotto/bytes.h"
#include "sotto/key_labels.h"
#include "sotto/posix/check.h"
#include "sotto/posix/run_key.h"
#include "sotto/private_noise.h"
#include "sotto/update_codec.h"

namespace sotto::server {

UpdateSum::UpdateSum(const JobConfig& config, const UpdateChannel* channel, const TrainTask& task)
    : config_(config), channel_(channel), task_(task), sum_(config.coordinates()) {}

size_t UpdateSum::MaxUpdateSize() const {
  const uint32_t coordinates = config_.coordinates();
  return channel_ != nullptr ? channel_->MaxSize(coordinates)
                             : sotto::MaxUpdateSize(coordinates, task_.format);
}

bool UpdateSum::Add(const Device& owner, ByteSpan nonce, ByteSpan encoded) {
  if (config_.mechanism == Mechanism::kNone) return AddExact(encoded);
  std::vector<int32_t> noisy(config_.coordinates());
  const bool valid = Decode(owner, nonce, encoded, {noisy.data(), noisy.size()});
  if (valid) sum_.Add(Span<const int32_t>(noisy.data(), noisy.size()));
  SecureWipe(noisy.data(), noisy.size() * sizeof(noisy[0]));
  return valid;
}

bool UpdateSum::AddExact(ByteSpan encoded) {
  std::vector<int64_t> exact(config_.coordinates());
  if (encoded.size() != 4 * exact.size()) return false;
  const double unit = config_.SumUnit(task_.training.clip_l2);
  for (size_t j = 0; j < exact.size(); ++j) {
    const double value = FloatFromBits(LoadU32Le(encoded.data() + 4 * j)) / unit;
    if (!(std::fabs(value) < 0x1p41)) return false;  // above any clipped update, or NaN
    exact[j] = std::llrint(value);
  }
  sum_.Add(Span<const int64_t>(exact.data(), exact.size()));
  return true;
}

bool UpdateSum::Decode(const Device& owner, ByteSpan nonce, ByteSpan encoded,
                       Span<int32_t> noisy) const {
  if (channel_ != nullptr) return channel_->Decode(encoded, noisy);
  const ByteSpan id(reinterpret_cast<const uint8_t*>(owner.id.data()), owner.id.size());
  Key round_key;
  return DeriveRoundKey(owner.secret, {task_.job_id, id, task_.round, task_.attempt, nonce},
                        &round_key) == Status::kOk &&
         DecodeUpdate(round_key, task_.format, encoded, noisy, FastEngine()) == Status::kOk;
}

// What a device with nothing to say would have brought: a zero update under this key, decoded.
void UpdateSum::DrawNoise(const Key& key, Span<int32_t> noise) const {
  if (channel_ != nullptr) {
    const std::vector<int32_t> zeros(noise.size());
    const std::vector<uint8_t> encoded = channel_->Encode(key, {zeros.data(), zeros.size()});
    if (!channel_->Decode({encoded.data(), encoded.size()}, noise)) {
      throw std::logic_error("a channel does not decode what it encoded");
    }
    return;
  }
  const uint8_t zero_update[1] = {0};
  const UpdateFormat unpadded = {Coding::kRange, DitherKind::kGaussian, 0};
  posix::Check(DecodeUpdate(key, unpadded, zero_update, noise, FastEngine()),
               "topping the noise up");
}

void UpdateSum::TopUp(uint32_t missing, const Key& server_key) {
  ParallelFor(config_.threads, missing, [&](size_t i, int) {
    const auto number = static_cast<uint32_t>(i);
    std::vector<int32_t> noise(config_.coordinates());
    const Span<int32_t> view(noise.data(), noise.size());
    DrawNoise(posix::DeriveKey(server_key, key_label::kZero, task_.round, task_.attempt, number),
              view);
    sum_.Add(Span<const int32_t>(view));
    if (task_.private_noise_q20 != 0) {
      const Key seed =
          posix::DeriveKey(server_key, key_label::kZeroPrivate, task_.round, task_.attempt, number);
      posix::Check(PrivateNoise(seed, task_.private_noise_q20).Generate(0, view),
                   "topping the noise up");
      sum_.Add(Span<const int32_t>(view));
    }
    SecureWipe(noise.data(), noise.size() * sizeof(noise[0]));
  });
}

}  // namespace sotto::server
