// The probabilities with which the range code codes an update's integers. Part of sotto/lrq.
//
// Device and server both know the position of zero in a coordinate's cell: at the fraction t of a
// step from one edge, 1 - t from the other. While the values are small against the noise, only the
// nearer edge is ever crossed, and seldom. So the distance to the nearer edge, in half octaves,
// predicts the integer m almost completely. m is coded as binary decisions. Each has its own
// probability, which starts from the update's scale and adapts (range_coder.h):
//   nonzero  by the distance to the nearer edge
//   far      beyond the farther edge; by the same distance
//   more     |m| above 1, 2, .. kUnary, by side
//   escape   |m| - kUnary as an Elias gamma code: adaptive length, equally likely digits
// Where all updates of a job have one length (update_format.h), nothing adapts, to within 2^-32 a
// decision: then the bits of a coordinate depend on its own dither and integer alone, and their sum
// over independent coordinates has a bound that can be proved (server/src/codec/length_bound.h).
// All arithmetic is on integers. The model uses t and not w, which would save less than 1 % more.
// One thread at a time.
#pragma once

#include "sotto/dither.h"
#include "sotto/range_coder.h"

namespace sotto {

// A quantized coordinate, in the memory of its dither's word: t keeps its bits, and the upper half
// holds an integer.
constexpr uint64_t WithInteger(uint64_t word, int32_t m) {
  return static_cast<uint64_t>(static_cast<uint32_t>(m)) << 32 | (word & kDitherMask);
}
constexpr int32_t IntegerOf(uint64_t coordinate) { return static_cast<int32_t>(coordinate >> 32); }

class UpdateModel {
 public:
  // Starts an update. Must be called before all other functions.
  //   scale_code  the update's root mean square is about A(scale_code), see update_format.h; >= 1
  //   adapts      false: the probabilities stay as they start, to within 2^-32 a decision
  void Reset(uint8_t scale_code, DitherKind kind, bool adapts = true);

  // Codes the integer m of a coordinate whose dither is t / 2^27, t < 2^27. |m| <= kMaxInteger.
  void Encode(uint32_t t, int32_t m, RangeEncoder* encoder);

  // Codes coordinates (see WithInteger) in their order, until the encoder has a byte to give or all
  // are coded. Returns how many. The encoder must be empty before the call.
  size_t EncodeSome(Span<const uint64_t> coordinates, RangeEncoder* encoder);

  // Decodes one integer that Encode() coded. False if the bytes hold no integer of this range.
  bool Decode(uint32_t t, RangeDecoder* decoder, int32_t* m);

  // Decode() of consecutive coordinates, faster.
  //   words     of the coordinates: t is Dither::Fraction() of each
  //   contexts  Context() of each
  //   m         [words.size()]
  //   largest   their largest magnitude
  bool DecodeAll(Span<const uint64_t> words, Span<const uint8_t> contexts, RangeDecoder* decoder,
                 Span<int32_t> m, int32_t* largest);

  // The context of `nonzero` and `far` for the dither t / 2^27: below kDistances.
  static uint8_t Context(uint32_t t);

  // Larger than any integer of a value within the format's limit.
  static constexpr int32_t kMaxInteger = 4104;

  static constexpr int kDistances = 32;  // half octaves: 1/2 to 2^-16, and nearer
  static constexpr int kUnary = 8;       // decisions `more` at most

  // The probabilities, for who computes lengths.
  //   context  below kDistances
  //   q        below kUnary
  const AdaptiveBit& nonzero(int context) const { return nonzero_[context]; }
  const AdaptiveBit& far(int context) const { return far_[context]; }
  const AdaptiveBit& more(bool is_far, int q) const { return more_[is_far ? 1 : 0][q]; }

 private:
  static constexpr int kEscapeLengths = 12;  // most digits of the gamma code after the first one

  size_t EncodeZeros(Span<const uint64_t> coordinates, RangeEncoder* encoder);
  void EncodeEscape(uint32_t excess, RangeEncoder* encoder);
  bool DecodeNonzero(uint32_t t, int context, RangeDecoder* decoder, int32_t* m);
  bool DecodeEscape(RangeDecoder* decoder, uint32_t* excess);

  AdaptiveBit nonzero_[kDistances];
  AdaptiveBit far_[kDistances];
  AdaptiveBit more_[2][kUnary];  // [far]
  AdaptiveBit longer_[kEscapeLengths];
};

}  // namespace sotto
