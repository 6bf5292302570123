// A step's numbers, in the order of a sample's features. Part of sotto/nn; private to the SDK.
#pragma once

#include "base/exact_arithmetic.h"
#include "sotto/bytes.h"
#include "sotto/preparation.h"

namespace sotto::nn {

// One number for all features, or for each channel, or for each feature: channels are the last axis
// of a sample, so each of the three is a cycle through the numbers.
class Numbers {
 public:
  explicit Numbers(Span<const float> all) : all_(all), next_(all.begin()) {}

  float Next() {
    const float number = *next_++;
    if (next_ == all_.end()) next_ = all_.begin();
    return number;
  }

 private:
  Span<const float> all_;
  const float* next_;
};

}  // namespace sotto::nn
