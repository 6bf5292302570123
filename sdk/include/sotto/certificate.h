// How close the dither's integers are to the Gaussian. Part of sotto/lrq.
//
// For the noise e of one coordinate, in units of its deviation, as the integers of dither.h produce
// it, Q20 rounding included:
//   | ln(density of e / standard Gaussian density) | <= kDitherEta   wherever |e| <= kDitherRange,
//   P(|e| > kDitherRange)                            <= kDitherTau.
// The privacy accountant charges both, once for every coordinate of every report.
//
// The constants leave room above what dither.h's widths and the tables' rounding add up to.
#ifndef SOTTO_CERTIFICATE_H_
#define SOTTO_CERTIFICATE_H_

namespace sotto {

constexpr double kDitherRange = 9.7;
constexpr double kDitherEta = 2e-8;
constexpr double kDitherTau = 1e-20;

}  // namespace sotto

#endif  // SOTTO_CERTIFICATE_H_
