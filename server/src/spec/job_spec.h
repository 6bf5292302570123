// The specification of a training job: one table of its fields. Part of sotto::server/spec.
//
// To add a field: a row here, a member of JobConfig (round/job_config.h) with its default, what
// reads it, a test. If it must be resolved first, also a member of JobRequest and make_job.cc.
#ifndef SOTTO_SPEC_JOB_SPEC_H_
#define SOTTO_SPEC_JOB_SPEC_H_

#include <vector>

#include "spec/field.h"
#include "spec/job_request.h"

namespace sotto::server {

// Every field, in the order in which a store's configuration holds them. Rows that are no options
// are derived from others. `sotto simulate` and `sotto serve` take all options.
const std::vector<Field<JobRequest>>& JobFields();

// Every option's value, by its name with underscores: that with which the job runs where MakeJob()
// resolved it, else that which was asked for. Absent values and +infinity are null.
Json SpecificationToJson(const JobRequest& request, const JobConfig& job);

}  // namespace sotto::server

#endif  // SOTTO_SPEC_JOB_SPEC_H_
