#include "cli/figures.h"

#include <cmath>

namespace sotto::server {

nlohmann::ordered_json Finite(double figure) {
  if (!std::isfinite(figure)) return nullptr;
  return figure;
}

}  // namespace sotto::server
