#include "round/seeded_entropy.h"

#include "round/run_key.h"
#include "sotto/random.h"

namespace sotto::server {

Status SeededEntropy::Fill(void* context, MutableByteSpan out) {
  const auto* self = static_cast<const SeededEntropy*>(context);
  if (self->client_ == nullptr) return Status::kEntropyFailed;
  const TrainTask& task = self->client_->task();
  RandomStream random(DeriveKey(self->secret_, "sotto entropy", task.round, task.attempt), 0);
  random.Fill(out);
  return random.status();
}

}  // namespace sotto::server
