#include "accounting/loss_sum.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include <kissfft/kissfft.hh>

#include "accounting/log_space.h"

namespace sotto::privacy {
namespace {

using Complex = std::complex<double>;

constexpr double kLogOutside = 26.0;
// The error of one butterfly: products, sums, and the library's factors, whose angles contain the
// rounding error of 2 pi i / n. Counted for radix 2; larger radices take fewer steps.
constexpr double kTransformError = 4e-15;
constexpr double kPowerError = 1e-15;  // of one factor of a power
// The relative error of epsilon that the grid is chosen for, if a window of kMinWindow to
// kMaxWindow steps allows it.
constexpr double kGridShare = 2e-5;
constexpr double kMinStep = 1e-280;
constexpr double kMaxIndex = 0x1p52;

// ln of the sum of mass * e^(lambda loss) over a grid.
double LogMoment(const GridLoss& grid, double step, double lambda) {
  LogSum sum;
  for (const GridPoint& point : grid) {
    sum.Add(std::log(point.mass) + lambda * step * static_cast<double>(point.index));
  }
  return sum.Log();
}

double PowerOfTwoBelow(double x) { return std::exp2(std::floor(std::log2(x))); }

// The smallest 2^k, 3 * 2^k or 5 * 2^k that is not below n.
size_t TransformLength(double n) {
  size_t best = 0;
  for (const size_t odd : {1U, 3U, 5U}) {
    size_t length = 8 * odd;
    while (static_cast<double>(length) < n) length *= 2;
    if (best == 0 || length < best) best = length;
  }
  return best;
}

// z^n for n >= 1, by repeated squaring.
Complex Power(Complex z, int64_t n) {
  Complex power(1.0, 0.0);
  for (; n > 1; n /= 2) {
    if (n % 2 == 1) power *= z;
    z *= z;
  }
  return power * z;
}

// The discrete Fourier transform of n real values, n even, by a complex transform of length n / 2.
class RealTransform {
 public:
  explicit RealTransform(size_t length) : half_(length / 2), transform_(half_, false) {}

  size_t terms() const { return half_ + 1; }  // the others are complex conjugates of these

  std::vector<Complex> Forward(const std::vector<double>& values) const {
    std::vector<Complex> terms(half_ + 1);
    transform_.transform_real(values.data(), terms.data());
    terms[half_] = terms[0].imag();
    terms[0] = terms[0].real();
    return terms;
  }

  // The inverse of Forward with the same factors: conjugate, transform, conjugate. The values of
  // even index are the real parts, the values of odd index the imaginary parts.
  std::vector<double> Inverse(const std::vector<Complex>& terms) const {
    std::vector<Complex> packed(half_);
    for (size_t k = 0; k < half_; ++k) {
      const Complex mirrored = std::conj(terms[half_ - k]);
      const double angle = M_PI * static_cast<double>(k) / static_cast<double>(half_);
      const Complex odd = Complex(0, 1) * std::polar(1.0, angle) * (terms[k] - mirrored);
      packed[k] = std::conj(terms[k] + mirrored + odd);
    }
    std::vector<Complex> pairs(half_);
    transform_.transform(packed.data(), pairs.data());
    std::vector<double> values;
    values.reserve(2 * half_);
    for (const Complex& pair : pairs) {
      values.push_back(pair.real() / static_cast<double>(2 * half_));
      values.push_back(-pair.imag() / static_cast<double>(2 * half_));
    }
    return values;
  }

 private:
  size_t half_;
  kissfft<double> transform_;
};

// Multiplies the powers of transforms and bounds the error of the product.
class Spectrum {
 public:
  explicit Spectrum(size_t length)
      : transform_(length),
        length_(static_cast<double>(length)),
        error_(kTransformError * std::log2(length_)),
        product_(transform_.terms(), Complex(1.0, 0.0)),
        log_bound_(transform_.terms(), 0.0),
        relative_error_(transform_.terms(), 0.0) {}

  // masses  [length] not negative, sum about 1
  void Multiply(const std::vector<double>& masses, int64_t rounds) {
    const std::vector<Complex> terms = transform_.Forward(masses);
    const auto power = static_cast<double>(rounds);
    for (size_t k = 0; k < terms.size(); ++k) {
      product_[k] *= Power(terms[k], rounds);
      const double bound = std::sqrt(std::norm(terms[k])) + 2 * error_;
      log_bound_[k] += power * std::log(bound);
      relative_error_[k] += power * (error_ / bound + kPowerError);
    }
  }

  // The masses of the sum, and a bound on the error of each.
  std::vector<double> Masses(double* error) const {
    double sum = 0.0;
    for (size_t k = 0; k < product_.size(); ++k) {  // a bound below e^-60 is rounded up to it
      sum += 2 * std::exp(std::max(log_bound_[k], -60.0)) * (relative_error_[k] + error_);
    }
    *error = sum / length_;
    return transform_.Inverse(product_);
  }

