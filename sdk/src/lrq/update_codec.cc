#include "sotto/update_codec.h"

#include "sotto/bytes.h"
#include "sotto/num.h"
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

// Bytes that a range code of d coordinates stays below: float32 and what a few need more.
constexpr size_t kRangeSlack = 64;

size_t Pad(size_t size, uint32_t padding) {
  return padding == 0 ? size : (size + padding - 1) / padding * padding;
}

// The noisy values leave the format almost never.
bool IsInReach(const PrivateNoise& noise, const UpdateFormat& format, float clip_l2, float unit) {
  return format.dither == DitherKind::kGaussian && noise.deviation_q20() <= kMaxPrivateNoiseQ20 &&
         clip_l2 <= kMaxPrivateClipInUnits * unit;
}

}  // namespace

bool UpdateFormat::IsValid() const {
  const bool known_coding =
      coding == Coding::kRange || coding == Coding::kFixed || coding == Coding::kFloat32;
  const bool known_dither = dither == DitherKind::kGaussian || dither == DitherKind::kUniform;
  return known_coding && known_dither && padding <= kMaxPadding;
}

size_t MaxUpdateSize(uint32_t coordinates, const UpdateFormat& format) {
  const size_t exact = size_t{4} * coordinates;
  switch (format.coding) {
    case Coding::kFloat32:
      return exact;
    case Coding::kFixed:
      return Pad(lrq::FixedCodeSize(coordinates, lrq::kMaxScaleCode, format.dither),
                 format.padding);
    case Coding::kRange:
      break;
  }
  return Pad(exact + kRangeSlack, format.padding);
}

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
                            Span<const float> update, float clip_l2, float unit,
                            int32_t last_value_q20, const PrivateNoise& private_noise) {
  if (!format.IsValid() || format.coding == Coding::kFloat32) return Status::kInvalidArgument;
  if (last_value_q20 > kMaxValueQ20 || last_value_q20 < -kMaxValueQ20) {
    return Status::kInvalidArgument;
  }
  if (last_value_q20 != 0 && update.size() >= kMaxParameters) return Status::kInvalidArgument;
  if (private_noise.is_on() &&
      (last_value_q20 != 0 || !IsInReach(private_noise, format, clip_l2, unit))) {
    return Status::kInvalidArgument;
  }
  if (Status s = ComputeUpdateScale(update, clip_l2, unit, &scale_); s != Status::kOk) return s;
  dither_ = Dither(round_key, format.dither, engine_);
  private_noise_ = private_noise;
  format_ = format;
  update_ = update;
  last_value_q20_ = last_value_q20;
  if (Status s = MeasureNoisyValues(); s != Status::kOk) {
    Wipe();
    return s;
  }
  ChooseScaleCode();
  Restart();
  return Status::kOk;
}

// v of the coordinates first, first + 1, ..., private noise included: at most kDitherBatch, and
// `first` is a multiple of that.
Status UpdateEncoder::Values(size_t first, Span<int32_t> v_q20) const {
  const size_t left = update_.size() - first;
  const size_t count = v_q20.size() < left ? v_q20.size() : left;
  ScaleAllToQ20(update_.subspan(first, count), scale_, v_q20.first(count));
  if (count < v_q20.size()) v_q20[count] = last_value_q20_;
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
  // Of a square below 2^61 the lowest 21 bits are dropped, so that 2^24 of them add up in 64: that
  // matters to a root mean square below 2^11, and only to where the range code starts to learn.
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
  const int32_t last = last_value_q20_ < 0 ? -last_value_q20_ : last_value_q20_;
  const int32_t largest = last > scale_.max_value_q20 ? last : scale_.max_value_q20;
  if (format_.coding == Coding::kFixed) {
    scale_code_ = lrq::ScaleCodeFor(largest);
    bits_ = lrq::FixedCodeBits(scale_code_, format_.dither);
    bound_q20_ = lrq::ScaleBoundQ20(scale_code_);
    return;
  }
  // Both squares are at most 2^60. That the update's own mean counts fully is well below a percent.
  const auto rms = static_cast<uint64_t>(scale_.rms_q20);
  const auto last_square = static_cast<uint64_t>(last) * static_cast<uint64_t>(last);
  const uint64_t mean_square = rms * rms + Divide(last_square, coordinates()).quotient;
  const auto mean = static_cast<int32_t>(IntegerSqrt(mean_square));
  const int32_t typical = mean < largest ? mean : largest;
  scale_code_ = largest == 0 ? 0 : lrq::ScaleCodeFor(typical > 0 ? typical : 1);
}

