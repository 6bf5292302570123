#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "backends/open_store.h"
#include "base/counted.h"
#include "cli/commands.h"
#include "cli/rows.h"
#include "overview/overview.h"
#include "service/live_file.h"
#include "service/served_devices.h"
#include "sotto/posix/port.h"
#include "sotto/posix/signals.h"
#include "sotto/posix/terminal.h"
#include "store/history.h"
#include "store/ledger.h"
#include "store/recovery.h"
#include "views/claims_output.h"
#include "views/figures.h"
#include "views/ledger_output.h"
#include "views/output_file.h"
#include "views/round_output.h"
#include "views/turns_output.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kClearScreen[] = "\x1b[H\x1b[2J";

struct StatusOptions {
  std::string store;
  std::string json;
  bool verifies = false;
  bool watches = false;
  bool lists_turns = false;
  bool lists_devices = false;
  double every_s = 2;  // between two looks
};

using StatusRow = posix::Field<StatusOptions>;

// What a store says of itself and of its last job.
struct StoreState {
  std::optional<std::string> server;
  Json live;  // ReadLive()
  int64_t devices = 0;
  int64_t eligible = 0;
  bool is_paused = false;
  std::optional<JobLedger> job;
  std::string recovery;  // empty: the store is no recovered copy
  Json device_states;    // with --devices, and while a server runs

  JobStanding Standing() const {
    return StandingOf(*job, server ? JobPlace::kServed : JobPlace::kLast, is_paused,
                      Audience::kOperator);
  }
};

StoreState ReadStoreState(const StatusOptions& o) {
  const std::unique_ptr<Store> store = OpenStore(o.store, StoreMode::kRead);
  StoreState state;
  state.server = store->Server();
  state.live = ReadLive(o.store, state.server);
  const std::vector<DeviceRecord> devices = store->ListDevices();
  for (const DeviceRecord& device : devices) {
    ++state.devices;
    state.eligible += device.is_eligible() ? 1 : 0;
  }
  state.is_paused = store->IsPaused();
  std::vector<JobLedger> jobs = ReadLedger(*store);
  jobs.erase(jobs.begin(), jobs.end() - (jobs.empty() ? 0 : 1));
  AddPairs(*store, &jobs);
  if (!jobs.empty()) state.job = std::move(jobs.back());
  state.recovery = DescribeRecovery(store->ReadHistory());
  if (o.lists_devices || state.live.is_object()) {
    state.device_states =
        ReadDeviceStates(o.store, devices, state.job ? state.job->turns : JobTurns());
  }
  return state;
}

// " of 8"; empty without a budget.
std::string DescribeBudget(const JobLedger& ledger) {
  return std::isfinite(ledger.epsilon_budget) ? fmt::format(", budget {}", ledger.epsilon_budget)
                                              : "";
}

std::string DescribeLastEvaluation(const JobLedger& ledger) {
  if (ledger.evaluations.empty()) return "";
  const StoredEvaluation& last = ledger.evaluations.back();
  return fmt::format("  model      {} after round {}, on {}\n", DescribeEvaluation(last.evaluation),
                     last.round + 1, last.data.name);
}

std::string DescribeSpent(const JobLedger& ledger, const LedgerEntry& last) {
  const privacy::Claim& headline = last.claims.front();
  std::string text =
      fmt::format("  spent      epsilon {} at delta {}{}{}\n",
                  privacy::EpsilonText(headline.epsilon), privacy::DeltaText(headline.delta),
                  DescribeBudget(ledger), last.seeded ? "; seeded: not private" : "");
  std::vector<std::string> more = DescribeHowStrong(headline);
  for (const std::string& other :
       DescribeOtherClaims(last.claims, privacy::kDecimals, Beside::kStrength)) {
    more.push_back("epsilon " + other);
  }
  for (const std::string& line : more) text += fmt::format("             {}\n", line);
  return text;
}

std::string DescribeDevices(const JobLedger& ledger, bool lists_turns) {
  const std::string turns = DescribeTurns(ledger.turns);
  if (turns.empty()) return "";
  const std::string never = DescribeNeverAsked(ledger.turns);
  const std::string waits = DescribeMustSettle(ledger.turns);
  return fmt::format("  turns      {}\n", turns) +
         (never.empty() ? "" : fmt::format("  not asked  {}\n", never)) +
         (waits.empty()
              ? ""
              : fmt::format("  to settle  {}: each must show a receipt before it is asked\n",
                            waits)) +
         (lists_turns ? DescribeTurnsOfDevices(ledger.turns) : "");
}

