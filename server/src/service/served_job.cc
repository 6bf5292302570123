#include "service/served_job.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "base/counted.h"
#include "jobs/job_start.h"
#include "jobs/life_start.h"
#include "plans/statement.h"
#include "round/recorded_figures.h"
#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"
#include "sotto/posix/service.h"
#include "store/stored_codes.h"
#include "views/before_start.h"
#include "views/claims_output.h"
#include "views/prices.h"
#include "views/training_warnings.h"

namespace sotto::server {
namespace {

constexpr char kOtherOptions[] =
    "A job keeps its options: other ones are another job, `sotto job start`";

void LogEarlierJobs(const JobConfig& config, const ServeLog& log) {
  if (!config.codec->accounted || config.spent_before.empty()) return;
  privacy::Statement spent = privacy::Account(config.plan, 0, config.spent_before);
  // The claim on one update is this job's alone.
  spent.claims.erase(std::remove_if(spent.claims.begin(), spent.claims.end(),
                                    [](const privacy::Claim& claim) {
                                      return claim.view == privacy::View::kOneUpdate;
                                    }),
                     spent.claims.end());
  log.Write(fmt::format(
      "earlier jobs on these devices: {}, epsilon {} at this job's delta {}, {} adjacency; this "
      "job starts from there",
      spent.earlier_rounds < privacy::kUnknownTurns ? Counted(spent.earlier_rounds, "round")
                                                    : "rounds that a lost part does not name",
      DescribeClaims(spent.claims), privacy::DeltaText(spent.Headline().delta),
      privacy::Name(spent.Headline().adjacency)));
}

}  // namespace

ServedJob::ServedJob(JobChoice choice, const ServeParts& parts)
    : choice_(std::move(choice)),
      request_(choice_.request),
      parts_(parts),
      inputs_(InputReader().Read(InputsOf(request_))),
      devices_(parts.fleet.devices()),
      history_(parts.log.ReadHistory()),
      resumed_(choice_.begins ? nullptr : LastJob(history_)),
      number_(history_.jobs.empty() ? 1 : history_.jobs.back().number + (resumed_ ? 0 : 1)),
      config_(MakeConfig()),
      test_(OpenTestSet(request_, *config_.model)),
      report_([this] { return parts_.fleet.devices(); }) {
  Open();
}

JobConfig ServedJob::MakeConfig() {
  if (resumed_ == nullptr && devices_->eligible() == 0) {
    throw std::invalid_argument(
        fmt::format("{} holds no devices; add some with `sotto keys new`", request_.store));
  }
  ServeRequest request = request_;
  if (resumed_ != nullptr) {
    parts_.log.With([&](Store& store) { request = ResumingRequest(request_, store, *resumed_); });
  }
  JobConfig config = ServedConfig(request, devices_->eligible(), history_, resumed_);
  config.process.observes_updates = !request_.http.empty() || !request_.metrics.empty();
  return config;
}

// The job in the store.
void ServedJob::Open() {
  std::optional<JobState> state;
  parts_.log.With([&](Store& store) {
    state = ReadState(store, resumed_);
    if (state) state->codes = ReadCodes(store, *resumed_);
  });
  parts_.log.OnRelease(nullptr);  // of a job that could not begin, which is gone
  if (parts_.page != nullptr || config_.plan.sampling == privacy::Sampling::kPasses) {
    parts_.log.OnRelease([this](LedgerEntry entry, JobTurns turns) {
      const std::lock_guard<std::mutex> lock(mutex_);
      unpublished_ = std::move(entry);
      turns_ = std::move(turns);
    });
  }
  parts_.log.ExpectJob({choice_.begins, choice_.answers, choice_.ask});
  job_.emplace(config_, *devices_, parts_.log,
               posix::DeriveKey(posix::RunKey(request_.seed), key_label::kServer), state);
  const auto test = inputs_.find("test");
  evaluations_.emplace(config_, test_, test == inputs_.end() ? "" : test->second.sha256,
                       request_.evaluate_every, parts_.log,
                       [this](const std::string& line) { parts_.lines.Write(line); });
  evaluations_->OnEvaluation(
      [this](uint32_t round, const EvaluatedData& data, const Evaluation& evaluation) {
        parts_.monitor.OnEvaluation(evaluation);
        for (const std::string& line : warnings_.OnEvaluation(round, evaluation)) Warn(line);
        if (parts_.page != nullptr) parts_.page->OnEvaluation(round, data, evaluation);
      });
  job_->SetPaused(parts_.fleet.is_paused());
  planned_ = PlannedStatement();
}

void ServedJob::Begin() {
  evaluations_->OnStart(*parts_.server, *job_);
  parts_.monitor.SetJob(static_cast<uint64_t>(config_.plan.rounds), job_->round(),
                        config_.epsilon_budget,
                        job_->round() == 0 ? std::vector<privacy::Claim>() : job_->Spent().claims);
  parts_.monitor.WatchStore(request_.store, AttemptsOf(history_), ReleaseBytes(config_));
  LogStart(planned_);
  WarnOfStart();
}

void ServedJob::OnOutcome(const RoundOutcome& outcome) {
  std::optional<LedgerEntry> release;
  JobTurns turns;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    release = std::exchange(unpublished_, std::nullopt);
    turns = std::exchange(turns_, JobTurns());
  }
  parts_.log.KeepFigures(
      {0, outcome.round, outcome.attempt, outcome.released, FiguresToRecord(outcome)});
  report_.Add(outcome);
  parts_.monitor.OnOutcome(outcome);
  parts_.devices.OnRound();
  if (parts_.page != nullptr)
    parts_.page->OnOutcome(outcome, release, turns, *parts_.fleet.devices());
  if (parts_.page != nullptr && release) FindPairs(outcome.round, release->claims);
  posix::TellStatus(fmt::format("job of {}: {} of {} released", config_.model->name,
                                outcome.round + (outcome.released ? 1 : 0),
                                Counted(config_.plan.rounds, "round")));
  parts_.lines.Write(outcome.released ? event::kReleased : event::kGivenUp,
                     DescribeOutcome(config_, outcome, config_.seeded),
                     {{"round", uint64_t{outcome.round} + 1},
                      {"attempt", uint64_t{outcome.attempt} + 1},
                      {"reports", uint64_t{outcome.reporters.size()}}});
  for (const std::string& warning : WarningsOf(outcome, *parts_.fleet.devices())) {
    parts_.lines.Write(warning);
    parts_.monitor.OnWarning();
  }
  for (const std::string& line : warnings_.OnOutcome(outcome, turns, job_->budget())) Warn(line);
  if (outcome.released) evaluations_->OnRelease(*parts_.server, *job_, outcome.round);
}

