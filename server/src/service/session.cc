#include "service/session.h"

#include <chrono>
#include <fmt/format.h>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "backends/copy_store.h"
#include "backends/open_store.h"
#include "base/counted.h"
#include "base/gave_up.h"
#include "data/catalog.h"
#include "jobs/job_queue.h"
#include "jobs/job_settings.h"
#include "jobs/job_start.h"
#include "jobs/life_start.h"
#include "overview/overview.h"
#include "round/receipts.h"
#include "sotto/posix/service.h"
#include "store/history.h"

namespace sotto::server {
namespace {

constexpr char kHowToStart[] = "no job runs; the next one: sotto job start";

// Waits for the store, half a second each time, and is alive to a service manager meanwhile.
class StoreWait {
 public:
  void Wait() {
    constexpr auto kAskAgain = std::chrono::milliseconds(500);
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    signs_.Alive(
        static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()));
    std::this_thread::sleep_for(kAskAgain);
  }

 private:
  posix::WatchdogSigns signs_;
};

// Makes this process the one that runs the store's jobs, as soon as no other one does. Returns
// whether it had to wait.
bool ClaimInTurn(Store& store, const ServeLog& log) {
  StoreWait wait;
  for (bool waited = false;; waited = true) {
    try {
      store.ClaimJobs();
      if (waited) log.Write(fmt::format("{}: this server takes over", store.name()));
      return waited;
    } catch (const ServedByAnother&) {
      if (!waited) {
        const std::string line =
            fmt::format("standby: {}: process {} serves it; this server waits for its end",
                        store.name(), store.Server().value_or("unknown"));
        log.Write(line);
        posix::TellReady();  // it is what it is there for
        posix::TellStatus(line);
      }
    }
    wait.Wait();
  }
}

// The store, once it can be reached again.
std::unique_ptr<Store> Reopen(const std::string& where, const ServeLog& log) {
  StoreWait wait;
  for (std::string said;;) {
    wait.Wait();
    try {
      return OpenStore(where);
    } catch (const StoreLost& error) {
      if (said == error.what()) continue;
      said = error.what();
      log.Write("WARNING: " + said);
      posix::TellStatus(said);
    }
  }
}

}  // namespace

ServeSession::ServeSession(const ServeRequest& request, std::unique_ptr<Store> store)
    : request_(request),
      options_(ServerOptionsOf(request)),
      leftovers_(BackupLeftovers(request.store)),
      store_(std::move(store)),
      live_(request.store, store_->Server().value_or("")),
      shared_(*store_),
      fleet_(shared_),
      log_(request.log, request.verbose ? "debug" : request.log_level),
      device_states_(
          request.store, [this] { return fleet_.records(); },
          [this](const std::string& id, const DeviceView& view, const std::string& line) {
            log_.Write(event::kDeviceState, line, {{"device", id}, {"state", view.row->name}});
          }),
      monitor_(request.metrics, [this](const std::string& line) { Warn(line); }),
      releases_(static_cast<uint32_t>(options_.poll_interval_ms)),
      server_(fleet_.devices(), options_, Events()),
      parts_{shared_, fleet_, monitor_, log_, device_states_, &server_} {
  server_.Remember(fleet_.former());
  monitor_.CountDevices([this] { return device_states_.Counts(); });
  if (request_.keep_models) store_->KeepModels(*request_.keep_models);
  if (!request.http.empty()) {
    page_.emplace(request, Sources());
    server_.Host(page_->Guest());
    log_.Listen([this](const std::string& line) { page_->OnLog(line); });
    parts_.page = &*page_;
  }
  server_.Listen();
}

// What the page asks of the server while it answers.
PageSources ServeSession::Sources() {
  return {[this] { return server_.Figures(); },
          [this] { return monitor_.Text(server_.Figures(), fleet_.devices()->eligible()); },
          [this] { return fmt::format("{}:{}", options_.host, server_.port()); },
          [this] { return fleet_.records(); },
          [this](const DeviceRecord& device) { return device_states_.Of(device); },
          [this] { return device_states_.Counts(); }};
}

