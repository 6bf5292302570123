#include "codec/gaussian_float32.h"

#include <cmath>

#include "codec/baseline.h"
#include "sotto/bytes.h"

namespace sotto::server::baseline {

std::vector<uint8_t> GaussianFloat32::Encode(const Key& key, Span<const int32_t> values) const {
  RandomValues random(key);
  std::vector<uint8_t> encoded(4 * values.size());
  for (size_t j = 0; j < values.size(); ++j) {
    const double noisy = noise_sigma() * (values[j] * 0x1p-20 + random.Gaussian());
    StoreU32Le(FloatBits(static_cast<float>(noisy)), encoded.data() + 4 * j);
  }
  random.Check();
  return encoded;
}

bool GaussianFloat32::Decode(ByteSpan encoded, Span<int32_t> noisy) const {
  if (encoded.size() != 4 * noisy.size()) return false;
  for (size_t j = 0; j < noisy.size(); ++j) {
    const auto value = static_cast<double>(FloatFromBits(LoadU32Le(encoded.data() + 4 * j)));
    const double units = value / noise_sigma() * 0x1p20;
    if (!(std::fabs(units) < 0x1p31 - 1)) return false;  // too large, or NaN
    noisy[j] = static_cast<int32_t>(std::lrint(units));
  }
  return true;
}

}  // namespace sotto::server::baseline
