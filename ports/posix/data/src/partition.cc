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

Partition::Partition(size_t training_size, size_t devices, size_t samples_per_device,
                     const BelowFunction& below)
    : samples_per_device_(samples_per_device) {
  CheckArguments(training_size, devices, samples_per_device);
  samples_.resize(training_size);
  std::iota(samples_.begin(), samples_.end(), 0U);
  const size_t used = devices * samples_per_device;
  for (size_t i = 0; i < used; ++i) {
    std::swap(samples_[i], samples_[i + below(static_cast<uint32_t>(training_size - i))]);
  }
  samples_.resize(used);
}

}  // namespace sotto
