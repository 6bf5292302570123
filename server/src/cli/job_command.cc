#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "backends/open_store.h"
#include "base/gave_up.h"
#include "cli/commands.h"
#include "cli/consent.h"
#include "cli/rows.h"
#include "cli/serve_rows.h"
#include "jobs/job_control.h"
#include "jobs/job_queue.h"
#include "jobs/job_settings.h"
#include "overview/jobs_output.h"
#include "store/history.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

constexpr uint32_t kAnswerMs = 15000;

struct JobOptions {
  std::string store;
  std::string json;
  int64_t number = 0;
  bool lists_all = false;
  Consent consent;
};
using JobOptionRow = posix::Field<JobOptions>;

struct StartOptions : ServeRequest {
  bool after = false;
  Consent consent;
};

// The act is a record by now; says what the server made of it.
void SayAnswer(Store& store, int64_t request) {
  const std::optional<JobAnswer> answer = WaitForAnswer(store, request, kAnswerMs);
  if (answer && answer->outcome == JobOutcome::kRefused) {
    throw std::invalid_argument(fmt::format("request {}: {}", request, answer->reason));
  }
  if (!answer) {
    fmt::print("{}: request {} waits{}\n", store.name(), request,
               store.Server() ? "; `sotto job list` shows it" : " for a server: no server runs");
  } else if (answer->outcome == JobOutcome::kBegun) {
    fmt::print("{}: job {} has begun\n", store.name(), answer->job);
  } else {
    fmt::print("{}: {}\n", store.name(), answer->reason);
  }
}

void RunStart(const StartOptions& o) {
  const std::unique_ptr<Store> store = OpenStore(o.store);
  const JobProposal proposal = ProposeJob(o, o.after, *store);
  for (const std::string& line : proposal.lines) fmt::print("{}\n", line);
  if (!GoOn(o.consent, proposal.question)) return;
  const int64_t request = store->Ask(proposal.ask);
  const History history = store->ReadHistory();
  const JobEntry* last = LastJob(history);
  const bool is_free = last == nullptr || EndOf(history, *last);
  if (is_free || proposal.ask.job != 0) {
    SayAnswer(*store, request);
    return;
  }
  const JobRequestEntry* next = NextStart(history);
  const bool is_first = next == nullptr || next->number == request;
  fmt::print("{}: request {} waits until job {} is over{}; `sotto job list` shows it\n", o.store,
             request, last->number, is_first ? "" : " and the jobs queued before it are");
}

void RunStop(const JobOptions& o) {
  const std::unique_ptr<Store> store = OpenStore(o.store);
  if (o.number != 0) {
    RequireQueued(*store, o.number);
    if (!MayAct(o.consent)) return;
    WithdrawRequest(*store, o.number);
    fmt::print("{}: request {} is withdrawn\n", o.store, o.number);
    return;
  }
  const JobProposal proposal = ProposeStop(*store);
  for (const std::string& line : proposal.lines) fmt::print("{}\n", line);
  if (GoOn(o.consent, proposal.question)) SayAnswer(*store, store->Ask(proposal.ask));
}

void SetPaused(const JobOptions& o, bool paused) {
  const std::unique_ptr<Store> store = OpenStore(o.store);
  if (!MayAct(o.consent)) return;
  const bool was = store->IsPaused();
  store->SetPaused(paused);
  if (!paused || was) {
    fmt::print("{}: {}\n", o.store, paused ? "was already paused" : "the pause is over");
    return;
  }
  const History history = store->ReadHistory();
  const JobEntry* last = LastJob(history);
  const char* what =
      last == nullptr || EndOf(history, *last)
          ? "no job runs; the next one opens no round before `sotto job resume`"
      : store->Server()
          ? "the attempt that is open goes on, and no other one opens until `sotto job resume`"
          : "no round opens until `sotto job resume`";
  fmt::print("{}: paused: {}\n", o.store, what);
}