 private:
  RealTransform transform_;
  double length_;
  double error_;  // error of a transform of masses whose sum is 1
  std::vector<Complex> product_;
  std::vector<double> log_bound_;       // ln of the product's largest absolute value
  std::vector<double> relative_error_;  // error of the product, relative to that value
};

int64_t FloorMod(int64_t a, int64_t n) { return (a % n + n) % n; }

}  // namespace

struct LossSum::Layout {
  double tilt = 0.0;
  double step = 0.0;
  std::vector<GridLoss> grids;
  std::vector<double> log_moments;  // K(tilt) of each
  double total_log_moment = 0.0;
  int64_t first = 0;  // the window, in steps
  size_t length = 0;  // 0: the window would be too long to compute with
};

// The tilt, the exponents that give the ends of the window, and the step.
struct LossSum::Scale {
  double tilt = 0.0;
  double up = 0.0;
  double down = 0.0;
  double step = 0.0;

  // False if a number does not fit a double: the loss varies too little, or the errors of a plan
  // outgrow it.
  bool IsUsable() const {
    return std::isfinite(tilt) && tilt > 0 && std::isfinite(up) && up > 0 && std::isfinite(down) &&
           down < 0 && std::isfinite(step) && step > kMinStep;
  }
};

LossSum::Scale LossSum::ChooseScale(const LossPlan& plan, double rounds, double delta,
                                    double most_steps) {
  Scale scale;
  scale.tilt = plan.BestTilt(std::log(delta));
  scale.up = plan.BestExponent(scale.tilt, 1, kLogOutside);
  scale.down = plan.BestExponent(scale.tilt, -1, kLogOutside);
  const auto log_moment = [&](double lambda) { return plan.At(lambda).value; };
  const double at_tilt = log_moment(scale.tilt);
  const double window = (log_moment(scale.tilt + scale.up) - at_tilt + kLogOutside) / scale.up -
                        (log_moment(scale.tilt + scale.down) - at_tilt + kLogOutside) / scale.down;
  // A cell adds h^2/12 to the mean of a loss and h^2/6 to its variance.
  const double epsilon = (at_tilt - std::log(delta)) / scale.tilt;
  const double wanted = std::sqrt(12 * kGridShare * epsilon / (rounds * (1 + scale.tilt)));
  scale.step = std::max(PowerOfTwoBelow(std::min(wanted, window / kMinWindow)),
                        2 * PowerOfTwoBelow(window / most_steps));
  return scale;
}

LossSum::Layout LossSum::MakeLayout(const std::vector<LossGroup>& groups, double delta,
                                    double most_steps, LossSamples samples) {
  Layout layout;
  double rounds = 0.0;
  double largest_loss = 0.0;
  for (const LossGroup& group : groups) {
    rounds += static_cast<double>(group.rounds);
    largest_loss = std::max(largest_loss, LargestLoss(group.loss));
  }
  const Scale scale = ChooseScale(LossPlan(groups, samples), rounds, delta, most_steps);
  // An index of the grid fits a double without rounding.
  if (!scale.IsUsable() || !(largest_loss / scale.step < kMaxIndex)) return layout;
  layout.tilt = scale.tilt;
  layout.step = scale.step;

  const auto total = [&](double lambda) {
    double sum = 0.0;
    for (size_t g = 0; g < groups.size(); ++g) {
      sum +=
          static_cast<double>(groups[g].rounds) * LogMoment(layout.grids[g], layout.step, lambda);
    }
    return sum;
  };
  for (const LossGroup& group : groups) {
    layout.grids.push_back(Discretise(group.loss, layout.step));
    layout.log_moments.push_back(LogMoment(layout.grids.back(), layout.step, layout.tilt));
  }
  layout.total_log_moment = total(layout.tilt);
  const double top =
      (total(layout.tilt + scale.up) - layout.total_log_moment + kLogOutside) / scale.up;
  const double bottom =
      (total(layout.tilt + scale.down) - layout.total_log_moment + kLogOutside) / scale.down;
  const double first = std::floor(bottom / layout.step) - 1;
  const double length = std::ceil(top / layout.step) + 2 - first;
  const double longest = (most_steps < kMaxWindow ? 2 : 4) * most_steps;
  if (!(length <= longest && std::abs(first) < kMaxIndex)) return layout;
  layout.first = static_cast<int64_t>(first);
  layout.length = TransformLength(length);
  return layout;
}

LossSum::Profile LossSum::MakeProfile(const std::vector<double>& mass, double step) {
  Profile profile;
  profile.delta.resize(mass.size());
  profile.g.resize(mass.size());
  const double fall = std::exp(-step);
  const double rise = -std::expm1(-step);
  double delta = 0.0;
  double g = 0.0;
  for (size_t i = mass.size(); i-- > 0;) {
    delta += rise * g;
    g = mass[i] + fall * g;
    profile.delta[i] = delta;
    profile.g[i] = g;
  }
  return profile;
}

LossSum::LossSum(const std::vector<LossGroup>& groups, double delta, double most_steps) {
  most_steps = std::clamp(most_steps, 2 * kMinWindow, kMaxWindow);
  // Raw samples are tried first, because the figures of plans for which they serve never change.
  Layout layout = MakeLayout(groups, delta, most_steps, LossSamples::kRaw);
  if (layout.length == 0) layout = MakeLayout(groups, delta, most_steps, LossSamples::kNormalised);
  if (layout.length == 0) return;
  step_ = layout.step;
  tilt_ = layout.tilt;
  delta_unit_ = delta;
  const double log_delta = std::log(delta);
  bottom_ = static_cast<double>(layout.first) * step_;
  Spectrum spectrum(layout.length);
  double tail = 0.0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const GridLoss& grid = layout.grids[g];
    std::vector<double> masses(layout.length);
    for (const GridPoint& point : grid) {
      const double log_mass = std::log(point.mass) - layout.log_moments[g] +
                              tilt_ * step_ * static_cast<double>(point.index);
      const auto place =
          static_cast<size_t>(FloorMod(point.index, static_cast<int64_t>(layout.length)));
      masses[place] += std::exp(log_mass);
    }
    spectrum.Multiply(masses, groups[g].rounds);
    rounds_ += static_cast<double>(groups[g].rounds);
    shift_.Add(grid, static_cast<double>(groups[g].rounds));
    tail += static_cast<double>(groups[g].rounds) * std::exp(groups[g].loss.log_tail - log_delta);
    loss_error_ += static_cast<double>(groups[g].rounds) * groups[g].loss.loss_error;
  }
  reference_ = (layout.total_log_moment - log_delta) / tilt_;
  double error = 0.0;
  const std::vector<double> sum = spectrum.Masses(&error);
  std::vector<double> most(layout.length);
  std::vector<double> least(layout.length);
  for (size_t i = 0; i < layout.length; ++i) {
    const int64_t index = layout.first + static_cast<int64_t>(i);
    const double mass = sum[static_cast<size_t>(FloorMod(index, static_cast<int64_t>(sum.size())))];
    const double weight = std::exp(-tilt_ * (LossAt(i) - reference_));
    most[i] = (std::max(mass, 0.0) + error) * weight;
    least[i] = std::max(mass - error, 0.0) * weight;
  }
  const double above = LossAt(layout.length - 1) - reference_;
  infinite_ = tail + std::exp(-tilt_ * above - kLogOutside);
  upper_ = MakeProfile(most, step_);
  lower_ = MakeProfile(least, step_);
  // A NaN anywhere reaches the lowest suffix sum. There is then no upper bound.
  if (std::isnan(upper_.delta.front()) || std::isnan(infinite_)) upper_ = Profile();
}

