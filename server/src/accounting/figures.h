// Privacy figures as people read them. Part of sotto::server/accounting.
#ifndef SOTTO_ACCOUNTING_FIGURES_H_
#define SOTTO_ACCOUNTING_FIGURES_H_

#include <string>

namespace sotto::privacy {

// Figures below 10^9 in so many decimals, at most 4. What bounds from above is rounded up, or
// "infinite"; what bounds from below is rounded down: so the text is a bound as well.
std::string EpsilonText(double epsilon, int decimals);
std::string LowerBoundText(double bound, int decimals);

}  // namespace sotto::privacy

#endif  // SOTTO_ACCOUNTING_FIGURES_H_
