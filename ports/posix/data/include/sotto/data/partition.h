// The partition of a training set among devices. Part of sotto::data.
//
// A partition is constant after it was made, so any number of threads may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sotto/span.h"

namespace sotto {

// Returns an integer drawn uniformly from 0 .. bound - 1, bound >= 1.
using BelowFunction = std::function<uint32_t(uint32_t bound)>;

// The numbers of one device's samples in the training set: a list, or all from `first` on.
struct DeviceIndices {
  Span<const uint32_t> list;
  uint32_t first = 0;
  uint32_t count = 0;

  uint32_t size() const { return count; }
  uint32_t operator[](uint32_t i) const { return list.empty() ? first + i : list[i]; }
  // `part` of them from `begin` on, begin + part <= size().
  DeviceIndices Part(uint32_t begin, uint32_t part) const {
    if (list.empty()) return {{}, first + begin, part};
    return {list.subspan(begin, part), 0, part};
  }
};

// Which samples each device holds.
class Partition {
 public:
  // Device i gets the numbers samples[starts[i]] to samples[starts[i + 1] - 1].
  //   starts  [devices + 1], from 0 to samples.size(), never falling
  Partition(std::vector<size_t> starts, std::vector<uint32_t> samples);

  // Device i gets the samples_per_device samples from i * samples_per_device on. For samples that
  // were drawn independently in the first place; takes no memory.
  //   devices * samples_per_device  at most 2^32
  static Partition InOrder(uint32_t devices, uint32_t samples_per_device);

  uint32_t devices() const { return devices_; }

  // device < devices()
  DeviceIndices DeviceSamples(uint32_t device) const;

 private:
  Partition() = default;

  uint32_t devices_ = 0;
  uint32_t samples_per_device_ = 0;  // without lists
  std::vector<size_t> starts_;
  std::vector<uint32_t> samples_;
};

// Devices that hold no sample.
uint32_t CountEmpty(const Partition& partition);

// A random choice of samples in random order: the first `count` numbers of a random permutation of
// 0 .. training_size - 1. It is shuffled from the front (Fisher-Yates), with one call of `below` a
// number.
//   training_size  at most 2^32 - 1
//   count          at most training_size
std::vector<uint32_t> DrawSamples(size_t training_size, size_t count, const BelowFunction& below);

// Throws std::invalid_argument, with all the numbers, unless the training set has
// devices * samples_per_device samples, at most 2^32 - 1; both factors are at least 1.
void RequireEnoughSamples(size_t training_size, size_t devices, size_t samples_per_device);

// Disjoint shares of equal size, as in the papers' experiments: the classes of every device's
// samples are distributed as in the whole set. Device i gets the entries [i * samples_per_device,
// (i + 1) * samples_per_device) of DrawSamples(), so with the same random numbers a device keeps
// its samples when devices are added. The other partitions are in partitions.h.
//   training_size       samples, at most 2^32 - 1
//   devices             >= 1
//   samples_per_device  >= 1
// Throws std::invalid_argument when an argument is outside its range or the shares together exceed
// the training set.
Partition IidPartition(size_t training_size, size_t devices, size_t samples_per_device,
                       const BelowFunction& below);

}  // namespace sotto
