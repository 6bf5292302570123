#include "sotto/update_codec.h"

#include "sotto/bytes.h"
#include "sotto/quantizer.h"

namespace sotto {
namespace lrq {

int32_t ScaleBoundQ20(uint8_t code) {
  if (code == 0) return 0;
  // floor(2^(i/4) * 2^30)
  constexpr uint32_t kQuarterOctaves[4] = {1073741824, 1276901416, 1518500249, 1805811301};
  const int quarter = code - 1;
  return static_cast<int32_t>(kQuarterOctaves[quarter & 3] >> (30 - (quarter >> 2)));
}

uint8_t ScaleCodeFor(int32_t max_value_q20) {
  uint8_t code = 0;
  while (ScaleBoundQ20(code) < max_value_q20) ++code;
  return code;
}

int FixedCodeBits(uint8_t scale_code, DitherKind kind) {
  const uint64_t width_q27 = uint64_t{256} * static_cast<uint32_t>(ScaleBoundQ20(scale_code));
  const uint64_t step = kind == DitherKind::kUniform ? kUniformStepQ27 : kMinStepQ27;
  int bits = 0;
  while (((uint64_t{1} << bits) - 1) * step < width_q27) ++bits;
  return bits;
}

size_t FixedCodeSize(uint32_t coordinates, uint8_t scale_code, DitherKind kind) {
  const uint64_t bits = static_cast<uint64_t>(coordinates) * FixedCodeBits(scale_code, kind);
  return static_cast<size_t>(1 + (bits + 7) / 8);
}

}  // namespace lrq

namespace {

// The smallest and the largest integer of values in [-bound, bound].
Status CodeRange(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t bound_q20,
                 int32_t* smallest, int32_t* largest) {
  if (Status s = Quantize(dither, j, cell, -bound_q20, smallest); s != Status::kOk) return s;
  return Quantize(dither, j, cell, bound_q20, largest);
}

}  // namespace

void DitherCursor::Reset(const Key& round_key, DitherKind kind) {
  Wipe();
  dither_ = Dither(round_key, kind);
}

void DitherCursor::Wipe() {
  dither_ = Dither(Key(), DitherKind::kGaussian);
  batch_ = kNone;
  SecureWipe(cells_, sizeof(cells_));
}

Status DitherCursor::Seek(uint32_t j, const DitherCell** cell) {
  if (j / kDitherBatch != batch_) {
    batch_ = kNone;
    const uint32_t first = j - j % kDitherBatch;
    if (Status s = dither_.Generate(first, cells_); s != Status::kOk) return s;
    batch_ = j / kDitherBatch;
  }
  *cell = &cells_[j % kDitherBatch];
  return Status::kOk;
}

Status UpdateEncoder::Begin(const Key& round_key, DitherKind kind, Span<const float> update,
                            float clip_l2, float unit) {
  if (Status s = ComputeUpdateScale(update, clip_l2, unit, &scale_); s != Status::kOk) return s;
  cursor_.Reset(round_key, kind);
  kind_ = kind;
  update_ = update;
  scale_code_ = lrq::ScaleCodeFor(scale_.max_value_q20);
  bound_q20_ = lrq::ScaleBoundQ20(scale_code_);
  bits_ = lrq::FixedCodeBits(scale_code_, kind_);
  return Seek(0);
}

void UpdateEncoder::Wipe() {
  cursor_.Wipe();
  update_ = {};
  pending_ = 0;
}

Status UpdateEncoder::Seek(size_t offset) {
  if (update_.empty()) return Status::kWrongState;
  if (offset > size()) return Status::kInvalidArgument;
  position_ = 0;
  next_ = 0;
  pending_ = 0;
  pending_bits_ = 0;
  uint8_t discarded;
  while (position_ < offset) {
    if (Status s = NextByte(&discarded); s != Status::kOk) return s;
  }
  return Status::kOk;
}

Status UpdateEncoder::Read(MutableByteSpan out, size_t* written) {
  if (update_.empty()) return Status::kWrongState;
  const size_t left = size() - position_;
  const size_t count = out.size() < left ? out.size() : left;
  for (size_t i = 0; i < count; ++i) {
    if (Status s = NextByte(&out[i]); s != Status::kOk) return s;
  }
  *written = count;
  return Status::kOk;
}

Status UpdateEncoder::NextByte(uint8_t* byte) {
  if (position_ == 0) {
    *byte = scale_code_;
  } else {
    while (pending_bits_ < 8 && next_ < coordinates()) {
      if (Status s = AppendCode(); s != Status::kOk) return s;
    }
    *byte = static_cast<uint8_t>(pending_);
    pending_ >>= 8;
    pending_bits_ -= 8;
  }
  ++position_;
  return Status::kOk;
}

Status UpdateEncoder::AppendCode() {
  static_assert(7 + lrq::kMaxCodeBits <= 32, "pending_ holds what is left of a byte and a code");
  const DitherCell* cell = nullptr;
  const uint32_t j = next_;
  if (Status s = cursor_.Seek(j, &cell); s != Status::kOk) return s;
  int32_t m = 0;
  int32_t smallest = 0;
  if (Status s = Quantize(cursor_.dither(), j, *cell, ScaleToQ20(update_[j], scale_), &m);
      s != Status::kOk) {
    return s;
  }
  if (Status s = Quantize(cursor_.dither(), j, *cell, -bound_q20_, &smallest); s != Status::kOk) {
    return s;
  }
  pending_ |= static_cast<uint32_t>(m - smallest) << pending_bits_;
  pending_bits_ += bits_;
  ++next_;
  return Status::kOk;
}

Status DecodeUpdate(const Key& round_key, DitherKind kind, ByteSpan encoded, Span<int32_t> noisy) {
  if (noisy.empty() || noisy.size() > kMaxParameters) return Status::kInvalidArgument;
  const auto coordinates = static_cast<uint32_t>(noisy.size());
  if (encoded.empty() || encoded[0] > lrq::kMaxScaleCode) return Status::kMalformed;
  if (encoded.size() != lrq::FixedCodeSize(coordinates, encoded[0], kind)) {
    return Status::kMalformed;
  }
  const int bits = lrq::FixedCodeBits(encoded[0], kind);
  const int32_t bound = lrq::ScaleBoundQ20(encoded[0]);
  const uint32_t mask = (uint32_t{1} << bits) - 1;

  DitherCursor cursor(round_key, kind);
  size_t position = 1;
  uint32_t pending = 0;
  int pending_bits = 0;
  for (uint32_t j = 0; j < coordinates; ++j) {
    for (; pending_bits < bits; pending_bits += 8) {
      pending |= static_cast<uint32_t>(encoded[position++]) << pending_bits;
    }
    const auto code = static_cast<int32_t>(pending & mask);
    pending >>= bits;
    pending_bits -= bits;

    const DitherCell* cell = nullptr;
    int32_t smallest = 0;
    int32_t largest = 0;
    if (Status s = cursor.Seek(j, &cell); s != Status::kOk) return s;
    if (Status s = CodeRange(cursor.dither(), j, *cell, bound, &smallest, &largest);
        s != Status::kOk) {
      return s;
    }
    if (code > largest - smallest) return Status::kMalformed;
    if (Status s = Dequantize(cursor.dither(), j, *cell, smallest + code, &noisy[j]);
        s != Status::kOk) {
      return s;
    }
  }
  return pending == 0 ? Status::kOk : Status::kMalformed;
}

}  // namespace sotto
