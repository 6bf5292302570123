// A job's configuration as a store keeps it, to compare with on a restart: the rows of job_spec.h
// that are stored. Part of sotto::server/spec.
#ifndef SOTTO_SPEC_CONFIGURATION_H_
#define SOTTO_SPEC_CONFIGURATION_H_

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "round/job_log.h"

namespace sotto::server {

// Every stored field, flat, in the order of the table, each number exact; an infinite budget is
// null. Rows that say only how this process works are left out, and so is `max_attempts`.
nlohmann::ordered_json ConfigurationToJson(const JobRecord& job);

// The plan of a configuration that a store holds; without privacy its noise is 0, whatever was
// planned. Throws std::runtime_error that names the store if a field is missing.
privacy::Plan PlanFromConfiguration(const std::string& path, const std::string& held);

// Throws std::runtime_error that names the store, the first field that differs and both values. An
// option that the held text lacks, since it is newer, counts with its default.
//   held  the text in the store
//   now   what ConfigurationToJson() gives today
void RequireSameConfiguration(const std::string& path, const std::string& held,
                              const nlohmann::ordered_json& now);

}  // namespace sotto::server

#endif  // SOTTO_SPEC_CONFIGURATION_H_
