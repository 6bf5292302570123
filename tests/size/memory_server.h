// A server in memory: one round of the default job, from a model of zeros.
#pragma once

#include <cstdint>

#include "sotto/messages.h"

namespace sotto {

class MemoryServer {
 public:
  // Frames of max_frame bytes at most; the model has model_bytes, of float32.
  MemoryServer(uint32_t max_frame, uint32_t model_bytes)
      : max_frame_(max_frame), model_bytes_(model_bytes) {}

  // Ends the program with 1 if a device asks what it need not. The reply's bytes outlive the call.
  Reply Answer(const Request& request);

  uint32_t update_bytes() const { return update_bytes_; }
  // FNV-1a of the update's bytes.
  uint32_t update_hash() const { return update_hash_; }

 private:
  Reply TrainReply() const;
  Reply ModelChunk(uint32_t offset) const;
  Reply Ack(const Request& request);

  uint32_t max_frame_;
  uint32_t model_bytes_;
  uint32_t update_bytes_ = 0;
  uint32_t update_hash_ = 2166136261u;
  bool has_update_ = false;
};

}  // namespace sotto
