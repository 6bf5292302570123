// From RDP to (epsilon, delta): composition over rounds, conversion, the search for the best order.
//
// Composition adds the curves of the rounds, whatever the order, sampling and noise of the rounds
// (Mironov 2017, Proposition 1). Rounds of equal settings are merged first, so the order and the
// grouping of the rounds do not change a bit of the result. Each curve is raised by
// kArithmeticMargin, which covers the rounding errors of rdp.h, so the result is an upper bound.
// Pure functions, safe from any thread. Part of sotto::server/accounting.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "accounting/accounted.h"
#include "accounting/types.h"

namespace sotto::privacy {

constexpr double kArithmeticMargin = 1e-11;  // relative

// A way to draw and to noise a round.
struct RateAndNoise {
  double sampling_rate = 0.0;     // in [0, 1]
  double noise_multiplier = 0.0;  // >= 0
};

// Rounds that share their settings.
struct GaussianRounds {
  Sampling sampling = Sampling::kNone;
  double noise_multiplier = 0.0;  // of the released sum, see rdp.h; >= 0
  double sampling_rate = 1.0;     // in [0, 1]; ignored for kNone
  int64_t rounds = 1;             // >= 0
  // Other settings that the adversary may choose, for each round anew. RDP charges the largest
  // curve at each order. The other accountants use the pair above alone, so it must dominate each
  // of these (composition.h). kNone ignores them.
  std::vector<RateAndNoise> choices = {};
};

// The sum of two numbers of rounds, >= 0, or the largest number if the sum does not fit.
int64_t SaturatingSum(int64_t a, int64_t b);

// Merges rounds of equal settings and sorts the result: every order and grouping of the same rounds
// gives the same list. Throws std::invalid_argument as ComposedRdp does, except for orders.
std::vector<GaussianRounds> Canonical(std::vector<GaussianRounds> rounds);

enum class Conversion {
  // min over orders a of rho + ln(1/delta)/(a - 1). Source: Mironov, "Renyi Differential Privacy"
  // (2017), Proposition 3.
  kClassic,
  // min over orders a of rho + ln(1 - 1/a) - (ln delta + ln a)/(a - 1), never above the classic
  // conversion.
  // Source: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020),
  // Proposition 12; Balle, Barthe, Gaboardi, Hsu, Sato, "Hypothesis Testing Interpretations and
  // Renyi Differential Privacy" (2020), Theorem 21.
  kImproved,
};

struct ConvertedEpsilon {
  double unclipped = 0.0;  // the formula's minimum; may be negative, may be +infinity, never NaN
  double order = 0.0;      // the order that attains it
  bool order_at_edge = false;  // first or last order: a wider range might give a smaller epsilon

  // The epsilon to state. (epsilon, delta)-DP with a negative epsilon implies (0, delta)-DP.
  double Guarantee() const { return std::max(unclipped, 0.0); }
};

// The orders the continuous search covers: ln(order - 1) from -11.5 to 11.
constexpr double kMinLogOrder = -11.5;
constexpr double kMaxLogOrder = 11.0;

// rho as a function of the order: real, above 1. Non-negative, never falling, never NaN.
using RdpCurve = std::function<double(double order)>;

// rho(order) of all the rounds together. Throws std::invalid_argument as rdp.h does, and for a
// negative number of rounds.
double ComposedRdp(const std::vector<GaussianRounds>& rounds, double order);

// The minimum over real orders, to 1e-9 relative or better if there is only one minimum. For
// Poisson sampling and for no sampling there is only one, because (order - 1) times the function is
// convex. Any order gives a valid bound: a missed minimum costs tightness, not soundness. Takes
// some 50 evaluations of the curve of every different round.
//   delta  in (0, 1)
// Throws std::invalid_argument for a bad delta or bad rounds.
ConvertedEpsilon Epsilon(const std::vector<GaussianRounds>& rounds, double delta,
                         Conversion conversion = Conversion::kImproved);

// The minimum over the given orders (not empty, each above 1, ascending). It is for comparison with
// tables that were made on such a grid.
ConvertedEpsilon EpsilonAtOrders(const std::vector<GaussianRounds>& rounds, double delta,
                                 const std::vector<double>& orders,
                                 Conversion conversion = Conversion::kImproved);

// The accountants "rdp" (improved conversion) and "rdp-classic" (classic conversion): Epsilon() at
// any delta. They ignore the argument `delta`. Their time is bounded for all deltas together:
// settings that are more than 64, or whose curves take very many terms, are charged in groups
// (grouping.h), and the search leaves out orders that it can no longer afford (RdpSum). The
// results must not be shared between threads.
EpsilonAt ComposeRdp(const std::vector<GaussianRounds>& rounds, double delta, Effort effort);
EpsilonAt ComposeRdpClassic(const std::vector<GaussianRounds>& rounds, double delta, Effort effort);

// The accountant "rdp-filter": the improved conversion at one order, above 1 and finite, which was
// fixed before the rounds. It is sound for rounds whose settings and number were chosen after
// seeing the releases before them, as long as a limit on the result was fixed beforehand: the
// adaptive sum of rho at one order bounds the divergence of all the rounds. The rho of a uniform
// cohort is the smaller one of Theorem 27's (rdp.h) and the dominating pair's (pair_rdp.h). The
// search for the best order is not sound there, and neither are privacy loss distributions, whose
// composition needs settings that are fixed. Source: Feldman and Zrnic, "Individual Privacy
// Accounting via a Renyi Filter" (2021), Section 3; Lecuyer, "Practical Privacy Filters and
// Odometers with Renyi Differential Privacy" (2021), Section 3.
EpsilonAt ComposeRdpAtOrder(const std::vector<GaussianRounds>& rounds, double order);

// An order that is good for that accountant: the best one for these rounds, or nearly.
double BestFilterOrder(std::vector<GaussianRounds> rounds, double delta);

// Epsilon and EpsilonAtOrders for any other curve. The result is an upper bound only if the curve
// includes a margin for its own rounding errors.
ConvertedEpsilon EpsilonOfCurve(const RdpCurve& curve, double delta,
                                Conversion conversion = Conversion::kImproved);
ConvertedEpsilon EpsilonOfCurveAtOrders(const RdpCurve& curve, double delta,
                                        const std::vector<double>& orders,
                                        Conversion conversion = Conversion::kImproved);

}  // namespace sotto::privacy
