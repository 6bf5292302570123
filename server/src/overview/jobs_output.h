// The jobs of a store and its queue, as `sotto job list` and `sotto job show` print them. The
// operator's. Part of sotto::server/overview.
//
// Pure functions, safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "store/ledger.h"

namespace sotto::server {

struct JobList {
  std::vector<JobLedger> jobs;
  std::vector<JobRequestEntry> requests;
  bool has_server = false;
  bool is_paused = false;
};

JobList ReadJobList(Store& store);

// A line for each job, and one for each request that waits; of the refused ones the newest since
// the last job began.
//   lists_all  lists all requests
std::string DescribeJobs(const JobList& list, bool lists_all = false);

// {"jobs": [{"job", "model", "begun", "rounds", "rounds_released", "attempts", "state", "ended",
// "reason", "epsilon", "settings"}...], "requests": [{"request", "act", "job", "asked", "outcome",
// "answered", "reason", "settings"}...]}
nlohmann::ordered_json JobsToJson(const JobList& list);

// One job whole: its state, its claim, the options that were given and, as comments, all others.
// Null: there is no such job.
std::optional<std::string> DescribeJob(const JobList& list, int64_t job);

}  // namespace sotto::server
