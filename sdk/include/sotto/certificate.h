// How close the dither's integers are to the Gaussian. Part of sotto/lrq. Constants only.
//
// Let e = k / 2^20 be the noise of one coordinate, in units of its deviation: the noise that the
// integers of dither.h produce, after the rounding to Q20. Then
//   1. | ln(Pr[e] / mass of the standard Gaussian within 2^-21 of e) | <= kDitherEta
//      wherever |e| <= kDitherRange;
//   2. Pr[|e| > kDitherRange] <= kDitherTau.
// The privacy accountant charges both, once for every coordinate of every report. Both hold for a
// uniformly random keystream and for every encoded value.
//
// Proof. server/src/certificate/certificate.h has the argument. `sotto-lab inspect certificate`
// evaluates it over all 2^97 pairs of layer and coin, with the real tables, the real widths of p
// and t and every rounding. It finds the bounds 5.98e-9 and 3.03e-22, and fails if the constants
// below promise more than it finds.
#pragma once

namespace sotto {

constexpr double kDitherRange = 9.7;
constexpr double kDitherEta = 6e-9;
constexpr double kDitherTau = 3.1e-22;

}  // namespace sotto
