// What a job says of itself before its first round, on the first screen: protected against whom,
// how often a device takes part, what another job would cost, whether the result can be useful.
// Part of sotto::server/views.
//
// All of it follows from the plan, so everybody may know it. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "plans/statement.h"
#include "round/job_config.h"

namespace sotto::server {

// At most ten lines. No line for a codec that is not accounted, and none on signal and noise where
// NoiseWarning() says it.
//   planned  the statement once all rounds are released, with earlier jobs
//   owners   of the fleet's devices
std::vector<std::string> DescribeBeforeStart(const JobConfig& job,
                                             const privacy::Statement& planned,
                                             const privacy::Owners& owners = {});

// Of a new job, before anybody agreed to it: the same, its epsilon alone and with the earlier jobs,
// and what its budget pays for. No line for a codec that is not accounted.
std::vector<std::string> DescribePrice(const JobConfig& job, const privacy::Owners& owners);

// Of a plan alone: what its figures assume, and what two devices of one person and another job
// would cost.
//   before  earlier jobs on the same devices
std::vector<std::string> DescribeAssumptions(const privacy::Plan& plan,
                                             const std::vector<privacy::SpentRounds>& before,
                                             const privacy::Owners& owners);

}  // namespace sotto::server
