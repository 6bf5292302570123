#include "sotto/seeded_entropy.h"

#include "sotto/key_labels.h"
#include "sotto/random.h"

namespace sotto {

Status SeededEntropy::Fill(void* context, MutableByteSpan out) {
  const auto* const self = static_cast<const SeededEntropy*>(context);
  if (self->task_ == nullptr) return Status::kEntropyFailed;
  Key key;
  if (DeriveKey(self->secret_, key_label::kEntropy, self->task_->round, self->task_->attempt, 0,
                &key) != Status::kOk) {
    return Status::kEntropyFailed;
  }
  RandomStream random(key, 0);
  random.Fill(out);
  return random.status() == Status::kOk ? Status::kOk : Status::kEntropyFailed;
}

}  // namespace sotto
