#include "sotto/bytes.h"
#include "sotto/decode_loops.h"
#include "sotto/quantizer.h"
#include "sotto/update_bound.h"
#include "sotto/update_codec.h"

namespace sotto {
namespace {

// Consecutive coordinates: their words, cells and integers, flags of them, and the coordinates that
// need a word of another stream.
struct Batch {
  uint32_t size;  // of the arrays
  uint64_t* words;
  DitherCell* cells;
  int32_t* integers;
  uint8_t* contexts;
  uint8_t* flags;
  uint8_t* away;
  uint32_t* scattered;  // coordinates of the update
  uint64_t* scattered_words;
};

template <uint32_t kSize>
struct BatchMemory {
  static_assert(kSize % kMaxDitherBatch == 0 && kMaxDitherBatch % 64 == 0);

  Batch View() {
    return {kSize, words, cells, integers, contexts, flags, away, scattered, scattered_words};
  }

  uint64_t words[kSize];
  DitherCell cells[kSize];
  uint64_t scattered_words[kSize];
  uint32_t scattered[kSize];
  int32_t integers[kSize];
  uint8_t contexts[kSize];
  uint8_t flags[kSize] = {};
  uint8_t away[kSize] = {};
};

constexpr bool kLittleEndian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

// Flags 0 to 7 as bits 0 to 7.
inline uint64_t EightFlags(const uint8_t* flags) {
  uint64_t bytes = 0;
  __builtin_memcpy(&bytes, flags, sizeof(bytes));
  if constexpr (!kLittleEndian) bytes = __builtin_bswap64(bytes);
  return bytes * 0x0102040810204080u >> 56;  // flag k goes to bit 56 + k
}

// Calls f(i) for every i < count with flags[i] = 1, until a call does not return kOk.
//   flags  readable up to the next multiple of 8
template <typename F>
Status ForEachFlagged(const uint8_t* flags, uint32_t count, F f) {
  for (uint32_t first = 0; first < count; first += 64) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < 64 && first + i < count; i += 8) {
      bits |= EightFlags(flags + first + i) << i;
    }
    const uint32_t left = count - first;
    if (left < 64) bits &= (uint64_t{1} << left) - 1;
    for (; bits != 0; bits &= bits - 1) {
      const auto i = static_cast<uint32_t>(__builtin_ctzll(bits));
      if (Status s = f(first + i); s != Status::kOk) return s;
    }
  }
  return Status::kOk;
}

// The dither of an update, many coordinates at once.
class BatchDither {
 public:
  BatchDither(const Key& key, DitherKind kind, const DecodeEngine& engine)
      : key_(key), kind_(kind), engine_(engine), dither_(key, kind, engine) {}

  const Dither& dither() const { return dither_; }
  const DecodeEngine& engine() const { return engine_; }

  // Words and cells of coordinates first, first + 1, ....
  Status Select(uint32_t first, uint32_t count, const Batch& batch) const {
    const Span<uint64_t> words(batch.words, count);
    const Span<DitherCell> cells(batch.cells, count);
    if (Status s = Generate(first, words); s != Status::kOk) return s;
    for (uint32_t done = 0; done < count; done += kMaxDitherBatch) {
      const uint32_t left = count - done;
      const uint32_t part = left < kMaxDitherBatch ? left : kMaxDitherBatch;
      const Span<const uint64_t> used = words.subspan(done, part);
      if (kind_ == DitherKind::kGaussian) {
        (engine_.cells != nullptr ? engine_.cells : lrq::ComputeCells)(used,
                                                                       cells.subspan(done, part));
      } else if (Status s = dither_.SelectAll(first + done, used, cells.subspan(done, part));
                 s != Status::kOk) {
        return s;
      }
    }
    return kind_ == DitherKind::kGaussian ? Extend(first, count, batch) : Status::kOk;
  }

