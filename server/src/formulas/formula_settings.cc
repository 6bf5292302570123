#include "formulas/formula_settings.h"

#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>

#include "sotto/options/numbers.h"

namespace sotto::server {

double RealParameter(const Settings& settings, const std::string& name) {
  const std::optional<double> value = posix::ParseReal(settings.at(name));
  if (value && std::isfinite(*value)) return *value;
  throw std::invalid_argument(fmt::format("{} = {}: expected a number", name, settings.at(name)));
}

int64_t CountParameter(const Settings& settings, const std::string& name) {
  const std::optional<uint64_t> value = posix::ParseCount(settings.at(name));
  if (value && *value > 0 && *value < (uint64_t{1} << 40)) return static_cast<int64_t>(*value);
  throw std::invalid_argument(
      fmt::format("{} = {}: expected a count above 0", name, settings.at(name)));
}

}  // namespace sotto::server
