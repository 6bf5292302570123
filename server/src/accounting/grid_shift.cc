#include "accounting/grid_shift.h"

#include <algorithm>
#include <cmath>

#include "accounting/log_space.h"

namespace sotto::privacy {

void GridShift::Add(const GridLoss& grid, double rounds) {
  Group group;
  group.rounds = rounds;
  for (const GridPoint& point : grid) group.mass_by_width[point.width] += point.mass;
  groups_.push_back(group);
}

// The width w such that cells wider than w contain any loss with probability at most `chance`.
double GridShift::LargestCountedWidth(double chance) const {
  std::map<double, double> expected_by_width;  // number of losses in such cells, over all rounds
  for (const Group& group : groups_) {
    for (const auto& [width, mass] : group.mass_by_width) {
      expected_by_width[width] += group.rounds * mass;
    }
  }
  double expected = 0.0;
  for (auto it = expected_by_width.rbegin(); it != expected_by_width.rend(); ++it) {
    expected += it->second;
    if (expected > chance) return it->first;
  }
  return 0;
}

double GridShift::Bound(double log_chance) const {
  // Half of the probability is for the widest cells, half for the sum over the other cells.
  const double log_half = log_chance - std::log(2.0);
  const double largest_width = LargestCountedWidth(std::exp(log_half));
  const auto log_moment = [&](double factor) {  // for (mu + mu^2) / 8
    double total = 0.0;
    for (const Group& group : groups_) {
      double excess = 0.0;
      for (const auto& [width, mass] : group.mass_by_width) {
        if (width <= largest_width) excess += mass * std::expm1(factor * width * width);
      }
      total += group.rounds * std::log1p(excess);
    }
    return total;
  };
  // Starts where the bound would be smallest if it were quadratic, and tries points on either side.
  constexpr double kSmall = 1e-6;
  const double scale = kSmall / (largest_width * largest_width);
  const double guess = std::sqrt(-log_half * scale / log_moment(scale));
  double best = kInfinity;
  for (double mu = guess / 16; mu < 3 * guess; mu *= 1.1) {
    best = std::min(best, (log_moment((mu + mu * mu) / 8) - log_half) / mu);
  }
  return best;
}

}  // namespace sotto::privacy
