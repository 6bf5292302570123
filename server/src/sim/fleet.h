// A simulated fleet: many devices in this process, each the SDK's real client. Part of
// sotto::server/sim.
//
// The simulated device is a port: the client, its training and its encoder are the objects that a
// board links; only samples, entropy and the link to the server come from here. What a device does
// depends on its own keys, the round and the attempt, so results do not depend on the thread count.
#ifndef SOTTO_SIM_FLEET_H_
#define SOTTO_SIM_FLEET_H_

#include <cstdint>
#include <vector>

#include "round/devices.h"
#include "round/job.h"
#include "sotto/client.h"
#include "sotto/data/dataset.h"
#include "sotto/data/partition.h"
#include "sotto/posix/client_memory.h"

namespace sotto::server {

struct FleetOptions {
  uint32_t devices = 1000;
  uint32_t samples_per_device = 50;
  double dropout = 0.0;  // chance that a device does not show up in a round; in [0, 1)
  bool seeded = false;   // devices' entropy derives from the run key, not from the system
};

// The devices that one of several processes runs. Each device belongs to one process alone.
struct FleetShare {
  uint32_t index = 0;  // of this process, below count
  uint32_t count = 1;  // of all processes

  bool Has(uint32_t device) const { return device % count == index; }
};

// The devices' randomness: names and secrets, samples, drop-outs; with `seeded` also their nonces.
// The data set must outlive the fleet. Throws as Partition does.
class Fleet {
 public:
  Fleet(const FleetOptions& options, const ModelInfo& model, const Dataset& data,
        const Key& run_key);

  // The same names and secrets as the server must know them.
  const DeviceRegistry& registry() const { return registry_; }

  // Lets every device of the share that is drawn for the job's open round and does not drop out
  // take its part: download, train, encode, upload. `threads` devices at a time. Throws
  // std::runtime_error naming the device and the status if one fails.
  void RunRound(Job& job, int threads, FleetShare share = {}) const;

 private:
  bool DropsOut(uint32_t device, uint32_t round, uint32_t attempt) const;
  void CheckIn(Job& job, FleetShare share) const;
  void RunDevice(uint32_t index, Job& job, posix::ClientMemory& memory) const;

  FleetOptions options_;
  const ModelInfo& model_;
  const Dataset& data_;
  Key run_key_;
  Partition partition_;
  DeviceRegistry registry_;
};

}  // namespace sotto::server

#endif  // SOTTO_SIM_FLEET_H_
