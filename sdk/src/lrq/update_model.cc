#include "sotto/update_model.h"

#include "sotto/num.h"

namespace sotto {
namespace {

// Probability, in units of 2^-16, that a value of deviation s lies beyond s * 2^(q/4) on one side,
// for q from kFirstQuarter: midway between the normal and the Laplace distribution. Learning starts
// from these probabilities.
constexpr int kFirstQuarter = -16;
constexpr int kLastQuarter = 12;
constexpr uint16_t kBeyond[] = {30565, 30163, 29689, 29133, 28483, 27726, 26845, 25826,
                                24654, 23314, 21794, 20086, 18189, 16113, 13883, 11549,
                                9182,  6888,  4795,  3036,  1714,  852,   377,   153,
                                58,    20,    5,     1,     1};
static_assert(sizeof(kBeyond) / sizeof(kBeyond[0]) == kLastQuarter - kFirstQuarter + 1);

// Beyond() and Start() are not inlined: Reset() alone calls them ten times.
[[gnu::noinline]] uint32_t Beyond(int quarter) {
  if (quarter < kFirstQuarter) quarter = kFirstQuarter;
  if (quarter > kLastQuarter) quarter = kLastQuarter;
  return kBeyond[quarter - kFirstQuarter];
}

// log2 of a typical step divided by the update's deviation, in quarter octaves. A typical step is
// 2.9 under Gaussian dither and 1/4 under uniform dither. A(81) is 1.
int StepOverDeviation(uint8_t scale_code, DitherKind kind) {
  const int step = kind == DitherKind::kUniform ? -8 : 6;
  return step - (scale_code - 81);
}

// log2, in quarter octaves, of the distances from zero to the two edges, in steps: the nearer edge
// in half octave i, and the farther edge that belongs to it.
int NearerEdge(int i) { return -5 - 2 * i; }
int FartherEdge(int i) { return i == 0 ? -3 : i == 1 ? -2 : i < 5 ? -1 : 0; }

// log2, in quarter octaves, of 1/2, 1, 2, .. 8 steps: about the distance n + 1/2 beyond which |m|
// is above n.
constexpr int kStepsAway[] = {-4, 0, 4, 6, 8, 9, 10, 11, 12};

//   log2_weight  log2 of the number of observations that the estimate counts like
[[gnu::noinline]] AdaptiveBit Start(uint32_t part, uint32_t whole, int log2_weight) {
  return {part >= whole ? UINT32_MAX : ((part << 16) / whole) << 16,
          static_cast<uint16_t>(1 << log2_weight), static_cast<uint16_t>(log2_weight)};
}

// Weight of the estimates from the scale. They are good for rare events, whose probability is
// learned slowly.
constexpr int kFirm = 5;
constexpr int kLoose = 3;

// True if the upper end of the cell is the nearer one.
bool IsUpper(uint32_t t) { return t > kDitherMask / 2; }

// The half octave of the distance from t to the nearer end of [0, 1), 0 for the farthest.
int HalfOctave(uint32_t t, int last) {
  const uint32_t nearer = IsUpper(t) ? kDitherMask - t : t;
  const uint32_t distance = (2 * nearer + 1) << (31 - kDitherBits);  // in 2^-32, below 2^31
  const int zeros = CountLeadingZeros(distance);
  const int is_lower_half = ((distance << zeros) >> 30 & 1) != 0 ? 0 : 1;
  const int index = 2 * (zeros - 1) + is_lower_half;
  return index < last ? index : last;
}

[[gnu::noinline]] void Freeze(Span<AdaptiveBit> bits) {
  for (AdaptiveBit& bit : bits) bit.Freeze();
}

uint32_t Magnitude(int32_t m) { return static_cast<uint32_t>(m < 0 ? -m : m); }

}  // namespace

void UpdateModel::Reset(uint8_t scale_code, DitherKind kind, bool adapts) {
  const int step = StepOverDeviation(scale_code, kind);
  for (int i = 0; i < kDistances; ++i) {
    const uint32_t near = Beyond(step + NearerEdge(i));
    const uint32_t far = Beyond(step + FartherEdge(i));
    nonzero_[i] = Start(near + far, 65536, kFirm);
    far_[i] = Start(far, near + far, kLoose);
  }
  for (int q = 0; q < kUnary; ++q) {
    const uint32_t less = Beyond(step + kStepsAway[q]);
    const uint32_t more = Beyond(step + kStepsAway[q + 1]);
    // At the end of the table nothing is known of what is further away. Learning would soon tell.
    const bool is_unknown = !adapts && less == 1;
    more_[0][q] = more_[1][q] =
        is_unknown ? Start(1, 32, kLoose) : Start(more, less + more / 64, kLoose);
  }
  for (AdaptiveBit& bit : longer_) bit = AdaptiveBit::Even();
  if (adapts) return;
  Freeze(nonzero_);
  Freeze(far_);
  Freeze(more_[0]);
  Freeze(more_[1]);
  Freeze(longer_);
}

size_t UpdateModel::EncodeSome(Span<const uint64_t> coordinates, RangeEncoder* encoder) {
  size_t done = 0;
  while (done < coordinates.size() && encoder->is_empty()) {
    done += EncodeZeros(coordinates.subspan(done), encoder);
    if (done == coordinates.size() || !encoder->is_empty()) break;
    Encode(Dither::Fraction(coordinates[done]), IntegerOf(coordinates[done]), encoder);
    ++done;
  }
  return done;
}

// Codes the leading zeros of the coordinates, as far as possible before the encoder moves a byte.
// The interval is a copy that a compiler keeps in registers.
size_t UpdateModel::EncodeZeros(Span<const uint64_t> coordinates, RangeEncoder* encoder) {
  RangeEncoder::Interval interval = encoder->interval();
  size_t done = 0;
  for (; done < coordinates.size() && !interval.is_narrow(); ++done) {
    if (IntegerOf(coordinates[done]) != 0) break;
    AdaptiveBit& bit = nonzero_[HalfOctave(Dither::Fraction(coordinates[done]), kDistances - 1)];
    interval.Narrow(bit.BoundOfOne(interval.range), false);
    bit.Update(false);
  }
  encoder->Continue(interval);
  return done;
}

void UpdateModel::Encode(uint32_t t, int32_t m, RangeEncoder* encoder) {
  const int i = HalfOctave(t, kDistances - 1);
  encoder->Encode(m != 0, &nonzero_[i]);
  if (m == 0) return;
  const bool is_far = (m < 0) != IsUpper(t);
  encoder->Encode(is_far, &far_[i]);
  const uint32_t magnitude = Magnitude(m);
  for (uint32_t q = 0; q < kUnary; ++q) {
    encoder->Encode(magnitude > q + 1, &more_[is_far][q]);
    if (magnitude <= q + 1) return;
  }
  EncodeEscape(magnitude - kUnary, encoder);
}

uint8_t UpdateModel::Context(uint32_t t) {
  return static_cast<uint8_t>(HalfOctave(t, kDistances - 1));
}

bool UpdateModel::Decode(uint32_t t, RangeDecoder* decoder, int32_t* m) {
  const int i = HalfOctave(t, kDistances - 1);
  *m = 0;
  return !decoder->Decode(&nonzero_[i]) || DecodeNonzero(t, i, decoder, m);
}

// The decoder's state is a copy that a compiler keeps in registers while the integers are zero.
bool UpdateModel::DecodeAll(Span<const uint64_t> words, Span<const uint8_t> contexts,
                            RangeDecoder* decoder, Span<int32_t> m, int32_t* largest) {
  RangeDecoder state = *decoder;
  *largest = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    m[i] = 0;
    if (!state.Decode(&nonzero_[contexts[i]])) continue;
    *decoder = state;
    if (!DecodeNonzero(Dither::Fraction(words[i]), contexts[i], decoder, &m[i])) return false;
    const int32_t magnitude = m[i] < 0 ? -m[i] : m[i];
    if (magnitude > *largest) *largest = magnitude;
    state = *decoder;
  }
  *decoder = state;
  return true;
}