  // The noisy values that the integers stand for.
  //   batch  also its flags `away` are written
  Status Dequantize(uint32_t first, Span<int32_t> noisy, const Batch& batch) const {
    const auto count = static_cast<uint32_t>(noisy.size());
    (engine_.points != nullptr ? engine_.points : lrq::PointsLoop)(
        {batch.cells, count}, batch.integers, noisy.data(), batch.flags, batch.away);
    uint32_t scattered = 0;
    if (Status s = Read(Dither::kOffsetStream, first, count, batch, &scattered); s != Status::kOk) {
      return s;
    }
    for (uint32_t k = 0; k < scattered; ++k) {
      const uint32_t i = batch.scattered[k] - first;
      noisy[i] = DequantizeAt(batch.cells[i], batch.integers[i],
                              Dither::OffsetWith(batch.cells[i], batch.scattered_words[k]));
    }
    return Status::kOk;
  }

 private:
  // Dither::Generate(), without the pass over bytes that already are words.
  Status Generate(uint32_t first, Span<uint64_t> words) const {
    if constexpr (!kLittleEndian) return dither_.Generate(first, words);
    return engine_.keystream(key_, 0, first / kWordsPerBlock,
                             {reinterpret_cast<uint8_t*>(words.data()), 8 * words.size()});
  }

  // Replaces the cells whose layers are extended.
  Status Extend(uint32_t first, uint32_t count, const Batch& batch) const {
    (engine_.extended != nullptr ? engine_.extended : lrq::ExtendedLoop)({batch.words, count},
                                                                         batch.flags);
    uint32_t scattered = 0;
    if (Status s = Read(Dither::kLayerStream, first, count, batch, &scattered); s != Status::kOk) {
      return s;
    }
    for (uint32_t k = 0; k < scattered; ++k) {
      const uint32_t i = batch.scattered[k] - first;
      batch.cells[i] = Dither::ExtendedCell(batch.words[i], batch.scattered_words[k]);
    }
    return Status::kOk;
  }

  // Reads the words of a stream that belong to the flagged coordinates.
  //   scattered  how many these are
  Status Read(uint32_t stream, uint32_t first, uint32_t count, const Batch& batch,
              uint32_t* scattered) const {
    uint32_t found = 0;
    const Status listed = ForEachFlagged(batch.flags, count, [&](uint32_t i) {
      batch.scattered[found++] = first + i;
      return Status::kOk;
    });
    *scattered = found;
    if (listed != Status::kOk || found == 0) return listed;
    const Span<const uint32_t> indices(batch.scattered, found);
    const Span<uint64_t> words(batch.scattered_words, found);
    return engine_.scattered != nullptr ? engine_.scattered(key_, stream, indices, words)
                                        : ReadEach(stream, indices, words);
  }

  Status ReadEach(uint32_t stream, Span<const uint32_t> indices, Span<uint64_t> words) const {
    uint8_t block[kChaChaBlockSize];
    WipeOnExit wipe(block);
    for (size_t k = 0; k < indices.size(); ++k) {
      const uint32_t at = indices[k] / kWordsPerBlock;
      const Status s = engine_.keystream(key_, stream, at, MutableByteSpan(block));
      if (s != Status::kOk) return s;
      words[k] = LoadU64Le(block + 8 * (indices[k] % kWordsPerBlock));
    }
    return Status::kOk;
  }

  static constexpr uint32_t kWordsPerBlock = kChaChaBlockSize / 8;

