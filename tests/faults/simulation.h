// A simulation of faults: two servers of one database and a dozen devices, from one seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "faults/scenario.h"

namespace sotto::server {

struct Simulated {
  std::string scenario;
  std::string violation;  // empty: everything held
  uint64_t ended_ms = 0;  // virtual time
  uint64_t commits = 0;
  uint64_t releases = 0;
  bool was_promoted = false;
  bool was_found = false;  // that promotion, by a receipt
  uint64_t unseen = 0;     // turns of it that no receipt can show
  uint64_t tasks = 0;      // that devices got
  uint64_t vain = 0;       // of these from servers that had been taken over
  std::vector<std::string> trace;
};

Simulated Simulate(uint64_t seed, Broken broken = Broken::kNone, bool traces = false);

}  // namespace sotto::server
