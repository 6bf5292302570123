// Privacy figures as text for people. Pure functions, safe from any thread.
// Part of sotto::server/accounting.
#pragma once

#include <string>

namespace sotto::privacy {

// Decimals of an epsilon: in reports; in the answers of privacy arithmetic, which are compared.
constexpr int kDecimals = 3;
constexpr int kFineDecimals = 4;

// A figure as text. The text is a bound as well: EpsilonText rounds an upper bound up and writes
// "infinite" for +infinity; LowerBoundText rounds a lower bound down.
//   decimals  at most 6, for figures below 10^9
std::string EpsilonText(double epsilon, int decimals = kDecimals);
std::string LowerBoundText(double bound, int decimals = kDecimals);

// A delta with three significant digits, rounded up. (epsilon, delta)-DP implies (epsilon,
// delta')-DP for every delta' >= delta, so a printed pair holds as it is printed.
//   delta  in [0, 1]; above 0.999 the text may be "1"
std::string DeltaText(double delta);

}  // namespace sotto::privacy
