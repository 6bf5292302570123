#include "sotto/mps2/insecure_entropy.h"

#include "sotto/bytes.h"
#include "sotto/mps2/counter.h"
#include "sotto/mps2/semihosting.h"
#include "sotto/random.h"

namespace sotto::mps2 {
namespace {

constexpr uint8_t kInsecureLabel[] = {'i', 'n', 's', 'e', 'c', 'u', 'r', 'e'};
constexpr uint8_t kSeededLabel[] = {'s', 'o', 't', 't', 'o', ' ', 'e',
                                    'n', 't', 'r', 'o', 'p', 'y'};

// HKDF with a salt of three numbers.
Status Derive(const Key& secret, ByteSpan label, uint32_t a, uint32_t b, Key* out) {
  uint8_t salt[12] = {};
  StoreU32Le(a, salt);
  StoreU32Le(b, salt + 4);
  return HkdfSha256(secret.bytes, salt, label, out);
}

Status Draw(const Key& key, uint32_t stream, MutableByteSpan out) {
  RandomStream random(key, stream);
  random.Fill(out);
  return random.status() == Status::kOk ? Status::kOk : Status::kEntropyFailed;
}

}  // namespace

InsecureEntropy::InsecureEntropy(const Key& secret)
    : status_(Derive(secret, kInsecureLabel, HostSeconds(), Ticks(), &key_)) {}

Status InsecureEntropy::Fill(void* context, MutableByteSpan out) {
  auto* const self = static_cast<InsecureEntropy*>(context);
  if (self->status_ != Status::kOk) return Status::kEntropyFailed;
  return Draw(self->key_, self->stream_++, out);
}

Status SeededEntropy::Fill(void* context, MutableByteSpan out) {
  const auto* const self = static_cast<const SeededEntropy*>(context);
  if (self->client_ == nullptr) return Status::kEntropyFailed;
  const TrainTask& task = self->client_->task();
  Key key;
  const Status status = Derive(self->secret_, kSeededLabel, task.round, task.attempt, &key);
  return status == Status::kOk ? Draw(key, 0, out) : Status::kEntropyFailed;
}

}  // namespace sotto::mps2
