#include "jobs/job_control.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "base/counted.h"
#include "jobs/job_queue.h"
#include "jobs/job_settings.h"
#include "jobs/job_start.h"
#include "jobs/life_start.h"
#include "round/budget.h"
#include "round/job.h"
#include "sotto/posix/port.h"
#include "views/before_start.h"

namespace sotto::server {
namespace {

constexpr uint32_t kLookMs = 100;

// Refuses what the job's beginning would refuse, before it replaces another one or is queued.
void RequireBeginning(const JobConfig& config, const DeviceRegistry& devices) {
  NoLog log;
  Job(config, devices, log, Key());
}

// When the job begins, as the last line and the question.
void AddTurn(const History& history, bool has_server, bool after, JobProposal* proposal) {
  const JobEntry* last = LastJob(history);
  const bool is_free = last == nullptr || EndOf(history, *last).has_value();
  const std::string by = has_server ? "" : "; no server runs, the next `sotto serve` begins it";
  const auto is = [proposal](std::string line, std::string question) {
    proposal->lines.push_back(std::move(line));
    proposal->question = std::move(question);
  };
  if (NextStart(history) != nullptr) {
    return is("it begins after the jobs that are queued, and no figure above counts those" + by,
              "queue this job?");
  }
  if (is_free) return is("it begins at once" + by, "begin this job?");
  if (last->released > 0 || after) {
    return is(
        fmt::format("it begins when job {} is over, and replaces nothing{}", last->number, by),
        fmt::format("queue this job behind job {}?", last->number));
  }
  proposal->ask.job = last->number;
  is(fmt::format(
         "it REPLACES job {}, which runs and has released no round{}. If that releases its "
         "first round before the server takes this request, this one is refused and nothing "
         "changes. To queue it behind job {}: --after{}",
         last->number, last->attempts > 0 ? "; turns that its attempts took stay charged" : "",
         last->number, by),
     fmt::format("end job {} and begin this one in its place?", last->number));
}

// Why the last job, which is over, would open no round if it went on now; empty: it may.
std::string WhyNotGoesOn(Store& store, const History& history, const JobEntry& last) {
  if (std::string turns = WhyNotReopened(history, last); !turns.empty()) return turns;
  ServeRequest request;
  request.store = store.name();
  request = ResumingRequest(GoOnWith(request, history, last).request, store, last);
  const uint32_t eligible = store.LoadDevices().eligible();
  const JobConfig config = ServedConfig(request, eligible, history, &last);
  Budget budget(config, PhasesOf(history.store, last));
  budget.SetFleet(eligible, static_cast<uint32_t>(last.released),
                  static_cast<uint32_t>(last.attempts));
  return budget.Refusal(static_cast<uint32_t>(last.released));
}

}  // namespace

JobProposal ProposeJob(const ServeRequest& request, bool after, Store& store) {
  const History now = store.ReadHistory();
  const History history = AfterTheJobThatRuns(now, after);
  const DeviceRegistry devices = store.LoadDevices();
  const uint32_t eligible = devices.eligible();
  if (eligible == 0) {
    throw std::invalid_argument(fmt::format(
        "{} holds no devices, and what a job costs depends on them; add some with `sotto keys new`",
        request.store));
  }
  ServeRequest agreed = request;
  agreed.agrees_to_sum = true;
  const JobConfig config = ServedConfig(agreed, eligible, history, nullptr);
  OpenTestSet(request, *config.model);
  RequireBeginning(config, devices);
  JobProposal proposal;
  proposal.ask = {JobAct::kStart, 0, JobSettings(request), true};
  if (!request.model_file.empty()) proposal.ask.model = *config.description;
  proposal.lines = DescribePrice(config, OwnersOf(history));
  if (const std::string life = DescribeLife(history, config); !life.empty()) {
    proposal.lines.push_back(life);
  }
  if (!config.codec->certified) {
    proposal.lines.emplace_back("NO PRIVACY: this job protects nothing; for experiments only");
  }
  AddTurn(now, store.Server().has_value(), after, &proposal);
  if (const std::string room = WarningOfLife(request.store, history, config); !room.empty()) {
    proposal.lines.push_back("WARNING: " + room);
  }
  return proposal;
}

JobProposal ProposeStop(Store& store) {
  const History history = store.ReadHistory();
  const JobEntry* last = LastJob(history);
  if (last == nullptr) throw std::invalid_argument(store.name() + ": no job has begun");
  if (const std::optional<HaltEntry> end = EndOf(history, *last)) {
    throw std::invalid_argument(
        fmt::format("{}: job {} is over already: {}", store.name(), last->number, end->reason));
  }
  return {{JobAct::kStop, last->number, "", false},
          {fmt::format("it ENDS job {}, of {}, with {} released. A stopped job cannot go on, and "
                       "what it has spent stays charged. `sotto job pause` instead lets it open no "
                       "round until `sotto job resume`",
                       last->number, last->model, Counted(last->released, "round"))},
          fmt::format("end job {} for good?", last->number)};
}

void RequireQueued(Store& store, int64_t request) {
  const std::vector<JobRequestEntry> all = store.ReadHistory().requests;
  const auto waits = [&](const auto& each) {
    return each.number == request && !each.answer && each.ask.act != JobAct::kMove;
  };
  if (std::any_of(all.begin(), all.end(), waits)) return;
  throw std::invalid_argument(
      fmt::format("--request {}: {} has no such request that waits; `sotto job list` has them",
                  request, store.name()));
}

void WithdrawRequest(Store& store, int64_t request) {
  RequireQueued(store, request);
  if (!store.AnswerRequest(request, {JobOutcome::kWithdrawn, 0, "withdrawn by the operator"})) {
    RequireQueued(store, request);  // the server has answered it meanwhile
  }
}

JobAsk ProposeReopening(Store& store) {
  const History history = store.ReadHistory();
  const JobEntry* last = LastJob(history);
  if (last == nullptr) {
    throw std::invalid_argument(fmt::format(
        "{}: it is not paused, and no job has begun; begin one, `sotto job start`", store.name()));
  }
  const std::optional<HaltEntry> end = EndOf(history, *last);
  if (!end) {
    throw std::invalid_argument(fmt::format("{}: it is not paused, and job {} is under way{}",
                                            store.name(), last->number,
                                            store.Server() ? "" : "; start its server"));
  }
  if (!MayReopen(end->kind)) {
    const bool says_how = end->reason.find("`sotto job start`") != std::string::npos;
    throw std::invalid_argument(
        fmt::format("{}: job {} is over: {}{}", store.name(), last->number, end->reason,
                    says_how ? "" : "; begin another one, `sotto job start`"));
  }
  if (const std::string why = WhyNotGoesOn(store, history, *last); !why.empty()) {
    throw std::invalid_argument(fmt::format("{}: job {} is over, {}, and cannot go on: {}",
                                            store.name(), last->number, Name(end->kind), why));
  }
  return {JobAct::kResume, last->number, "", false};
}

std::optional<JobAnswer> WaitForAnswer(Store& store, int64_t request, uint32_t wait_ms) {
  for (uint32_t waited = 0;; waited += kLookMs) {
    for (const JobRequestEntry& each : store.ReadHistory().requests) {
      if (each.number == request && each.answer) return each.answer;
    }
    if (waited >= wait_ms || !store.Server()) return std::nullopt;
    posix::SleepMs(kLookMs);
  }
}

}  // namespace sotto::server
