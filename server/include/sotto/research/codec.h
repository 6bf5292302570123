// A codec of one's own: how an update becomes bytes, and numbers again. Part of sotto::lab.
//
// In a simulation each device trains with the SDK, which clips its update to the norm C. The update
// then goes through UpdateCoder::Encode() to bytes, and through Decode() into the integer sum. Both
// sides are one object without state.
//
// The privacy cost of a codec follows from its noise, and only its author can state the noise:
//   - A codec that states no noise (OwnCodec::noise absent) gets none from the plan, and its runs
//     say NO PRIVACY: no epsilon is printed, whatever noise it draws by itself.
//   - A codec that states GaussianNoise is accounted as the plan's Gaussian noise. Its runs print
//     that epsilon, and say that it holds if the statement is true and the noise is ideal.
//     Floating-point noise leaks more (Mironov 2012), and no certificate bounds how much. So such a
//     figure is for comparison, and is no guarantee.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sotto/random.h"
#include "sotto/span.h"

namespace sotto::server {

// Random values from the keystream of one update's key: the same key gives the same values, so a
// seeded run repeats. One thread at a time.
class RandomValues {
 public:
  explicit RandomValues(const Key& key) : stream_(key, 0) {}

  // 64 uniform bits.
  uint64_t Bits();

  // Uniform on the multiples of 2^-53 in [0, 1).
  double Uniform();

  // Standard Gaussian up to floating-point arithmetic, at most 8.6 in magnitude: the polar form of
  // Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958. Nothing bounds how
  // far its distribution is from the Gaussian.
  double Gaussian();

  // Throws std::runtime_error if a draw failed: for the caller of Encode(), after the last one.
  void Check() const;

 private:
  RandomStream stream_;
  double spare_ = 0.0;
  bool has_spare_ = false;
};

// The parameters of a round that a coder gets. Model units.
struct CodedRound {
  uint32_t round;      // from 0
  double clip_l2;      // C > 0: no update is longer
  double noise_sigma;  // of the noise that the plan asks of each coordinate; 0 if none is stated
};

// The coder of one round. Immutable: any thread may call it.
class UpdateCoder {
 public:
  virtual ~UpdateCoder() = default;

  // The largest size of an encoded update, bytes.
  virtual size_t MaxSize(uint32_t coordinates) const = 0;

  // The device's side: adds the noise that the codec states, and encodes.
  //   update  [d] model units, of norm at most C
  //   random  of this update alone: all randomness comes from here
  virtual std::vector<uint8_t> Encode(Span<const double> update, RandomValues& random) const = 0;

  // The server's side. Returns false for bytes that Encode() cannot have written: such an update is
  // refused. `encoded` may have any size and content.
  //   update  [d] model units, each magnitude below 2048 noise_sigma; without noise below 2 C
  virtual bool Decode(ByteSpan encoded, Span<double> update) const = 0;
};

// The statement of an author. It must hold for any two updates u, v of norm at most C:
//   1. Before its noise the encoder computes f(u) from an update u, with |f(u) - f(v)| <=
//      stretch |u - v| and, in sums that add or remove a device, |f(u)| <= stretch C.
//   2. It then adds to each coordinate independent Gaussian noise of deviation at least
//      deviation * noise_sigma, whatever the update.
//   3. Later steps (rounding, coding) depend only on the noisy values.
// The accountants count noise_sigma against 2 C or C. So deviation >= stretch makes their figure an
// upper bound; a smaller deviation is refused by AddCodec().
struct GaussianNoise {
  double stretch = 1;    // > 0
  double deviation = 1;  // >= stretch
};

struct OwnCodec {
  const char* name;
  const char* note;                    // one line for people
  std::optional<GaussianNoise> noise;  // absent: NO PRIVACY, and no epsilon
  std::unique_ptr<const UpdateCoder> (*make)(const CodedRound& round);
};

}  // namespace sotto::server
