#include "sotto/bytes.h"
#include "sotto/quantizer.h"
#include "sotto/update_bound.h"
#include "sotto/update_codec.h"

namespace sotto {
namespace {

// Words, cells and integers of consecutive coordinates.
struct Batch {
  uint64_t words[kMaxDitherBatch];
  DitherCell cells[kMaxDitherBatch];
  int32_t integers[kMaxDitherBatch];
};

// Reads the integers of an encoded update in their order.
class IntegerReader {
 public:
  // `code` is the encoded update without its header byte.
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

  // True if only padding is left, and no more of it than the format prescribes.
  bool AtEnd() const {
    const size_t used = format_.coding == Coding::kRange ? range_.position() : position_;
    for (size_t i = used; i < code_.size(); ++i) {
      if (code_[i] != 0) return false;
    }
    if (pending_ != 0) return false;
    const size_t total = code_.size() + 1;
    return total <= format_.PaddedSize(used + 1) && total == format_.PaddedSize(total);
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

  //   m  in: the smallest integer of values in [-A, A]; out: the integer that the code holds
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
    // The values of m begin at (m - 1) w + s. If this is well below the bound, no division is
    // needed.
    const int64_t begin = (static_cast<int64_t>(m) - 1) * cell.step_q27 + cell.offset_q27;
    if (begin + Dither::MaxCarry(cell) <= static_cast<int64_t>(bound_q20) << 7) return Status::kOk;
    int32_t largest = 0;
    if (Status s = Quantize(dither, j, cell, bound_q20, &largest); s != Status::kOk) return s;
    return m > largest ? Status::kMalformed : Status::kOk;
  }

  // In every cell, every integer of at most this magnitude belongs to a value within the format's
  // limit.
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

// Holds the integers of an update against a bound, batch by batch. Null: there is none.
class BoundCheck {
 public:
  BoundCheck(const UpdateBound* bound, size_t coordinates)
      : bound_(bound),
        of_update_(static_cast<uint32_t>(coordinates - (bound == nullptr ? 0 : bound->extras()))) {}

  // The next coordinates, whose cells and integers the batch holds.
  Status Add(const Dither& dither, uint32_t first, uint32_t count, const Batch& batch) {
    if (bound_ == nullptr) return Status::kOk;
    const uint32_t left = first < of_update_ ? of_update_ - first : 0;
    const uint32_t of_update = count < left ? count : left;
    if (Status s = AddSquaredDistances(dither, first, {batch.cells, of_update},
                                       {batch.integers, of_update}, &squares_);
        s != Status::kOk) {
      return s;
    }
    for (uint32_t i = of_update; i < count; ++i) {
      const Status s = CheckExtra(dither, first + i, batch.cells[i], batch.integers[i]);
      if (s != Status::kOk && s != Status::kOutOfRange) return s;
      wrong_extra_ = wrong_extra_ || s == Status::kOutOfRange;
    }
    return Status::kOk;
  }

  bool IsKept() const {
    return bound_ == nullptr || (!wrong_extra_ && !bound_->max_squares_q40.IsBelow(squares_));
  }

 private:
  Status CheckExtra(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t m) const {
    const bool is_clip_bit = j == of_update_ && bound_->clip_bit_q20 != 0;
    return is_clip_bit ? CheckClipBit(dither, j, cell, m, bound_->clip_bit_q20)
                       : CheckAccuracy(dither, j, cell, m, bound_->accuracy_q20);
  }

  const UpdateBound* bound_;
  uint32_t of_update_;  // coordinates without the extra ones
  Wide squares_;
  bool wrong_extra_ = false;
};

}  // namespace

Status DecodeUpdate(const Key& round_key, const UpdateFormat& format, ByteSpan encoded,
                    Span<int32_t> noisy, const DitherEngine& engine, const UpdateBound* bound) {
  if (noisy.empty() || noisy.size() > kMaxParameters) return Status::kInvalidArgument;
  if (bound != nullptr && noisy.size() <= bound->extras()) return Status::kInvalidArgument;
  if (!format.IsValid() || format.coding == Coding::kFloat32) return Status::kInvalidArgument;
  if (encoded.empty() || encoded[0] > lrq::kMaxScaleCode) return Status::kMalformed;
  const Dither dither(round_key, format.dither, engine);
  IntegerReader reader(format, encoded[0], encoded.subspan(1));
  BoundCheck check(bound, noisy.size());
  WipeOnExit wipe_check(check);
  Batch batch;
  WipeOnExit wipe(batch);
  for (uint32_t first = 0; first < noisy.size(); first += kMaxDitherBatch) {
    const size_t left = noisy.size() - first;
    const Span<int32_t> part =
        noisy.subspan(first, left < kMaxDitherBatch ? left : kMaxDitherBatch);
    if (Status s = DecodeBatch(dither, first, &reader, &batch, part); s != Status::kOk) return s;
    if (Status s = check.Add(dither, first, static_cast<uint32_t>(part.size()), batch);
        s != Status::kOk) {
      return s;
    }
  }
  if (!reader.AtEnd()) return Status::kMalformed;
  return check.IsKept() ? Status::kOk : Status::kOutOfRange;
}

}  // namespace sotto
