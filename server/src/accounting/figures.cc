#include "accounting/figures.h"

#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <sstream>

namespace sotto::privacy {
namespace {

std::string Text(double figure, int decimals) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(decimals) << figure;
  return text.str();
}

std::string ThreeDigits(double figure) {
  std::ostringstream text;
  text << std::setprecision(3) << figure;
  return text.str();
}

// Unlike std::stod it takes denormal numbers.
double Number(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

}  // namespace

std::string EpsilonText(double epsilon, int decimals) {
  if (!std::isfinite(epsilon)) return "infinite";
  const double scale = std::pow(10.0, decimals);
  double units = std::round(epsilon * scale);
  if (units / scale < epsilon) units += 1;
  return Text(units / scale, decimals);
}

std::string DeltaText(double delta) {
  constexpr int kMostSteps = 2;  // the nearest text is at most half a unit too small
  double value = delta;
  std::string text = ThreeDigits(value);
  if (!(delta > 0)) return text;
  const double unit = std::pow(10.0, std::floor(std::log10(delta)) - 2);
  for (int step = 0; step < kMostSteps && Number(text) < delta; ++step) {
    value = Number(text) + unit;
    text = ThreeDigits(value);
  }
  return text;
}

std::string LowerBoundText(double bound, int decimals) {
  const double scale = std::pow(10.0, decimals);
  double units = std::round(bound * scale);
  if (units / scale > bound) units -= 1;
  return Text(units / scale, decimals);
}

}  // namespace sotto::privacy
