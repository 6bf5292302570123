#include "codec/own_codec.h"

#include <cmath>
#include <stdexcept>
#include <vector>

namespace sotto::server {

constexpr double kTwoPi = 6.283185307179586;

uint64_t RandomValues::Bits() {
  const uint64_t low = stream_.NextU32();
  return low | uint64_t{stream_.NextU32()} << 32;
}

double RandomValues::Uniform() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }

double RandomValues::Gaussian() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
  const double angle = kTwoPi * Uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

void RandomValues::Check() const {
  if (stream_.status() != Status::kOk) throw std::runtime_error("the keystream failed");
}

namespace baseline {

OwnUpdateCodec::OwnUpdateCodec(const OwnCodec& own, const TrainTask& task)
    : Baseline(task),
      coder_(own.make({task.round, static_cast<double>(task.training.clip_l2),
                       own.noise ? static_cast<double>(task.quantizer_scale) : 0.0})) {
  if (coder_ == nullptr) throw std::logic_error(std::string(own.name) + ": it made no coder");
}

std::vector<uint8_t> OwnUpdateCodec::Encode(const Key& key, Span<const int32_t> values) const {
  std::vector<double> update(values.size());
  for (size_t j = 0; j < update.size(); ++j) update[j] = values[j] * SumUnit();
  RandomValues random(key);
  std::vector<uint8_t> encoded = coder_->Encode({update.data(), update.size()}, random);
  random.Check();
  if (encoded.size() > MaxSize(static_cast<uint32_t>(values.size()))) {
    throw std::logic_error("a codec encoded an update to more bytes than its MaxSize() says");
  }
  return encoded;
}

bool OwnUpdateCodec::Decode(ByteSpan encoded, Span<int32_t> noisy) const {
  std::vector<double> update(noisy.size());
  if (!coder_->Decode(encoded, {update.data(), update.size()})) return false;
  for (size_t j = 0; j < update.size(); ++j) {
    const double units = update[j] / SumUnit();
    if (!(std::fabs(units) < 0x1p31 - 1)) return false;  // too large, or NaN
    noisy[j] = static_cast<int32_t>(std::lrint(units));
  }
  return true;
}

}  // namespace baseline
}  // namespace sotto::server
