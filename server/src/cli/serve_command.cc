#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/gave_up.h"
#include "cli/commands.h"
#include "cli/rows.h"
#include "cli/serve_rows.h"
#include "net/serve_request.h"
#include "service/log.h"
#include "service/report.h"
#include "service/session.h"
#include "sotto/posix/signals.h"

namespace sotto::server {
namespace {

void RunServe(const ServeRequest& o) {
  LogLastWords(o.log);
  if (o.seed.has_value() != o.insecure_seed) {
    throw std::invalid_argument("--seed is for tests and not private: it needs --insecure-seed");
  }
  posix::IgnoreWriteSignals();
  posix::IgnoreHangUp();
  RequireServeOutputs(o);
  Validate(o);
  ServeStore(o);
}

// Why a choice that simulations take is refused here; empty if it is not.
std::string WhyNotServed(const JobField& field, const std::string& text) {
  const auto has = [&text](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), text) != names.end();
  };
  if (!has(field.choices) || has(field.served_choices)) return "";
  return fmt::format("no device speaks {}, only `sotto simulate` runs it; serve takes {}", text,
                     fmt::join(field.served_choices, " or "));
}

}  // namespace

std::vector<JobField> ServedJobFields() {
  std::vector<JobField> fields = JobFields();
  for (JobField& field : fields) {
    if (field.served_choices.empty()) continue;
    field.check = [row = field](const std::string& text) { return WhyNotServed(row, text); };
    field.choices = field.served_choices;
  }
  return fields;
}

posix::Command ServeCommand() {
  posix::CommandFor<ServeRequest> command("serve", "run jobs for devices on the network, over TLS");
  TakeJob(ServeFields(), Group::kNetwork, {}, ServedJobFields(), &command);
  std::vector<std::string> jobs;
  for (const JobField& row : ServedJobFields()) {
    if (row.is_option()) jobs.emplace_back(row.name);
  }
  return command.DefaultsMatterTo(jobs)
      .Footer(JobFooter("with --once, the job is over: all its rounds are released, its budget or "
                        "its turns are used, or `sotto job stop` ended it; without --once a signal "
                        "alone ends the server",
                        {{kExitGaveUp,
                          "with --once, the job gave up: too few devices checked in, "
                          "or training diverged"},
                         {kExitOlderCopy, "the store is an older copy"}}))
      .Runs(RunServe);
}

}  // namespace sotto::server
