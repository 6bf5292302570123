// A device's buffers on the heap of a big machine: simulated devices and the Linux client. Part of
// sotto::server/round.
#ifndef SOTTO_ROUND_CLIENT_MEMORY_H_
#define SOTTO_ROUND_CLIENT_MEMORY_H_

#include <cstdint>
#include <vector>

#include "sotto/client.h"

namespace sotto::server {

// Not to be copied while a client uses it: the buffers point into it.
class ClientMemory {
 public:
  //   batch_size  the most samples of a mini-batch
  //   chunk_size  the most bytes of an update in one message
  ClientMemory(const ModelInfo& model, uint32_t batch_size, size_t chunk_size)
      : base_(model.parameters),
        parameters_(model.parameters),
        scratch_(model.training_floats(model, batch_size)),
        indices_(batch_size),
        chunk_(chunk_size),
        words_(kMaxDitherBatch) {}

  ClientBuffers buffers() {
    return {{base_.data(), base_.size()},
            {parameters_.data(), parameters_.size()},
            {scratch_.data(), scratch_.size()},
            {indices_.data(), indices_.size()},
            {chunk_.data(), chunk_.size()},
            {words_.data(), words_.size()},
            {}};
  }

 private:
  std::vector<float> base_;
  std::vector<float> parameters_;
  std::vector<float> scratch_;
  std::vector<uint32_t> indices_;
  std::vector<uint8_t> chunk_;
  std::vector<uint64_t> words_;
};

}  // namespace sotto::server

#endif  // SOTTO_ROUND_CLIENT_MEMORY_H_
