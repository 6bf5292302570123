// Privacy figures in JSON. Text for people is in accounting/figures.h. Pure functions, safe from
// any thread. Part of sotto::server/cli.
#ifndef SOTTO_CLI_FIGURES_H_
#define SOTTO_CLI_FIGURES_H_

#include <nlohmann/json.hpp>

namespace sotto::server {

// A figure in JSON: null if it is infinite.
nlohmann::ordered_json Finite(double figure);

}  // namespace sotto::server

#endif  // SOTTO_CLI_FIGURES_H_
