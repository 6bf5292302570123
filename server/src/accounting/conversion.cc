#include "accounting/conversion.h"

#include <cmath>
#include <limits>
#include <utility>

#include "accounting/arguments.h"
#include "accounting/grouping.h"
#include "accounting/log_space.h"
#include "accounting/rdp.h"
#include "accounting/rdp_uniform.h"

namespace sotto::privacy {
namespace {

// The term that the conversion adds to rho.
double ConversionTerm(double order, double log_delta, Conversion conversion) {
  if (conversion == Conversion::kClassic) return -log_delta / (order - 1);
  return std::log((order - 1) / order) - (log_delta + std::log(order)) / (order - 1);
}

// The curve of one setting. The curve of uniform sampling keeps the terms that its orders share.
RdpCurve CurveOf(Sampling sampling, const RateAndNoise& r) {
  if (sampling == Sampling::kUniform) {
    return UniformRdp(r.noise_multiplier, r.sampling_rate, UniformTheorem::kTheorem27);
  }
  return [=](double order) { return Rdp(sampling, r.noise_multiplier, r.sampling_rate, order); };
}

// The curve of one round: the largest one of its settings, at each order.
RdpCurve CurveOf(const GaussianRounds& r) {
  std::vector<RdpCurve> curves = {CurveOf(r.sampling, {r.sampling_rate, r.noise_multiplier})};
  if (r.sampling != Sampling::kNone) {
    for (const RateAndNoise& choice : r.choices) curves.push_back(CurveOf(r.sampling, choice));
  }
  if (curves.size() == 1) return curves.front();
  return [curves = std::move(curves)](double order) {
    double largest = 0.0;
    for (const RdpCurve& curve : curves) largest = std::max(largest, curve(order));
    return largest;
  };
}

// A key by which rounds are sorted and merged.
std::vector<double> KeyOf(const GaussianRounds& r) {
  std::vector<double> key = {static_cast<double>(r.sampling), r.noise_multiplier, r.sampling_rate};
  for (const RateAndNoise& choice : r.choices) {
    key.push_back(choice.noise_multiplier);
    key.push_back(choice.sampling_rate);
  }
  return key;
}

// rho of all the rounds together.
RdpCurve SumOfCurves(const std::vector<GaussianRounds>& rounds) {
  std::vector<std::pair<double, RdpCurve>> curves;
  for (const GaussianRounds& r : Canonical(rounds)) {
    if (r.rounds == 0) continue;  // zero times an infinite rho
    curves.emplace_back(static_cast<double>(r.rounds), CurveOf(r));
  }
  return [curves = std::move(curves)](double order) {
    double total = 0.0;
    for (const auto& [count, curve] : curves) total += count * curve(order);
    return total * (1 + kArithmeticMargin);
  };
}

// The search over t = ln(order - 1). It scans a grid and stops when no better value can follow;
// golden-section steps then refine the best point.
class OrderSearch {
 public:
  OrderSearch(const RdpCurve& curve, double delta, Conversion conversion)
      : curve_(curve), log_delta_(std::log(delta)), conversion_(conversion) {}

  ConvertedEpsilon Run() {
    for (int i = 0; i <= kLastStep && !NothingBetterAbove(i); ++i) TryStep(i);
    for (int i = -1; i >= kFirstStep && !NothingBetterBelow(i); --i) TryStep(i);
    best_.order_at_edge = best_step_ == kFirstStep || best_step_ == kLastStep;
    if (std::isfinite(best_.unclipped)) Refine(kStep * (best_step_ - 1), kStep * (best_step_ + 1));
    return best_;
  }

 private:
  static constexpr double kStep = 0.25;
  static constexpr int kFirstStep = static_cast<int>(kMinLogOrder / kStep);
  static constexpr int kLastStep = static_cast<int>(kMaxLogOrder / kStep);
  static constexpr double kGolden = 0.61803398874989484820;

  static double OrderAt(double t) { return 1 + std::exp(t); }

  double Try(double t) {
    const double order = OrderAt(t);
    last_rho_ = curve_(order);
    const double epsilon = last_rho_ + ConversionTerm(order, log_delta_, conversion_);
    if (epsilon < best_.unclipped) {
      best_.unclipped = epsilon;
      best_.order = order;
    }
    return epsilon;
  }

  void TryStep(int step) {
    const double before = best_.unclipped;
    if (Try(kStep * step) < before) best_step_ = step;
  }

  // rho never falls with the order, and either conversion adds at least ln(1 - 1/a) - ln(a)/(a -
  // 1), which rises with a. So after this step every value exceeds the last rho plus this term.
  bool NothingBetterAbove(int step) const {
    if (step == 0) return false;
    const double order = OrderAt(kStep * step);
    return last_rho_ + ConversionTerm(order, 0, Conversion::kImproved) >= best_.unclipped;
  }

  // rho is not negative, and the term of the conversion rises as the order falls
  // (while a < 1/delta).
  bool NothingBetterBelow(int step) const {
    return ConversionTerm(OrderAt(kStep * step), log_delta_, conversion_) >= best_.unclipped;
  }

  void Refine(double low, double high) {
    double left = high - kGolden * (high - low);
    double right = low + kGolden * (high - low);
    double at_left = Try(left);
    double at_right = Try(right);
    while (high - low > 1e-7) {
      if (at_left <= at_right) {
        high = right;
        right = left;
        at_right = at_left;
        left = high - kGolden * (high - low);
        at_left = Try(left);
      } else {
        low = left;
        left = right;
        at_left = at_right;
        right = low + kGolden * (high - low);
        at_right = Try(right);
      }
    }
  }

