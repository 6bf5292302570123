// The specification of a training job: one table of its fields. Part of sotto::server/spec.
//
// To add a field: a row in the file of its part (job_fields.h), a member of JobConfig
// (round/job_config.h) with its default, the code that reads it, a test. If the value must be
// resolved first, also a member of JobRequest and its resolution in make_job.cc.
//
// All functions are pure and safe from any thread.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "spec/job_field.h"
#include "spec/job_request.h"

namespace sotto::server {

// Every field, in the order of a stored configuration. A row that is no option is derived from
// other rows. `sotto simulate` and `sotto serve` take all options.
const std::vector<JobField>& JobFields();

// The value of every option, by its name with underscores. If MakeJob() resolved the option, the
// value is the one with which the job runs; otherwise it is the requested value. Absent values and
// +infinity are null.
nlohmann::ordered_json SpecificationToJson(const JobRequest& request, const JobConfig& job);

}  // namespace sotto::server
