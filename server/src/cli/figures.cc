#include "cli/figures.h"

#include <cmath>
#include <fmt/format.h>

namespace sotto::server {

nlohmann::ordered_json Finite(double figure) {
  if (!std::isfinite(figure)) return nullptr;
  return figure;
}

std::string EpsilonText(double epsilon, int decimals) {
  return std::isfinite(epsilon) ? fmt::format("{:.{}f}", epsilon, decimals) : "infinite";
}

}  // namespace sotto::server
