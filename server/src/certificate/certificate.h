// The proof that the dither's noise is close to the Gaussian. Part of sotto::server/certificate.
//
// What is released of the noise is e = k / 2^20 for an integer k, whose errors are the integers
// n = 128 k - 63 ... 128 k + 64 of Q27 (sotto/quantizer.h). The certificate compares the
// probability of every k to the mass G(k) that the standard Gaussian has within half a step of e:
//   |ln(Pr[k] / G(k))| <= eta if |e| <= T   and   Pr[|e| > T] <= tau,
// for a uniformly random keystream, whatever the value that is encoded. All 2^97 pairs of layer and
// coin are covered, by bounds for stretches of them and not by visiting each.
//
// The proof. One unit is q = 2^-27. Given the layer (r, g), both coins together, n >= 1 has
// probability ([r^ >= n] + [g^ >= n]) / (2 w^), where r^, g^ and w^ = r^ + g^ are the integers; and
// n <= 0 has that of 1 - n. So it suffices to look at positive n. With y = (n - 1/2) q, r^ >= n
// says r' >= y, for r' and g' as in table_errors.h, where they are at most R and G off r and g. For
// the real functions the same sum is the Gaussian density (Gau-LRQ, Definition 3):
//   phi(y) = 1/2 (int_{r >= y} dP / w + int_{g >= y} dP / w),
// and the middle of 128 slices of width q replaces the integral over a cell up to 1e-15. What makes
// the probability of n different from q phi(y), relative to it:
// - Threshold: layers with r between y and y + R, or y - R, may fall on the wrong side. At y the
//   edges r have density 2 y^2 phi(y) and the edges g have 2 y g(y) phi(y). Half of that over w is
//   at most y (y R + g(y) G) / (y + g(y)).
// - Grid: layers are 2^-36 apart, extended ones 2^-96. For either kind of edge at most half a layer
//   falls on the wrong side, 2^-36 / (4 w phi(y)) each.
// - Sum: a sum over the layers stands for the integral of 1 / w. Within each it is off by at most
//   half of what 1 / w changes there, so by half a layer times the total variation beyond y.
// - Step: |w^ - w| <= q + R + G, so 1 / w^ is off by at most this over w - (q + R + G).
// - Offset: a cell's 128 values of s come from 128 2^59 / w^ values of t59, up to 1, if the layer
//   covers the whole cell: w^ / (128 2^59). The layers that end in it are too few to matter.
// The terms add up; the sum is evaluated in double over short intervals, every factor at the end
// where it is larger, and a little added for this arithmetic. From Pr[k] = Pr[-k] the mean is 0;
// variance and kurtosis follow from eta and tau.
#ifndef SOTTO_CERTIFICATE_CERTIFICATE_H_
#define SOTTO_CERTIFICATE_CERTIFICATE_H_

#include <cstddef>
#include <functional>

#include "certificate/table_errors.h"

namespace sotto::server {

struct Certificate {
  double range = 0;  // T
  double eta = 0;
  double tau = 0;
  double eta_at = 0;          // |e| where the bound is largest
  double variance_error = 0;  // the variance is 1 up to this
  double kurtosis_error = 0;  // the kurtosis is 3 up to this
  size_t nodes = 0;           // points at which the tables were compared with the functions
};

// A bound of |ln(Pr[k] / G(k))| for all k with low <= |k| / 2^20 <= high; +infinity without one.
//   0 <= low <= high <= 11; everything is taken at its worst within, so the shorter the better
double LogRatioBound(const TableErrors& errors, double low, double high);

// A bound of Pr[|e| > range]. 1 <= range <= 11.
double OutsideBound(const TableErrors& errors, double range);

// The certificate for |e| <= range; takes about a second. Calls progress(done, all) now and then.
//   8 <= range <= 11; throws std::invalid_argument otherwise
Certificate ProveCertificate(double range, const std::function<void(size_t, size_t)>& progress);

}  // namespace sotto::server

#endif  // SOTTO_CERTIFICATE_CERTIFICATE_H_
