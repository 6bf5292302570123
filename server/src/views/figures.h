// Figures in JSON and text. Text of privacy figures is in accounting/figures.h. Pure functions,
// safe from any thread. Part of sotto::server/views.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "plans/device_accuracy.h"

namespace sotto::server {

// A figure in JSON: null if it is infinite.
nlohmann::ordered_json Finite(double figure);

// With this many decimals, or with three digits where decimals would leave fewer: "0.4229",
// "1.13e-05".
std::string Digits(double figure, int decimals);

// What devices said of the model with which a round began: null without evaluation on devices.
nlohmann::ordered_json DeviceAccuracyToJson(
    const std::optional<privacy::AccuracyEstimate>& estimate);

// "0.812 +- 0.071 on the devices before it"
std::string DescribeDeviceAccuracy(const privacy::AccuracyEstimate& estimate);

// A line of the ledger: what devices send beside their updates, within the same epsilon. Empty if
// they send nothing. A plan of the ledger has the joint scale of clip bit and accuracy as
// clip_bit_scale.
std::string DescribeExtras(const privacy::Plan& plan);

}  // namespace sotto::server
