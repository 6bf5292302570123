// The privacy loss of one round as a random variable, and its discretisation.
//
// Let P and Q be the output distributions of two neighbouring fleets. The loss is L = ln(P/Q) at an
// output drawn from P. The distribution of L determines delta at every epsilon,
//   delta(epsilon) = E[(1 - e^(epsilon - L))_+],
// and losses of composed rounds add up (Sommer, Meiser, Mohammadi, "Privacy Loss Classes: The
// Central Limit Theorem in Differential Privacy", 2019). Every pair here is one-dimensional.
// Notation. x is the released sum along the direction in which one device moves it, in units of the
// sensitivity. N_c is the Gaussian of mean c and deviation z. l(x) = ln(1 - q + q N_1(x)/N_0(x))
// rises with x.
// Pure functions, safe from any thread. Used by loss_sum.h and pld.h.
// Part of sotto::server/accounting.
#pragma once

#include <cstdint>
#include <vector>

#include "accounting/conversion.h"

namespace sotto::privacy {

// The pair (P, Q) of a round.
enum class LossPair {
  // Poisson: P has the device, P = (1-q) N_0 + q N_1, Q = N_0.
  kRemove,
  // Poisson: P lacks the device, P = N_0, Q = (1-q) N_0 + q N_1.
  kAdd,
  // A cohort of fixed size, one device's data replaced. No mechanism has this pair as its outputs;
  // the pair dominates the output pairs of every such mechanism.
  //   Lemma 1. For epsilon >= 0, delta = q delta_0(epsilon_0) at epsilon = ln(1 + q (e^epsilon_0 -
  //     1)), where delta_0 is the delta of the unsampled Gaussian. Source: Balle, Barthe, Gaboardi,
  //     "Privacy Amplification by Subsampling" (2018), Section 4.
  //   Lemma 2. Neighbours are symmetric, so lemma 1 holds for the pair (Q, P) too. Hence for
  //     epsilon < 0, delta(epsilon) = 1 - e^epsilon + e^epsilon delta(-epsilon).
  //   Lemma 3. That function of e^epsilon is convex, so there is a pair of distributions with this
  //     profile, and such pairs compose. Source: Zhu, Dong, Wang, "Optimal Accounting of
  //     Differential Privacy via Characteristic Function" (2022), Section 3.
  // The pair's loss is l(x) with density (1-q) N_0 + q N_1 over x > 1/2, -l(x) with density N_0
  // over x > 1/2, and 0 with the rest of the mass, (1-q) (1 - 2 Phi(-1/(2z))).
  kReplace,
};

// A part of the loss: l(x) or -l(x) for x in [from, to].
struct LossBranch {
  bool is_positive;  // the loss is l(x) of density N_0(x) e^l(x); otherwise -l(x) of density N_0(x)
  double from;
  double to;
};

struct RoundLoss {
  double noise_multiplier = 0.0;  // z
  double rate = 0.0;              // q
  std::vector<LossBranch> branches;
  double mass_at_zero = 0.0;
  double log_tail = 0.0;    // ln of an upper bound on the mass outside of the branches
  double loss_error = 0.0;  // upper bound on the error of a loss computed from x
};

// The smallest noise multiplier handled here; the losses of less noise are in the hundreds.
constexpr double kMinLossNoiseMultiplier = 1.0 / 32;

// The loss of one round, cut so that at most e^log_tail, log_tail < 0, of the mass is outside.
//   round  noise multiplier >= kMinLossNoiseMultiplier, rate in (0, 1]; kNone counts as rate 1
RoundLoss MakeRoundLoss(const GaussianRounds& round, LossPair pair, double log_tail);

// A bound on the absolute value of every loss within the branches.
double LargestLoss(const RoundLoss& round);

// A few hundred points of the loss with ln of their mass. This is an approximation for planning.
struct LossSample {
  double loss;
  double log_mass;
};
std::vector<LossSample> SampleLoss(const RoundLoss& round);

// Masses on a grid. The points are multiples of a step. Near zero every multiple is used; farther
// out only every second, every fourth, ... multiple. So a loss l lies in a cell of width
// CellWidth(l) = max(step, 2^floor(log2 |l|) / kCellsPerOctave). Far from zero the width is
// proportional to the loss, and one round takes some thousands of points however small the step is.
struct GridPoint {
  int64_t index = 0;   // the loss in steps
  double mass = 0.0;   // of P
  double width = 0.0;  // of the wider one of the two cells at this point
};
using GridLoss = std::vector<GridPoint>;  // by index, each once

constexpr double kCellsPerOctave = 512.0;

// Discretises the loss. The mass of a cell is split between its ends so that its total under P and
// its total under Q stay the same. So the grid's delta is never below the exact delta, and both are
// equal at every point of the grid. Each mass is exact up to kMassError, relative, for a loss that
// is exact up to loss_error. The mass outside of the branches is left out.
//   step  > 0, a power of two
// Source: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the Dots: Tighter Discrete
// Approximations of Privacy Loss Distributions" (2022), Section 3.
GridLoss Discretise(const RoundLoss& round, double step);

// About the number of panels that Discretise() integrates over, apart from the ends of cells: its
// time is in proportion to them.
double PanelCount(const RoundLoss& round);

constexpr double kMassError = 1e-12;

}  // namespace sotto::privacy
