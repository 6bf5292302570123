// The options of a job as text, as a file of --config has them: so that a queued job, or one that a
// later start of the server goes on with, is made exactly as `sotto serve` makes it. Part of
// sotto::server/jobs.
//
// Pure functions, safe from any thread.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "net/serve_request.h"

namespace sotto::server {

// The options of `sotto serve` that belong to a job beside the job's own: --test and the like.
std::vector<Field<ServeRequest>> JobsServeFields();

// Whether somebody gave one of the job's own options.
bool NamesJob(const ServeRequest& request);

// The options of the job that somebody gave, a line each in the order of the tables. Names of files
// become absolute: another process reads them.
std::string JobSettings(const ServeRequest& request);

// Whether the options of the job that somebody gave can only extend a job that exists: a budget,
// and perhaps rounds.
bool OnlyExtends(const ServeRequest& request);

// These settings with the options of `more` in the place of the same ones.
std::string Merged(const std::string& settings, const std::string& more);

// The request of a job with these settings, on a server with the other options of `server`. Throws
// std::invalid_argument for settings that make no request, for example if a file is gone.
//   without  names of options to leave out
ServeRequest WithSettings(const ServeRequest& server, const std::string& settings,
                          const std::set<std::string>& without = {});

}  // namespace sotto::server
