// A device of the fleet: the SDK's client on a small net, and its link to one of the two servers.
//
// It keeps its receipt and its model over a reset. It speaks to one server until the link is lost
// or refused, and then tries the other one. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "faults/scenario.h"
#include "faults/server.h"
#include "faults/witness.h"
#include "faults/world.h"
#include "round/devices.h"
#include "sotto/client.h"
#include "sotto/posix/client_memory.h"
#include "sotto/random.h"

namespace sotto::server {

class SimulatedDevice {
 public:
  using Servers = std::vector<std::unique_ptr<SimulatedServer>>;

  //   index  of the registry; its number in a store is one more
  SimulatedDevice(World& world, const Scenario& scenario, Witness& witness, Servers& servers,
                  const ModelInfo& model, uint32_t index, const Device& identity);

  void Start() { StepLater(world_.Below(1000)); }
  // No message reaches this server, or comes from it, for `ms`.
  void CutFrom(size_t server, uint64_t ms);

 private:
  static Status Entropy(void* context, MutableByteSpan out);
  static Status ReadSample(void* context, uint32_t sample, Span<float> features, uint32_t* label);
  static Status WriteModel(void* context, Span<const float> model);
  static uint64_t NowMs(void* context);

  void StepLater(uint64_t ms);
  void Step();
  void Send();
  void OnAnswer(uint64_t request, const std::vector<uint8_t>& frame);
  void LoseLink(uint64_t rest_ms);
  void Reset();
  bool IsCut() const { return world_.now_ms() < cut_until_ms_[server_]; }

  World& world_;
  const Scenario& scenario_;
  Witness& witness_;
  Servers& servers_;
  const uint32_t index_;
  const Device identity_;
  RandomStream entropy_;
  std::vector<float> base_;
  posix::ClientMemory memory_;
  ClientConfig config_;
  std::unique_ptr<Client> client_;
  size_t server_ = 0;
  int link_ = 0;             // the process that it leads to; 0: there is none
  uint64_t request_ = 0;     // number of the one that waits for its answer
  uint64_t step_ = 0;        // of the last StepLater(): an earlier one does nothing
  bool has_rested_ = false;  // the time of the training at hand
  uint64_t cut_until_ms_[2] = {};
};

}  // namespace sotto::server
