#include "sotto/emulated/insecure_entropy.h"

#include "sotto/emulated/counter.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/key_labels.h"
#include "sotto/keys.h"
#include "sotto/random.h"

namespace sotto::emulated {

InsecureEntropy::InsecureEntropy(const Key& secret)
    : status_(DeriveKey(secret, key_label::kInsecure, HostSeconds(), Ticks(), 0, &key_)) {}

Status InsecureEntropy::Fill(void* context, MutableByteSpan out) {
  auto* const self = static_cast<InsecureEntropy*>(context);
  if (self->status_ != Status::kOk) return Status::kEntropyFailed;
  RandomStream random(self->key_, self->stream_++);
  random.Fill(out);
  return random.status() == Status::kOk ? Status::kOk : Status::kEntropyFailed;
}

}  // namespace sotto::emulated
