#include "service/session.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "base/counted.h"
#include "base/gave_up.h"
#include "plans/statement.h"
#include "round/recorded_figures.h"
#include "service/job_start.h"
#include "service/life_start.h"
#include "service/report.h"
#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"
#include "sotto/posix/service.h"
#include "store/history.h"
#include "store/open_store.h"
#include "views/before_start.h"
#include "views/claims_output.h"
#include "views/overview.h"
#include "views/training_warnings.h"

namespace sotto::server {
namespace {

constexpr char kStopReason[] = "stopped; a later start goes on here";
constexpr char kOtherOptions[] = "A job keeps its options: other ones are another job, --new-job";

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
      Counted(spent.earlier_rounds, "round"), DescribeClaims(spent.claims),
      privacy::DeltaText(spent.Headline().delta), privacy::Name(spent.Headline().adjacency)));
}

// The store, with its jobs claimed by this process.
std::unique_ptr<Store> OpenToServe(const std::string& path) {
  std::unique_ptr<Store> store = OpenStore(path);
  store->ClaimJobs();
  return store;
}

}  // namespace

ServeSession::ServeSession(const ServeRequest& request)
    : request_(request),
      options_(ServerOptionsOf(request)),
      inputs_(InputReader().Read(InputsOf(request))),
      leftovers_(BackupLeftovers(request.store)),
      store_(OpenToServe(request.store)),
      live_(request.store, store_->Server().value_or("")),
      shared_(*store_),
      fleet_(shared_),
      devices_(fleet_.devices()),
      history_(store_->ReadHistory()),
      config_(MakeConfig()),
      test_(OpenTestSet(request, *config_.model)),
      log_(request.log, request.verbose ? "debug" : request.log_level),
      device_states_(
          request.store, [this] { return fleet_.records(); },
          [this](const std::string& id, const DeviceView& view, const std::string& line) {
            log_.Write(event::kDeviceState, line, {{"device", id}, {"state", view.row->name}});
          }),
      report_([this] { return fleet_.devices(); }),
      monitor_(request.metrics, [this](const std::string& line) { Warn(line); }),
      server_(devices_, options_, Events()) {
  server_.Remember(fleet_.former());
  monitor_.CountDevices([this] { return device_states_.Counts(); });
  if (!request.http.empty()) {
    page_.emplace(request, Sources());
    server_.Host(page_->Guest());
    log_.Listen([this](const std::string& line) { page_->OnLog(line); });
  }
  server_.Listen();
}

// Decides which job goes on.
JobConfig ServeSession::MakeConfig() {
  const uint32_t eligible = devices_->eligible();
  const bool begins = request_.new_job && !IsRestart(request_, eligible, history_);
  resumed_ = begins ? nullptr : LastJob(history_);
  if (resumed_ == nullptr && eligible == 0) {
    throw std::invalid_argument(
        fmt::format("{} holds no devices; add some with `sotto keys new`", request_.store));
  }
  if (begins) store_->AllowNewJob();
  if (request_.keep_models) store_->KeepModels(*request_.keep_models);
  JobConfig config =
      ServedConfig(resumed_ == nullptr ? request_ : ResumingRequest(request_, *store_, *resumed_),
                   eligible, history_, resumed_);
  config.process.observes_updates = !request_.http.empty() || !request_.metrics.empty();
  return config;
}

// What the page asks of the server while it answers.
PageSources ServeSession::Sources() {
  return {[this] { return server_.Figures(); },
          [this] { return monitor_.Text(server_.Figures(), fleet_.devices()->eligible()); },
          [this] { return fleet_.records(); },
          [this](const DeviceRecord& device) { return device_states_.Of(device); }};
}

ServerEvents ServeSession::Events() {
  ServerEvents events;
  events.info = [this](const std::string& line) { log_.Write(line); };
  events.detail = [this](const std::string& line) { log_.Write(event::kDetail, line); };
  events.on_outcome = [this](const RoundOutcome& outcome) { OnOutcome(outcome); };
  events.watch = [this] {
    monitor_.Write();
    live_.Write();
    RecordFigures();
    device_states_.Write();
    return fleet_.Watch();
  };
  events.alive = [this](uint64_t now_ms) {
    monitor_.Alive(server_, fleet_.devices()->eligible(), now_ms);
    if (const std::string warning = fleet_.TakeWarning(); !warning.empty()) Warn(warning);
    live_.Alive(now_ms);
    if (page_) page_->Alive(now_ms);
  };
  events.on_phase = [this](const ServerPhase& phase) {
    LogPhase(phase);
    live_.OnPhase(phase);
    if (page_) page_->OnPhase(phase, fleet_.is_paused());
    monitor_.OnEnd(phase.end);
  };
  events.on_sign = [this](const DeviceSign& sign) { device_states_.OnSign(sign); };
  events.on_device = [this](uint32_t device, bool is_connected) {
    const std::string& id = (*fleet_.devices())[device].id;
    device_states_.OnDevice(id, is_connected);
    live_.OnDevice(id, is_connected);
    if (page_) page_->OnDevice(id, is_connected);
  };
  return events;
}