  const RdpCurve& curve_;
  const double log_delta_;
  const Conversion conversion_;
  ConvertedEpsilon best_{kInfinity, OrderAt(0), false};
  int best_step_ = 0;
  double last_rho_ = 0.0;
};

// The search for the order takes a curve of so many groups at most. At the order found, the sum of
// up to kMostSummed curves is taken, as long as their terms are no more than kMostTerms.
constexpr size_t kMostSearched = 64;
constexpr size_t kMostSummed = 2048;
constexpr double kMostTerms = 1e6;

// Epsilon() for any number of groups, in bounded time.
ConvertedEpsilon EpsilonOfMany(const std::vector<GaussianRounds>& rounds, double delta,
                               Conversion conversion) {
  const std::vector<GaussianRounds> few = Grouped(rounds, kMostSearched);
  ConvertedEpsilon best = Epsilon(few, delta, conversion);
  const std::vector<GaussianRounds> many = Grouped(rounds, kMostSummed);
  if (many.size() == few.size() || !std::isfinite(best.unclipped)) return best;
  if (best.order * static_cast<double>(many.size()) > kMostTerms) return best;
  const double finer = EpsilonAtOrders(many, delta, {best.order}, conversion).unclipped;
  best.unclipped = std::min(best.unclipped, finer);
  return best;
}

EpsilonAt ByRdp(const std::vector<GaussianRounds>& rounds, Conversion conversion,
                const char* name) {
  return [=](double delta) {
    const ConvertedEpsilon converted = EpsilonOfMany(rounds, delta, conversion);
    AccountedEpsilon result;
    result.epsilon = converted.Guarantee();
    result.winner = name;
    result.order = converted.order;
    result.order_at_edge = converted.order_at_edge;
    return result;
  };
}

}  // namespace

int64_t SaturatingSum(int64_t a, int64_t b) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

std::vector<GaussianRounds> Canonical(std::vector<GaussianRounds> rounds) {
  for (const GaussianRounds& r : rounds) {
    RequireNoiseMultiplier(r.noise_multiplier);
    RequireRate(r.sampling_rate);
    for (const RateAndNoise& choice : r.choices) {
      RequireNoiseMultiplier(choice.noise_multiplier);
      RequireRate(choice.sampling_rate);
    }
    Require(r.rounds >= 0, "number of rounds", r.rounds, "at least 0");
  }
  std::sort(rounds.begin(), rounds.end(),
            [](const auto& a, const auto& b) { return KeyOf(a) < KeyOf(b); });
  std::vector<GaussianRounds> merged;
  for (const GaussianRounds& r : rounds) {
    if (!merged.empty() && KeyOf(merged.back()) == KeyOf(r)) {
      merged.back().rounds = SaturatingSum(merged.back().rounds, r.rounds);
    } else {
      merged.push_back(r);
    }
  }
  return merged;
}

double ComposedRdp(const std::vector<GaussianRounds>& rounds, double order) {
  return SumOfCurves(rounds)(order);
}

ConvertedEpsilon Epsilon(const std::vector<GaussianRounds>& rounds, double delta,
                         Conversion conversion) {
  return EpsilonOfCurve(SumOfCurves(rounds), delta, conversion);
}

ConvertedEpsilon EpsilonAtOrders(const std::vector<GaussianRounds>& rounds, double delta,
                                 const std::vector<double>& orders, Conversion conversion) {
  return EpsilonOfCurveAtOrders(SumOfCurves(rounds), delta, orders, conversion);
}

EpsilonAt ComposeRdp(const std::vector<GaussianRounds>& rounds, double /*delta*/) {
  return ByRdp(rounds, Conversion::kImproved, "rdp");
}

EpsilonAt ComposeRdpClassic(const std::vector<GaussianRounds>& rounds, double /*delta*/) {
  return ByRdp(rounds, Conversion::kClassic, "rdp-classic");
}

EpsilonAt ComposeRdpAtOrder(const std::vector<GaussianRounds>& rounds, double order) {
  Require(order > 1 && std::isfinite(order), "order", order, "finite and above 1");
  const double rho = ComposedRdp(rounds, order);
  return [=](double delta) {
    AccountedEpsilon result;
    result.winner = "rdp-filter";
    result.order = order;
    const double epsilon = rho + ConversionTerm(order, std::log(delta), Conversion::kImproved);
    result.epsilon = rho > 0 ? std::max(epsilon, 0.0) : 0.0;
    return result;
  };
}

ConvertedEpsilon EpsilonOfCurve(const RdpCurve& curve, double delta, Conversion conversion) {
  RequireDelta(delta);
  return OrderSearch(curve, delta, conversion).Run();
}

ConvertedEpsilon EpsilonOfCurveAtOrders(const RdpCurve& curve, double delta,
                                        const std::vector<double>& orders, Conversion conversion) {
  RequireDelta(delta);
  Require(!orders.empty(), "number of orders", orders.size(), "at least 1");
  ConvertedEpsilon best{kInfinity, orders.front(), false};
  for (const double order : orders) {
    Require(order > 1 && std::isfinite(order), "order", order, "finite and above 1");
    const double epsilon = curve(order) + ConversionTerm(order, std::log(delta), conversion);
    if (epsilon < best.unclipped) best = {epsilon, order, false};
  }
  best.order_at_edge = best.order == orders.front() || best.order == orders.back();
  return best;
}

}  // namespace sotto::privacy
