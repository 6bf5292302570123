#include "sotto/share_policy.h"

#include "sotto/bytes.h"
#include "sotto/key_labels.h"
#include "sotto/keys.h"

namespace sotto {
namespace {

Status Always(void*, const PublicSituation&, bool* share) {
  *share = true;
  return Status::kOk;
}

}  // namespace

Status SharePolicy::Decide(const PrivateSituation& now, bool* share) const {
  if (private_ != nullptr) return private_(context_, now, share);
  *share = false;
  return public_ == nullptr ? Status::kOk : public_(context_, now, share);
}

SharePolicy AlwaysShare() { return SharePolicy::Public(Always, nullptr); }

CoinPolicy::CoinPolicy(const Key& secret, ByteSpan job_id, uint32_t p_q32)
    : p_q32_(p_q32),
      status_(HkdfSha256(secret.bytes, job_id,
                         {reinterpret_cast<const uint8_t*>(key_label::kPeerCoin),
                          sizeof(key_label::kPeerCoin) - 1},
                         &key_)) {}

// Word `step` of the key's stream 0.
Status CoinPolicy::Decide(void* context, const PublicSituation& now, bool* share) {
  const auto& self = *static_cast<const CoinPolicy*>(context);
  if (self.status_ != Status::kOk) return self.status_;
  uint8_t block[kChaChaBlockSize];
  const uint32_t words = kChaChaBlockSize / 4;
  const Status status = ChaCha20Keystream(self.key_, 0, now.step / words, block);
  if (status != Status::kOk) return status;
  *share = LoadU32Le(block + 4 * (now.step % words)) < self.p_q32_;
  return Status::kOk;
}

Status PeriodPolicy::Decide(void* context, const PublicSituation& now, bool* share) {
  const auto& self = *static_cast<const PeriodPolicy*>(context);
  if (self.k_ == 0) return Status::kInvalidArgument;
  *share = now.step % self.k_ == self.k_ - 1;
  return Status::kOk;
}

}  // namespace sotto
