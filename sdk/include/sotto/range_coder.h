// An adaptive binary range coder in integers. Part of sotto/lrq.
//
// Encoder and decoder keep an interval of 32 bits. Each binary decision shrinks the interval by the
// probability that both sides assign to it; both sides then move this probability toward the
// outcome. (G. N. N. Martin, "Range encoding", 1979; the carry is resolved as in the
// Lempel-Ziv-Markov chain algorithm, with one byte and a run of 0xff held back.) State of constant
// size, no heap, the same bytes on every CPU. One thread at a time. The code has no end mark: bytes
// beyond the last one read as zeros, and zeros that the encoder still holds at the end are omitted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/num.h"
#include "sotto/span.h"

namespace sotto {

// The probability of one binary decision, learned from its outcomes. Starts as an estimate that
// counts like `weight` observations. The owner sets all fields before use.
struct AdaptiveBit {
  uint32_t p_one;   // probability of a one, in 2^-32
  uint16_t weight;  // 1 to kMaxWeight
  uint16_t shift;   // floor(log2(weight))

  static constexpr AdaptiveBit Even() { return {uint32_t{1} << 31, 8, 3}; }

  // More observations do not slow the learning down any further.
  static constexpr uint16_t kMaxWeight = 1024;

  // From here on an outcome moves the probability by 2^-32 at most.
  void Freeze() {
    weight = kMaxWeight;
    shift = 31;
  }

  // p += (bit - p) / 2^floor(log2(weight)), then the weight grows by one.
  void Update(bool bit) {
    p_one = bit ? p_one + (~p_one >> shift) : p_one - (p_one >> shift);
    if (weight == kMaxWeight) return;
    ++weight;
    shift = static_cast<uint16_t>(shift + (weight >> (shift + 1)));
  }

  // The part of a range that a one gets, range >= kMinRange. Either outcome gets at least 1/65536
  // of the range.
  uint32_t BoundOfOne(uint32_t range) const {
    const uint32_t p = p_one >> 16;
    return (range >> 16) * (p == 0 ? 1 : p);
  }
};

// Both sides keep their range at least this large between decisions.
constexpr uint32_t kMinRange = uint32_t{1} << 24;

class RangeEncoder {
 public:
  // The numbers whose first digits are the code so far. Starts at 0 and grows by 8 bits whenever
  // the encoder moves a byte.
  struct Interval {
    uint64_t low = 0;
    uint32_t range = UINT32_MAX;

    // Keeps the lower part, `bound` wide, for a one, else the rest.
    void Narrow(uint32_t bound, bool bit) {
      if (bit) {
        range = bound;
      } else {
        low += bound;
        range -= bound;
      }
    }

    // True if a byte has to be moved before the next decision.
    bool is_narrow() const { return range < kMinRange; }
  };

  // Encodes the decision `bit` and updates its probability.
  void Encode(bool bit, AdaptiveBit* probability) {
    Narrow(probability->BoundOfOne(interval_.range), bit);
    probability->Update(bit);
  }

  // Encodes a decision whose outcomes are equally likely.
  void EncodeFair(bool bit) { Narrow(interval_.range >> 1, bit); }

  // For a caller that encodes many decisions at once: the caller narrows a copy of the interval as
  // Encode() would, until the copy is narrow, and hands the copy back.
  const Interval& interval() const { return interval_; }
  void Continue(const Interval& interval) {
    interval_ = interval;
    Widen();
  }

  // Ends the code with the fewest bytes. Called once, after the last decision.
  void Finish();

  // Moves finished bytes into `out`, oldest first, and returns how many. Between two Take() calls
  // that leave the encoder empty the caller may make at most kMaxDecisions calls of Encode() and
  // kMaxFairDecisions of EncodeFair(), or one call of Finish().
  size_t Take(MutableByteSpan out);

  // True if Take() has nothing to give.
  bool is_empty() const { return count_ == 0; }

  static constexpr int kMaxDecisions = 22;
  static constexpr int kMaxFairDecisions = 12;

 private:
  // Bytes that become final together: one byte and a run of equal bytes after it. The run is of
  // 0xff, or of 0x00 after a carry.
  struct Run {
    uint32_t first : 8;
    uint32_t has_carry : 1;
    uint32_t fill_count : 23;
  };
  // No decision costs more than 16 bits, and every 8 bits make one run final.
  static constexpr int kRuns = (16 * kMaxDecisions + kMaxFairDecisions) / 8 + 2;

  void Narrow(uint32_t bound, bool bit) {
    interval_.Narrow(bound, bit);
    Widen();
  }

  void Widen() {
    for (; interval_.is_narrow(); interval_.range <<= 8) ShiftOut();
  }

  void ShiftOut();

  Interval interval_;
  uint32_t fill_ = 0;  // number of bytes 0xff after held_; a carry turns them to 0x00
  uint8_t held_ = 0;
  bool has_held_ = false;  // nothing is held before the first byte
  Run runs_[kRuns];
  uint8_t taken_ = 0;  // of runs_
  uint8_t count_ = 0;  // of runs_ not yet taken
};

class RangeDecoder {
 public:
  // The bytes must outlive the decoder. Any bytes decode to something.
  explicit RangeDecoder(ByteSpan bytes);

  // The next decision; updates its probability.
  bool Decode(AdaptiveBit* probability) {
    const bool bit = Narrow(probability->BoundOfOne(range_));
    probability->Update(bit);
    return bit;
  }
  bool DecodeFair() { return Narrow(range_ >> 1); }

  // For a code that arrives in parts: the bytes from position() on lie in `rest` now, position()
  // counts from there. They must outlive the decoder, or last until the next call.
  void Continue(ByteSpan rest) {
    bytes_ = rest;
    position_ = 0;
  }

  // Number of bytes read so far. Bytes beyond the end count, too, and read as zeros.
  size_t position() const { return position_; }

 private:
  bool Narrow(uint32_t bound) {
    const bool bit = code_ < bound;
    if (bit) {
      range_ = bound;
    } else {
      code_ -= bound;
      range_ -= bound;
    }
    for (; range_ < kMinRange; range_ <<= 8) code_ = code_ << 8 | NextByte();
    return bit;
  }

  uint32_t NextByte() {
    const uint32_t byte = position_ < bytes_.size() ? bytes_[position_] : 0;
    ++position_;
    return byte;
  }

  ByteSpan bytes_;
  size_t position_ = 0;
  uint32_t range_ = UINT32_MAX;
  uint32_t code_ = 0;
};

}  // namespace sotto