void RunResume(const JobOptions& o) {
  const std::unique_ptr<Store> store = OpenStore(o.store);
  if (!store->IsPaused()) {
    const JobAsk ask = ProposeReopening(*store);
    if (MayAct(o.consent)) SayAnswer(*store, store->Ask(ask));
    return;
  }
  SetPaused(o, false);
  const History history = store->ReadHistory();
  const JobEntry* last = LastJob(history);
  const std::optional<HaltEntry> end = last == nullptr ? std::nullopt : EndOf(history, *last);
  if (end && MayReopen(end->kind) && !o.consent.dry_run) {
    fmt::print("job {} is over ({}): a second `sotto job resume` lets it go on\n", last->number,
               Name(end->kind));
  }
}

void ListJobs(const JobOptions& o) {
  RequireOutput(o.json, o.store);
  const JobList list = ReadJobList(*OpenStore(o.store, StoreMode::kRead));
  PrintResults(o.json, DescribeJobs(list, o.lists_all), JobsToJson(list), Readers::kOwner);
}

void ShowJob(const JobOptions& o) {
  const JobList list = ReadJobList(*OpenStore(o.store, StoreMode::kRead));
  const int64_t last = list.jobs.empty() ? 0 : list.jobs.back().job.number;
  const std::optional<std::string> text = DescribeJob(list, o.number == 0 ? last : o.number);
  if (!text) {
    throw std::invalid_argument(o.number == 0
                                    ? fmt::format("{}: no job has begun", o.store)
                                    : fmt::format("{}: there is no job {}", o.store, o.number));
  }
  fmt::print("{}", *text);
}

posix::CommandFor<JobOptions> Command(const char* name, const char* help) {
  posix::CommandFor<JobOptions> command(name, help);
  command.Takes({StoreRow<JobOptions>()});
  return command;
}

posix::Command StartCommand() {
  posix::CommandFor<StartOptions> command(
      "start", "queue a job for the server: it begins when no other one runs");
  command.Takes({posix::Field<StartOptions>("store", &StartOptions::store, kServersStore)
                     .Argument("STORE")
                     .Required(),
                 posix::Field<StartOptions>(
                     "after", &StartOptions::after,
                     "queue the job behind the one that runs; without it this job replaces a job "
                     "that has released no round")});
  command.TakesFor(&StartOptions::consent, ConsentRows());
  const auto job = [](auto& request) -> ServeRequest& { return request; };
  command.TakesFor(job, JobsServeFields());
  command.Takes(ServedJobFields());
  return command.Footer(JobFooter("the request is in the store, or --dry-run printed it"))
      .Runs(RunStart);
}

}  // namespace

posix::Command JobCommand() {
  return posix::CommandOf(
      "job", "begin, stop, pause and list a store's jobs while its server runs",
      {StartCommand(),
       Command("stop", "end the store's job; what it has spent stays charged")
           .Takes(
               {JobOptionRow("request", &JobOptions::number,
                             "withdraw this request of `sotto job list` instead, and stop no job")
                    .Within({1, 1e15})})
           .TakesFor(&JobOptions::consent, ConsentRows())
           .Runs(RunStop),
       Command("pause", "let the store's job open no further round; the server runs on")
           .TakesFor(&JobOptions::consent, ConsentRows())
           .Runs([](const JobOptions& o) { SetPaused(o, true); }),
       Command("resume",
               "end a pause; or continue a job that gave up, or that has devices or budget again")
           .TakesFor(&JobOptions::consent, ConsentRows())
           .Runs(RunResume),
       Command("list",
               "list the store's jobs, the queue, and the last refusal; for the operator only")
           .Takes({JobOptionRow(
                       "all", &JobOptions::lists_all,
                       "list every request ever made, with its outcome, as --json always does"),
                   JsonRow<JobOptions>("the same")})
           .Runs(ListJobs),
       Command("show", "show one job with its options; for the operator only")
           .Takes({JobOptionRow("", &JobOptions::number, "number of the job; without it the last")
                       .Argument("N")
                       .Within({1, 1e15})})
           .Runs(ShowJob)});
}

}  // namespace sotto::server
