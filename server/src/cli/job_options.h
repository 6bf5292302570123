// What the commands that run a job take of its options. Part of sotto::server/cli.
#pragma once

#include <string>
#include <vector>

#include "sotto/options/command.h"
#include "spec/job_spec.h"

namespace sotto::server {

// Takes a command's own rows of the group `first`, then those of a job, then its own of the group
// "Run and output". Request is a JobRequest.
//   without  names of options of the job and the output that the command leaves out
template <class Request, class Row>
void TakeJob(const std::vector<Row>& own, const char* first,
             const std::vector<std::string>& without, const std::vector<JobField>& job,
             posix::CommandFor<Request>* command) {
  using posix::Both;
  using posix::InGroup;
  command->Takes(own, InGroup(first));
  for (const char* group : {Group::kRounds, Group::kTraining, Group::kPrivacy}) {
    command->Takes(job, Both(InGroup(group), posix::Without(without)));
  }
  command->Takes(own, Both(InGroup(Group::kRun), posix::Without(without)));
}

}  // namespace sotto::server
