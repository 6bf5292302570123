#include "accounting/round_loss.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "accounting/log_space.h"

namespace sotto::privacy {
namespace {

// l(x): one Gaussian mixture against its first part.
class MixtureLoss {
 public:
  explicit MixtureLoss(const RoundLoss& round)
      : z_(round.noise_multiplier),
        rate_(round.rate),
        inverse_square_(1 / (z_ * z_)),
        log_norm_(std::log(z_) + kHalfLogTwoPi) {}

  double At(double x) const {
    const double exponent = (x - 0.5) * inverse_square_;
    if (rate_ == 1) return exponent;
    if (exponent < 700) return std::log1p(rate_ * std::expm1(exponent));
    return exponent + std::log(rate_);  // the rest is below e^-600, relative
  }

  // The x at which l has this value; -infinity if the value is below all values of l. Not exact
  // near ln(1 - q).
  double Inverse(double loss) const {
    if (loss > 700) return 0.5 + z_ * z_ * (loss - std::log(rate_));
    const double sampled = std::expm1(loss) / rate_;
    return sampled > -1 ? 0.5 + z_ * z_ * std::log1p(sampled) : -kInfinity;
  }

  double LogDensity(double x) const { return -x * x * inverse_square_ / 2 - log_norm_; }

  // On a panel of this width a polynomial of degree 5 approximates the densities and l to 1e-13.
  double PanelWidth(double x) const {
    const double deviations = std::max({1.0, std::abs(x) / z_, std::abs(x - 1) / z_});
    return std::min(z_ / (32 * deviations), z_ * z_ / 16);
  }

 private:
  double z_;
  double rate_;
  double inverse_square_;
  double log_norm_;
};

// The grid's cells, symmetric about zero.
class Cells {
 public:
  explicit Cells(double step) : step_(step) {}

  double Width(double loss) const {
    return std::max(step_, std::exp2(std::ilogb(loss)) / kCellsPerOctave);
  }

  // The first end of a cell above a loss.
  double NextEnd(double loss) const {
    int octave = std::ilogb(loss);
    if (loss < 0 && std::ldexp(-1.0, octave) == loss) --octave;  // the octave closer to zero
    const double width = std::max(step_, std::exp2(octave) / kCellsPerOctave);
    return (std::floor(loss / width) + 1) * width;
  }

  int64_t Index(double loss) const { return static_cast<int64_t>(loss / step_); }

 private:
  double step_;
};

// Distributes the mass of a branch over the grid, panel by panel. The shares have a kink at the end
// of a cell, so no panel crosses one. The cell and the shares of a node follow from the node's own
// loss. So a rounding error in the end of a cell costs accuracy of the next order only.
class Spreader {
 public:
  Spreader(const RoundLoss& round, double step) : loss_(round), cells_(step) {}

  void Spread(const LossBranch& branch) {
    double end = cells_.NextEnd(loss_.At(branch.from));
    double boundary = loss_.Inverse(end);
    for (double x = branch.from; x < branch.to;) {
      while (boundary <= x) boundary = loss_.Inverse(end = cells_.NextEnd(end));
      const double to = std::min({branch.to, boundary, x + loss_.PanelWidth(x)});
      AddPanel(branch.is_positive, x, to);
      x = to;
    }
  }

  void Add(double loss, double width, double mass) {
    if (mass > 0) grid_.push_back({cells_.Index(loss), mass, width});
  }

  GridLoss Take() {
    Flush();
    std::sort(grid_.begin(), grid_.end(), [](const GridPoint& a, const GridPoint& b) {
      return std::make_pair(a.index, a.mass) < std::make_pair(b.index, b.mass);
    });
    GridLoss merged;
    for (const GridPoint& point : grid_) {
      if (merged.empty() || merged.back().index != point.index) {
        merged.push_back(point);
      } else {
        merged.back().mass += point.mass;
        merged.back().width = std::max(merged.back().width, point.width);
      }
    }
    return merged;
  }

 private:
  // Gauss-Legendre quadrature, three points.
  void AddPanel(bool is_positive, double from, double to) {
    constexpr double kNode = 0.77459666924148337704;
    const double half = (to - from) / 2;
    const double middle = from + half;
    AddNode(is_positive, middle - half * kNode, half * (5.0 / 9));
    AddNode(is_positive, middle, half * (8.0 / 9));
    AddNode(is_positive, middle + half * kNode, half * (5.0 / 9));
  }

