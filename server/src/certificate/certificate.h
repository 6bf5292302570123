// The proof that the dither's noise is close to the Gaussian. Pure functions, safe from any thread.
// Part of sotto::server/certificate.
//
// Claim. The released noise of a coordinate is e = k / 2^20 for an integer k. It stands for the
// errors n = 128 k - 63, ..., 128 k + 64 in Q27 (sotto/quantizer.h). Let G(k) be the mass that the
// standard Gaussian has within half a step of e. Then
//   |ln(Pr[k] / G(k))| <= eta if |e| <= T   and   Pr[|e| > T] <= tau,
// for a uniformly random keystream and for every encoded value. The bounds cover all 2^97 pairs of
// layer and coin. They are computed for ranges of layers, not layer by layer.
//
// Notation. One unit is q = 2^-27, and y = (n - 1/2) q. A layer's integers are r^, g^ and
// w^ = r^ + g^. They are rounded from the real numbers r' and g' of table_errors.h. r' differs from
// the function r by at most R, and g' from g by at most G.
//
// Lemma 1, integers. Given the layer, and over both coins, n >= 1 has the probability
// ([r^ >= n] + [g^ >= n]) / (2 w^), and n <= 0 has the probability of 1 - n. So positive n suffice.
//
// Lemma 2, the ideal. r^ >= n holds exactly if r' >= y. For the real functions the sum of Lemma 1
// is the Gaussian density (Gau-LRQ, Definition 3):
//   phi(y) = 1/2 (int_{r >= y} dP / w + int_{g >= y} dP / w).
// The middles of 128 slices of width q replace the integral over a cell up to 1e-15.
//
// Lemma 3, differences. The probability of n differs from q phi(y), relative to it, by at most the
// sum of five terms:
//   1. Threshold. Layers with r between y - R and y + R may fall on the wrong side. At y the edges
//      r have density 2 y^2 phi(y), and the edges g have density 2 y g(y) phi(y). Half of these
//      densities, divided by w, gives at most y (y R + g(y) G) / (y + g(y)).
//   2. Grid. Layers are 2^-36 apart, extended layers 2^-96. For either kind of edge at most half a
//      layer falls on the wrong side: 2^-36 / (4 w phi(y)) for each kind.
//   3. Sum. A sum over the layers replaces the integral of 1 / w. Its error within one layer is at
//      most half of the change of 1 / w in that layer. In all this is half a layer times the total
//      variation of 1 / w beyond y.
//   4. Step. |w^ - w| <= q + R + G. So the relative error of 1 / w^ is at most
//      (q + R + G) / (w - (q + R + G)).
//   5. Offset. If a layer covers a whole cell, the cell's 128 values of s come from 128 2^59 / w^
//      values of t59, up to 1: a relative error of w^ / (128 2^59). The layers that end within the
//      cell are too few to matter.
//
// Evaluation. The sum is evaluated in double over short intervals. Every factor is taken at the end
// of the interval where it is larger, and a margin covers this arithmetic. Pr[k] = Pr[-k], so the
// mean is 0; variance and kurtosis follow from eta and tau.
#pragma once

#include <cstddef>
#include <functional>

#include "certificate/table_errors.h"

namespace sotto::server {

struct Certificate {
  double range = 0;  // T
  double eta = 0;
  double tau = 0;
  double eta_at = 0;          // the |e| at which the bound is largest
  double variance_error = 0;  // bound of |variance - 1|
  double kurtosis_error = 0;  // bound of |kurtosis - 3|
  size_t nodes = 0;           // points at which the tables were compared with the functions
};

// A bound of |ln(Pr[k] / G(k))| for all k with low <= |k| / 2^20 <= high; +infinity if no bound is
// proved.
//   0 <= low <= high <= 11; every term is taken at its worst in the interval, so a shorter interval
//   gives a better bound
double LogRatioBound(const TableErrors& errors, double low, double high);

// A bound of Pr[|e| > range]. 1 <= range <= 11.
double OutsideBound(const TableErrors& errors, double range);

// The certificate for |e| <= range; takes about a second. Calls progress(done, all) from time to
// time.
//   8 <= range <= 11; throws std::invalid_argument otherwise
Certificate ProveCertificate(double range, const std::function<void(size_t, size_t)>& progress);

}  // namespace sotto::server
