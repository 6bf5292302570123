// Privacy figures as programs read them; for people there is accounting/figures.h. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_FIGURES_H_
#define SOTTO_CLI_FIGURES_H_

#include <nlohmann/json.hpp>

namespace sotto::server {

// In JSON an infinite figure is null.
nlohmann::ordered_json Finite(double figure);

}  // namespace sotto::server

#endif  // SOTTO_CLI_FIGURES_H_
