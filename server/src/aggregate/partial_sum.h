// One process's part of an attempt after its uploads are closed. Part of sotto::server/aggregate.
//
// The parts of an attempt merge by addition, in any order, to the same bytes. So several processes
// can share a simulation, and several servers can share the uploads. Each device must belong to one
// process only; otherwise it counts twice.
//
// Values: one thread at a time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sotto/bytes.h"

namespace sotto::server {

// The devices that lack one thing that a task needs. A device may lack several.
struct LackCount {
  uint32_t devices = 0;
  uint32_t drawn = 0;   // of these devices
  uint32_t needed = 0;  // by the task; meaningful if there are devices, as is the next one
  uint32_t least = 0;   // of what these devices hold

  void Merge(const LackCount& other);
};

// The devices, heard and drawn or not, that lack something (round/needs.h). For the operator.
struct LackCounts {
  uint32_t devices = 0;
  uint32_t drawn = 0;
  std::vector<LackCount> by_need = {};  // one for each of Needs(); may be empty if there are none

  void Merge(const LackCounts& other);
};

struct AttemptCounts {
  uint32_t checked_in = 0;    // see round/attempt.h; drawn or not
  uint32_t reported = 0;      // complete, valid updates
  uint32_t rejected = 0;      // drawn devices whose update was rejected, beyond_bound included
  uint64_t update_bytes = 0;  // encoded, of all valid updates
  // The devices whose updates these are: registry indices, ascending. For the operator.
  std::vector<uint32_t> reporters = {};
  // The devices whose update was refused because no update within the task's bounds has its values:
  // registry indices, ascending. For the operator. None of these devices is honest.
  std::vector<uint32_t> beyond_bound = {};
  LackCounts lacking = {};
  // By registry index: which devices are checked in, and which of them were heard in this attempt
  // (round/attempt.h). Parts of an attempt may have the former in common, of the attempt before.
  std::vector<bool> is_checked_in = {};
  std::vector<bool> is_heard = {};

  void Merge(const AttemptCounts& other);

  // As numbers for another process, and back.
  std::vector<uint64_t> ToNumbers() const;
  static AttemptCounts FromNumbers(const std::vector<uint64_t>& numbers);
};

struct PartialSum {
  explicit PartialSum(std::vector<int64_t> of_updates) : sums(std::move(of_updates)) {}
  // Wipes the sums: the sum of few updates is as secret as the updates.
  ~PartialSum() { SecureWipe(sums.data(), sums.size() * sizeof(int64_t)); }
  PartialSum(PartialSum&&) = default;
  PartialSum(const PartialSum&) = delete;
  PartialSum& operator=(const PartialSum&) = delete;

  // Adds another process's part of the same attempt. Throws std::invalid_argument if it has another
  // number of coordinates; this part is then unchanged.
  void Merge(const PartialSum& other);

  std::vector<int64_t> sums;  // [coordinates] of the valid updates, in units of the job's codec
  AttemptCounts counts;
};

}  // namespace sotto::server
