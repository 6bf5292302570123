// Cells that train nothing: closed forms, computed bounds, and smoothing of a signal. One table, a
// row for each formula. Part of sotto::server/formulas.
//
// Pure functions, safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "formulas/settings.h"

namespace sotto::server {

struct Formula {
  const char* name;  // the value of the setting "formula"
  const char* help;
  std::vector<std::string> parameters;  // all are required
  Outcome (*compute)(const Settings& settings);
};

const std::vector<Formula>& Formulas();

// True for "formula", "seed" and the parameters of any formula.
bool IsFormulaParameter(const std::string& name);

// Throws std::invalid_argument for an unknown formula, and for a parameter that is missing, is not
// the formula's, or is no number where one is expected.
void CheckFormula(const Settings& settings);

// Throws as CheckFormula() does. A formula that has no value there is a refused outcome.
Outcome Compute(const Settings& settings);

}  // namespace sotto::server
