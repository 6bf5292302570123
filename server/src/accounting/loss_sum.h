// The sum of the privacy losses of many rounds, and the delta that follows from it, bounded on both
// sides.
//
// How the sum is computed:
//   1. Every round's loss is put on one grid (round_loss.h).
//   2. The masses are tilted: the mass at loss L is multiplied by e^(lambda L - K(lambda)). The
//      losses that determine a small delta then have large masses.
//   3. The tilted masses are composed as the T-th power of their discrete Fourier transform.
//   4. The tilt is undone.
// With lambda at the saddle point for the wanted delta, the error of the transform is relative to
// delta, however small delta is. Sources: Koskela, Jalko, Honkela, "Computing Tight Differential
// Privacy Guarantees Using FFT" (2020), and Gopi, Lee, Wutschitz, "Numerical Composition of
// Differential Privacy" (2021), compose by the transform; tilting is the classic saddle-point
// method.
//
// Five errors are added to the upper bound and taken off the lower one:
//   Error 1, the mass outside of a round's branches. Upper: infinite loss. Lower: no mass.
//   Error 2, sums outside of the window of n steps: they wrap around and enter at its other end. By
//     Chernoff bounds on the masses as they are, at most e^-kLogOutside of the tilted mass is above
//     the window and at most as much below it. Upper: the mass above the window counts, without the
//     tilt, as infinite loss; sums that wrap around from below only increase the bound. Lower: all
//     mass that can have wrapped around is subtracted.
//   Error 3, rounding in the transform. A transform of length n is off by at most kTransformError
//     log2(n) times the sum of the absolute values of its input, pointwise: each output is a sum of
//     products of an input and at most log2(n) factors, each with its rounding error (Higham,
//     "Accuracy and Stability of Numerical Algorithms", 2002, Section 24.1). The T-th power makes
//     T |transform|^(T-1) times this error. After the inverse transform the error is added to every
//     mass.
//   Error 4, rounding of the single masses (kMassError) and losses (loss_error), T times.
//   Error 5, the grid. Upper: the grid's delta is never smaller than the exact one. Lower: with
//     probability 1 - p the grid moves the sum up by at most b = GridShift::Bound(ln p), so that
//     delta at epsilon is at least the grid's delta at epsilon + b minus p.
//
// Every loop is bounded: the window has at most 4 * 2^19 steps, or twice those asked for, before it
// is rounded up to the length of a transform, one round takes at most some 10^5 panels and 512
// cells an octave, and the searches take a fixed number of evaluations. A number that does not fit
// a double makes the upper bound +infinity.
//
// Immutable after construction, safe from any thread. Part of sotto::server/accounting.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "accounting/loss_plan.h"
#include "accounting/round_loss.h"

namespace sotto::privacy {

constexpr double kMinWindow = 8192.0;
constexpr double kMaxWindow = 524288.0;

// A bound on the shift that the grid of round_loss.h adds to a sum of losses.
//   Lemma 1. Given a round's loss, the grid moves the loss by a random Z within its cell, and
//     E[e^-Z] = 1. Let w be the width of the cell. By Hoeffding's lemma the mean of Z is at most
//     w^2 / 8 and E[e^(mu Z)] at most e^((mu + mu^2) w^2 / 8).
//   Lemma 2. Given the losses, the Z of all rounds are independent. Chernoff's bound limits their
//     sum.
// Only Add changes the object; Bound is safe from any thread once all the rounds are added.
class GridShift {
 public:
  // Adds `rounds` rounds of this loss to the sum.
  void Add(const GridLoss& grid, double rounds);

  // An amount b such that the sum moves up by more than b with probability at most e^log_chance.
  //   log_chance  < 0
  double Bound(double log_chance) const;

 private:
  struct Group {
    std::map<double, double> mass_by_width;
    double rounds = 0.0;
  };

  double LargestCountedWidth(double chance) const;

  std::vector<Group> groups_;
};

class LossSum {
 public:
  // The bounds hold at any delta and are tight within some orders of magnitude of `delta`. `groups`
  // must not be empty. Their tails over all rounds should be far below delta.
  //   most_steps  of the window, about; at least 2 * kMinWindow and at most kMaxWindow are used.
  //               Fewer steps take less time and cost accuracy.
  LossSum(const std::vector<LossGroup>& groups, double delta, double most_steps = kMaxWindow);

  // Bounds on the smallest epsilon >= 0 with delta(epsilon) <= delta. The upper one is +infinity if
  // there is none at this delta.
  double UpperEpsilon(double delta) const;
  double LowerEpsilon(double delta) const;

 private:
  struct Layout;  // of the grid and the window
  struct Scale;   // by which a layout is made
  static Scale ChooseScale(const LossPlan& plan, double rounds, double delta, double most_steps);
  static Layout MakeLayout(const std::vector<LossGroup>& groups, double delta, double most_steps,
                           LossSamples samples);

  // delta at every point of the window, divided by delta_unit_, and the suffix sums that
  // interpolate it. For epsilon in (loss i-1, loss i],
  // delta(epsilon) = delta[i] + (1 - e^(epsilon - loss i)) * g[i].
  struct Profile {
    std::vector<double> delta;
    std::vector<double> g;
  };
  static Profile MakeProfile(const std::vector<double>& mass, double step);

  double LossAt(size_t index) const { return bottom_ + static_cast<double>(index) * step_; }

  double step_ = 0.0;
  double bottom_ = 0.0;
  double delta_unit_ = 0.0;
  double tilt_ = 0.0;
  double rounds_ = 0.0;
  double loss_error_ = 0.0;  // of the sum
  double infinite_ = 0.0;    // mass counted as infinite loss, divided by delta_unit_
  double reference_ = 0.0;   // the loss at which the tilted mass has weight delta_unit_
  GridShift shift_;
  Profile upper_;
  Profile lower_;
};

}  // namespace sotto::privacy
