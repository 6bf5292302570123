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
constexpr double kMinWindow = 8192.0;
constexpr double kMaxWindow = 524288.0;

// ln E[e^(lambda L)] of one round from its samples, with the first two derivatives.
struct Cumulants {
  double value;
  double mean;
  double variance;
};

Cumulants CumulantsAt(const std::vector<LossSample>& samples, double lambda) {
  double peak = -kInfinity;
  for (const LossSample& s : samples) peak = std::max(peak, s.log_mass + lambda * s.loss);
  double total = 0.0;
  double first = 0.0;
  double second = 0.0;
  for (const LossSample& s : samples) {
    const double weight = std::exp(s.log_mass + lambda * s.loss - peak);
    total += weight;
    first += weight * s.loss;
    second += weight * s.loss * s.loss;
  }
  const double mean = first / total;
  return {peak + std::log(total), mean, std::max(second / total - mean * mean, 0.0)};
}

// An approximation of the loss of all the rounds together. It is for choosing the tilt, the step
// and the window.
class LossPlan {
 public:
  explicit LossPlan(const std::vector<LossGroup>& groups) {
    for (const LossGroup& group : groups) {
      parts_.push_back({SampleLoss(group.loss), static_cast<double>(group.rounds)});
    }
  }

  Cumulants At(double lambda) const {
    Cumulants sum{0, 0, 0};
    for (const Part& part : parts_) {
      const Cumulants one = CumulantsAt(part.samples, lambda);
      sum.value += part.rounds * one.value;
      sum.mean += part.rounds * one.mean;
      sum.variance += part.rounds * one.variance;
    }
    return sum;
  }

  // The lambda with the smallest Chernoff bound on epsilon at this delta,
  // (K(lambda) + ln(1/delta)) / lambda.
  double BestTilt(double log_delta) const {
    constexpr double kGolden = 0.61803398874989484820;
    const auto bound = [&](double t) { return (At(std::exp(t)).value - log_delta) * std::exp(-t); };
    const double log_deviation = std::log(At(0).variance) / 2;
    double low = std::log(0.01) - log_deviation;
    double high = std::log(200.0) - log_deviation;
    double left = high - kGolden * (high - low);
    double right = low + kGolden * (high - low);
    double at_left = bound(left);
    double at_right = bound(right);
    while (high - low > 0.02) {
      if (at_left <= at_right) {
        high = right;
        right = left;
        at_right = at_left;
        at_left = bound(left = high - kGolden * (high - low));
      } else {
        low = left;
        left = right;
        at_left = at_right;
        at_right = bound(right = low + kGolden * (high - low));
      }
    }
    return std::exp((low + high) / 2);
  }

  // The exponent of the given sign whose Chernoff bound gives the closest end of the window.
  double BestExponent(double lambda, double sign) const {
    const Cumulants tilted = At(lambda);
    const double guess = std::sqrt(2 * kLogOutside / tilted.variance);
    double best = guess;
    double closest = kInfinity;
    for (const double factor : {0.06, 0.12, 0.25, 0.4, 0.6, 0.8, 1.0, 1.25}) {
      const double mu = factor * guess;
      const double end = (At(lambda + sign * mu).value - tilted.value + kLogOutside) / mu;
      if (end < closest) {
        closest = end;
        best = mu;
      }
    }
    return sign * best;
  }

 private:
  struct Part {
    std::vector<LossSample> samples;
    double rounds;
  };
  std::vector<Part> parts_;
};

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

LossSum::Layout LossSum::MakeLayout(const std::vector<LossGroup>& groups, double delta) {
  Layout layout;
  const LossPlan plan(groups);
  layout.tilt = plan.BestTilt(std::log(delta));
  const double up = plan.BestExponent(layout.tilt, 1);
  const double down = plan.BestExponent(layout.tilt, -1);

  double rounds = 0.0;
  for (const LossGroup& group : groups) rounds += static_cast<double>(group.rounds);
  const auto log_moment = [&](double lambda) { return plan.At(lambda).value; };
  const double at_tilt = log_moment(layout.tilt);
  const double window = (log_moment(layout.tilt + up) - at_tilt + kLogOutside) / up -
                        (log_moment(layout.tilt + down) - at_tilt + kLogOutside) / down;
  // A cell adds h^2/12 to the mean of a loss and h^2/6 to its variance.
  const double epsilon = (at_tilt - std::log(delta)) / layout.tilt;
  const double wanted = std::sqrt(12 * kGridShare * epsilon / (rounds * (1 + layout.tilt)));
  layout.step = std::max(PowerOfTwoBelow(std::min(wanted, window / kMinWindow)),
                         2 * PowerOfTwoBelow(window / kMaxWindow));

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
  const double top = (total(layout.tilt + up) - layout.total_log_moment + kLogOutside) / up;
  const double bottom = (total(layout.tilt + down) - layout.total_log_moment + kLogOutside) / down;
  const double first = std::floor(bottom / layout.step) - 1;
  const double length = std::ceil(top / layout.step) + 2 - first;
  if (!(length <= 4 * kMaxWindow)) return layout;
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

LossSum::LossSum(const std::vector<LossGroup>& groups, double delta) {
  const Layout layout = MakeLayout(groups, delta);
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
  return std::max(epsilon + loss_error_, 0.0);
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

}  // namespace sotto::privacy