std::string DescribeSpending(const JobLedger& ledger, const JobStanding& standing) {
  const JobEntry& job = ledger.job;
  std::string text =
      fmt::format("  job        {}, model {}: {} of {} released, {}\n  state      {}\n", job.number,
                  job.model, job.released, Counted(ledger.rounds, "round"),
                  Counted(job.attempts, "attempt"), standing.Text());
  if (ledger.releases.empty()) return text + "  spent      nothing is released\n";
  const LedgerEntry& last = ledger.releases.back();
  if (!FindCodec(last.mechanism)->certified) {
    text += "  spent      NO PRIVACY: nothing protects the updates\n";
  } else {
    text += DescribeSpent(ledger, last);
  }
  text += fmt::format("  last       round {}: {} of {} reported{}\n", last.round + 1, last.reported,
                      last.plan.planned_reports, DescribeMore(kStatus, {nullptr, &last}));
  return text;
}

std::string DescribeJob(const JobLedger& ledger, const JobStanding& standing, bool lists_turns) {
  return DescribeSpending(ledger, standing) + DescribeDevices(ledger, lists_turns) +
         DescribeLastEvaluation(ledger);
}

std::string Describe(const StatusOptions& o, const StoreState& state) {
  std::string text = fmt::format("{}: the operator's view, not for publication\n", o.store);
  text += state.server ? fmt::format("  server     process {}\n", *state.server)
                       : "  server     none runs\n";
  text += fmt::format("  devices    {}, {} eligible\n", state.devices, state.eligible);
  if (!state.recovery.empty()) text += fmt::format("  copy       {}\n", state.recovery);
  text += DescribeLive(state.live, state.device_states);
  if (state.is_paused) text += "  paused     no round opens until `sotto job resume`\n";
  text += state.job ? DescribeJob(*state.job, state.Standing(), o.lists_turns)
                    : "  job        none has begun\n";
  if (!o.lists_devices) return text;
  return text + DescribeDeviceStates(state.device_states, state.server.has_value());
}

Json ToJson(const StatusOptions& o, const StoreState& state) {
  Json json = {{"store", o.store},
               {"audience", "operator"},
               {"server_process", state.server ? Json(*state.server) : Json(nullptr)},
               {"devices", state.devices},
               {"eligible_devices", state.eligible},
               {"live", state.live},
               {"paused", state.is_paused},
               {"recovered", state.recovery.empty() ? Json(nullptr) : Json(state.recovery)},
               {"job", nullptr}};
  if (o.lists_devices) json["device_states"] = state.device_states;
  if (!state.job) return json;
  const JobEntry& job = state.job->job;
  const JobStanding standing = state.Standing();
  json["job"] = {
      {"job", job.number},
      {"model", job.model},
      {"rounds_released", job.released},
      {"rounds", state.job->rounds},
      {"attempts", job.attempts},
      {"over", state.job->end.has_value()},
      {"state", standing.state},
      {"ended", standing.EndedToJson()},
      {"reason", standing.reason},
      {"claims", state.job->releases.empty() ? Json::array()
                                             : ClaimsToJson(state.job->releases.back().claims)}};
  json["job"]["halt"] = HaltToJson(*state.job);
  if (state.job->turns.participations > 0) json["job"]["turns"] = TurnsToJson(state.job->turns);
  return json;
}

// Looks again and again, until a signal. Where it writes to no terminal, it writes what changes.
void Watch(const StatusOptions& o) {
  posix::CatchStopSignals();
  const bool is_terminal = posix::StandardOutputIsTerminal();
  std::string shown;
  while (posix::StopSignal() == 0) {
    const std::string text = Describe(o, ReadStoreState(o));
    if (is_terminal || text != shown) {
      fmt::print("{}{}", is_terminal ? kClearScreen : "", text);
      std::fflush(stdout);
    }
    shown = text;
    posix::SleepMs(static_cast<uint32_t>(o.every_s * 1000));
  }
}

// "1", "2 and 3", "4 to 9": rounds without a gap, from 1.
std::string DescribeRounds(const std::vector<int64_t>& rounds) {
  if (rounds.size() == 1) return fmt::format("round {}", rounds[0] + 1);
  return fmt::format("rounds {} {} {}", rounds.front() + 1, rounds.size() == 2 ? "and" : "to",
                     rounds.back() + 1);
}

