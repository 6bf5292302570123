#include "accounting/known_draws.h"

#include <algorithm>
#include <cmath>

#include "accounting/arguments.h"
#include "accounting/gdp.h"
#include "accounting/log_space.h"
#include "accounting/rdp.h"

namespace sotto::privacy {
namespace {

constexpr double kMostRounds = 1e9;
constexpr size_t kMostClasses = 64;
constexpr double kRestShare = 1e-9;    // of delta: the mass above the largest J
constexpr double kMassMargin = 1e-9;   // relative; covers up to 10^6 steps of the recurrence
constexpr double kDeltaMargin = 1e-9;  // relative; covers LogGdpDelta and the sum

// The number of rounds that hold the device, cut to an interval.
struct Participation {
  struct Class {
    double most;  // J is at most this
    double mass;
  };
  std::vector<Class> classes;
  double rest = 0.0;  // bound on Pr[J above the last class]
};

// Bin(rounds, rate), rate in (0, 1), by the ratios of its terms from the mode outwards.
Participation DrawnOf(double rounds, double rate, double delta) {
  const double odds = rate / (1 - rate);
  const double mode = std::min(std::floor((rounds + 1) * rate), rounds);
  const double least = kRestShare * delta;
  std::vector<double> below;  // from the mode - 1 downwards, relative to the mode
  double term = 1.0;
  double total = 1.0;
  for (double k = mode; k > 0 && term > least; --k) {
    term *= k / ((rounds - k + 1) * odds);
    below.push_back(term);
    total += term;
  }
  std::vector<double> terms(below.rbegin(), below.rend());
  terms.push_back(1.0);
  const double first = mode - static_cast<double>(below.size());
  term = 1.0;
  double ratio = 0.0;
  for (double k = mode; k < rounds; ++k) {
    ratio = (rounds - k) / (k + 1) * odds;  // of all terms from here on, at most
    if (ratio < 1 && term * ratio / (1 - ratio) <= least) break;
    term *= ratio;
    terms.push_back(term);
    total += term;
    ratio = 0.0;  // none follow, if the loop ends here
  }
  Participation all;
  if (ratio > 0) all.rest = term * ratio / (1 - ratio) / total * (1 + kMassMargin);
  const size_t width = (terms.size() + kMostClasses - 1) / kMostClasses;
  for (size_t begin = 0; begin < terms.size(); begin += width) {
    const size_t end = std::min(begin + width, terms.size());
    double mass = 0.0;
    for (size_t i = begin; i < end; ++i) mass += terms[i];
    all.classes.push_back({first + static_cast<double>(end - 1), mass / total});
  }
  return all;
}

// The rounds as lemma 2 counts them.
struct DrawnRounds {
  double unsampled = 0.0;  // the sum of 1 / z^2
  double inverse = 0.0;    // 1 / z^2 of a sampled round, the largest
  double rate = 0.0;       // the largest
  double rounds = 0.0;     // sampled
};

DrawnRounds DrawnRoundsOf(const std::vector<GaussianRounds>& rounds) {
  DrawnRounds all;
  for (const GaussianRounds& r : rounds) {
    if (r.rounds == 0) continue;
    const double inverse = 1 / (r.noise_multiplier * r.noise_multiplier);
    const auto count = static_cast<double>(r.rounds);
    if (r.sampling == Sampling::kNone || r.sampling_rate == 1) {
      all.unsampled += count * inverse;
    } else {
      all.inverse = std::max(all.inverse, inverse);
      all.rate = std::max(all.rate, r.sampling_rate);
      all.rounds += count;
    }
  }
  return all;
}

// delta at epsilon by lemma 5, rounded up.
class MeanDelta {
 public:
  MeanDelta(const DrawnRounds& all, double delta) {
    if (all.rounds > 0 && all.rate > 0) {
      participation_ = DrawnOf(all.rounds, all.rate, delta);
    } else {
      participation_.classes = {{0.0, 1.0}};
    }
    for (const Participation::Class& one : participation_.classes) {
      const double square = all.unsampled + one.most * all.inverse;
      mus_.push_back(std::sqrt(square) * (1 + kArithmeticMargin));
    }
  }

