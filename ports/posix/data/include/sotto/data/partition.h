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

// Disjoint shares of equal size, as in the papers' experiments: the classes of every device's
// samples are distributed as in the whole set.
class Partition {
 public:
  // Device i gets the entries [i * samples_per_device, (i + 1) * samples_per_device) of a random
  // permutation of the training set. It is shuffled from the front (Fisher-Yates), one call of
  // `below` an entry and none beyond the last share, so with the same random numbers a device
  // keeps its samples when devices are added.
  //   training_size       samples, at most 2^32 - 1
  //   devices             >= 1
  //   samples_per_device  >= 1
  // Throws std::invalid_argument when an argument is outside its range or the shares together
  // exceed the training set.
  Partition(size_t training_size, size_t devices, size_t samples_per_device,
            const BelowFunction& below);

  size_t devices() const { return samples_.size() / samples_per_device_; }

  // The numbers of one device's samples in the training set; device < devices().
  Span<const uint32_t> DeviceSamples(size_t device) const {
    return {samples_.data() + device * samples_per_device_, samples_per_device_};
  }

 private:
  size_t samples_per_device_;
  std::vector<uint32_t> samples_;  // [devices][samples_per_device]
};

}  // namespace sotto

#endif  // SOTTO_DATA_PARTITION_H_