// "job 1: the first, rounds 1 to 3; job 2: round 9"
std::string DescribeModels(const std::vector<StoredModels>& models) {
  std::string text;
  for (const auto& [job, rounds] : models) {
    const bool has_first = rounds.front() == kFirstModel;
    text += fmt::format("{}job {}: ", text.empty() ? "" : "; ", job);
    if (has_first) text += rounds.size() == 1 ? "the first" : "the first, ";
    const std::vector<int64_t> released(rounds.begin() + (has_first ? 1 : 0), rounds.end());
    if (!released.empty()) text += DescribeRounds(released);
  }
  return text.empty() ? "none" : text;
}

Json ToJson(const std::vector<StoredModels>& models) {
  Json all = Json::array();
  for (const auto& [job, rounds] : models) {
    Json numbers = Json::array();
    for (const int64_t round : rounds) {
      if (round != kFirstModel) numbers.push_back(round + 1);
    }
    all.push_back(
        {{"job", job}, {"first", rounds.front() == kFirstModel}, {"rounds", std::move(numbers)}});
  }
  return all;
}

std::string Describe(const std::string& store, const StoreReport& report) {
  return fmt::format(
      "{}: version {}, {}, each as it was written\n"
      "  devices    {}, {} eligible\n"
      "  jobs       {}\n"
      "  attempts   {}\n"
      "  releases   {}, {} evaluated\n"
      "  models     {}\n"
      "  last       {}\n"
      "  head       {}\n"
      "An older copy of a store is sound too. Note the number of records and the head: later they "
      "are\nthose of this copy, or the records are more.\n",
      store, report.version, Counted(report.records, "record"), report.devices,
      report.eligible_devices, report.jobs, report.attempts, report.releases, report.evaluations,
      DescribeModels(report.models), report.last_record, report.head);
}

Json ToJson(const std::string& store, const StoreReport& report) {
  Json json = {{"store", store}, {"version", report.version}};
  json["records"] = report.records;
  json["head"] = report.head;
  json["last_record"] = report.last_record;
  json["devices"] = report.devices;
  json["eligible_devices"] = report.eligible_devices;
  json["jobs"] = report.jobs;
  json["attempts"] = report.attempts;
  json["releases"] = report.releases;
  json["evaluations"] = report.evaluations;
  json["models"] = ToJson(report.models);
  return json;
}

// Verifies every record of a store. Throws std::runtime_error that names the last good record if
// the store is damaged.
void VerifyStore(const std::string& store, const std::string& json) {
  RequireOutput(json, store);
  const StoreReport report = InspectStore(store);
  PrintResults(json, Describe(store, report), ToJson(store, report));
}

void RunStatus(const StatusOptions& o) {
  if (o.watches) {
    Watch(o);
    return;
  }
  if (o.verifies) {
    VerifyStore(o.store, o.json);
    return;
  }
  RequireOutput(o.json, o.store);
  const StoreState state = ReadStoreState(o);
  PrintResults(o.json, Describe(o, state), ToJson(o, state), Readers::kOwner);
}

}  // namespace

posix::Command StatusCommand() {
  return posix::CommandFor<StatusOptions>(
             "status", "show what a store holds and whether a server runs; for the operator only")
      .Takes({
          StoreRow<StatusOptions>(),
          StatusRow(
              "verify", &StatusOptions::verifies,
              "verify every record, and print what the store holds and its head, without a change; "
              "do it before you serve a restored copy, after damage to a disk, and to note the "
              "head"),
          JsonRow<StatusOptions>("the same"),
          StatusRow("turns", &StatusOptions::lists_turns,
                    "for a job of passes: list each device with its used and its remaining turns")
              .Excludes("verify"),
          StatusRow(
              "devices", &StatusOptions::lists_devices,
              "list each device with its state and what to do about it, as the running server, or "
              "the last one, has them")
              .Excludes("verify"),
          StatusRow("watch", &StatusOptions::watches, "print again and again, until Ctrl-C")
              .Excludes("json")
              .Excludes("verify"),
          StatusRow("every", &StatusOptions::every_s, "with --watch: time between two prints")
              .Within({0.2, 3600})
              .Unit("seconds")
              .Needs("watch"),
      })
      .Runs(RunStatus);
}

}  // namespace sotto::server
