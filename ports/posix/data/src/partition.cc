#include "sotto/data/partition.h"

#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace sotto {
namespace {

void CheckArguments(size_t training_size, size_t devices, size_t samples_per_device) {
  if (training_size > std::numeric_limits<uint32_t>::max()) {
    throw std::invalid_argument(
        fmt::format("partition: the training set has {} samples, at most 2^32 - 1 are possible",
                    training_size));
  }
  if (devices == 0 || samples_per_device == 0) {
    throw std::invalid_argument(
        fmt::format("partition: {} devices with {} samples each; both must be at least 1", devices,
                    samples_per_device));
  }
  // Divided, so that no product can overflow.
  if (devices > training_size / samples_per_device) {
    throw std::invalid_argument(
        fmt::format("partition: {} devices with {} samples each need more than the {} samples of "
                    "the training set; it serves {} such devices, or {} samples on each",
                    devices, samples_per_device, training_size, training_size / samples_per_device,
                    training_size / devices));
  }
}

}  // namespace

Partition::Partition(std::vector<size_t> starts, std::vector<uint32_t> samples)
    : devices_(static_cast<uint32_t>(starts.size() - 1)),
      starts_(std::move(starts)),
      samples_(std::move(samples)) {}

Partition Partition::InOrder(uint32_t devices, uint32_t samples_per_device) {
  Partition partition;
  partition.devices_ = devices;
  partition.samples_per_device_ = samples_per_device;
  return partition;
}

DeviceIndices Partition::DeviceSamples(uint32_t device) const {
  if (starts_.empty()) return {{}, device * samples_per_device_, samples_per_device_};
  const size_t first = starts_[device];
  const size_t count = starts_[device + 1] - first;
  return {{samples_.data() + first, count}, 0, static_cast<uint32_t>(count)};
}

Partition IidPartition(size_t training_size, size_t devices, size_t samples_per_device,
                       const BelowFunction& below) {
  CheckArguments(training_size, devices, samples_per_device);
  std::vector<uint32_t> samples(training_size);
  std::iota(samples.begin(), samples.end(), 0U);
  const size_t used = devices * samples_per_device;
  for (size_t i = 0; i < used; ++i) {
    std::swap(samples[i], samples[i + below(static_cast<uint32_t>(training_size - i))]);
  }
  samples.resize(used);
  samples.shrink_to_fit();
  std::vector<size_t> starts;
  for (size_t i = 0; i <= devices; ++i) starts.push_back(i * samples_per_device);
  return {std::move(starts), std::move(samples)};
}

}  // namespace sotto