// The claims' epsilons at other deltas take two accounts, which no publication waits for.
void ServedJob::FindPairs(uint32_t round, std::vector<privacy::Claim> claims) {
  const auto has_mu = [](const privacy::Claim& claim) { return claim.mu.has_value(); };
  if (finds_pairs_ || std::all_of(claims.begin(), claims.end(), has_mu)) return;
  finds_pairs_ = true;
  const auto found = std::make_shared<std::vector<privacy::Claim>>(std::move(claims));
  parts_.server->RunInPool({[this, found](const std::atomic<bool>& must_stop) {
                              if (must_stop) return;
                              History history;
                              history = parts_.log.ReadHistory();
                              AddPairs(history, *LastJob(history), found.get());
                            },
                            [this, round, found] {
                              finds_pairs_ = false;
                              parts_.page->OnClaims(round, *found);
                            }});
}

void ServedJob::Warn(const std::string& line) {
  parts_.lines.Write(line);
  if (!is_over_) report_.Warn(line);
  parts_.monitor.OnWarning();
}

// Once all rounds are released. Of a job that goes on, its fleets enter, so it has no epsilon at
// other deltas.
privacy::Statement ServedJob::PlannedStatement() {
  const auto rounds = static_cast<uint32_t>(config_.plan.rounds);
  privacy::Statement planned = job_->SpentAfter(rounds, std::max(job_->attempts(), rounds));
  if (resumed_ == nullptr && !planned.claims.empty()) {
    privacy::AddPairs(config_.plan, rounds, rounds, config_.spent_before, &planned);
  }
  return planned;
}

