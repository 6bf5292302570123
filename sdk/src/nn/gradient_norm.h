// The norm of a gradient, and the factor that clips it: see SgdStep. Part of sotto/nn; private to
// the SDK.
//
// A sum of squares in float32 may be too small, and a factor computed from it then too large. So
// the factor is made smaller by a bound on all rounding errors, with u = 2^-24:
//   1. A block of up to 256 numbers is summed in 4 lanes: at most 67 additions in a lane and 2 of
//      lanes, so with the squares' rounding it errs by at most 70 u of itself.
//   2. Add() adds blocks to a term, and a term to the sum. AddOuterProduct() multiplies two such
//      terms, the second one plus 1. So with b blocks in all each term errs by at most
//      (2 * 70 + b + 4) u of itself, and the sum of terms by b u more.
//   3. The root halves that, to (b + 72) u. Of the roundings of the root, of the factor and of the
//      products with it none is above 1 u.
// So the computed factor times 1 - (b + 100) u is small enough. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/exact_arithmetic.h"
#include "sotto/layer.h"
#include "sotto/status.h"

namespace sotto::nn {

class GradientNorm {
 public:
  // n >= 1 elements of the gradient.
  void Add(const Real* x, size_t n) { sum_ += Squares(x, n); }

  // The elements deltas[o] * inputs[i] and deltas[o], for all o < outputs and i < n: a sample's
  // gradient of a Dense. Neither is empty.
  void AddOuterProduct(const Real* deltas, size_t outputs, const Real* inputs, size_t n) {
    const Real squares = Squares(deltas, outputs);
    sum_ += squares * (Squares(inputs, n) + Real{1});
  }

  // The factor, at most 1, that takes the norm to `most` or below. Returns kOk or kNotFinite.
  Status FactorFor(Real most, Real* factor) const;

 private:
  Real Squares(const Real* x, size_t n);

  Real sum_ = 0;
  uint32_t blocks_ = 0;
};

}  // namespace sotto::nn
