// Ids of tokens among a sample's features. Part of sotto/nn; private to the SDK.
#ifndef SOTTO_NN_TOKENS_H_
#define SOTTO_NN_TOKENS_H_

#include <cstdint>

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

#endif  // SOTTO_NN_TOKENS_H_
