// The partition of a training set among devices. Part of sotto::data.
//
// A partition is constant after it was made, so any number of threads may read it.
#ifndef SOTTO_DATA_PARTITION_H_
#define SOTTO_DATA_PARTITION_H_

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

// Disjoint shares of equal size, as in the papers' experiments: the classes of every device's
// samples are distributed as in the whole set. Device i gets the entries [i * samples_per_device,
// (i + 1) * samples_per_device) of a random permutation of the training set. It is shuffled from
// the front (Fisher-Yates), one call of `below` an entry and none beyond the last share, so with
// the same random numbers a device keeps its samples when devices are added.
//   training_size       samples, at most 2^32 - 1
//   devices             >= 1
//   samples_per_device  >= 1
// Throws std::invalid_argument when an argument is outside its range or the shares together exceed
// the training set.
Partition IidPartition(size_t training_size, size_t devices, size_t samples_per_device,
                       const BelowFunction& below);

}  // namespace sotto

#endif  // SOTTO_DATA_PARTITION_H_