// The rest of an integer that is not zero.
bool UpdateModel::DecodeNonzero(uint32_t t, int i, RangeDecoder* decoder, int32_t* m) {
  const bool is_far = decoder->Decode(&far_[i]);
  uint32_t magnitude = 1;
  while (magnitude <= kUnary && decoder->Decode(&more_[is_far][magnitude - 1])) ++magnitude;
  if (magnitude > kUnary) {
    uint32_t excess = 0;
    if (!DecodeEscape(decoder, &excess)) return false;
    magnitude = kUnary + excess;
  }
  const bool is_negative = is_far != IsUpper(t);
  *m = is_negative ? -static_cast<int32_t>(magnitude) : static_cast<int32_t>(magnitude);
  return true;
}

// Elias' gamma code of excess >= 1: the number of binary digits after the first one, then these
// digits.
void UpdateModel::EncodeEscape(uint32_t excess, RangeEncoder* encoder) {
  const int length = 31 - CountLeadingZeros(excess);
  for (int i = 0; i < kEscapeLengths && i <= length; ++i) {
    encoder->Encode(i < length, &longer_[i]);
  }
  for (int i = length - 1; i >= 0; --i) encoder->EncodeFair((excess >> i & 1) != 0);
}

bool UpdateModel::DecodeEscape(RangeDecoder* decoder, uint32_t* excess) {
  int length = 0;
  while (length < kEscapeLengths && decoder->Decode(&longer_[length])) ++length;
  *excess = 1;
  for (int i = 0; i < length; ++i) *excess = *excess << 1 | (decoder->DecodeFair() ? 1 : 0);
  return *excess <= static_cast<uint32_t>(kMaxInteger) - kUnary;
}

}  // namespace sotto
