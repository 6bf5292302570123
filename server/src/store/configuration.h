// A job's configuration as a store keeps it: to compare with on a restart. Part of
// sotto::server/store.
#ifndef SOTTO_STORE_CONFIGURATION_H_
#define SOTTO_STORE_CONFIGURATION_H_

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "round/job_log.h"

namespace sotto::server {

// Every field that the guarantee or the model depends on, flat, each number exact; an infinite
// budget is null. Left out is what only says how this process works: `threads`, `max_attempts`.
nlohmann::ordered_json ConfigurationToJson(const JobRecord& job);

// The plan of a configuration as it is held; without privacy its noise is 0, whatever was planned.
// Throws std::runtime_error that names the store if a field is missing.
privacy::Plan PlanFromConfiguration(const std::string& path, const std::string& held);

// Throws std::runtime_error that names the store, the first field that differs and both values.
//   held  the text in the store
//   now   what ConfigurationToJson() gives today
void RequireSameConfiguration(const std::string& path, const std::string& held,
                              const nlohmann::ordered_json& now);

}  // namespace sotto::server

#endif  // SOTTO_STORE_CONFIGURATION_H_
