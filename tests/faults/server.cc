#include "faults/server.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "faults/broken_log.h"
#include "jobs/life_start.h"
#include "round/receipts.h"
#include "sotto/wire.h"
#include "store/history.h"

namespace sotto::server {
namespace {

constexpr uint64_t kAskAgainMs = 500;  // of ServeStore()

std::vector<uint8_t> Encoded(Reply reply) {
  static std::vector<uint8_t> longest(kFrameHeaderSize + kMaxMaxFrame);
  size_t size = 0;
  reply.max_frame = kMaxMaxFrame;
  const MutableByteSpan out = {longest.data(), longest.size()};
  if (EncodeReply(reply, kMaxMaxFrame, out, &size) != Status::kOk) {
    throw std::logic_error("an answer cannot be encoded");
  }
  return {longest.begin(), longest.begin() + static_cast<std::ptrdiff_t>(size)};
}

// Never the same twice, as the entropy of each start.
Key KeyOfLife(World& world, int life) {
  Key key;
  for (size_t i = 0; i < 8; ++i) key.bytes[i] = static_cast<uint8_t>(world.Below(256));
  std::memcpy(key.bytes + 8, &life, sizeof(life));
  return key;
}

}  // namespace

SimulatedServer::SimulatedServer(Postgres& postgres, Witness& witness, const JobConfig& config,
                                 Broken broken, const std::string& name)
    : postgres_(postgres),
      world_(postgres.world()),
      scenario_(postgres.scenario()),
      witness_(witness),
      config_(config),
      broken_(broken) {
  process_.name = name;
}

SimulatedServer::~SimulatedServer() = default;

// Nothing of what it held is left, and what was to happen to it does not.
void SimulatedServer::Drop() {
  job_.reset();
  log_.reset();
  store_.reset();
  devices_.reset();
  process_.epoch = 0;
  process_.is_killed = false;
  process_.life = witness_.NextLife();
  closes_ = false;
}

void SimulatedServer::Later(uint64_t ms, void (SimulatedServer::*next)()) {
  world_.After(ms, &process_, [this, next, life = process_.life] {
    if (life == process_.life) (this->*next)();
  });
}

// Runs a step, in which others may go on, and does what `sotto serve` does about its errors.
// Returns whether there was none.
template <typename Call>
bool SimulatedServer::Guarded(const char* what, Call call) {
  ++process_.held;
  bool is_good = false;
  try {
    call();
    if (process_.is_killed) throw Killed();
    is_good = true;
  } catch (const Killed&) {
    world_.Tell("{}: killed in {}", process_.name, what);
    Drop();
    Later(world_.Between(200, 10'000), &SimulatedServer::Start);
  } catch (const ServedByAnother&) {
    Later(kAskAgainMs, &SimulatedServer::Claim);
  } catch (const StoreLost& error) {
    world_.Tell("{}: {}: {}", process_.name, what, error.what());
    Drop();
    Later(kAskAgainMs, &SimulatedServer::Open);
  } catch (const StaleLog&) {
    OnStaleLog();
  } catch (const std::exception& error) {
    world_.Violate("{} ends in {}: {}", process_.name, what, error.what());
    Drop();
  }
  --process_.held;
  world_.Release(&process_);
  return is_good;
}

// One that was taken over does not know what the other one has written since: a receipt of that
// shows no older copy. It begins anew.
void SimulatedServer::OnStaleLog() {
  if (!Guarded("looking who serves", [this] { store_->RequireServer(); })) return;
  witness_.OnStaleLog(process_);
  Drop();
  is_stale_ = true;
}

void SimulatedServer::Start() {
  if (is_stale_) return;
  world_.Tell("{}: starts", process_.name);
  Drop();
  Open();
}

void SimulatedServer::Kill(const char* why) {
  if (process_.held > 0) {
    process_.is_killed = true;
    return;
  }
  if (is_stale_) return;
  world_.Tell("{}: {}", process_.name, why);
  Drop();
  Later(world_.Between(200, 10'000), &SimulatedServer::Start);
}

void SimulatedServer::Stop(uint64_t ms) {
  if (process_.held > 0) return;  // a call stops by itself, database.h
  world_.Tell("{}: is stopped for {} ms", process_.name, ms);
  ++process_.held;
  process_.is_frozen = true;
  world_.After(ms, nullptr, [this] {
    world_.Tell("{}: goes on", process_.name);
    --process_.held;
    process_.is_frozen = false;
    if (std::exchange(process_.is_killed, false)) Kill("was killed");
    world_.Release(&process_);
  });
}

void SimulatedServer::Shut() {
  Drop();
  is_stale_ = false;
}

void SimulatedServer::Open() {
  const bool is_open = Guarded("opening", [this] {
    store_ =
        std::make_unique<SqlStore>(std::make_unique<SimulatedPlace>(postgres_, &process_, broken_));
    if (scenario_.kept_models != 0) store_->KeepModels(scenario_.kept_models);
  });
  if (is_open) Claim();
}

void SimulatedServer::Claim() {
  if (Guarded("claiming", [this] { store_->ClaimJobs(); })) Begin();
}

void SimulatedServer::Begin() {
  const bool has_begun = Guarded("beginning", [this] {
    const History history = store_->ReadHistory();
    witness_.OnStart(process_, history);
    const JobEntry* last = LastJob(history);
    const std::optional<HaltEntry> end = last == nullptr ? std::nullopt : EndOf(history, *last);
    const bool is_over = end && !IsRetried(end->kind);
    if (is_over && static_cast<int64_t>(history.jobs.size()) >= scenario_.jobs) {
      is_over_ = true;
    } else {
      BeginJob(history, is_over ? nullptr : last);
    }
  });
  if (!has_begun || job_ == nullptr) return;
  Later(0, &SimulatedServer::Watch);
  Later(0, &SimulatedServer::OpenRound);
}

void SimulatedServer::BeginJob(const History& history, const JobEntry* resumed) {
  devices_.emplace(store_->LoadDevices());
  JobConfig config = config_;
  config.plan.devices =
      resumed == nullptr ? devices_->eligible() : PlanOf(history, *resumed).devices;
  config.spent_before = SpentBefore(history, resumed);
  try {
    GoOnInLife("simulated", history, resumed, true, &config);
  } catch (const std::invalid_argument& error) {
    if (resumed != nullptr || history.jobs.empty()) throw;
    world_.Tell("{}: {}", process_.name, error.what());
    is_over_ = true;
    return;
  }
  if (resumed == nullptr) store_->AllowNewJob();
  std::optional<JobState> state = ReadState(*store_, resumed);
  if (broken_ == Broken::kAttempt && state && state->next_attempt > 0) --state->next_attempt;
  log_ = std::make_unique<BrokenLog>(*store_, broken_);
  job_ = std::make_unique<Job>(config, *devices_, *log_, KeyOfLife(world_, process_.life), state);
  job_id_ = Witness::IdOf(job_->job_id());
  world_.Tell("{}: serves round {} of job {}", process_.name, job_->round(),
              resumed == nullptr ? history.jobs.size() + 1 : resumed->number);
  job_->Suspend();
}

// What other programs have changed, and whether this one still serves, once a second.
void SimulatedServer::Watch() {
  const bool serves = Guarded("watching", [this] {
    store_->TakeChanges();  // no device comes or leaves
    job_->SetPaused(store_->IsPaused());
  });
  if (serves) Later(1000, &SimulatedServer::Watch);
}

void SimulatedServer::OpenRound() {
  if (Guarded("opening a round", [this] { job_->OpenRound(); })) OnRoundOpened();
}

void SimulatedServer::OnRoundOpened() {
  if (job_->phase() == Job::Phase::kFinished) {
    Finish();
  } else if (job_->phase() == Job::Phase::kIdle) {
    world_.Tell("{}: waits: {}", process_.name, job_->waiting_for());
    job_->Proceed();
    Later(1000, &SimulatedServer::OpenRound);
  } else {
    Announce();
  }
}

void SimulatedServer::Announce() {
  job_->Proceed();
  closes_ = false;
  world_.After(scenario_.round_ms, &process_,
               [this, life = process_.life, round = job_->round(), attempt = job_->attempt()] {
                 const bool is_open = life == process_.life && job_ != nullptr && !closes_ &&
                                      job_->round() == round && job_->attempt() == attempt;
                 if (is_open) CloseRound();
               });
}

void SimulatedServer::CloseRound() {
  closes_ = true;
  job_->Suspend();
  if (!Guarded("closing a round", [this] { outcome_ = job_->CloseRound(); })) return;
  Later(scenario_.closes_early ? 0 : world_.Between(0, 2000), &SimulatedServer::Publish);
}

void SimulatedServer::Publish() {
  if (outcome_.released) {
    job_->ShowRelease();
    witness_.OnModel("a reader", job_id_, outcome_.round, job_->parameters());
    OpenRound();
  } else {
    world_.Tell("{}: gives round {} attempt {} up", process_.name, outcome_.round,
                outcome_.attempt);
    OnRoundOpened();
  }
}

// Of a job that gave up its operator starts the server again.
void SimulatedServer::Finish() {
  world_.Tell("{}: the job is over: {}", process_.name, job_->finish_reason());
  job_->Proceed();
  Later(3000, &SimulatedServer::Start);
}

void SimulatedServer::Receive(int life, uint32_t device, std::vector<uint8_t> frame,
                              OnAnswer on_answer) {
  if (life != process_.life || job_ == nullptr) {
    on_answer({});
    return;
  }
  std::vector<uint8_t> answer;
  Guarded("answering", [&] {
    Request request;
    const ByteSpan body(frame.data() + kFrameHeaderSize, frame.size() - kFrameHeaderSize);
    if (DecodeRequest(body, &request) != Status::kOk) {
      throw std::logic_error("a request cannot be decoded");
    }
    answer = Encoded(job_->Answer(device, request));
  });
  if (life != process_.life) answer.clear();
  on_answer(std::move(answer));
  const bool is_complete = job_ != nullptr && !closes_ && life == process_.life &&
                           job_->phase() == Job::Phase::kOpen && job_->IsComplete();
  if (is_complete) CloseRound();
}

}  // namespace sotto::server