void ServeSession::LogPhase(const ServerPhase& phase) const {
  const uint64_t round = uint64_t{phase.round} + 1;
  const uint64_t attempt = uint64_t{phase.attempt} + 1;
  if (phase.kind == ServerPhase::Kind::kOpen) {
    log_.Write(event::kRoundOpened,
               fmt::format("round {} attempt {}: {} drawn", round, attempt,
                           Counted(phase.drawn, "device")),
               {{"round", round}, {"attempt", attempt}, {"drawn", uint64_t{phase.drawn}}});
  } else if (phase.kind == ServerPhase::Kind::kWaiting && !phase.goes_on) {
    log_.Write(event::kWaiting, fmt::format("round {}: {}", round, phase.reason),
               {{"round", round}});
  }
}

void ServeSession::OnOutcome(const RoundOutcome& outcome) {
  std::optional<LedgerEntry> release;
  JobTurns turns;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    release = std::exchange(unpublished_, std::nullopt);
    turns = std::exchange(turns_, JobTurns());
    unrecorded_.push_back(
        {0, outcome.round, outcome.attempt, outcome.released, FiguresToRecord(outcome)});
  }
  report_.Add(outcome);
  monitor_.OnOutcome(outcome);
  device_states_.OnRound();
  if (page_) page_->OnOutcome(outcome, release, turns, *fleet_.devices());
  if (page_ && release) FindPairs(outcome.round, release->claims);
  posix::TellStatus(fmt::format("job of {}: {} of {} released", config_.model->name,
                                outcome.round + (outcome.released ? 1 : 0),
                                Counted(config_.plan.rounds, "round")));
  log_.Write(outcome.released ? event::kReleased : event::kGivenUp,
             DescribeOutcome(config_, outcome, config_.seeded),
             {{"round", uint64_t{outcome.round} + 1},
              {"attempt", uint64_t{outcome.attempt} + 1},
              {"reports", uint64_t{outcome.reporters.size()}}});
  for (const std::string& warning : WarningsOf(outcome, *fleet_.devices())) {
    log_.Write(warning);
    monitor_.OnWarning();
  }
  if (outcome.released) evaluations_->OnRelease(server_, *job_, outcome.round);
}

// In the pool, so that no publication waits for it; and at the end.
void ServeSession::RecordFigures() {
  std::vector<RoundRecord> records;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    records.swap(unrecorded_);
  }
  if (records.empty()) return;
  shared_.With([&](Store& store) {
    for (const RoundRecord& record : records) store.CommitFigures(record);
  });
}

// The claims' epsilons at other deltas take two accounts, which no publication waits for.
void ServeSession::FindPairs(uint32_t round, std::vector<privacy::Claim> claims) {
  const auto has_mu = [](const privacy::Claim& claim) { return claim.mu.has_value(); };
  if (finds_pairs_ || std::all_of(claims.begin(), claims.end(), has_mu)) return;
  finds_pairs_ = true;
  const auto found = std::make_shared<std::vector<privacy::Claim>>(std::move(claims));
  server_.RunInPool({[this, found](const std::atomic<bool>& must_stop) {
                       if (must_stop) return;
                       History history;
                       shared_.With([&](Store& store) { history = store.ReadHistory(); });
                       AddPairs(history, *LastJob(history), found.get());
                     },
                     [this, round, found] {
                       finds_pairs_ = false;
                       page_->OnClaims(round, *found);
                     }});
}

void ServeSession::Warn(const std::string& line) {
  log_.Write(line);
  report_.Warn(line);
  monitor_.OnWarning();
}

// Its viewers see the job from now on; what they ask waits for the event loop.
void ServeSession::BeginPage() {
  const History history = store_->ReadHistory();
  const JobEntry& job = *LastJob(history);
  page_->Begin(OverviewOfStore(*store_, Audience::kOperator), RestsOnSeededNoise(history, job),
               TurnsOf(history, job));
  log_.Write(fmt::format("page: {} for the operator; it asks for the token in {}", page_->address(),
                         PageTokenFile(request_)));
}

// Once all rounds are released. Of a job that goes on, its fleets enter, so it has no epsilon at
// other deltas.
privacy::Statement ServeSession::PlannedStatement() {
  const auto rounds = static_cast<uint32_t>(config_.plan.rounds);
  privacy::Statement planned = job_->SpentAfter(rounds, std::max(job_->attempts(), rounds));
  if (resumed_ == nullptr && !planned.claims.empty()) {
    privacy::AddPairs(config_.plan, rounds, rounds, config_.spent_before, &planned);
  }
  return planned;
}

