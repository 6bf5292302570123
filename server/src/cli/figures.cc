#include "cli/figures.h"

#include <cmath>
#include <fmt/format.h>

namespace sotto::server {

nlohmann::ordered_json Finite(double figure) {
  if (!std::isfinite(figure)) return nullptr;
  return figure;
}

std::string EpsilonText(double epsilon, int decimals) {
  if (!std::isfinite(epsilon)) return "infinite";
  const double scale = std::pow(10.0, decimals);
  double units = std::round(epsilon * scale);
  if (units / scale < epsilon) units += 1;
  return fmt::format("{:.{}f}", units / scale, decimals);
}

std::string LowerBoundText(double bound, int decimals) {
  const double scale = std::pow(10.0, decimals);
  double units = std::round(bound * scale);
  if (units / scale > bound) units -= 1;
  return fmt::format("{:.{}f}", units / scale, decimals);
}

}  // namespace sotto::server
