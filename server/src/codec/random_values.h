// The randomness of the baselines, in floating point. Part of sotto::server/codec.
#pragma once

#include <cstdint>

#include "sotto/random.h"

namespace sotto::server::baseline {

// Random values from the keystream of one update's key. One thread at a time.
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

  // Throws std::runtime_error if a draw failed. Call it once, after the last draw.
  void Check() const;

 private:
  RandomStream stream_;
  double spare_ = 0.0;
  bool has_spare_ = false;
};

}  // namespace sotto::server::baseline
