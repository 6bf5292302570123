// Two trainings that differ in the data of one device and in nothing else: how far apart their
// models are. Part of sotto::server/audit.
//
// Same keys, so the same cohorts, the same order of samples and the same noise. That cancels only
// if the noise does not depend on the update: CodecInfo::same_noise. What is measured is the
// distance for one pair of neighbours, so it is a lower bound on the sensitivity, which is the
// largest over all pairs.
//   distance   |w_T - w'_T| after T rounds: what Figure 2 of the paper on convergent f-DP shows
//   one round  how far the release of a round moves if only that round's data differ, and all
//              earlier releases are the same. The plan's noise covers this one: at most
//              2 C eta_g / B, with the round's C, the server's learning rate eta_g and B planned
//              reports
// The distance has no such bound: other devices train from models that differ, too. Both are
// measured on exact models, as with --grid 0: the grid of released models is far coarser than what
// one device moves, and comes after the noise.
//
// Reentrant: safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/simulation.h"

namespace sotto::server {

// What of the device is replaced.
enum class TwinUnit {
  kSample,  // one of its training samples
  kDevice,  // all of its samples
};
const char* Name(TwinUnit unit);  // "sample", "device"

struct TwinRound {
  uint32_t rounds = 0;   // released so far
  double distance = 0;   // L2, model units; largest over the pairs, as is the next one
  double one_round = 0;  // of the last release; 0 if no replaced data took part in it
  // Devices of the cohort that hold replaced data: more than one only where a partition gives a
  // sample to several.
  uint32_t devices = 0;
  double bound = 0;  // on one_round: one device's bound, times `devices`
};

struct TwinAudit {
  uint32_t pairs = 0;
  std::vector<TwinRound> rounds;
  std::vector<std::string> violations;  // rounds above their bound; empty: none
  std::string finish_reason;            // of the first training; "stopped" if it was
  bool HasMeasured() const;             // some replaced data took part in some round
};

struct TwinOptions {
  TwinUnit unit = TwinUnit::kSample;
  uint32_t pairs = 3;  // of neighbours, each with another device; >= 1
};

// Trains once with the data and once with each neighbour. Replaced samples come from the test set,
// with another label where there are labels.
//   stop  asked before each round; true ends the audit with the rounds that there are
// Throws std::invalid_argument if the codec's noise depends on the update, for an estimator or
// optimiser other than the mean, smoothed or not, and sgd, for more pairs than devices that have
// samples, and as Simulate() does.
TwinAudit AuditTwins(const SimulationConfig& config, const TrainTest& data,
                     const TwinOptions& options, const std::function<bool()>& stop,
                     const std::function<void(const TwinRound&)>& on_round);

}  // namespace sotto::server