//   planned  as PlannedStatement() has it
void ServedJob::LogStart(const privacy::Statement& planned) const {
  parts_.lines.Write(event::kJobBegun,
                     fmt::format("job {}: {}, model {}, {} of {} released", number_,
                                 Counted(devices_->eligible(), "device"), config_.model->name,
                                 job_->round(), Counted(config_.plan.rounds, "round")),
                     {{"job", static_cast<uint64_t>(number_)}, {"model", config_.model->name}});
  parts_.lines.Write(
      fmt::format("devices need: {}; a device that lacks one waits, and is counted here",
                  DescribeNeeds({config_.TaskFor(0, config_.training.clip_l2), config_})));
  for (const std::string& line : DescribeBeforeStart(config_, planned, OwnersOf(history_))) {
    parts_.lines.Write(line);
  }
  const std::string extended =
      resumed_ == nullptr
          ? ""
          : DescribeExtension(history_, {config_.plan.rounds, config_.epsilon_budget});
  if (!extended.empty()) parts_.lines.Write(extended);
  if (const std::string life = DescribeLife(history_, config_); !life.empty())
    parts_.lines.Write(life);
  if (const std::string waits = DescribeSettling(history_); !waits.empty())
    parts_.lines.Write(waits);
  LogEarlierJobs(config_, parts_.lines);
  if (!config_.codec->certified)
    parts_.lines.Write("NO PRIVACY: this job protects nothing; for experiments only");
  if (config_.seeded) parts_.lines.Write("seeded: not private; for tests only");
}

void ServedJob::WarnOfStart() {
  const std::string other_data = evaluations_->OtherDataWarning();
  if (!other_data.empty()) {
    Warn(fmt::format("WARNING: --test {}: {}", request_.test, other_data));
  }
  const std::string owners = OwnersWarning(config_, OwnersOf(history_).most_devices);
  if (!owners.empty()) Warn(fmt::format("WARNING: {}. {}", owners, kOtherOptions));
  const std::string noise = NoiseWarning(config_);
  if (!noise.empty()) Warn(fmt::format("WARNING: {}. {}", noise, kOtherOptions));
}

void ServedJob::WarnOfEnd() {
  const std::string worse = evaluations_->ResultWarning();
  if (!worse.empty()) Warn(fmt::format("WARNING: {}. {}", worse, kOtherOptions));
}

void ServedJob::EndInPool() {
  evaluations_->EvaluateLast(*parts_.server, *job_);
  parts_.server->RunInPool({[this](const std::atomic<bool>& must_stop) {
                              parts_.log.WriteFigures();  // before another job begins
                              if (!must_stop) evaluations_->OnEnd(*job_);
                            },
                            [this] {
                              WarnOfEnd();
                              is_over_ = true;
                              network_ = parts_.server->Figures();
                            }});
  const auto failure = std::make_shared<std::string>();
  parts_.server->RunInPool({[this, failure](const std::atomic<bool>& must_stop) {
                              if (!must_stop) *failure = TryToWriteEnd();
                            },
                            [this, failure] {
                              if (!failure->empty()) Warn(*failure);
                            }});
}

// A server that stays does not end for want of a file: all that was to be written is in its store.
// Returns a warning; empty: it is written.
std::string ServedJob::TryToWriteEnd() {
  try {
    WriteEnd(false);
  } catch (const std::exception& error) {
    if (request_.once) throw;
    return fmt::format(
        "WARNING: job {} is over, and its results are not written: {}. The store has them: `sotto "
        "model export`, `sotto account ledger` and `sotto report` write them again",
        number_, error.what());
  }
  return "";
}

void ServedJob::End(bool was_stopped) {
  if (is_written_) return;
  if (!was_stopped) {
    evaluations_->OnEnd(*job_);
    WarnOfEnd();
  }
  network_ = parts_.server->Figures();
  WriteEnd(was_stopped);
}

void ServedJob::WriteEnd(bool was_stopped) {
  const ServeEnd end =
      was_stopped ? ServeEnd{"interrupted", nullptr, kStopReason}
                  : ServeEnd{KindOf(job_->end()).state, Name(job_->end()), job_->finish_reason()};
  WriteResults(request_, inputs_, end, parts_.log, *job_, report_, *evaluations_, network_);
  is_written_ = true;
}

}  // namespace sotto::server
