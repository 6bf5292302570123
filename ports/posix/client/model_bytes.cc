#include "model_bytes.h"

#include <cstdint>

#include "sotto/bytes.h"

namespace sotto::posix {

std::string ModelBytes(Span<const float> parameters) {
  std::string bytes(4 * parameters.size(), '\0');
  for (size_t i = 0; i < parameters.size(); ++i) {
    StoreU32Le(FloatBits(parameters[i]), reinterpret_cast<uint8_t*>(&bytes[4 * i]));
  }
  return bytes;
}

std::vector<float> ModelInBytes(std::string_view bytes) {
  std::vector<float> parameters(bytes.size() / 4);
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i] = FloatFromBits(LoadU32Le(reinterpret_cast<const uint8_t*>(&bytes[4 * i])));
  }
  return parameters;
}

}  // namespace sotto::posix
