// What of a device belongs to one model: its samples in memory, its buffers and its client. A
// device that takes another model gets another one. Part of ports/posix/client. One thread at a
// time.
#pragma once

#include <cstddef>
#include <optional>

#include "options.h"
#include "share.h"
#include "sotto/client.h"
#include "sotto/data/device_share.h"
#include "sotto/model/model_file.h"
#include "sotto/posix/client_memory.h"
#include "sotto/posix/key_file.h"
#include "sotto/seeded_entropy.h"

namespace sotto::posix {

class Trainee {
 public:
  //   options, key  outlive the object
  //   model         null: the smallest net takes its place, which no job has. Its client asks for
  //                 work; no task is for it
  //   share         of the model; without samples the device takes part like any other
  //   ledger        of updates with private noise
  //   personal      keeps the values of personal layers; copied. What it points to outlives the
  //                 object
  //   held          [model.parameters] a model that this machine has kept; empty: none. Copied
  // Throws std::runtime_error if the cryptographic library fails.
  Trainee(const ClientOptions& options, SharedModel model, Share share, const DeviceKey& key,
          const UpdateLedger& ledger, const PersistentStore& personal, Span<const float> held);
  Trainee(const Trainee&) = delete;
  Trainee& operator=(const Trainee&) = delete;

  Client& client() { return client_; }
  const Client& client() const { return client_; }
  const ModelInfo* model() const { return model_.get(); }  // null: it has none
  const Share& share() const { return share_; }
  // Recorded samples are counted when a round begins.
  uint32_t samples() const {
    return share_.recorded != nullptr ? share_.recorded->training() : samples_.source().count;
  }
  uint32_t held_out() const {
    return share_.recorded != nullptr ? share_.recorded->held_out() : held_out_.samples.count;
  }
  // [model.parameters] the newest model that was downloaded whole; before, the one that was held,
  // or zeros.
  Span<const float> base() const { return memory_.base(); }

  // Bytes of the buffers for a model, without the samples.
  static size_t Bytes(const ModelInfo& model);

 private:
  const ModelInfo& net() const;
  ClientConfig MakeConfig(const ClientOptions& options, const DeviceKey& key,
                          const UpdateLedger& ledger);

  const SharedModel model_;
  const Share share_;
  DeviceShare samples_;  // reads share_
  HeldOut held_out_;
  ClientMemory memory_;
  std::optional<SeededEntropy> entropy_;  // with --seed
  const PersistentStore personal_;
  Client client_;
};

}  // namespace sotto::posix
