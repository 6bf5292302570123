// The range code of integers of unknown size. Part of sotto/lrq.
//
// Of each integer q: the number of binary digits of |q| in unary, where the decision about each
// digit has a probability that learns (range_coder.h); then the digits behind the first one,
// highest first, and the sign, a one for a negative q, as fair bits. A zero has no digits and no
// sign. An integer with most_digits digits has no decision that ends its unary number. No tables,
// no heap, the same bytes on every CPU. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/num.h"
#include "sotto/range_coder.h"

namespace sotto {

// The probabilities of `one more digit`, for each number of digits so far.
template <uint32_t most_digits>
struct DigitModel {
  AdaptiveBit more[most_digits];

  DigitModel() {
    for (AdaptiveBit& bit : more) bit = AdaptiveBit::Even();
  }
};

// Writes the code of integers of at most most_digits digits, 1 to 31.
//   Sink  has Put(ByteSpan), which takes the bytes in order
template <uint32_t most_digits, class Sink>
class IntegerEncoder {
 public:
  explicit IntegerEncoder(Sink* sink) : sink_(sink) {}

  void Add(int32_t q) {
    const auto magnitude = static_cast<uint32_t>(q < 0 ? -q : q);
    const uint32_t digits =
        magnitude == 0 ? 0 : 32 - static_cast<uint32_t>(CountLeadingZeros(magnitude));
    for (uint32_t i = 0; i < most_digits && i <= digits; ++i) {
      encoder_.Encode(i < digits, &model_.more[i]);
      Drain();
    }
    if (digits == 0) return;
    for (uint32_t i = digits - 1; i > 0; --i) AddFair((magnitude >> (i - 1) & 1) != 0);
    AddFair(q < 0);
  }

  // After the last integer.
  void Finish() {
    encoder_.Finish();
    Drain();
  }

 private:
  void AddFair(bool bit) {
    encoder_.EncodeFair(bit);
    Drain();
  }
  void Drain() {
    uint8_t bytes[16];
    while (!encoder_.is_empty()) sink_->Put({bytes, encoder_.Take(bytes)});
  }

  Sink* sink_;
  RangeEncoder encoder_;
  DigitModel<most_digits> model_;
};

// The next integer of a code. Any bytes decode to something.
template <uint32_t most_digits>
int32_t DecodeInteger(RangeDecoder* decoder, DigitModel<most_digits>* model) {
  uint32_t digits = 0;
  while (digits < most_digits && decoder->Decode(&model->more[digits])) ++digits;
  if (digits == 0) return 0;
  uint32_t magnitude = 1;
  while (--digits > 0) magnitude = magnitude << 1 | (decoder->DecodeFair() ? 1 : 0);
  const auto value = static_cast<int32_t>(magnitude);
  return decoder->DecodeFair() ? -value : value;
}

// The most bytes of a code that an integer of most_digits digits takes up: two for a decision, as
// either outcome gets 1/65536 of the range, and one for eight fair bits.
template <uint32_t most_digits>
constexpr size_t kMostBytesOfAnInteger = 2 * most_digits + most_digits / 8 + 1;

}  // namespace sotto
