// Many simulated devices that load a server over the network. Part of sotto::server/swarm.
//
// Each device is the SDK's client and its link (TLS) over its own socket. A thread runs the devices
// of one event loop (libuv), so thousands fit in a process. swarm.cc has the loop, device.cc a
// device, faults.h the faults that are injected, figures.h the figures that are measured.
//
// The devices of a loop share the memory that training takes: see SharedMemory in device.h. Each
// has its own model, from which it takes the next one as a difference.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "round/devices.h"
#include "sotto/crypto.h"
#include "sotto/data/dataset.h"
#include "sotto/data/partition.h"
#include "sotto/model_info.h"
#include "swarm/faults.h"
#include "swarm/figures.h"

namespace sotto::server {

// What the devices train on. Without it they hold no samples, and send zeros with their noise.
struct SwarmSamples {
  SharedDataset data;
  Partition partition;  // of at least as many devices
};

struct SwarmOptions {
  std::string address;  // of the server, numeric
  uint16_t port = 0;
  uint32_t threads = 1;
  uint32_t addresses = 0;  // of the devices, LocalAddress(0) and on; 0: the system's choice
  uint32_t max_frame = 16384;
  uint32_t hold_ms = 25000;
  bool float32 = false;       // take models as float32, and say whole Hellos, as older devices do
  double connect_rate = 500;  // devices a second that begin to connect
  double duration_s = 0;      // 0: until the job is done
  FaultOptions faults;
  Key seed;  // of the faults
};

// What a swarm does now, for people.
struct SwarmProgress {
  double seconds = 0;  // since the start
  SwarmCounts counts;
  uint64_t rounds = 0;   // attempts at rounds that a device learned of
  double updates_s = 0;  // since the last call
};

// An address of this machine (127.0.0.0/8) for the devices of one "site": index < 1,000,000.
std::string LocalAddress(uint32_t index);

// Whether a numeric address is one of this machine's 127.0.0.0/8.
bool IsLocal(const std::string& address);

// Runs the devices until the server has told all of them that the job is done, the duration is over
// or the process got a signal (posix::CatchStopSignals()).
//   devices  their names and secrets; outlives the call
//   on_second  called once a second
// Throws std::runtime_error that says what to do if there is no server or it accepts no key, if the
// process may not open a file for each device, and if the system gives no entropy.
SwarmSummary RunSwarm(const SwarmOptions& options, const std::vector<Device>& devices,
                      const ModelInfo& model, const std::optional<SwarmSamples>& samples,
                      const std::function<void(const SwarmProgress&)>& on_second);

}  // namespace sotto::server
