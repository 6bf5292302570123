// The smallest possible length of an update: the entropy of Gau-LRQ's integers given the dither.
// Pure functions, safe from any thread. Part of sotto::server/certificate.
#pragma once

namespace sotto::server {

enum class Distribution { kNormal, kLaplace };

// Distribution function and its complement of the standard form: mean 0, deviation 1.
double Below(Distribution distribution, double x);
double Above(Distribution distribution, double x);

// H(M | dither) in bits a coordinate, for values of this distribution with deviation `scale`, in
// units of the noise's deviation: the mean over the layers' steps w of
//   integral of h(F((c + 1) w) - F(c w)) dc,  h(p) = -p log2 p,
// F is the values' distribution function (Gau-LRQ, Section V). Computed by the trapezoidal rule, to
// a relative error of 1e-3. scale in [1e-4, 1e3].
double IntegerEntropy(Distribution distribution, double scale);

}  // namespace sotto::server
