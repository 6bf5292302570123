// A device's buffers on the heap, for simulated devices and sotto-client. Part of sotto/posix.
//
// The buffers overlap as on a board, so every simulation tests that they may overlap. One thread at
// a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sotto/client.h"

namespace sotto::posix {

// Not to be copied while a client uses it: the buffers point into it.
class ClientMemory {
 public:
  //   batch_size    the most samples of a mini-batch
  //   chunk_size    the most bytes of an update in one message
  //   has_momentum  also a velocity, if the model trains with momentum: 4 bytes a parameter
  //   has_gradient  the same for both gradient clips
  //   encoded_size  the longest update that is encoded whole before its upload; 0: none is
  ClientMemory(const ModelInfo& model, uint32_t batch_size, size_t chunk_size, bool has_momentum,
               bool has_gradient, size_t encoded_size = 0)
      : base_(model.parameters),
        update_(model.trained()),
        velocity_(has_momentum && model.has_momentum ? model.trained() : 0),
        gradient_(has_gradient && model.has_gradient_options ? model.trained() : 0),
        scratch_floats_(model.training_floats(model, batch_size)),
        chunk_size_(chunk_size),
        shared_(std::max(scratch_floats_, (chunk_size + 3) / 4)),
        indices_(batch_size),
        encoded_(encoded_size),
        words_(kMaxDitherBatch) {}

  ClientBuffers buffers() {
    auto* const bytes = reinterpret_cast<uint8_t*>(shared_.data());
    const Span<float> base = {base_.data(), base_.size()};
    return {{base,
             {update_.data(), update_.size()},
             {shared_.data(), scratch_floats_},
             {indices_.data(), indices_.size()},
             {velocity_.data(), velocity_.size()},
             {gradient_.data(), gradient_.size()},
             {encoded_.data(), encoded_.size()}},
            WriterTo(base),
            {bytes, chunk_size_},
            {words_.data(), words_.size()},
            {bytes + chunk_size_, sizeof(float) * shared_.size() - chunk_size_}};
  }

  // The model that the client has downloaded last; zeros before.
  Span<const float> base() const { return {base_.data(), base_.size()}; }

 private:
  std::vector<float> base_;
  std::vector<float> update_;
  std::vector<float> velocity_;  // empty without momentum
  std::vector<float> gradient_;  // empty without gradient clips
  size_t scratch_floats_;
  size_t chunk_size_;
  std::vector<float> shared_;  // training and messages use it in turn
  std::vector<uint32_t> indices_;
  std::vector<uint8_t> encoded_;
  std::vector<uint64_t> words_;
};

}  // namespace sotto::posix
