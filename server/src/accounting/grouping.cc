#include "accounting/grouping.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace sotto::privacy {
namespace {

// The cells of a grid in the logarithms of noise multiplier and rate.
using Cell = std::tuple<Sampling, double, double>;

Cell CellOf(const GaussianRounds& r, double width) {
  const double noise = std::floor(std::log2(r.noise_multiplier) / width);
  const double rate = std::ceil(std::log2(r.sampling_rate) / width);
  return {r.sampling, noise, rate};
}

// One group for each cell that holds a round.
std::vector<GaussianRounds> ByCell(const std::vector<GaussianRounds>& rounds, double width) {
  std::map<Cell, GaussianRounds> groups;
  for (const GaussianRounds& r : rounds) {
    const auto [place, is_new] = groups.emplace(CellOf(r, width), r);
    if (is_new) continue;
    GaussianRounds& group = place->second;
    group.noise_multiplier = std::min(group.noise_multiplier, r.noise_multiplier);
    group.sampling_rate = std::max(group.sampling_rate, r.sampling_rate);
    group.rounds = SaturatingSum(group.rounds, r.rounds);
  }
  std::vector<GaussianRounds> list;
  for (const auto& [cell, group] : groups) list.push_back(group);
  return list;
}

// Fewer groups than `most`, or one cell for each sampling and sign.
std::vector<GaussianRounds> InCells(std::vector<GaussianRounds> rounds, size_t most) {
  if (rounds.size() < most) return rounds;
  // Widths from 2^-12 to 2^12. The number of cells falls with the width, or nearly, so a bisection
  // finds a width that is hardly larger than needed.
  constexpr int kStepsPerOctave = 2;
  int low = -12 * kStepsPerOctave - 1;
  int high = 12 * kStepsPerOctave;
  std::vector<GaussianRounds> groups = ByCell(rounds, std::exp2(high / kStepsPerOctave));
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    std::vector<GaussianRounds> finer =
        ByCell(rounds, std::exp2(static_cast<double>(middle) / kStepsPerOctave));
    if (finer.size() < most) {
      high = middle;
      groups = std::move(finer);
    } else {
      low = middle;
    }
  }
  return groups;
}

}  // namespace

std::vector<GaussianRounds> MergedUnsampled(const std::vector<GaussianRounds>& rounds) {
  double square = 0.0;
  for (const GaussianRounds& r : rounds) {
    if (r.rounds == 0) continue;
    const double mu = 1 / r.noise_multiplier;
    square += static_cast<double>(r.rounds) * mu * mu;
  }
  if (square == 0) return {};
  // One round, or several if one would have less noise than the accountants handle.
  constexpr double kLargestSquare = 256.0;
  const double count = square <= kLargestSquare ? 1.0 : std::ceil(std::min(square, 0x1p62));
  const double z = (1 - kArithmeticMargin) * std::sqrt(count / square);
  return {{Sampling::kNone, z, 1.0, static_cast<int64_t>(count)}};
}

std::vector<GaussianRounds> Grouped(const std::vector<GaussianRounds>& rounds, size_t most) {
  const std::vector<GaussianRounds> merged = Canonical(rounds);
  if (merged.size() <= most) return merged;
  std::vector<GaussianRounds> kept;
  std::vector<GaussianRounds> sampled;
  std::vector<GaussianRounds> unsampled;
  for (const GaussianRounds& r : merged) {
    auto& list = !r.choices.empty() ? kept : r.sampling == Sampling::kNone ? unsampled : sampled;
    list.push_back(r);
  }
  for (const auto& groups : {MergedUnsampled(unsampled), InCells(std::move(sampled), most)}) {
    kept.insert(kept.end(), groups.begin(), groups.end());
  }
  return Canonical(kept);
}

}  // namespace sotto::privacy