ServerEvents ServeSession::Events() {
  ServerEvents events;
  events.info = [this](const std::string& line) { log_.Write(line); };
  events.detail = [this](const std::string& line) { log_.Write(event::kDetail, line); };
  events.on_outcome = [this](const RoundOutcome& outcome) {
    if (outcome.released) {
      releases_.OnRelease(outcome.round + 1, outcome.spent.claims, outcome.threshold);
    }
    served_->OnOutcome(outcome);
  };
  events.watch = [this] {
    monitor_.Write();
    live_.Write();
    shared_.WriteFigures();
    device_states_.Write();
    std::optional<FleetNews> news = fleet_.Watch();
    if (news) device_states_.OnChange(news->changed, *news->devices);
    return news;
  };
  events.alive = [this](uint64_t now_ms) {
    monitor_.Alive(server_, fleet_.devices()->eligible(), now_ms);
    if (const std::string warning = fleet_.TakeWarning(); !warning.empty()) Warn(warning);
    SayDue();
    ShowThresholds();
    live_.Alive(now_ms);
    if (page_) {
      page_->OnQueue(Queue());
      page_->Alive(now_ms);
    }
  };
  events.on_phase = [this](const ServerPhase& phase) {
    LogPhase(phase);
    if (phase.kind == ServerPhase::Kind::kFinished) releases_.OnEnd(!IsRetried(phase.end));
    live_.OnPhase(phase);
    if (page_) page_->OnPhase(phase, fleet_.is_paused());
    monitor_.OnEnd(phase.end);
  };
  events.on_sign = [this](const DeviceSign& sign) { device_states_.OnSign(sign); };
  events.on_device = [this](uint32_t device, bool is_connected, uint64_t silent_ms) {
    const std::string& id = (*fleet_.devices())[device].id;
    device_states_.OnDevice(id, is_connected, silent_ms);
    if (page_) page_->OnDevice(id, is_connected, silent_ms);
  };
  return events;
}

void ServeSession::LogPhase(const ServerPhase& phase) const {
  const uint64_t round = uint64_t{phase.round} + 1;
  const uint64_t attempt = uint64_t{phase.attempt} + 1;
  if (phase.kind == ServerPhase::Kind::kFinished) {
    const bool goes_on = phase.end == Halt::kGaveUp && request_.once;
    log_.Write(event::kJobOver, phase.reason + (goes_on ? "; a later start goes on here" : ""),
               {{"ended", Name(phase.end)}});
  } else if (phase.kind == ServerPhase::Kind::kOpen && !phase.goes_on) {
    log_.Write(event::kRoundOpened,
               fmt::format("round {} attempt {}: {} drawn", round, attempt,
                           Counted(phase.drawn, "device")),
               {{"round", round}, {"attempt", attempt}, {"drawn", uint64_t{phase.drawn}}});
  } else if (phase.kind == ServerPhase::Kind::kWaiting && !phase.goes_on) {
    log_.Write(event::kWaiting, fmt::format("round {} waits: {}", round, phase.reason),
               {{"round", round}});
  }
}

void ServeSession::Warn(const std::string& line) {
  if (served_) {
    served_->Warn(line);
    return;
  }
  log_.Write(line);
  monitor_.OnWarning();
}

// From the pool.
void ServeSession::SayLater(const std::string& line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  due_.push_back(line);
}

void ServeSession::SayDue() {
  std::vector<std::string> lines;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    lines.swap(due_);
  }
  for (const std::string& line : lines) {
    if (line.rfind("WARNING", 0) == 0) {
      Warn(line);
    } else {
      log_.Write(line);
    }
  }
}

// What the page shows of a job from its beginning on.
struct ServeSession::PageBeginning {
  nlohmann::ordered_json overview;
  bool is_seeded = false;
  JobTurns turns;
};

// The page's accounts of all jobs take time, too, for which no connection waits.
Job* ServeSession::Make(JobChoice choice) {
  made_ = std::make_unique<ServedJob>(std::move(choice), parts_);
  const History history = shared_.ReadHistory();
  const JobEntry& job = *LastJob(history);
  is_made_seeded_ = made_->config().seeded || RestsOnSeededNoise(history, job);
  if (page_) {
    page_begins_ = std::make_shared<PageBeginning>(
        PageBeginning{Overview(), RestsOnSeededNoise(history, job), TurnsOf(history, job)});
  }
  return &made_->job();
}

JobChoice ServeSession::ChoiceOf(const History& history, const JobRequestEntry& request) const {
  if (request.ask.act == JobAct::kResume) return GoOnWith(request_, history, *LastJob(history));
  JobChoice choice{RequestOf(request_, request.ask), true, request.number};
  choice.request.agrees_to_sum = request.ask.agreed;
  return choice;
}

// The job of a request. What is wrong with it becomes the answer. One that was withdrawn meanwhile
// has its answer; so has one that has begun in the store, which this server then cannot serve.
Job* ServeSession::Begin(const History& history, const JobRequestEntry& request) {
  try {
    return Make(ChoiceOf(history, request));
  } catch (const FleetChanged&) {
    return nullptr;  // the next look plans it for the fleet that there is then
  } catch (const StoreLost&) {
    throw;
  } catch (const std::exception& error) {
    if (Refuse(request.number, error.what())) {
      SayLater(fmt::format("WARNING: request {} begins no job in {}: {}", request.number,
                           history.store, error.what()));
      return nullptr;
    }
    const History now = shared_.ReadHistory();
    for (const JobRequestEntry& each : now.requests) {
      const bool is_withdrawn = each.answer && each.answer->outcome == JobOutcome::kWithdrawn;
      if (each.number == request.number && is_withdrawn) return nullptr;
    }
    throw;
  }
}