//   planned  as PlannedStatement() has it
void ServeSession::LogStart(const privacy::Statement& planned) const {
  log_.Write(event::kListening,
             fmt::format("listening on {} port {}: {}, model {}, {} of {} released", options_.host,
                         server_.port(), Counted(devices_->eligible(), "device"),
                         config_.model->name, job_->round(), Counted(config_.plan.rounds, "round")),
             {{"port", uint64_t{server_.port()}}});
  log_.Write(
      fmt::format("devices need: {}; a device that lacks one is told to wait, and counted here",
                  DescribeNeeds({config_.TaskFor(0, config_.training.clip_l2),
                                 config_.requires_salt && config_.GivesSalts()})));
  log_.Write(
      "this log is the operator's: its counts and times tell who took part; what may be shown: "
      "sotto account ledger --published");
  for (const std::string& line : DescribeBeforeStart(config_, planned, OwnersOf(history_))) {
    log_.Write(line);
  }
  if (const std::string life = DescribeLife(history_, config_); !life.empty()) log_.Write(life);
  if (const std::string waits = DescribeSettling(history_); !waits.empty()) log_.Write(waits);
  LogEarlierJobs(config_, log_);
  if (!config_.codec->certified)
    log_.Write("NO PRIVACY: this job protects nothing; for experiments only");
  if (config_.seeded) log_.Write("seeded: not private; for tests only");
  if (!devices_->is_locked()) {
    log_.Write(
        "the devices' secrets cannot be locked in memory and may reach the swap space; raise the "
        "limit, `ulimit -l`");
  }
}

void ServeSession::WarnOfStart() {
  for (const std::string& leftover : leftovers_) {
    Warn(fmt::format(
        "WARNING: {}: a backup that was interrupted left it, with secrets of a store; remove it",
        leftover));
  }
  const std::string other_data = evaluations_->OtherDataWarning();
  if (!other_data.empty()) {
    Warn(fmt::format("WARNING: --test {}: {}", request_.test, other_data));
  }
  const std::string owners = OwnersWarning(config_, OwnersOf(history_).most_devices);
  if (!owners.empty()) Warn(fmt::format("WARNING: {}. {}", owners, kOtherOptions));
  const std::string noise = NoiseWarning(config_);
  if (!noise.empty()) Warn(fmt::format("WARNING: {}. {}", noise, kOtherOptions));
}

void ServeSession::Run() {
  if (page_) {
    shared_.OnRelease([this](LedgerEntry entry, JobTurns turns) {
      const std::lock_guard<std::mutex> lock(mutex_);
      unpublished_ = std::move(entry);
      turns_ = std::move(turns);
    });
  }
  job_.emplace(config_, *devices_, shared_,
               posix::DeriveKey(posix::RunKey(request_.seed), key_label::kServer),
               ReadState(*store_, resumed_));
  const auto test = inputs_.find("test");
  evaluations_.emplace(config_, test_, test == inputs_.end() ? "" : test->second.sha256,
                       request_.evaluate_every, shared_,
                       [this](const std::string& line) { log_.Write(line); });
  evaluations_->OnEvaluation(
      [this](uint32_t round, const std::string& data, const Evaluation& evaluation) {
        monitor_.OnEvaluation(evaluation);
        if (page_) page_->OnEvaluation(round, data, evaluation);
      });
  evaluations_->OnStart(server_, *job_);
  job_->SetPaused(fleet_.is_paused());
  monitor_.SetJob(static_cast<uint64_t>(config_.plan.rounds), job_->round(), config_.epsilon_budget,
                  job_->round() == 0 ? std::vector<privacy::Claim>() : job_->Spent().claims);
  LogStart(PlannedStatement());
  WarnOfStart();
  if (page_) BeginPage();
  WritePortFile(request_, server_.port());
  posix::TellReady();
  const bool is_finished = server_.Run(*job_);
  posix::TellStopping();
  Finish(is_finished);
}

void ServeSession::EvaluateEnd() {
  evaluations_->OnEnd(*job_);
  const std::string worse = evaluations_->ResultWarning();
  if (!worse.empty()) Warn(fmt::format("WARNING: {}. {}", worse, kOtherOptions));
}

void ServeSession::Finish(bool is_finished) {
  if (page_) page_->End();
  RecordFigures();
  if (is_finished) EvaluateEnd();
  monitor_.WriteLast(server_, fleet_.devices()->eligible());
  device_states_.Write(true);
  if (store_->ignored_receipts() != 0) {
    log_.Write(fmt::format("{} not of this store, ignored",
                           Counted(static_cast<int64_t>(store_->ignored_receipts()), "receipt")));
  }
  const ServeEnd end =
      is_finished ? ServeEnd{KindOf(job_->end()).state, Name(job_->end()), job_->finish_reason()}
                  : ServeEnd{"stopped", nullptr, kStopReason};
  WriteResults(request_, inputs_, end, *store_, *job_, report_, *evaluations_, server_.Figures());
  if (!is_finished) throw Stopped(server_.signal(), kStopReason);
  if (job_->gave_up()) throw GaveUp(job_->finish_reason());
}

}  // namespace sotto::server
