// A job's configuration in the form in which a store keeps it. A restart compares it with the new
// configuration. Part of sotto::server/spec.
//
// It consists of the stored rows of the table in job_spec.h. All functions are pure and safe from
// any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "round/job_log.h"
#include "sotto/keys.h"
#include "spec/job_request.h"

namespace sotto::server {

// Every stored field as a flat object, in the order of the table. Each number is exact; an infinite
// budget is null. Rows that only say how this process works are left out, and so is `max_attempts`.
nlohmann::ordered_json ConfigurationToJson(const JobRecord& job);

// The same as text, in one line.
std::string ConfigurationText(const JobRecord& job);

// The plan of a stored configuration. Without privacy its noise is 0, whatever was planned.
//   path  the store's name, for the message
//   held  the text in the store
// Throws std::runtime_error that names the store if a field is missing.
privacy::Plan PlanFromConfiguration(const std::string& path, const std::string& held);

// The epsilon budget of a stored configuration; +infinity: none. Throws as PlanFromConfiguration().
double BudgetFromConfiguration(const std::string& path, const std::string& held);

// An option that a job keeps (JobField::is_kept) and that the request does not name gets the value
// of a stored configuration. Throws as PlanFromConfiguration().
void KeepBegun(const std::string& path, const std::string& held, JobRequest* request);

// The public key from which the job's first model derives (JobRecord::weights_key); absent: the job
// began with other parameters, or before such keys were recorded. Throws as
// PlanFromConfiguration().
std::optional<Key> WeightsKeyFromConfiguration(const std::string& path, const std::string& held);

// A field that differs, and both values as JSON; "absent" if a side lacks it.
struct ChangedField {
  std::string name;
  std::string was;
  std::string is;
};

// The fields that a resumed job may raise (Resume::kRaised).
struct RaisedFields {
  int64_t rounds = 0;
  double epsilon_budget = 0.0;
};

// The first field of two flat objects that differs, the length of updates last, which follows from
// others; absent if they are equal.
std::optional<ChangedField> FirstChange(const nlohmann::ordered_json& before,
                                        const nlohmann::ordered_json& now);

// Throws std::runtime_error that names the store, the first field that differs and both values. An
// option that the held text lacks, since it is newer, counts with its default. One that may be left
// out (Resume::kKept) and is left out today counts as held.
//   held  the text in the store
//   now   what ConfigurationToJson() gives today
//   raised  what the job has now instead of what it began with, of the fields that may be raised
void RequireSameConfiguration(const std::string& path, const std::string& held,
                              const nlohmann::ordered_json& now, const RaisedFields& raised);

}  // namespace sotto::server
