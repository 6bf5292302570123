#include "views/figures.h"

#include <cmath>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace sotto::server {

nlohmann::ordered_json Finite(double figure) {
  if (!std::isfinite(figure)) return nullptr;
  return figure;
}

std::string Digits(double figure, int decimals) {
  const bool is_small = figure != 0 && std::fabs(figure) < std::pow(10.0, 2 - decimals);
  return is_small ? fmt::format("{:.3g}", figure) : fmt::format("{:.{}f}", figure, decimals);
}

nlohmann::ordered_json DeviceAccuracyToJson(
    const std::optional<privacy::AccuracyEstimate>& estimate) {
  if (!estimate) return nullptr;
  return {{"accuracy", estimate->accuracy},
          {"bar", estimate->bar},
          {"confidence", privacy::kAccuracyConfidence},
          {"noise_deviation", estimate->noise_deviation}};
}

std::string DescribeDeviceAccuracy(const privacy::AccuracyEstimate& estimate) {
  return fmt::format("{:.3f} +- {:.3f} on the devices before it", estimate.accuracy, estimate.bar);
}

std::string DescribeExtras(const privacy::Plan& plan) {
  if (plan.clip_bit_scale == 0) return "";
  return fmt::format(
      "  clip bits or accuracies of devices are beside the updates, of norm at most {:.4f}: these "
      "figures cover them\n",
      plan.clip_bit_scale / 2);
}

}  // namespace sotto::server
