// For tests: the requests of a device, made by hand.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

#include "round/job.h"

namespace sotto::server {

// The Hello of a device that has the job's model.
inline Request Hello(const Job& job) {
  static uint8_t digest[kSha256Size];
  EXPECT_EQ(ModelDigest(*job.config().model, digest), Status::kOk);
  Request request;
  request.kind = Request::Kind::kHello;
  request.model_digest = digest;
  return request;
}

inline Reply AskForWork(Job& job, uint32_t device) { return job.Answer(device, Hello(job)); }

// One upload: its task, the nonce and the encoded update.
struct Upload {
  TrainTask task;
  std::vector<uint8_t> nonce = std::vector<uint8_t>(kNonceSize, 0x33);
  std::vector<uint8_t> bytes;

  Request Begin() const {
    Request request;
    request.kind = Request::Kind::kUpdateBegin;
    request.job_id = task.job_id;
    request.round = task.round;
    request.attempt = task.attempt;
    request.nonce = {nonce.data(), nonce.size()};
    request.coding = task.format.coding;
    return request;
  }
  Request Chunk(size_t offset, size_t size) const {
    Request request;
    request.kind = Request::Kind::kUpdateChunk;
    request.offset = static_cast<uint32_t>(offset);
    request.bytes = {bytes.data() + offset, size};
    request.last = offset + size == bytes.size();
    return request;
  }
};

inline bool IsFinalError(const Reply& reply) {
  return reply.kind == Reply::Kind::kError && reply.final;
}

}  // namespace sotto::server
