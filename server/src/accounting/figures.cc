#include "accounting/figures.h"

#include <cmath>
#include <iomanip>
#include <sstream>

namespace sotto::privacy {
namespace {

std::string Text(double figure, int decimals) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(decimals) << figure;
  return text.str();
}

}  // namespace

std::string EpsilonText(double epsilon, int decimals) {
  if (!std::isfinite(epsilon)) return "infinite";
  const double scale = std::pow(10.0, decimals);
  double units = std::round(epsilon * scale);
  if (units / scale < epsilon) units += 1;
  return Text(units / scale, decimals);
}

std::string LowerBoundText(double bound, int decimals) {
  const double scale = std::pow(10.0, decimals);
  double units = std::round(bound * scale);
  if (units / scale > bound) units -= 1;
  return Text(units / scale, decimals);
}

}  // namespace sotto::privacy