// Returns false if the request has an answer.
bool ServeSession::Refuse(int64_t request, const std::string& reason) {
  bool is_first = false;
  shared_.With([&](Store& store) {
    is_first = store.AnswerRequest(request, {JobOutcome::kRefused, 0, reason});
  });
  return is_first;
}

// The first request that is moot, if there is one: returns true.
bool ServeSession::RefuseMoot(const History& history) {
  const std::optional<MootRequest> moot = FindMoot(history);
  if (moot && Refuse(moot->number, moot->reason)) {
    SayLater(fmt::format("request {}: {}", moot->number, moot->reason));
  }
  return moot.has_value();
}

// The history, unless it is the one of the look before.
std::optional<History> ServeSession::LookAgain(std::optional<int64_t>* seen) {
  int64_t record = 0;
  shared_.With([&](Store& store) { record = store.LastRecord(); });
  if (*seen == record) return std::nullopt;
  History history = shared_.ReadHistory();
  KeepQueue(history);
  KeepThresholds();
  *seen = record;
  return history;
}

Job* ServeSession::Next() {
  (void)shared_.Settle();
  const std::optional<History> history = LookAgain(&seen_idle_);
  if (!history) return nullptr;
  const JobRequestEntry* request = NextResume(*history);
  if (request == nullptr) request = NextStart(*history);
  const bool had_moot = RefuseMoot(*history);
  if (request != nullptr || had_moot) seen_idle_.reset();  // there is more to do
  if (request == nullptr || had_moot) return nullptr;
  const bool waits_for_devices =
      request->ask.act == JobAct::kStart && fleet_.devices()->eligible() == 0;
  return waits_for_devices ? nullptr : Begin(*history, *request);
}

std::optional<HaltRecord> ServeSession::MustEnd() {
  if (const std::optional<History> history = LookAgain(&seen_)) {
    RefuseMoot(*history);  // a record, after which there is another look
    why_end_ = WhyEnd(*history);
  }
  return why_end_;
}

nlohmann::ordered_json ServeSession::Queue() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return OverviewOfQueue(requests_);
}

// From the pool.
void ServeSession::KeepQueue(const History& history) {
  has_next_ = NextStart(history) != nullptr;
  std::vector<JobRequestEntry> requests = history.requests;  // with models: the loop does not wait
  const std::lock_guard<std::mutex> lock(mutex_);
  requests_.swap(requests);
}

// From the pool.
void ServeSession::KeepThresholds() {
  std::vector<ModelThreshold> thresholds;
  shared_.With([&](Store& store) { thresholds = store.Thresholds(); });
  const std::lock_guard<std::mutex> lock(mutex_);
  thresholds_ = std::move(thresholds);
}

// What somebody has attached since.
void ServeSession::ShowThresholds() {
  std::optional<std::vector<ModelThreshold>> thresholds;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    thresholds.swap(thresholds_);
  }
  if (thresholds) releases_.OnThresholds(std::move(*thresholds));
}

nlohmann::ordered_json ServeSession::Overview() {
  nlohmann::ordered_json overview;
  shared_.With([&](Store& store) { overview = OverviewOfStore(store, Audience::kOperator); });
  return overview;
}

void ServeSession::OnBegin() {
  SayDue();
  served_ = std::move(made_);
  releases_.OnBegin(served_->number(), served_->job(), served_->job().Spent().claims,
                    is_made_seeded_);
  served_->Begin();
  device_states_.OnJob();
  if (page_) {
    page_->Begin(page_begins_->overview, page_begins_->is_seeded, page_begins_->turns);
    page_begins_.reset();
  }
  is_done_ = false;
  TellReady();
}

// Called once, after the log says what the server serves.
void ServeSession::TellReady() {
  if (std::exchange(is_ready_, true)) return;
  WritePortFile(request_, server_.port());
  posix::TellReady();
}

void ServeSession::OnEnd() {
  served_->EndInPool();
  device_states_.OnJob();
  is_done_ = !served_->job().gave_up();
}

void ServeSession::Leave() {
  shared_.OnRelease(nullptr);
  served_.reset();
  log_.Write(kHowToStart);
  posix::TellStatus(kHowToStart);
}

