// Reads the parameters of a formula. Part of sotto::server/formulas.
//
// Each throws std::invalid_argument, naming the parameter, for another text. The parameter is
// there: CheckFormula() (formulas.h) has looked. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>

#include "formulas/settings.h"

namespace sotto::server {

// A finite number.
double RealParameter(const Settings& settings, const std::string& name);

// A count, 1 to 2^40 - 1.
int64_t CountParameter(const Settings& settings, const std::string& name);

}  // namespace sotto::server
