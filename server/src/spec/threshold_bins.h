// --threshold-bins: the round of a job that measures prediction errors. Part of
// sotto::server/spec.
//
// Pure function, safe from any thread.
#pragma once

#include "round/job_config.h"

namespace sotto::server {

// Sets JobConfig::error_edges from JobConfig::threshold_bins; without those it does nothing. The
// rest of the configuration is made. Throws std::invalid_argument for bins that are none, and for a
// job that cannot measure.
void AskForThreshold(JobConfig* job);

}  // namespace sotto::server
