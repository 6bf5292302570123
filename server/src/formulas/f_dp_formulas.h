// What the paper on convergent f-DP prints, beside what holds. Part of sotto::server/formulas.
//
// Pure functions, safe from any thread. Each throws std::invalid_argument for a parameter out of
// its range (formulas.h). Source: Sun, Shen, Tao, "Convergent Differential Privacy Analysis for
// General Federated Learning: the f-DP Perspective"; published/sample_level.h has its setting.
#pragma once

#include "formulas/settings.h"

namespace sotto::server {

// Tables 1, 4 and 5: mu of Theorems 12 and 15 as printed, and the composition that holds.
Outcome FdpBound(const Settings& settings);

// Table 3: rho_t and gamma_t of Theorem 10 as printed, in round t from 0, and the recursions that
// they bound: rho as the product, or FedProx's recursion, of the local steps' factors; gamma as
// 2 V / m times the sum of the rates, or FedProx's recursion. "gamma_ratio" is computed over
// printed; at most 1 where the printed one holds.
Outcome FdpStep(const Settings& settings);

// Figure 3: the rates eta_(k,t) of a schedule over all local steps. Series: "step", "rate".
// Figures: "sum" and "last".
Outcome RatesOfSchedule(const Settings& settings);

}  // namespace sotto::server
