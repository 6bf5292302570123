// Turns a request into the configuration of a job. Part of sotto::server/spec.
//
// Pure functions: safe from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/job_request.h"

namespace sotto::server {

// The codec with which the job runs: an infinite epsilon turns gau-lrq into uniform dither.
// Throws std::invalid_argument for a baseline with an infinite epsilon.
const CodecInfo& ResolveCodec(const JobRequest& request);

// The rounds of the requested job: with passes they may follow from the devices.
int64_t RoundsOf(const JobRequest& request, uint32_t devices);

// The configuration of the requested job.
//   devices  in the fleet
//   before   what earlier jobs have spent on these devices: the noise is calibrated to the rest of
//            the budget
// Throws std::invalid_argument or privacy::UnattainableEpsilon. The message says which options to
// change.
JobConfig MakeJob(const JobRequest& request, uint32_t devices,
                  const std::vector<privacy::SpentRounds>& before = {});

}  // namespace sotto::server
