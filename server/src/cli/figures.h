// Privacy figures as people and programs read them. Part of sotto::server/cli.
#ifndef SOTTO_CLI_FIGURES_H_
#define SOTTO_CLI_FIGURES_H_

#include <string>

#include <nlohmann/json.hpp>

namespace sotto::server {

// In JSON an infinite figure is null.
nlohmann::ordered_json Finite(double figure);

// For people: so many decimals, or "infinite".
std::string EpsilonText(double epsilon, int decimals);

}  // namespace sotto::server

#endif  // SOTTO_CLI_FIGURES_H_
