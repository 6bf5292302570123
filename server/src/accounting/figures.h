// Privacy figures as text for people. Pure functions, safe from any thread.
// Part of sotto::server/accounting.
#ifndef SOTTO_ACCOUNTING_FIGURES_H_
#define SOTTO_ACCOUNTING_FIGURES_H_

#include <string>

namespace sotto::privacy {

// A figure as text. The text is a bound as well: EpsilonText rounds an upper bound up and writes
// "infinite" for +infinity; LowerBoundText rounds a lower bound down.
//   decimals  at most 4, for figures below 10^9
std::string EpsilonText(double epsilon, int decimals);
std::string LowerBoundText(double bound, int decimals);

}  // namespace sotto::privacy

#endif  // SOTTO_ACCOUNTING_FIGURES_H_
