// A device's entropy in a seeded run. INSECURE: for simulations and tests. Part of sotto/local.
//
// In a seeded run the nonce of a training and the seed of its private noise must be the same in the
// simulator, in a separate process and on a board, whatever the device did before. So they are a
// function of the device's secret and of the current round and attempt. Never use this for a device
// whose data matter: no epsilon holds against a person who knows the seed. A round draws entropy
// once; TLS must have another source.
#pragma once

#include "sotto/train_task.h"

namespace sotto {

// The context of a port whose entropy is seeded. One thread at a time.
class SeededEntropy {
 public:
  explicit SeededEntropy(const Key& secret) : secret_(secret) {}

  // Sets the task that names the current round and attempt, for example Client::task(). The task
  // must outlive this object. Call this before the first draw.
  void Attach(const TrainTask* task) { task_ = task; }

  // A sotto::Port's entropy callback; context is a SeededEntropy. The bytes are stream 0 of the
  // key DeriveKey(secret, key_label::kEntropy, round, attempt, 0). Returns kOk or kEntropyFailed.
  static Status Fill(void* context, MutableByteSpan out);

 private:
  Key secret_;
  const TrainTask* task_ = nullptr;
};

}  // namespace sotto
