// A model as the bytes of a file: float32, little endian, as `sotto serve --model-out` writes it.
// Part of ports/posix/client. Pure functions, safe in any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sotto/span.h"

namespace sotto::posix {

std::string ModelBytes(Span<const float> parameters);

// Bytes behind the last whole float32 are left out.
std::vector<float> ModelInBytes(std::string_view bytes);

}  // namespace sotto::posix