void UpdateEncoder::Wipe() {
  dither_ = Dither();
  private_noise_ = PrivateNoise();
  SecureWipe(words_.data(), words_.size() * sizeof(words_[0]));
  update_ = {};
  last_value_q20_ = 0;
  Restart();
}

void UpdateEncoder::Restart() {
  stage_ = Stage::kCoordinates;
  next_ = 0;
  quantized_ = {};
  position_ = 0;
  zeros_ = 0;
  header_taken_ = false;
  model_.Reset(scale_code_, format_.dither);
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

Status UpdateEncoder::Read(MutableByteSpan out, size_t* written) {
  if (update_.empty()) return Status::kWrongState;
  *written = 0;
  // Goes on until a byte waits that does not fit, so that is_done() is exact.
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

// Encodes what comes next. Nothing is ready before.
Status UpdateEncoder::EncodeMore() {
  if (stage_ == Stage::kPadding) {
    zeros_ = static_cast<uint32_t>(Pad(position_, format_.padding) - position_);
    stage_ = Stage::kDone;
    return Status::kOk;
  }
  // Most coordinates give less than a byte: goes on until one is ready.
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

// Codes quantized coordinates until a byte is ready, or all.
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

// Leaves in `word`, word j of the dither, what is coded of the coordinate.
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

namespace {

// What is known of consecutive coordinates.
struct Batch {
  uint64_t words[kMaxDitherBatch];
  DitherCell cells[kMaxDitherBatch];
  int32_t integers[kMaxDitherBatch];
};

// Reads the integers of an encoded update in their order.
class IntegerReader {
 public:
  // `code` is what follows the header byte.
  IntegerReader(const UpdateFormat& format, uint8_t scale_code, ByteSpan code)
      : format_(format),
        is_range_(format.coding == Coding::kRange && scale_code != 0),
        bound_q20_(lrq::ScaleBoundQ20(scale_code)),
        bits_(lrq::FixedCodeBits(scale_code, format.dither)),
        code_(code),
        range_(code) {
    model_.Reset(scale_code, format.dither);
  }

  // The integers of the next coordinates, whose words and cells the batch holds. kOk, kMalformed or
  // kCryptoFailed.
  Status Next(const Dither& dither, uint32_t first, uint32_t count, Batch* batch) {
    if (!is_range_) {
      if (Status s = QuantizeAll(dither, first, {batch->cells, count}, -bound_q20_,
                                 {batch->integers, count});
          s != Status::kOk) {
        return s;
      }
    }
    for (uint32_t i = 0; i < count; ++i) {
      const DitherCell& cell = batch->cells[i];
      int32_t* m = &batch->integers[i];
      const Status status = is_range_ ? NextRange(dither, first + i, batch->words[i], cell, m)
                                      : NextFixed(dither, first + i, cell, m);
      if (status != Status::kOk) return status;
    }
    return Status::kOk;
  }

  // True if only padding is left, and no more than there should be.
  bool AtEnd() const {
    const size_t used = format_.coding == Coding::kRange ? range_.position() : position_;
    for (size_t i = used; i < code_.size(); ++i) {
      if (code_[i] != 0) return false;
    }
    if (pending_ != 0) return false;
    const size_t total = code_.size() + 1;
    return total <= Pad(used + 1, format_.padding) && total == Pad(total, format_.padding);
  }

 private:
  Status NextRange(const Dither& dither, uint32_t j, uint64_t word, const DitherCell& cell,
                   int32_t* m) {
    if (!model_.Decode(Dither::Fraction(word), &range_, m)) return Status::kMalformed;
    if (*m >= -kAlwaysValid && *m <= kAlwaysValid) return Status::kOk;
    int32_t smallest = 0;
    if (Status s = Quantize(dither, j, cell, -kMaxValueQ20, &smallest); s != Status::kOk) return s;
    if (*m < smallest) return Status::kMalformed;
    return CheckIsAtMost(dither, j, cell, kMaxValueQ20, *m);
  }

  //   m  the smallest integer of values in [-A, A]; then the one that the code says
  Status NextFixed(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t* m) {
    for (; pending_bits_ < bits_; pending_bits_ += 8) {
      if (position_ == code_.size()) return Status::kMalformed;
      pending_ |= static_cast<uint32_t>(code_[position_++]) << pending_bits_;
    }
    *m += static_cast<int32_t>(pending_ & ((uint32_t{1} << bits_) - 1));
    pending_ >>= bits_;
    pending_bits_ -= bits_;
    return CheckIsAtMost(dither, j, cell, bound_q20_, *m);
  }

  // kMalformed if only values above the bound have the integer m.
  static Status CheckIsAtMost(const Dither& dither, uint32_t j, const DitherCell& cell,
                              int32_t bound_q20, int32_t m) {
    // m begins at (m - 1) w + s: no division where that is well below the bound.
    const int64_t begin = (static_cast<int64_t>(m) - 1) * cell.step_q27 + cell.offset_q27;
    if (begin + Dither::MaxCarry(cell) <= static_cast<int64_t>(bound_q20) << 7) return Status::kOk;
    int32_t largest = 0;
    if (Status s = Quantize(dither, j, cell, bound_q20, &largest); s != Status::kOk) return s;
    return m > largest ? Status::kMalformed : Status::kOk;
  }

  // Whatever the cell, values within the format's limit have all integers up to this.
  static constexpr int32_t kAlwaysValid =
      static_cast<int32_t>((static_cast<int64_t>(kMaxValueQ20) << 7) / kMaxStepQ27) - 1;

  UpdateFormat format_;
  bool is_range_;  // else fixed; an update of zeros has a fixed-length code of zero bits
  int32_t bound_q20_;
  int bits_;
  ByteSpan code_;
  size_t position_ = 0;
  uint32_t pending_ = 0;
  int pending_bits_ = 0;
  RangeDecoder range_;
  UpdateModel model_;
};

// The noisy values of coordinates first, first + 1, ....
Status DecodeBatch(const Dither& dither, uint32_t first, IntegerReader* reader, Batch* batch,
                   Span<int32_t> noisy) {
  const auto count = static_cast<uint32_t>(noisy.size());
  const Span<uint64_t> words(batch->words, count);
  const Span<DitherCell> cells(batch->cells, count);
  if (Status s = dither.Generate(first, words); s != Status::kOk) return s;
  if (Status s = dither.SelectAll(first, words, cells); s != Status::kOk) return s;
  if (Status s = reader->Next(dither, first, count, batch); s != Status::kOk) return s;
  return DequantizeAll(dither, first, cells, Span<const int32_t>(batch->integers, count), noisy);
}

}  // namespace

Status DecodeUpdate(const Key& round_key, const UpdateFormat& format, ByteSpan encoded,
                    Span<int32_t> noisy, const DitherEngine& engine) {
  if (noisy.empty() || noisy.size() > kMaxParameters) return Status::kInvalidArgument;
  if (!format.IsValid() || format.coding == Coding::kFloat32) return Status::kInvalidArgument;
  if (encoded.empty() || encoded[0] > lrq::kMaxScaleCode) return Status::kMalformed;
  const Dither dither(round_key, format.dither, engine);
  IntegerReader reader(format, encoded[0], encoded.subspan(1));
  Batch batch;
  WipeOnExit wipe(batch);
  for (uint32_t first = 0; first < noisy.size(); first += kMaxDitherBatch) {
    const size_t left = noisy.size() - first;
    const Span<int32_t> part =
        noisy.subspan(first, left < kMaxDitherBatch ? left : kMaxDitherBatch);
    if (Status s = DecodeBatch(dither, first, &reader, &batch, part); s != Status::kOk) return s;
  }
  return reader.AtEnd() ? Status::kOk : Status::kMalformed;
}

}  // namespace sotto
