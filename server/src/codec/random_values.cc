#include "codec/random_values.h"

#include <cmath>
#include <stdexcept>

namespace sotto::server::baseline {

constexpr double kTwoPi = 6.283185307179586;

uint64_t RandomValues::Bits() {
  const uint64_t low = stream_.NextU32();
  return low | uint64_t{stream_.NextU32()} << 32;
}

double RandomValues::Uniform() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }

double RandomValues::Gaussian() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
  const double angle = kTwoPi * Uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

void RandomValues::Check() const {
  if (stream_.status() != Status::kOk) throw std::runtime_error("the keystream failed");
}

}  // namespace sotto::server::baseline
