// How close the dither's integers are to the Gaussian. Part of sotto/lrq.
//
// For the noise e = k / 2^20 of one coordinate, in units of its deviation, as the integers of
// dither.h produce it and the rounding to Q20 leaves it:
//   | ln(Pr[e] / mass of the standard Gaussian within 2^-21 of e) | <= kDitherEta
//                                                      wherever |e| <= kDitherRange,
//   Pr[|e| > kDitherRange] <= kDitherTau.
// The privacy accountant charges both, once for every coordinate of every report.
//
// Proved: `sotto inspect certificate` bounds all 2^97 pairs of layer and coin, with the tables, the
// widths of p and t and every rounding as they are, and fails if these constants promise more. The
// argument stands in server/src/certificate/certificate.h; its bounds are 5.98e-9 and 3.03e-22.
// They hold for a uniformly random keystream, whatever the value that is encoded.
#ifndef SOTTO_CERTIFICATE_H_
#define SOTTO_CERTIFICATE_H_

namespace sotto {

constexpr double kDitherRange = 9.7;
constexpr double kDitherEta = 6e-9;
constexpr double kDitherTau = 3.1e-22;

}  // namespace sotto

#endif  // SOTTO_CERTIFICATE_H_
