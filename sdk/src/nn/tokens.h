// Samples that are tokens. Part of sotto/nn; private to the SDK.
#pragma once

#include <cstdint>

#include "base/exact_arithmetic.h"
#include "sotto/span.h"

namespace sotto::nn {

// Whether all are whole numbers below `tokens`. NaN is none.
inline bool AreTokens(Span<const float> features, uint32_t tokens) {
  for (const float feature : features) {
    const bool is_in_range = feature >= 0.0f && feature < static_cast<float>(tokens);
    if (!is_in_range || static_cast<float>(static_cast<uint32_t>(feature)) != feature) return false;
  }
  return true;
}

}  // namespace sotto::nn