  const Key& key_;
  DitherKind kind_;
  const DecodeEngine& engine_;
  Dither dither_;
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
    model_.Reset(scale_code, format.dither, format.length == 0);
  }

  // The integers of the next coordinates, whose words and cells the batch holds. kOk, kMalformed or
  // kCryptoFailed.
  Status Next(const BatchDither& dither, uint32_t first, uint32_t count, const Batch& batch) {
    return is_range_ ? NextRange(dither, first, count, batch)
                     : NextFixed(dither, first, count, batch);
  }

  // True if only padding is left, and no more of it than the format prescribes.
  bool AtEnd() const {
    const size_t used = format_.coding == Coding::kRange ? range_.position() : position_;
    for (size_t i = used; i < code_.size(); ++i) {
      if (code_[i] != 0) return false;
    }
    if (pending_ != 0) return false;
    const size_t total = code_.size() + 1;
    if (format_.length != 0) return total == format_.length;
    return total <= format_.PaddedSize(used + 1) && total == format_.PaddedSize(total);
  }

 private:
  Status NextRange(const BatchDither& dither, uint32_t first, uint32_t count, const Batch& batch) {
    const Span<const uint64_t> words(batch.words, count);
    if (dither.engine().contexts != nullptr) {
      dither.engine().contexts(words, batch.contexts);
    } else {
      for (uint32_t i = 0; i < count; ++i) {
        batch.contexts[i] = UpdateModel::Context(Dither::Fraction(words[i]));
      }
    }
    const Span<int32_t> m(batch.integers, count);
    int32_t largest = 0;
    if (!model_.DecodeAll(words, {batch.contexts, count}, &range_, m, &largest)) {
      return Status::kMalformed;
    }
    if (largest <= kAlwaysValid) return Status::kOk;
    for (uint32_t i = 0; i < count; ++i) {
      if (Status s = CheckIsValid(dither.dither(), first + i, batch.cells[i], m[i]);
          s != Status::kOk) {
        return s;
      }
    }
    return Status::kOk;
  }

  static Status CheckIsValid(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t m) {
    int32_t smallest = 0;
    if (Status s = Quantize(dither, j, cell, -kMaxValueQ20, &smallest); s != Status::kOk) return s;
    if (m < smallest) return Status::kMalformed;
    return CheckIsAtMost(dither, j, cell, kMaxValueQ20, m);
  }

  // The code holds the difference from the smallest integer of values in [-A, A].
  Status NextFixed(const BatchDither& dither, uint32_t first, uint32_t count, const Batch& batch) {
    if (Status s = Smallest(dither, first, count, batch); s != Status::kOk) return s;
    int32_t* m = batch.integers;
    for (uint32_t i = 0; i < count; ++i) {
      for (; pending_bits_ < bits_; pending_bits_ += 8) {
        if (position_ == code_.size()) return Status::kMalformed;
        pending_ |= static_cast<uint32_t>(code_[position_++]) << pending_bits_;
      }
      m[i] += static_cast<int32_t>(pending_ & ((uint32_t{1} << bits_) - 1));
      pending_ >>= bits_;
      pending_bits_ -= bits_;
    }
    const DecodeEngine& engine = dither.engine();
    (engine.above != nullptr ? engine.above : lrq::AboveLoop)({batch.cells, count}, bound_q20_, m,
                                                              batch.flags);
    return ForEachFlagged(batch.flags, count, [&](uint32_t i) {
      return CheckIsAtMost(dither.dither(), first + i, batch.cells[i], bound_q20_, m[i]);
    });
  }

  // The integers of -A.
  Status Smallest(const BatchDither& dither, uint32_t first, uint32_t count,
                  const Batch& batch) const {
    const Span<const DitherCell> cells(batch.cells, count);
    const Span<int32_t> m(batch.integers, count);
    if (bits_ > kLeastBits) return QuantizeAll(dither.dither(), first, cells, -bound_q20_, m);
    const DecodeEngine& engine = dither.engine();
    (engine.least != nullptr ? engine.least : lrq::LeastLoop)(cells, bound_q20_, m.data(),
                                                              batch.flags);
    return ForEachFlagged(batch.flags, count, [&](uint32_t i) {
      return Quantize(dither.dither(), first + i, cells[i], -bound_q20_, &m[i]);
    });
  }

  // kMalformed if only values above the bound have the integer m.
  static Status CheckIsAtMost(const Dither& dither, uint32_t j, const DitherCell& cell,
                              int32_t bound_q20, int32_t m) {
    int32_t largest = 0;
    if (Status s = Quantize(dither, j, cell, bound_q20, &largest); s != Status::kOk) return s;
    return m > largest ? Status::kMalformed : Status::kOk;
  }

  // In every cell, every integer of at most this magnitude belongs to a value within the format's
  // limit.
  static constexpr int32_t kAlwaysValid =
      static_cast<int32_t>((static_cast<int64_t>(kMaxValueQ20) << 7) / kMaxStepQ27) - 1;

  // With b bits a coordinate, 2 * 128 A <= (2^b - 1) w (Gau-LRQ, Theorem 2).
  static constexpr int kLeastBits = 3;
  static_assert((1 << kLeastBits) - 1 <= 2 * lrq::kLeastSteps);

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

