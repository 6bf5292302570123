// The rows of a job that devices can run, for `sotto serve` and `sotto job start`. Part of
// sotto::server/cli.
#pragma once

#include <vector>

#include "spec/job_field.h"

namespace sotto::server {

// A job's rows, with the choices that devices can run.
std::vector<JobField> ServedJobFields();

}  // namespace sotto::server
