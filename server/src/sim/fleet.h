// A simulated fleet: many devices in this process, each with the SDK's real client. Part of
// sotto::server/sim.
//
// The simulated device is a port. Its client, its training and its encoder are the objects that a
// board links; only samples, entropy and the link to the server are simulated. A device's behaviour
// depends on its own keys, the round and the attempt, so results do not depend on the number of
// threads.
//
// Personal layers. The fleet keeps each device's values (personal_values.h) from round to round, as
// long as it lives.
//
// One thread at a time; RunRound() starts its own threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ranks/ranks.h"
#include "round/devices.h"
#include "round/job.h"
#include "sim/device_accuracies.h"
#include "sim/personal_values.h"
#include "sotto/client.h"
#include "sotto/data/dataset.h"
#include "sotto/data/partitions.h"
#include "sotto/posix/client_memory.h"

namespace sotto::server {

struct FleetOptions {
  uint32_t devices = 1000;
  uint32_t samples_per_device = kDefaultSamplesPerDevice;  // the mean, see MakePartition()
  std::string partition = kDefaultPartition;               // sotto/data/partitions.h
  std::optional<uint64_t> partition_seed;                  // absent: the run's
  double held_out = 0.0;  // share of a device's samples, the last ones, that it evaluates on
  double dropout = 0.0;   // chance that a device drops out of an attempt; in [0, 1)
};

// What a device's owner learns of a training: see LocalRound.
struct TrainingReport {
  Status failure = Status::kOk;
  uint32_t saturated_steps = 0;
};

// The run key decides the devices' names and secrets, their samples, their drop-outs and
// their nonces. The model and the data set must outlive the fleet. The constructor throws as
// MakePartition() and RequireFits() do, and std::invalid_argument if a share is to be held out and
// no device has samples for it.
class Fleet {
 public:
  // How many trainings of a round went wrong.
  struct Report {
    uint32_t trained = 0;          // all of them
    uint32_t failed = 0;           // these devices report zeros (local_round.h)
    uint32_t saturated = 0;        // in fixed point a number was out of the range of its format
    Status failure = Status::kOk;  // of the first that failed
    bool is_stopped = false;       // by must_stop
  };

  Fleet(const FleetOptions& options, const ModelInfo& model, const Dataset& data,
        const Key& run_key);

  // The devices' names and secrets, for the server.
  const DeviceRegistry& registry() const { return registry_; }

  const Partition& partition() const { return partition_; }

  // Runs the job's open round for the devices that are drawn and do not drop out: they download,
  // train, encode and upload, `threads` devices at a time. Throws std::runtime_error if all
  // trainings failed, or if a device fails in another way; the error names the device and the
  // status.
  Report RunRound(Job& job, int threads);

  // The same for this rank's part of these devices; what all ranks report is for
  // RequireSomeTraining().
  //   must_stop  asked before each device; true: the others are left out. Null: never
  Report RunPart(Job& job, int threads, const Ranks& ranks, const std::function<bool()>& must_stop);

  // How well a model does on the samples that devices hold out. Absent: no device holds one out.
  //   shared           [model.parameters]
  //   options          of a device's training; its bound and its length do not count
  //   fine_tune_steps  0: nothing is fine-tuned
  // Throws std::runtime_error that names the device if a fine-tuning fails. The model tells classes
  // apart.
  std::optional<DeviceAccuracies> EvaluateDevices(Span<const float> shared,
                                                  const TrainingOptions& options,
                                                  uint32_t fine_tune_steps, int threads) const;

  // If all trainings failed, no later round can be better: throws the std::runtime_error of
  // RunRound().
  static void RequireSomeTraining(const Report& report, const Job& job);

 private:
  bool DropsOut(uint32_t device, uint32_t round, uint32_t attempt) const;
  void CheckIn(Job& job, const std::vector<bool>& is_here) const;
  struct Worker;
  TrainingReport RunDevice(uint32_t index, Job& job, Worker& worker);
  class Evaluator;

  FleetOptions options_;
  const ModelInfo model_;  // trains by blocks: the bits of a board, faster
  const Dataset& data_;
  Key run_key_;
  Partition partition_;
  DeviceRegistry registry_;
  std::unique_ptr<PersonalValues> personal_;  // null: the model has no personal layers
};

}  // namespace sotto::server