// Holds the integers of an update against a bound, batch by batch. Null: there is none.
class BoundCheck {
 public:
  BoundCheck(const UpdateBound* bound, size_t coordinates)
      : bound_(bound),
        of_update_(static_cast<uint32_t>(coordinates - (bound == nullptr ? 0 : bound->extras()))) {}

  // The next coordinates, whose cells, integers and flags `away` the batch holds.
  Status Add(const Dither& dither, uint32_t first, uint32_t count, const Batch& batch) {
    if (bound_ == nullptr) return Status::kOk;
    const uint32_t left = first < of_update_ ? of_update_ - first : 0;
    const uint32_t of_update = count < left ? count : left;
    const Status status = ForEachFlagged(batch.away, of_update, [&](uint32_t i) {
      return AddSquaredDistances(dither, first + i, {&batch.cells[i], 1}, {&batch.integers[i], 1},
                                 &squares_);
    });
    if (status != Status::kOk) return status;
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

// The update without its header byte, which `reader` reads.
Status DecodeBatches(const BatchDither& dither, IntegerReader* reader, BoundCheck* check,
                     const Batch& batch, Span<int32_t> noisy) {
  for (uint32_t first = 0; first < noisy.size(); first += batch.size) {
    const size_t left = noisy.size() - first;
    const Span<int32_t> part = noisy.subspan(first, left < batch.size ? left : batch.size);
    const auto count = static_cast<uint32_t>(part.size());
    if (Status s = dither.Select(first, count, batch); s != Status::kOk) return s;
    if (Status s = reader->Next(dither, first, count, batch); s != Status::kOk) return s;
    if (Status s = dither.Dequantize(first, part, batch); s != Status::kOk) return s;
    if (Status s = check->Add(dither.dither(), first, count, batch); s != Status::kOk) return s;
  }
  return Status::kOk;
}

// Not inlined: only the memory that is used may be on the stack.
template <uint32_t kSize>
[[gnu::noinline]] Status DecodeIn(const BatchDither& dither, IntegerReader* reader,
                                  BoundCheck* check, Span<int32_t> noisy) {
  BatchMemory<kSize> memory;
  WipeOnExit wipe(memory);
  return DecodeBatches(dither, reader, check, memory.View(), noisy);
}

}  // namespace

Status DecodeUpdate(const Key& round_key, const UpdateFormat& format, ByteSpan encoded,
                    Span<int32_t> noisy, const DecodeEngine& engine, const UpdateBound* bound) {
  if (noisy.empty() || noisy.size() > kMaxParameters) return Status::kInvalidArgument;
  if (bound != nullptr && noisy.size() <= bound->extras()) return Status::kInvalidArgument;
  if (!format.IsValid() || format.coding == Coding::kFloat32) return Status::kInvalidArgument;
  if (encoded.empty() || encoded[0] > lrq::kMaxScaleCode) return Status::kMalformed;
  const BatchDither dither(round_key, format.dither, engine);
  IntegerReader reader(format, encoded[0], encoded.subspan(1));
  BoundCheck check(bound, noisy.size());
  WipeOnExit wipe_check(check);
  // Scattered words are computed in parallel if there are enough of them.
  const Status status = engine.scattered != nullptr
                            ? DecodeIn<kDecodeBatch>(dither, &reader, &check, noisy)
                            : DecodeIn<kMaxDitherBatch>(dither, &reader, &check, noisy);
  if (status != Status::kOk) return status;
  if (!reader.AtEnd()) return Status::kMalformed;
  return check.IsKept() ? Status::kOk : Status::kOutOfRange;
}

}  // namespace sotto
