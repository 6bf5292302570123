// A callback that reads a device's training samples, one at a time. Part of sotto/nn.
//
// The SDK calls it in the thread that trains.
#pragma once

#include <cstdint>

#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

// The data set need not be in RAM: `read` may decode flash, a file or a sensor's log. It must give
// the same sample for the same index throughout a round; the SDK may read a sample more than once.
struct SampleSource {
  uint32_t count = 0;  // samples on this device; 0: a training takes no steps

  // Writes sample `index` (< count).
  //   features  [model inputs] float32, raw, every element; finite, or NaN for a missing number
  //             that the model fills (preparation.h). Tokens: whole numbers below its vocabulary
  //   label     < model classes; an autoencoder ignores it
  // Any status other than kOk ends the training: the device then sends an update of zeros
  // (LocalRound), since whether it reports must not depend on its data.
  Status (*read)(void* context, uint32_t index, Span<float> features, uint32_t* label) = nullptr;
  void* context = nullptr;
  // Instead of read, for a model whose target is a vector (TargetKind::kVector).
  //   target  [model outputs] float32, every element; finite
  Status (*read_vector)(void* context, uint32_t index, Span<float> features,
                        Span<float> target) = nullptr;

  // Optional, for samples that change between rounds (sample_log.h). Only LocalRound calls them:
  // begin() when a round begins, and end() once, after the round's last read. begin() returns the
  // number of samples in this round, which replaces `count`; 0 if they are not available.
  uint32_t (*begin)(void* context) = nullptr;
  void (*end)(void* context) = nullptr;
};

}  // namespace sotto