  void AddNode(bool is_positive, double x, double weight) {
    const double l = loss_.At(x);
    const double mass = weight * std::exp(loss_.LogDensity(x) + (is_positive ? l : 0.0));
    const double value = is_positive ? l : -l;
    const double width = cells_.Width(value);
    const double low = std::floor(value / width) * width;
    if (low != low_ || width != width_) {
      Flush();
      low_ = low;
      width_ = width;
    }
    // The decrease of e^-loss from the lower end of the cell to this loss, as a share of the
    // decrease over the whole cell.
    const double upper_share = std::expm1(low - value) / std::expm1(-width);
    mass_low_ += mass * (1 - upper_share);
    mass_high_ += mass * upper_share;
  }

  // Closes the cell that is being filled.
  void Flush() {
    Add(low_, width_, mass_low_);
    Add(low_ + width_, width_, mass_high_);
    mass_low_ = 0.0;
    mass_high_ = 0.0;
  }

  MixtureLoss loss_;
  Cells cells_;
  GridLoss grid_;
  double low_ = 0.0;  // the cell that is being filled
  double width_ = 0.0;
  double mass_low_ = 0.0;
  double mass_high_ = 0.0;
};

std::vector<LossBranch> Branches(LossPair pair, double z, double reach) {
  constexpr double kMiddle = 0.5;  // the x at which l is zero
  switch (pair) {
    case LossPair::kRemove:
      return {{true, -reach * z, 1 + reach * z}};
    case LossPair::kAdd:
      return {{false, -reach * z, reach * z}};
    case LossPair::kReplace:
      break;
  }
  return {{true, kMiddle, 1 + reach * z}, {false, kMiddle, std::max(kMiddle, reach * z)}};
}

}  // namespace

RoundLoss MakeRoundLoss(const GaussianRounds& round, LossPair pair, double log_tail) {
  RoundLoss loss;
  const double z = round.noise_multiplier;
  loss.noise_multiplier = z;
  loss.rate = round.sampling == Sampling::kNone ? 1.0 : round.sampling_rate;
  // Phi(-k) <= e^(-k^2/2) / 2, once on either side.
  const double reach = std::sqrt(-2 * log_tail);
  loss.branches = Branches(pair, z, reach);
  loss.log_tail = log_tail;
  if (pair == LossPair::kReplace) {
    loss.mass_at_zero = (1 - loss.rate) * std::erf(1 / (std::sqrt(8.0) * z));
  }
  // A few rounding errors of the exponent of N_1/N_0. l multiplies them by a factor of at most 1.
  const double largest_exponent = (0.5 + reach * z) / (z * z);
  loss.loss_error = 2e-15 * (1 + largest_exponent);
  return loss;
}

double LargestLoss(const RoundLoss& round) {
  const MixtureLoss l(round);
  double largest = 0.0;  // l rises, so its extremes are at the ends
  for (const LossBranch& branch : round.branches) {
    largest = std::max({largest, std::abs(l.At(branch.from)), std::abs(l.At(branch.to))});
  }
  return largest;
}

std::vector<LossSample> SampleLoss(const RoundLoss& round) {
  const MixtureLoss l(round);
  const double z = round.noise_multiplier;
  std::vector<LossSample> samples;
  for (const LossBranch& branch : round.branches) {
    const double range = branch.to - branch.from;
    const int count = static_cast<int>(std::ceil(range / std::min(z / 12, z * z / 4)));
    const double width = range / std::max(count, 1);
    for (int i = 0; i < count; ++i) {
      const double x = branch.from + (i + 0.5) * width;
      const double loss = l.At(x);
      const double log_mass = l.LogDensity(x) + std::log(width);
      samples.push_back(branch.is_positive ? LossSample{loss, log_mass + loss}
                                           : LossSample{-loss, log_mass});
    }
  }
  if (round.mass_at_zero > 0) samples.push_back({0.0, std::log(round.mass_at_zero)});
  return samples;
}

double PanelCount(const RoundLoss& round) {
  constexpr int kPoints = 32;
  const MixtureLoss l(round);
  double panels = 0.0;
  for (const LossBranch& branch : round.branches) {
    const double width = (branch.to - branch.from) / kPoints;
    for (int i = 0; i < kPoints; ++i) {
      panels += width / l.PanelWidth(branch.from + (i + 0.5) * width);
    }
  }
  return panels;
}

GridLoss Discretise(const RoundLoss& round, double step) {
  Spreader spreader(round, step);
  for (const LossBranch& branch : round.branches) spreader.Spread(branch);
  spreader.Add(0.0, 0.0, round.mass_at_zero);
  return spreader.Take();
}

}  // namespace sotto::privacy