  double At(double epsilon) const {
    double sum = participation_.rest;
    for (size_t i = mus_.size(); i-- > 0;) {
      sum += participation_.classes[i].mass * (1 + kMassMargin) * GdpDelta(mus_[i], epsilon);
    }
    return sum * (1 + kDeltaMargin);
  }

  // The smallest epsilon at delta, rounded up; +infinity if there is none.
  double Epsilon(double delta) const {
    constexpr int kMostSteps = 60;
    constexpr double kTolerance = 1e-8;
    if (At(0) <= delta) return 0;
    const double left = (delta - participation_.rest) / (1 + kMassMargin) * (1 - 2 * kDeltaMargin);
    if (!(left > 0)) return kInfinity;
    double low = 0.0;
    double high = GdpEpsilon(mus_.back(), left);
    if (!(high < kInfinity) || At(high) > delta) return kInfinity;
    for (int step = 0; step < kMostSteps && high - low > kTolerance * high; ++step) {
      const double middle = low + (high - low) / 2;
      (At(middle) > delta ? low : high) = middle;
    }
    return high;
  }

 private:
  Participation participation_;
  std::vector<double> mus_;
};

// Lemma 4, raised by kArithmeticMargin.
RdpCurve DrawnCurve(const std::vector<GaussianRounds>& rounds) {
  return [rounds = Canonical(rounds)](double order) {
    double total = 0.0;
    for (const GaussianRounds& r : rounds) {
      if (r.rounds == 0) continue;
      const double rate = r.sampling == Sampling::kNone ? 1.0 : r.sampling_rate;
      if (rate == 0) continue;
      const double exponent = (order - 1) * RdpUnsampled(r.noise_multiplier, order);
      total += static_cast<double>(r.rounds) * LogMixture(rate, exponent) / (order - 1);
    }
    return total * (1 + kArithmeticMargin);
  };
}

AccountedEpsilon BoundBy(const char* winner, double epsilon, double order) {
  AccountedEpsilon result;
  result.winner = winner;
  result.epsilon = epsilon;
  result.order = order;
  return result;
}

}  // namespace

EpsilonAt ComposeKnownDraws(const std::vector<GaussianRounds>& rounds, double delta) {
  const RdpCurve curve = DrawnCurve(rounds);
  const double mu = UnsampledMu(rounds);
  const DrawnRounds counted = DrawnRoundsOf(rounds);
  if (!(mu < kInfinity)) return [](double) { return BoundBy("gaussian", kInfinity, 0); };
  const bool has_mean = counted.rounds <= kMostRounds;
  const MeanDelta mean(has_mean ? counted : DrawnRounds(), delta);
  return [=](double at) {
    AccountedEpsilon best = BoundBy("gaussian", GdpEpsilon(mu, at), 0);
    const ConvertedEpsilon renyi = EpsilonOfCurve(curve, at);
    if (renyi.Guarantee() < best.epsilon) best = BoundBy("rdp", renyi.Guarantee(), renyi.order);
    const double exact = has_mean ? mean.Epsilon(at) : kInfinity;
    if (exact <= best.epsilon) best = BoundBy("known-draws", exact, 0);
    return best;
  };
}

EpsilonAt ComposeKnownDrawsAtOrder(const std::vector<GaussianRounds>& rounds, double order) {
  const RdpCurve curve = DrawnCurve(rounds);
  return [=](double delta) {
    return BoundBy("rdp-filter", EpsilonOfCurveAtOrders(curve, delta, {order}).Guarantee(), order);
  };
}

double BestKnownDrawsOrder(const std::vector<GaussianRounds>& rounds, double delta) {
  return EpsilonOfCurve(DrawnCurve(rounds), delta).order;
}

}  // namespace sotto::privacy
