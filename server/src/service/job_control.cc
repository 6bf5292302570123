#include "service/job_control.h"

#include <fmt/format.h>
#include <stdexcept>

#include "round/job.h"
#include "service/job_queue.h"
#include "service/job_settings.h"
#include "service/job_start.h"
#include "service/life_start.h"
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

std::string DescribeTurn(const History& history, bool has_server, JobAsk* ask) {
  const JobEntry* last = LastJob(history);
  const bool is_free = last == nullptr || EndOf(history, *last).has_value();
  const std::string by = has_server ? "" : "; no server runs, the next `sotto serve` begins it";
  if (NextStart(history) != nullptr) {
    return "it begins after the jobs that are queued, and no figure above counts those" + by;
  }
  if (is_free) return "it begins at once" + by;
  if (last->released > 0) return fmt::format("it begins when job {} is over{}", last->number, by);
  ask->job = last->number;
  return fmt::format("job {} has released no round: this one replaces it{}{}", last->number,
                     last->attempts > 0 ? "; turns that its attempts took stay charged" : "", by);
}

}  // namespace

JobProposal ProposeJob(const ServeRequest& request, Store& store) {
  const History now = store.ReadHistory();
  const History history = AfterTheJobThatRuns(now);
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
  proposal.lines.push_back(DescribeTurn(now, store.Server().has_value(), &proposal.ask));
  return proposal;
}

int64_t StopJob(Store& store) {
  const History history = store.ReadHistory();
  const JobEntry* last = LastJob(history);
  if (last == nullptr) throw std::invalid_argument(store.name() + ": no job has begun");
  if (const std::optional<HaltEntry> end = EndOf(history, *last)) {
    throw std::invalid_argument(
        fmt::format("{}: job {} is over already: {}", store.name(), last->number, end->reason));
  }
  return store.Ask({JobAct::kStop, last->number, "", false});
}

void WithdrawRequest(Store& store, int64_t request) {
  for (const JobRequestEntry& each : store.ReadHistory().requests) {
    if (each.number != request || each.answer) continue;
    if (store.AnswerRequest(request, {JobOutcome::kWithdrawn, 0, "withdrawn by the operator"}))
      return;
  }
  throw std::invalid_argument(
      fmt::format("--request {}: {} has no such request that waits; `sotto job list` has them",
                  request, store.name()));
}

std::optional<int64_t> ReopenJob(Store& store) {
  const History history = store.ReadHistory();
  const JobEntry* last = LastJob(history);
  const std::optional<HaltEntry> end = last == nullptr ? std::nullopt : EndOf(history, *last);
  if (!end) return std::nullopt;
  if (!MayReopen(end->kind)) {
    throw std::invalid_argument(
        fmt::format("{}: job {} is over: {}; begin another one, `sotto job start`", store.name(),
                    last->number, end->reason));
  }
  return store.Ask({JobAct::kResume, last->number, "", false});
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
