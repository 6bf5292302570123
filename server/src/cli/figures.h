// Privacy figures as people and programs read them. Part of sotto::server/cli.
#ifndef SOTTO_CLI_FIGURES_H_
#define SOTTO_CLI_FIGURES_H_

#include <string>

#include <nlohmann/json.hpp>

namespace sotto::server {

// In JSON an infinite figure is null.
nlohmann::ordered_json Finite(double figure);

// For people: figures below 10^9 in so many decimals, at most 4. What bounds from above is rounded
// up, or "infinite"; what bounds from below is rounded down: so the text is a bound as well.
std::string EpsilonText(double epsilon, int decimals);
std::string LowerBoundText(double bound, int decimals);

}  // namespace sotto::server

#endif  // SOTTO_CLI_FIGURES_H_
