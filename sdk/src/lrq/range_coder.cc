#include "sotto/range_coder.h"

namespace sotto {
namespace {

constexpr uint64_t kCarry = uint64_t{1} << 32;

}  // namespace

// Moves the top byte out of the interval's low end. The byte is held back as long as a carry may
// still change it.
void RangeEncoder::ShiftOut() {
  const bool has_carry = interval_.low >= kCarry;
  const auto top = static_cast<uint8_t>(interval_.low >> 24);
  if (!has_carry && top == 0xff && has_held_) {
    ++fill_;
  } else {
    if (has_held_) {
      Run& run = runs_[(taken_ + count_++) % kRuns];
      run.first = static_cast<uint8_t>(held_ + (has_carry ? 1 : 0));
      run.has_carry = has_carry ? 1 : 0;
      run.fill_count = fill_ & 0x7fffff;
    }
    held_ = top;
    fill_ = 0;
    has_held_ = true;
  }
  interval_.low = (interval_.low & 0x00ffffff) << 8;
}

// Any value in [low, low + range) ends the code. The value with the most zeros at its end gives the
// shortest code.
void RangeEncoder::Finish() {
  const uint64_t last = interval_.low + interval_.range - 1;
  for (int zeros = 32; zeros > 0; --zeros) {
    const uint64_t mask = (uint64_t{1} << zeros) - 1;
    if (((interval_.low + mask) & ~mask) > last) continue;
    interval_.low = (interval_.low + mask) & ~mask;
    break;
  }
  while (interval_.low != 0 || fill_ != 0 || held_ != 0) ShiftOut();
}

size_t RangeEncoder::Take(MutableByteSpan out) {
  size_t written = 0;
  while (written < out.size() && count_ != 0) {
    Run& run = runs_[taken_];
    out[written++] = static_cast<uint8_t>(run.first);
    if (run.fill_count != 0) {
      --run.fill_count;
      run.first = run.has_carry != 0 ? 0x00 : 0xff;
    } else {
      taken_ = static_cast<uint8_t>((taken_ + 1) % kRuns);
      --count_;
    }
  }
  return written;
}

RangeDecoder::RangeDecoder(ByteSpan bytes) : bytes_(bytes) {
  for (int i = 0; i < 4; ++i) code_ = code_ << 8 | NextByte();
}

}  // namespace sotto