double LossSum::UpperEpsilon(double delta) const {
  const double target = (delta / delta_unit_ - infinite_) * (1 - 2 * rounds_ * kMassError - 1e-10);
  const std::vector<double>& deltas = upper_.delta;  // falling; the last one is 0
  if (!(target > 0) || deltas.empty()) return kInfinity;
  const auto first =
      std::partition_point(deltas.begin(), deltas.end(), [&](double d) { return d > target; });
  const auto i = static_cast<size_t>(first - deltas.begin());
  double epsilon = LossAt(i);
  if (i > 0) epsilon += std::log1p(-(target - deltas[i]) / upper_.g[i]);
  epsilon += loss_error_;
  return std::isnan(epsilon) ? kInfinity : std::max(epsilon, 0.0);
}

double LossSum::LowerEpsilon(double delta) const {
  constexpr double kMovedShare = 1e-3;  // of delta, for sums that the grid moved beyond the bound
  const double target =
      delta / delta_unit_ * (1 + kMovedShare) * (1 + 2 * rounds_ * kMassError + 1e-10);
  const auto holds = [&](size_t i) {
    const double returned = 2 * std::exp(-tilt_ * (LossAt(i) - reference_) - kLogOutside);
    return lower_.delta[i] - returned >= target;
  };
  size_t i = lower_.delta.size();
  while (i > 0 && !holds(i - 1)) --i;
  if (i == 0) return 0;
  const double moved = shift_.Bound(std::log(kMovedShare * delta));
  return std::max(LossAt(i - 1) - moved - loss_error_, 0.0);
}

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
