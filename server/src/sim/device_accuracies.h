// How well a model does on the held-out samples of each device. Part of sotto::server/sim.
//
// Plain values and pure functions: safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace sotto::server {

// Of one figure over the devices.
struct AccuracySpread {
  static constexpr std::array<double, 5> kShares = {0.1, 0.25, 0.5, 0.75, 0.9};

  double mean = 0;
  // For each share the lowest value that at least this share of the devices does not exceed.
  std::array<double, kShares.size()> quantiles = {};
};

//   values  at least one, in any order
AccuracySpread AccuracySpreadOf(std::vector<double> values);

// Accuracies: the share of a device's held-out samples that a model tells right.
struct DeviceAccuracies {
  uint32_t devices = 0;  // that hold out a sample; the others do not count
  // The shared parameters; personal layers, if there are any, as all devices start with them.
  AccuracySpread global;
  // With each device's own personal layers; absent: the model has none.
  std::optional<AccuracySpread> personal;
  // The same, after as many local steps more, which nobody else sees and no clip bounds.
  uint32_t fine_tune_steps = 0;
  std::optional<AccuracySpread> fine_tuned;  // absent: no steps
};

}  // namespace sotto::server
