#include "sotto/data/partition.h"

#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace sotto {
namespace {

// What the training set is enough for.
std::string AdviceFor(size_t training_size, size_t devices, size_t samples_per_device) {
  const size_t served = training_size / samples_per_device;
  const size_t each = training_size / devices;
  std::string advice;
  if (served > 0) advice = fmt::format("{} such devices", served);
  if (each > 0) {
    advice += fmt::format("{}{} devices with {} each", served > 0 ? ", or " : "", devices, each);
  }
  return advice.empty() ? "; take fewer of both" : "; it serves " + advice;
}

}  // namespace

void RequireEnoughSamples(size_t training_size, size_t devices, size_t samples_per_device) {
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
                    "the training set{}",
                    devices, samples_per_device, training_size,
                    AdviceFor(training_size, devices, samples_per_device)));
  }
}

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

uint32_t CountEmpty(const Partition& partition) {
  uint32_t empty = 0;
  for (uint32_t device = 0; device < partition.devices(); ++device) {
    empty += partition.DeviceSamples(device).size() == 0 ? 1 : 0;
  }
  return empty;
}

std::vector<uint32_t> DrawSamples(size_t training_size, size_t count, const BelowFunction& below) {
  std::vector<uint32_t> samples(training_size);
  std::iota(samples.begin(), samples.end(), 0U);
  for (size_t i = 0; i < count; ++i) {
    std::swap(samples[i], samples[i + below(static_cast<uint32_t>(training_size - i))]);
  }
  samples.resize(count);
  samples.shrink_to_fit();
  return samples;
}

Partition IidPartition(size_t training_size, size_t devices, size_t samples_per_device,
                       const BelowFunction& below) {
  RequireEnoughSamples(training_size, devices, samples_per_device);
  std::vector<size_t> starts;
  starts.reserve(devices + 1);
  for (size_t i = 0; i <= devices; ++i) starts.push_back(i * samples_per_device);
  return {std::move(starts), DrawSamples(training_size, devices * samples_per_device, below)};
}

}  // namespace sotto
