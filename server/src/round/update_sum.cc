#include "round/update_sum.h"

#include "aggregate/parallel.h"

namespace sotto::server {

UpdateSum::UpdateSum(const JobConfig& config, const TrainTask& task)
    : codec_(config.codec->make(task)), sum_(config.coordinates()) {}

size_t UpdateSum::MaxUpdateSize() const {
  return codec_->MaxSize(static_cast<uint32_t>(sum_.size()));
}

bool UpdateSum::Add(const Device& owner, ByteSpan nonce, ByteSpan encoded) {
  const ByteSpan id(reinterpret_cast<const uint8_t*>(owner.id.data()), owner.id.size());
  return codec_->Add({id, owner.secret, nonce}, encoded, sum_);
}

void UpdateSum::TopUp(uint32_t missing, const Key& server_key, int threads) {
  ParallelFor(threads, missing, [&](size_t i, int) {
    codec_->AddZeroUpdate(server_key, static_cast<uint32_t>(i), sum_);
  });
}

}  // namespace sotto::server
