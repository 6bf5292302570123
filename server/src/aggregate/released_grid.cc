#include "aggregate/released_grid.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "aggregate/kept_state.h"
#include "sotto/model_difference.h"

namespace sotto::server {
namespace {

double MeanSquareOfStep(Span<const float> before, Span<const float> after) {
  double sum = 0;
  for (size_t j = 0; j < after.size(); ++j) {
    const double step = static_cast<double>(after[j]) - static_cast<double>(before[j]);
    sum += step * step;
  }
  return after.empty() ? 0 : sum / static_cast<double>(after.size());
}

double LargestMagnitude(Span<const float> values) {
  double largest = 0;
  for (const float value : values)
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest;
}

// A tie goes up. Exact: no parameter has more than 2^24 units.
void RoundToGrid(Span<const float> exact, int exponent, Span<float> released) {
  for (size_t j = 0; j < exact.size(); ++j) {
    const double units = std::floor(std::ldexp(static_cast<double>(exact[j]), -exponent) + 0.5);
    released[j] = static_cast<float>(std::ldexp(units, exponent));
  }
}

class Grid : public Optimiser {
 public:
  Grid(double c, std::unique_ptr<Optimiser> inner)
      : c_(c), inner_(std::move(inner)), kept_{{0.0}, {{}}} {}

  bool Step(Span<const float> update, Span<float> parameters) override {
    const std::vector<float> before =
        kept_.empty() ? std::vector<float>(parameters.begin(), parameters.end()) : kept_.vectors[0];
    std::vector<float> exact = before;
    const Span<float> moved(exact.data(), exact.size());
    if (!inner_->Step(update, moved)) return false;
    const double square = MeanSquareOfStep({before.data(), before.size()}, moved);
    double& squares = kept_.scalars[0];  // S_t
    squares += square;
    const double unit = std::min(c_ * std::sqrt(squares), 2 * std::sqrt(square));
    if (const auto exponent = GridExponent(unit, LargestMagnitude(moved))) {
      RoundToGrid(moved, *exponent, parameters);
    } else {
      std::copy(exact.begin(), exact.end(), parameters.begin());
    }
    kept_.vectors[0] = std::move(exact);
    return true;
  }

  std::vector<uint8_t> State() const override {
    std::vector<uint8_t> bytes = kept_.ToBytes(StateOwner::kGrid);
    const std::vector<uint8_t> inner = inner_->State();
    bytes.insert(bytes.end(), inner.begin(), inner.end());
    return bytes;
  }

  void Restore(ByteSpan state) override {
    inner_->Restore(kept_.Restore(StateOwner::kGrid, state));
  }

 private:
  double c_;
  std::unique_ptr<Optimiser> inner_;
  KeptState<float> kept_;  // the exact model, once there was a step
};

}  // namespace

std::optional<int> GridExponent(double unit, double largest) {
  int exponent = kLeastGridExponent;
  // Nearest in ratio: 2^e sqrt(2) is the border between 2^e and 2^(e + 1).
  while (exponent < kMostGridExponent && (unit * unit >= std::ldexp(2.0, 2 * exponent) ||
                                          largest > std::ldexp(kMostGridUnits - 1.0, exponent))) {
    ++exponent;
  }
  if (largest > std::ldexp(kMostGridUnits - 1.0, exponent)) return std::nullopt;
  return exponent;
}

std::unique_ptr<Optimiser> MakeGrid(double c, std::unique_ptr<Optimiser> inner) {
  return std::make_unique<Grid>(c, std::move(inner));
}

}  // namespace sotto::server
