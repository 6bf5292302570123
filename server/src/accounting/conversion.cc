#include "accounting/conversion.h"

#include <cmath>
#include <limits>
#include <memory>
#include <tuple>

#include "accounting/arguments.h"
#include "accounting/grouping.h"
#include "accounting/log_space.h"
#include "accounting/pair_rdp.h"
#include "accounting/rdp_sum.h"

namespace sotto::privacy {
namespace {

// The term that the conversion adds to rho.
double ConversionTerm(double order, double log_delta, Conversion conversion) {
  if (conversion == Conversion::kClassic) return -log_delta / (order - 1);
  return std::log((order - 1) / order) - (log_delta + std::log(order)) / (order - 1);
}

bool ChoiceIsBefore(const RateAndNoise& a, const RateAndNoise& b) {
  return std::tie(a.noise_multiplier, a.sampling_rate) <
         std::tie(b.noise_multiplier, b.sampling_rate);
}

// The order by which rounds are sorted and merged: by their settings.
bool IsBefore(const GaussianRounds& a, const GaussianRounds& b) {
  const auto key = [](const GaussianRounds& r) {
    return std::tie(r.sampling, r.noise_multiplier, r.sampling_rate);
  };
  if (key(a) != key(b)) return key(a) < key(b);
  return std::lexicographical_compare(a.choices.begin(), a.choices.end(), b.choices.begin(),
                                      b.choices.end(), ChoiceIsBefore);
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

RdpCurve CurveOf(const std::vector<GaussianRounds>& rounds) {
  const auto sum = std::make_shared<RdpSum>(rounds);
  return [sum](double order) { return (*sum)(order); };
}

// The search for the order takes a curve of at most this many groups. At the order that it finds,
// the sum of up to kMostSummed curves is taken.
constexpr size_t kMostSearched = 64;
constexpr size_t kMostSearchedQuickly = 8;
constexpr size_t kFewestSearched = 4;
constexpr size_t kMostSummed = 2048;

// Terms of RdpSum that one figure may take, at all its deltas together.
constexpr double kFullTerms = 1e6;
constexpr double kQuickTerms = 1e5;
constexpr double kMostTerms = 2e6;  // for the sum of up to kMostSummed curves
// About the number of orders that the search tries; it tries fewer if they would take too many
// terms.
constexpr double kOrders = 32;

// The rounds in groups so few that the search can afford kOrders of the cheapest orders.
std::vector<GaussianRounds> GroupedForSearch(const std::vector<GaussianRounds>& rounds, size_t most,
                                             double terms) {
  const std::vector<GaussianRounds> few = Grouped(rounds, most);
  const double affordable = terms / kOrders / RdpSum(few).LargestTerms(2);
  if (affordable >= static_cast<double>(few.size())) return few;
  return Grouped(few, std::max(static_cast<size_t>(affordable), kFewestSearched));
}

// Epsilon() for any number of groups, in bounded time. Not safe to share between threads.
class EpsilonOfMany {
 public:
  EpsilonOfMany(const std::vector<GaussianRounds>& rounds, Conversion conversion, Effort effort)
      : conversion_(conversion) {
    const bool is_full = effort == Effort::kFull;
    const double terms = is_full ? kFullTerms : kQuickTerms;
    const std::vector<GaussianRounds> few =
        GroupedForSearch(rounds, is_full ? kMostSearched : kMostSearchedQuickly, terms);
    few_ = std::make_unique<RdpSum>(few, terms);
    if (!is_full) return;
    fewest_ = std::make_unique<RdpSum>(Grouped(few, kFewestSearched), terms);
    many_ = Grouped(rounds, kMostSummed);
    if (many_.size() == few.size()) many_.clear();
  }

  ConvertedEpsilon At(double delta) {
    ConvertedEpsilon best = Of(*few_, delta);
    if (few_->is_exhausted() && fewest_) {
      const ConvertedEpsilon coarse = Of(*fewest_, delta);
      if (coarse.unclipped < best.unclipped) best = coarse;
    }
    if (many_.empty() || !std::isfinite(best.unclipped)) return best;
    if (!sum_of_many_) sum_of_many_ = std::make_unique<RdpSum>(many_, kMostTerms);
    const double finer =
        (*sum_of_many_)(best.order) + ConversionTerm(best.order, std::log(delta), conversion_);
    best.unclipped = std::min(best.unclipped, finer);
    return best;
  }

 private:
  ConvertedEpsilon Of(RdpSum& sum, double delta) const {
    ConvertedEpsilon best =
        EpsilonOfCurve([&sum](double order) { return sum(order); }, delta, conversion_);
    if (!sum.is_exhausted()) return best;
    // The orders that were affordable for an earlier delta serve this one too.
    for (const auto& [order, rho] : sum.known()) {
      const double epsilon = rho + ConversionTerm(order, std::log(delta), conversion_);
      if (epsilon < best.unclipped) best = {epsilon, order, best.order_at_edge};
    }
    return best;
  }

  Conversion conversion_;
  std::unique_ptr<RdpSum> few_;
  std::unique_ptr<RdpSum> fewest_;    // can afford more orders
  std::vector<GaussianRounds> many_;  // empty: few_ has them all
  std::unique_ptr<RdpSum> sum_of_many_;
};

EpsilonAt ByRdp(const std::vector<GaussianRounds>& rounds, Conversion conversion, const char* name,
                Effort effort) {
  const auto figure = std::make_shared<EpsilonOfMany>(rounds, conversion, effort);
  return [=](double delta) {
    const ConvertedEpsilon converted = figure->At(delta);
    AccountedEpsilon result;
    result.epsilon = converted.Guarantee();
    result.winner = name;
    result.order = converted.order;
    result.order_at_edge = converted.order_at_edge;
    return result;
  };
}

bool HasPair(const GaussianRounds& r) { return r.sampling == Sampling::kUniform && r.rounds > 0; }

// rho of the pair that dominates these uniform cohorts.
double RdpOfPair(const GaussianRounds& r, double order) {
  return static_cast<double>(r.rounds) *
         RdpReplacePair(r.noise_multiplier, r.sampling_rate, order) * (1 + kArithmeticMargin);
}

double FilterRdp(const std::vector<GaussianRounds>& rounds, double order) {
  std::vector<GaussianRounds> others;
  double total = 0.0;
  for (const GaussianRounds& r : Canonical(rounds)) {
    if (HasPair(r)) {
      total += std::min(RdpOfPair(r, order), ComposedRdp({r}, order));
    } else {
      others.push_back(r);
    }
  }
  return total + ComposedRdp(others, order);
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
  std::sort(rounds.begin(), rounds.end(), IsBefore);
  std::vector<GaussianRounds> merged;
  for (const GaussianRounds& r : rounds) {
    if (!merged.empty() && !IsBefore(merged.back(), r)) {
      merged.back().rounds = SaturatingSum(merged.back().rounds, r.rounds);
    } else {
      merged.push_back(r);
    }
  }
  return merged;
}

double ComposedRdp(const std::vector<GaussianRounds>& rounds, double order) {
  return RdpSum(rounds)(order);
}

ConvertedEpsilon Epsilon(const std::vector<GaussianRounds>& rounds, double delta,
                         Conversion conversion) {
  return EpsilonOfCurve(CurveOf(rounds), delta, conversion);
}

ConvertedEpsilon EpsilonAtOrders(const std::vector<GaussianRounds>& rounds, double delta,
                                 const std::vector<double>& orders, Conversion conversion) {
  return EpsilonOfCurveAtOrders(CurveOf(rounds), delta, orders, conversion);
}

EpsilonAt ComposeRdp(const std::vector<GaussianRounds>& rounds, double /*delta*/, Effort effort) {
  return ByRdp(rounds, Conversion::kImproved, "rdp", effort);
}

EpsilonAt ComposeRdpClassic(const std::vector<GaussianRounds>& rounds, double /*delta*/,
                            Effort effort) {
  return ByRdp(rounds, Conversion::kClassic, "rdp-classic", effort);
}

EpsilonAt ComposeRdpAtOrder(const std::vector<GaussianRounds>& rounds, double order) {
  Require(order > 1 && std::isfinite(order), "order", order, "finite and above 1");
  const double rho = FilterRdp(rounds, order);
  return [=](double delta) {
    AccountedEpsilon result;
    result.winner = "rdp-filter";
    result.order = order;
    const double epsilon = rho + ConversionTerm(order, std::log(delta), Conversion::kImproved);
    result.epsilon = rho > 0 ? std::max(epsilon, 0.0) : 0.0;
    return result;
  };
}

double BestFilterOrder(std::vector<GaussianRounds> rounds, double delta) {
  constexpr size_t kMostSettings = 8;  // a pair takes some tenths of a millisecond at each order
  if (std::none_of(rounds.begin(), rounds.end(), HasPair)) return Epsilon(rounds, delta).order;
  for (GaussianRounds& r : rounds) r.choices.clear();  // their pair dominates them
  const std::vector<GaussianRounds> few = Grouped(rounds, kMostSettings);
  const RdpCurve curve = [&few](double order) {
    double total = 0.0;
    for (const GaussianRounds& r : few) {
      total += HasPair(r) ? RdpOfPair(r, order) : ComposedRdp({r}, order);
    }
    return total;
  };
  return EpsilonOfCurve(curve, delta).order;
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
