// The closed forms of DP-Fed-LS: epsilon from noise and noise from epsilon, under side conditions.
// They need no search over orders.
//
// Notation. z is the noise multiplier of the released sum (rdp.h), so nu = z C under Poisson
// and nu = 2 z C under uniform sampling. x = z^2. There are T rounds at rate q. L = ln(1/delta).
// For any lambda in (0, 1),
//   alpha = L / ((1 - lambda) epsilon) + 1,
//   x >= c q^2 T alpha / (lambda epsilon),                      c = 7/2 (uniform), 2 (Poisson)
// is enough for (epsilon, delta), provided that
//   kNoiseFloor  x >= 2/3 (uniform), 5/9 (Poisson), and
//   kOrder       alpha - 1 <= 2/3 x ln(1 / (q alpha (1 + x))).
// For some targets no lambda and no noise satisfies both: that is an error, not a number.
//
// The forms are looser than the accountant of conversion.h, which never needs more noise. Use the
// forms for comparison with the paper and the accountant for a guarantee. (The proof of Theorem 1
// rests on a bound for integer orders, but alpha need not be an integer. Wherever the tests
// compare, the accountant confirms the form.)
//
// Sampling is kUniform (replace-one) or kPoisson (add/remove); all others throw. The functions
// throw std::invalid_argument for an argument outside its range, and InfeasibleClosedForm. Pure
// functions, safe from any thread.
// Source: Liang, Wang, Gu, Osher, Yao, "Differentially Private Federated Learning with Laplacian
// Smoothing" (2021), Theorems 1 and 2, Equations 4 and 5, Lemmas 3 and 4.
// Part of sotto::server/published.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "accounting/types.h"

namespace sotto::privacy {

enum class SideCondition {
  kNoiseFloor,  // kOrder holds for some lambda, but only with less noise than the floor
  kOrder,       // fails for every lambda and every noise
};

// No lambda and no noise satisfy both side conditions.
class InfeasibleClosedForm : public std::runtime_error {
 public:
  InfeasibleClosedForm(SideCondition failed, const std::string& message)
      : std::runtime_error(message), failed_(failed) {}

  SideCondition failed() const { return failed_; }

 private:
  SideCondition failed_;
};

// The settings of both theorems. rate in (0, 1], rounds >= 1, delta in (0, 1).
struct ClosedFormRounds {
  Sampling sampling = Sampling::kUniform;
  double rate = 0.0;  // q
  int64_t rounds = 0;
  double delta = 0.0;

  void Validate() const;  // throws std::invalid_argument
};

// A point at which a theorem holds.
struct ClosedForm {
  double noise_multiplier = 0.0;  // z
  double epsilon = 0.0;
  double lambda = 0.0;  // in (0, 1)
  double order = 0.0;   // alpha
};

// The least noise for a target epsilon, > 0 and finite. It is the minimum over all lambda that
// satisfy the side conditions with exactly the noise they need, to 1e-13 relative and on the
// feasible side. (More noise at the same lambda gains nothing: a smaller lambda needs exactly that
// noise, and its alpha is smaller.)
ClosedForm ClosedFormForEpsilon(const ClosedFormRounds& rounds, double epsilon);

// The least epsilon for a given noise multiplier, > 0 and finite, over all lambda.
ClosedForm ClosedFormForNoise(const ClosedFormRounds& rounds, double noise_multiplier);

}  // namespace sotto::privacy
