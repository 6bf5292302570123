// Options and commands that several commands have. Part of sotto::server/cli.
#pragma once

#include <fmt/format.h>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sotto/options/command.h"
#include "spec/job_spec.h"

namespace sotto::server {

constexpr char kServersStore[] = "the store of `sotto serve`: a file, or postgresql://...";

// The member `store`: an argument, or --store.
template <class Request>
posix::Field<Request> StoreRow(const char* help = kServersStore) {
  return posix::Field<Request>("store", &Request::store, help).Argument("STORE").Required();
}

// The member `json`: a file for what somebody else reads.
template <class Request>
posix::Field<Request> JsonRow(const char* what = "the figures") {
  return posix::Field<Request>("json", &Request::json,
                               fmt::format("write {} to this file; - is standard output", what));
}

// A command that no help lists: it prints tables for a page.
inline posix::Command TablesCommand(const char* name, const char* what,
                                    std::function<std::string()> tables) {
  posix::Command command;
  command.name = name;
  command.help = fmt::format("print {} as Markdown tables, for documentation", what);
  command.run = [tables = std::move(tables)] { fmt::print("{}", tables()); };
  command.is_hidden = true;
  return command;
}

// Takes the command's rows of the group `first`, then the rows of a job, then the command's rows of
// the group "Run and output". Request is a JobRequest.
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
