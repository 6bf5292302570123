#include "base/exact_arithmetic.h"
#include "sotto/bytes.h"
#include "sotto/num.h"
#include "sotto/quantizer.h"
#include "sotto/update_codec.h"

namespace sotto {
namespace {

uint32_t Magnitude(int32_t value) {
  const auto bits = static_cast<uint32_t>(value);
  return value < 0 ? 0 - bits : bits;
}

}  // namespace

void BitPacker::Append(uint32_t value, int count) {
  bits_ |= value << count_;
  count_ += count;
}

uint8_t BitPacker::TakeByte() {
  const auto byte = static_cast<uint8_t>(bits_);
  bits_ >>= 8;
  count_ -= 8;
  return byte;
}

Status UpdateEncoder::Begin(const Key& round_key, const UpdateFormat& format,
                            Span<const float> update, float clip_l2, float quantizer_scale,
                            const ExtraCoordinates& extras, const PrivateNoise& private_noise) {
  if (format.coding == Coding::kFloat32 ||
      !format.CanCarry(Magnitude(extras[0]), Magnitude(extras[1]), private_noise.deviation_q20()) ||
      (private_noise.is_on() && extras.count() > 0)) {
    return Status::kInvalidArgument;
  }
  if (update.size() + extras.count() > kMaxParameters) return Status::kInvalidArgument;
  // Within this bound the noisy values almost never leave the format (private_noise.h).
  if (private_noise.is_on() && !(clip_l2 <= kMaxPrivateClipInScales * quantizer_scale)) {
    return Status::kInvalidArgument;
  }
  if (Status s = ComputeUpdateScale(update, clip_l2, quantizer_scale, &scale_); s != Status::kOk)
    return s;
  dither_ = Dither(round_key, format.dither, engine_);
  private_noise_ = private_noise;
  format_ = format;
  update_ = update;
  extras_ = extras;
  if (Status s = MeasureNoisyValues(); s != Status::kOk) {
    Wipe();
    return s;
  }
  ChooseScaleCode();
  Restart();
  return Status::kOk;
}

// v of the coordinates first, first + 1, ..., private noise included. At most kDitherBatch of them;
// `first` is a multiple of kDitherBatch.
Status UpdateEncoder::Values(size_t first, Span<int32_t> v_q20) const {
  const size_t left = first < update_.size() ? update_.size() - first : 0;
  const size_t count = v_q20.size() < left ? v_q20.size() : left;
  if (count > 0) ScaleAllToQ20(update_.subspan(first, count), scale_, v_q20.first(count));
  for (size_t i = count; i < v_q20.size(); ++i) v_q20[i] = extras_[first + i - update_.size()];
  if (!private_noise_.is_on()) return Status::kOk;
  int32_t noise_q20[kDitherBatch];
  WipeOnExit wipe(noise_q20);
  if (Status s = private_noise_.Generate(static_cast<uint32_t>(first), {noise_q20, v_q20.size()});
      s != Status::kOk) {
    return s;
  }
  for (size_t i = 0; i < v_q20.size(); ++i) v_q20[i] = AddPrivateNoise(v_q20[i], noise_q20[i]);
  return Status::kOk;
}

Status UpdateEncoder::MeasureNoisyValues() {
  if (!private_noise_.is_on()) return Status::kOk;
  // A square is below 2^61. Its lowest 21 bits are dropped, so that 2^24 squares add up in 64 bits.
  // This changes only a root mean square below 2^11, and there only the range code's first
  // estimates.
  constexpr int kDroppedBits = 21;
  uint64_t squares = 0;
  int32_t largest = 0;
  for (size_t first = 0; first < update_.size(); first += kDitherBatch) {
    int32_t values[kDitherBatch];
    const size_t left = update_.size() - first;
    const Span<int32_t> batch(values, left < kDitherBatch ? left : kDitherBatch);
    if (Status s = Values(first, batch); s != Status::kOk) return s;
    for (const int32_t v : batch) {
      const int64_t magnitude = v < 0 ? -static_cast<int64_t>(v) : v;
      squares += static_cast<uint64_t>(magnitude * magnitude) >> kDroppedBits;
      if (magnitude > largest) largest = static_cast<int32_t>(magnitude);
    }
  }
  scale_.max_value_q20 = largest;
  const uint64_t mean = Divide(squares, update_.size()).quotient << kDroppedBits;
  scale_.rms_q20 = static_cast<int32_t>(IntegerSqrt(mean));
  return Status::kOk;
}

void UpdateEncoder::ChooseScaleCode() {
  int32_t largest = scale_.max_value_q20;
  uint64_t extra_squares = 0;
  for (uint32_t i = 0; i < extras_.count(); ++i) {
    const auto extra = static_cast<int32_t>(Magnitude(extras_[i]));
    largest = extra > largest ? extra : largest;
    extra_squares += static_cast<uint64_t>(extra) * static_cast<uint64_t>(extra);
  }
  if (format_.coding == Coding::kFixed) {
    scale_code_ = lrq::ScaleCodeFor(largest);
    bits_ = lrq::FixedCodeBits(scale_code_, format_.dither);
    bound_q20_ = lrq::ScaleBoundQ20(scale_code_);
    return;
  }
  // All squares are at most 2^60. The update's mean square is not rescaled for the few coordinates
  // more: the difference is well below a percent.
  const auto rms = static_cast<uint64_t>(scale_.rms_q20);
  const uint64_t mean_square = rms * rms + Divide(extra_squares, coordinates()).quotient;
  const auto mean = static_cast<int32_t>(IntegerSqrt(mean_square));
  const int32_t typical = mean < largest ? mean : largest;
  scale_code_ = largest == 0 ? 0 : lrq::ScaleCodeFor(typical > 0 ? typical : 1);
}

void UpdateEncoder::Wipe() {
  dither_ = Dither();
  private_noise_ = PrivateNoise();
  SecureWipe(words_.data(), words_.size() * sizeof(words_[0]));
  update_ = {};
  extras_ = ExtraCoordinates();
  Restart();
}

void UpdateEncoder::Restart() {
  stage_ = Stage::kCoordinates;
  next_ = 0;
  quantized_ = {};
  position_ = 0;
  zeros_ = 0;
  header_taken_ = false;
  model_.Reset(scale_code_, format_.dither, format_.length == 0);
  range_ = RangeEncoder();
  packer_ = BitPacker();
}

Status UpdateEncoder::Seek(size_t offset) {
  if (update_.empty()) return Status::kWrongState;
  Restart();
  uint8_t discarded[16];
  while (position_ < offset) {
    const size_t left = offset - position_;
    size_t written = 0;
    const MutableByteSpan part(discarded, left < sizeof(discarded) ? left : sizeof(discarded));
    if (Status s = Read(part, &written); s != Status::kOk) return s;
    if (written < part.size()) return Status::kInvalidArgument;
  }
  return Status::kOk;
}

Status UpdateEncoder::FitsLength(bool* fits) {
  *fits = true;
  if (format_.length == 0) return Status::kOk;
  uint8_t discarded[16];
  for (size_t written = sizeof(discarded);
       written == sizeof(discarded) && position_ <= format_.length;) {
    if (Status s = Read(discarded, &written); s != Status::kOk) return s;
  }
  *fits = position_ <= format_.length;
  Restart();
  return Status::kOk;
}

Status UpdateEncoder::Read(MutableByteSpan out, size_t* written) {
  if (update_.empty()) return Status::kWrongState;
  *written = 0;
  // Continues until a byte waits that does not fit into `out`, so that is_done() is exact.
  for (;;) {
    *written += Take(out.subspan(*written));
    if (HasReady() || stage_ == Stage::kDone) return Status::kOk;
    if (Status s = EncodeMore(); s != Status::kOk) return s;
  }
}

bool UpdateEncoder::HasReady() const {
  return !header_taken_ || !range_.is_empty() || packer_.has_byte() || zeros_ > 0;
}

size_t UpdateEncoder::Take(MutableByteSpan out) {
  size_t count = 0;
  if (!header_taken_ && !out.empty()) {
    out[count++] = scale_code_;
    header_taken_ = true;
  }
  count += range_.Take(out.subspan(count));
  while (packer_.has_byte() && count < out.size()) out[count++] = packer_.TakeByte();
  for (; zeros_ > 0 && count < out.size(); --zeros_) out[count++] = 0;
  position_ += count;
  return count;
}

// Encodes the next coordinates or the end. No byte may be ready before the call.
Status UpdateEncoder::EncodeMore() {
  if (stage_ == Stage::kPadding) {
    zeros_ = static_cast<uint32_t>(format_.PaddedSize(position_) - position_);
    stage_ = Stage::kDone;
    return Status::kOk;
  }
  // Most coordinates give less than a byte: the loop continues until a byte is ready.
  while (scale_code_ != 0 && !(quantized_.empty() && next_ == coordinates())) {
    if (quantized_.empty()) {
      if (Status s = QuantizeBatch(); s != Status::kOk) return s;
    }
    CodeSome();
    if (HasReady()) return Status::kOk;
  }
  if (format_.coding == Coding::kRange && scale_code_ != 0) range_.Finish();
  packer_.FillLastByte();
  stage_ = Stage::kPadding;
  return Status::kOk;
}

// Codes quantized coordinates until a byte is ready or all are coded.
void UpdateEncoder::CodeSome() {
  if (format_.coding == Coding::kRange) {
    quantized_ = quantized_.subspan(model_.EncodeSome(quantized_, &range_));
    return;
  }
  for (; !quantized_.empty() && !packer_.has_byte(); quantized_ = quantized_.subspan(1)) {
    packer_.Append(static_cast<uint32_t>(IntegerOf(quantized_[0])), bits_);
  }
}

Status UpdateEncoder::QuantizeBatch() {
  const size_t left = coordinates() - next_;
  const Span<uint64_t> words = words_.first(left < words_.size() ? left : words_.size());
  if (Status s = dither_.Generate(next_, words); s != Status::kOk) return s;
  int32_t v_q20[kDitherBatch];
  for (size_t i = 0; i < words.size(); ++i) {
    if (i % kDitherBatch == 0) {
      const size_t count = words.size() - i < kDitherBatch ? words.size() - i : kDitherBatch;
      if (Status s = Values(next_ + i, {v_q20, count}); s != Status::kOk) return s;
    }
    const auto j = static_cast<uint32_t>(next_ + i);
    if (Status s = QuantizeCoordinate(j, v_q20[i % kDitherBatch], &words[i]); s != Status::kOk) {
      return s;
    }
  }
  next_ += static_cast<uint32_t>(words.size());
  quantized_ = words;
  return Status::kOk;
}

// Replaces `word`, word j of the dither, by the quantized coordinate: see WithInteger().
Status UpdateEncoder::QuantizeCoordinate(uint32_t j, int32_t v_q20, uint64_t* word) const {
  const bool is_range = format_.coding == Coding::kRange;
  if (is_range && IsZeroInEveryLayer(format_.dither, Dither::Fraction(*word), v_q20)) {
    *word = WithInteger(*word, 0);
    return Status::kOk;
  }
  DitherCell cell;
  int32_t m = 0;
  if (Status s = dither_.Select(j, *word, &cell); s != Status::kOk) return s;
  if (Status s = Quantize(dither_, j, cell, v_q20, &m); s != Status::kOk) return s;
  int32_t smallest = 0;  // the fixed-length code counts from here
  if (!is_range) {
    if (Status s = Quantize(dither_, j, cell, -bound_q20_, &smallest); s != Status::kOk) return s;
  }
  *word = WithInteger(*word, m - smallest);
  return Status::kOk;
}

}  // namespace sotto
