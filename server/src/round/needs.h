// What a task needs of a device, and what devices lack of it. Part of sotto::server/round.
//
// A device says in each Hello what it can do (Abilities in messages.h). A drawn device that lacks
// something is answered as one that is not drawn, and counts as one that does not report. The draw
// does not look at abilities: the number of eligible devices, the noise and the divisor stay as
// planned.
//
// To add a need: a row in needs.cc, the field of Abilities and of the wire format, a test.
//
// All functions are pure and safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "aggregate/partial_sum.h"
#include "round/job_config.h"
#include "sotto/messages.h"

namespace sotto::server {

// A task, and what the server wants beyond it.
struct Demand : TrainTask {
  Demand(const TrainTask& task) : TrainTask(task) {}
  // A task of the job, and what its other rounds need.
  Demand(const TrainTask& task, const JobConfig& config)
      : TrainTask(task),
        salt(config.requires_salt && config.GivesSalts()),
        measures(!config.error_edges.empty()) {}

  bool salt = false;      // only updates under a salt of the server
  bool measures = false;  // a round of the job asks for prediction errors
};

struct Need {
  const char* name;                       // in JSON
  uint32_t (*needed)(const Demand& of);   // 0: the task does not need it
  uint32_t (*held)(const Abilities& by);  // a device lacks it if it holds less
  std::string (*what)(uint32_t needed);   // for people: "memory for batches of 10 samples"
  std::string (*advice)(uint32_t least);  // a job that suits devices that hold this much
};

// The rows of the table. LackCounts::by_need has their order.
Span<const Need> Needs();

// Whether the device lacks something that the task needs.
bool IsLacking(const Demand& task, const Abilities& device);

// Counts devices that lack something.
//   lacking  what they can do, by registry index
//   drawn    registry indices, ascending
LackCounts CountLacks(const Demand& task, const std::map<uint32_t, Abilities>& lacking,
                      const std::vector<uint32_t>& drawn);

// What the task needs, for people: "memory for batches of 10 samples, momentum".
std::string DescribeNeeds(const Demand& task);

// What this device lacks, in the same words. Empty if it lacks nothing.
std::string DescribeLack(const Demand& task, const Abilities& device);

// What devices lack and which job would suit them, for people. Empty if none lacks anything.
std::string DescribeLacks(const LackCounts& counts);

}  // namespace sotto::server
