// What the devices of a partition hold, in figures. Part of sotto::server/data.
//
// Pure functions: safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/data/dataset.h"
#include "sotto/data/partition.h"

namespace sotto::server {

// The least, the median and the most of some numbers, and their mean.
struct Spread {
  double least = 0;
  double median = 0;  // the lower one of two
  double mean = 0;
  double most = 0;
};

// All devices together.
struct ShareSummary {
  uint32_t devices = 0;
  uint32_t without_samples = 0;
  uint64_t dealt = 0;      // samples, counted once for each device that holds them
  uint64_t different = 0;  // samples, each counted once
  Spread samples;          // of a device
  // Of data with labels, else empty or 0.
  std::vector<uint64_t> of_class;  // [classes] dealt samples
  Spread classes;                  // that a device with samples holds
  // The total variation distance between the class shares of a device with samples and the class
  // shares of all dealt samples: half of the sum of the absolute differences, from 0 (equal) to 1.
  Spread skew;
};

ShareSummary Summarise(const Dataset& data, const Partition& partition);

// A device's samples of each class, [classes].
std::vector<uint32_t> ClassesOf(const Dataset& data, const Partition& partition, uint32_t device);

// The name of the group that all of a device's samples are from; empty if there is no such group.
std::string GroupOf(const Dataset& data, const Partition& partition, uint32_t device);

// A class for people: its name, or its number.
std::string ClassName(const SampleInfo& info, uint32_t label);

}  // namespace sotto::server
