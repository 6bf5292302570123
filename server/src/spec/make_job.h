// From what is asked for to a job's configuration. Part of sotto::server/spec.
#ifndef SOTTO_SPEC_MAKE_JOB_H_
#define SOTTO_SPEC_MAKE_JOB_H_

#include <cstdint>
#include <vector>

#include "spec/job_request.h"

namespace sotto::server {

// The codec with which the job runs: an infinite epsilon turns gau-lrq into uniform dither.
// Throws std::invalid_argument for a baseline with an infinite epsilon.
const CodecInfo& ResolveCodec(const JobRequest& request);

// The job that is asked for in a fleet of so many devices, with the noise calibrated to what
// earlier jobs on them have left of the budget. Throws std::invalid_argument or
// privacy::UnattainableEpsilon, saying what to change in terms of the options.
JobConfig MakeJob(const JobRequest& request, uint32_t devices,
                  const std::vector<privacy::SpentRounds>& before = {});

}  // namespace sotto::server

#endif  // SOTTO_SPEC_MAKE_JOB_H_
