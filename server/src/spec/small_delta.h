// Whether a delta is small enough to mean something. Part of sotto::server/spec.
//
// A server that publishes the data of each device with the chance delta, and nothing else, is
// (epsilon, delta)-differentially private at any epsilon. So of N devices N delta may be left out.
//
// Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>

#include "spec/job_request.h"

namespace sotto::server {

// What a guarantee at this delta leaves out; empty if N delta is at most kMostDevicesLeftOut
// (plans/plan.h).
//   devices  N >= 1
//   or_more  the fleet has at least this many
std::string DeltaNote(double delta, int64_t devices, bool or_more = false);

// The same for a job whose delta somebody named; empty for one without noise.
//   job  made from the request
std::string DeltaNote(const JobRequest& request, const JobConfig& job);

// Called when a job begins that real devices take part in. Throws std::invalid_argument with the
// note, unless there is none or it is accepted.
void RequireSmallDelta(const JobRequest& request, const JobConfig& job, bool is_accepted);

}  // namespace sotto::server
