// An approximation of the loss of many rounds together, for choosing the tilt, the step and the
// window of loss_sum.h. No bound rests on it: LossSum computes its bounds from the grid itself.
//
// Immutable after construction, safe from any thread. Used by loss_sum.h.
// Part of sotto::server/accounting.
#pragma once

#include <cstdint>
#include <vector>

#include "accounting/round_loss.h"

namespace sotto::privacy {

// Rounds of equal loss.
struct LossGroup {
  RoundLoss loss;
  int64_t rounds = 1;  // >= 1
};

// ln E[e^(lambda L)] with the first two derivatives.
struct Cumulants {
  double value = 0.0;
  double mean = 0.0;
  double variance = 0.0;
};

// How the samples of a loss count.
enum class LossSamples {
  // As they are. Their mass differs from 1 by the error of the sampling, and so does e^K(0). After
  // very many rounds this error exceeds K itself.
  kRaw,
  // Scaled to mass 1, so K(0) is 0 after any number of rounds. Each loss varies by at least half of
  // its grid cell, because the grid spreads it over the cell: a loss that is constant to the last
  // bit has a variance above 0.
  kNormalised,
};

class LossPlan {
 public:
  LossPlan(const std::vector<LossGroup>& groups, LossSamples samples);

  // K of all the rounds.
  Cumulants At(double lambda) const;

  // The lambda with the smallest Chernoff bound on epsilon at this delta,
  // (K(lambda) + ln(1/delta)) / lambda. Takes 15 evaluations of At().
  double BestTilt(double log_delta) const;

  // The exponent of the given sign whose Chernoff bound gives the closest end of a window. At most
  // e^-log_outside of the tilted mass lies beyond that end. Takes 9 evaluations of At().
  double BestExponent(double lambda, double sign, double log_outside) const;

 private:
  struct Part {
    std::vector<LossSample> samples;
    double rounds;
    double log_total;      // ln of the mass of the samples; 0 for kRaw
    double cell_variance;  // the least variance of one loss; 0 for kRaw
  };
  Part Normalised(Part part) const;

  std::vector<Part> parts_;
};

}  // namespace sotto::privacy
