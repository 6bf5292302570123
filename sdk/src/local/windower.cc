#include "base/exact_arithmetic.h"
#include "sotto/bytes.h"
#include "sotto/num.h"
#include "sotto/sample_log.h"

namespace sotto {
namespace {

constexpr float kLargestFloat = 3.40282347e38f;

// The nearest whole number, half away from zero.
//   least, most  what an element can be
int32_t Rounded(float value, int32_t least, int32_t most) {
  if (value <= static_cast<float>(least)) return least;
  if (value >= static_cast<float>(most)) return most;
  const auto whole = static_cast<int32_t>(value);
  const float rest = value - static_cast<float>(whole);
  return rest >= 0.5f ? whole + 1 : rest <= -0.5f ? whole - 1 : whole;
}

float Limited(float value) {
  if (value > kLargestFloat) return kLargestFloat;
  return value < -kLargestFloat ? -kLargestFloat : value;
}

//   quotient  of a value and the scale
void StoreElement(float quotient, SampleElement element, uint8_t* out) {
  if (element == SampleElement::kFloat32) return StoreU32Le(FloatBits(Limited(quotient)), out);
  if (element == SampleElement::kByte) {
    *out = static_cast<uint8_t>(Rounded(quotient, 0, 255));
    return;
  }
  const auto whole = static_cast<uint32_t>(Rounded(quotient, -32768, 32767));
  out[0] = static_cast<uint8_t>(whole);
  out[1] = static_cast<uint8_t>(whole >> 8);
}

}  // namespace

bool Windower::IsValid() const {
  const SampleLogConfig& config = log_->config();
  return axes_ > 0 && hop_ > 0 && config.Elements() > 0 && config.Elements() % axes_ == 0 &&
         memory_.size() == config.SampleBytes();
}

// The place behind the window's readings takes the reading, which is then like one that was pushed
// raw.
Status Windower::Push(Span<const float> values) {
  if (!IsValid() || values.size() != axes_) return Status::kInvalidArgument;
  const SampleLogConfig& config = log_->config();
  const bool may_be_missing = config.element == SampleElement::kFloat32;
  for (const float value : values) {
    const bool is_missing = value != value;
    if (!IsFinite(value) && !(is_missing && may_be_missing)) return Status::kNotFinite;
  }
  uint8_t* const reading = memory_.data() + filled_;
  for (size_t i = 0; i < values.size(); ++i) {
    StoreElement(values[i] / config.scale, config.element, reading + i * BytesOf(config.element));
  }
  return PushRaw({reading, ReadingBytes()});
}

Status Windower::PushRaw(ByteSpan reading) {
  if (!IsValid() || reading.size() != ReadingBytes()) return Status::kInvalidArgument;
  if (skip_ > 0) {
    --skip_;
    return Status::kOk;
  }
  __builtin_memmove(memory_.data() + filled_, reading.data(), reading.size());
  filled_ += reading.size();
  if (filled_ < memory_.size()) return Status::kOk;
  const Status status = log_->Append(memory_);
  const auto window = static_cast<uint32_t>(memory_.size() / ReadingBytes());
  const size_t kept = hop_ < window ? (window - hop_) * ReadingBytes() : 0;
  __builtin_memmove(memory_.data(), memory_.data() + filled_ - kept, kept);
  filled_ = kept;
  skip_ = hop_ > window ? hop_ - window : 0;
  return status;
}

}  // namespace sotto