// What the store's last job was, while none runs.
void ServeSession::ShowIdle() {
  std::vector<JobLedger> jobs;
  shared_.With([&](Store& store) { jobs = ReadLedger(store); });
  if (!jobs.empty()) {
    const JobLedger& last = jobs.back();
    monitor_.SetJob(
        static_cast<uint64_t>(last.rounds), static_cast<uint64_t>(last.job.released),
        last.epsilon_budget,
        last.releases.empty() ? std::vector<privacy::Claim>() : last.releases.back().claims);
    if (last.end) monitor_.OnEnd(last.end->kind);
    is_done_ = last.end && !IsRetried(last.end->kind);
  }
  if (const std::string waits = DescribeSettling(shared_.ReadHistory()); !waits.empty()) {
    log_.Write(waits);
  }
  if (page_) page_->Begin(Overview(), false, {});
  log_.Write(fleet_.devices()->eligible() == 0
                 ? fmt::format("no devices; add some with `sotto keys new {}`", request_.store)
                 : kHowToStart);
}

void ServeSession::LogStart() {
  log_.Write(event::kListening,
             fmt::format("listening on {} port {}: {}", options_.host, server_.port(),
                         Counted(fleet_.devices()->eligible(), "device")),
             {{"port", uint64_t{server_.port()}}});
  log_.Write(
      "this log is the operator's: its counts and times tell who took part; what may be shown: "
      "sotto account ledger --published");
  if (page_) {
    log_.Write(fmt::format("page: {} for the operator; it asks for the token in {}",
                           page_->address(), PageTokenFile(request_)));
  }
  if (!fleet_.devices()->is_locked()) {
    log_.Write(
        "the devices' secrets cannot be locked in memory and may reach the swap space; raise the "
        "limit, `ulimit -l`");
  }
  for (const std::string& leftover : leftovers_) {
    Warn(fmt::format(
        "WARNING: {}: a backup that was interrupted left it, with secrets of a store; remove it",
        leftover));
  }
}

void ServeSession::Run() {
  Job* first = nullptr;
  const History history = shared_.ReadHistory();
  if (std::optional<JobChoice> choice =
          ChooseFirstJob(request_, fleet_.devices()->eligible(), history, *store_)) {
    first = Make(std::move(*choice));
  } else if (!request_.test.empty()) {
    OpenTest(request_.test, nullptr);  // of jobs to come: a name that is wrong is refused now
  }
  shared_.With([&](Store& store) {
    for (const std::string& line : releases_.Load(store, made_ ? made_->number() : 0)) Warn(line);
  });
  LogStart();
  if (first == nullptr) {
    shared_.With([](Store& store) { store.LoadReceipts(); });
    monitor_.WatchStore(request_.store, AttemptsOf(history), 0);
    ShowIdle();
    TellReady();
  }
  try {
    const bool is_over = server_.Run(*this, first);
    posix::TellStopping();
    Finish(is_over);
  } catch (const StaleLog& error) {
    shared_.With([](Store& store) { store.RequireServer(); });  // another one may have written it
    const bool is_over = !served_ || served_->job().phase() == Job::Phase::kFinished;
    try {  // `sotto status` then says what this copy is; a job that is over stays so
      if (!is_over) shared_.HaltJob({Halt::kWaiting, error.what()});
    } catch (const std::exception&) {
    }
    throw;
  } catch (const StoreLost& error) {
    if (server_.signal() != 0) throw Stopped(server_.signal(), error.what());
    throw;
  }
}

void ServeSession::Finish(bool is_over) {
  if (page_) page_->End();
  shared_.WriteFigures();
  const std::string reason = ServedJob::kStopReason;
  std::string why = reason;
  bool gave_up = false;
  if (served_) {
    served_->End(!is_over);
    gave_up = is_over && served_->job().gave_up();
    if (is_over) why = served_->job().finish_reason();
  }
  monitor_.WriteLast(server_, fleet_.devices()->eligible());
  device_states_.Write(true);
  if (store_->ignored_receipts() != 0) {
    log_.Write(fmt::format("{} not of this store, ignored",
                           Counted(static_cast<int64_t>(store_->ignored_receipts()), "receipt")));
  }
  if (server_.signal() != 0 && (stays() || !is_over)) throw Stopped(server_.signal(), reason);
  if (gave_up) throw GaveUp(why);
}

void ServeStore(ServeRequest request) {
  (void)ServerOptionsOf(request);  // what is wrong is said now, not when a standby takes over
  const ServeLog log(request.log, request.verbose ? "debug" : request.log_level);
  std::string said;
  for (std::unique_ptr<Store> store = OpenStore(request.store);;
       store = Reopen(request.store, log)) {
    try {
      if (ClaimInTurn(*store, log)) request.new_job = false;
      said.clear();
      ServeSession(request, std::move(store)).Run();
      return;
    } catch (const StoreLost& error) {
      if (said != error.what()) {
        log.Write(fmt::format(
            "WARNING: {}; this server begins again from the store, as after a kill", error.what()));
      }
      said = error.what();
    }
    request.new_job = false;  // what it began goes on
    store.reset();
  }
}

}  // namespace sotto::server
