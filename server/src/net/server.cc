#include "net/server.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <fmt/format.h>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/counted.h"
#include "net/loop.h"
#include "sotto/keys.h"
#include "sotto/posix/port.h"
#include "sotto/posix/process.h"

namespace sotto::server {
namespace {

constexpr uint64_t kTickMs = 200;
constexpr unsigned kMostDecoders = 4;  // the threads of libuv's pool
constexpr size_t kReservedFiles = 64;  // for the store, outputs, libuv and the operator's page

int64_t WallClockMs() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

void Check(int error, const std::string& what) {
  if (error < 0) throw std::runtime_error(fmt::format("{}: {}", what, uv_strerror(error)));
}

// The operator's part of a turn: a log that nobody reads may keep it waiting.
template <class... Arguments>
void Excuse(LoopMonitor& monitor, std::function<void(Arguments...)>& event) {
  if (!event) return;
  event = [&monitor, told = std::move(event)](Arguments... arguments) {
    const LoopMonitor::Wait wait(monitor);
    told(std::forward<Arguments>(arguments)...);
  };
}

// Connections leave some of the process' files to others.
AdmissionLimits LimitsOf(const ServerOptions& options) {
  const size_t files = posix::AllowOpenFiles();
  const size_t room = files > 2 * kReservedFiles ? files - kReservedFiles : files / 2;
  return {std::min(options.max_connections, room), options.max_handshakes,
          options.max_handshakes_per_address};
}

}  // namespace

Server::Loop::Loop(SharedDevices devices, const ServerOptions& options, const ServerEvents& events)
    : devices_(std::move(devices)),
      options_(options),
      events_(events),
      tokens_(devices_),
      admission_(LimitsOf(options)),
      pace_(devices_->size()),
      decoders_(std::clamp(std::thread::hardware_concurrency(), 1U, kMostDecoders)) {
  TlsConfig config;
  if (options.session_tickets) config.ticket_keys = &ticket_keys_;
  if (Status s = tls_.InitServer(posix::TlsPort(), {FindKey, this, FindCurrentKey}, config);
      s != Status::kOk) {
    throw std::runtime_error(fmt::format("setting TLS up failed: {}", StatusName(s)));
  }
  Check(uv_loop_init(&loop_), "starting the event loop");
  loop_.data = this;
  for (Decoder& decoder : decoders_) decoder.loop = this;
  for (auto* line : {&events_.info, &events_.detail}) Excuse(monitor_, *line);
  Excuse(monitor_, events_.on_phase);
  Excuse(monitor_, events_.on_device);
  Excuse(monitor_, events_.on_sign);
  Excuse(monitor_, events_.on_outcome);
  Excuse(monitor_, events_.alive);
}

Server::Loop::~Loop() {
  // Run() closes all handles. If it was never called, the listener may still be open.
  uv_walk(
      &loop_,
      [](uv_handle_t* handle, void*) {
        if (!uv_is_closing(handle)) uv_close(handle, nullptr);
      },
      nullptr);
  uv_run(&loop_, UV_RUN_DEFAULT);
  for (const auto& [id, client] : clients_) delete client;
  uv_loop_close(&loop_);
}

void Server::Loop::Listen() {
  listener_ = std::make_unique<posix::Acceptor>(options_.host, options_.port);
  port_ = listener_->port();
  // libuv opens a file in reserve with its first stream: now, while there are files.
  Check(uv_tcp_init(&loop_, &first_stream_), "creating a socket");
}

bool Server::Loop::Run(JobSource& jobs, Job* first) {
  source_ = &jobs;
  monitor_.Start(&loop_);
  Check(uv_poll_init_socket(&loop_, &listening_, listener_->socket()), "listening");
  Check(uv_check_init(&loop_, &turn_), "check");
  Check(uv_idle_init(&loop_, &busy_), "idle");
  Check(uv_timer_init(&loop_, &tick_), "timer");
  Check(uv_timer_init(&loop_, &delay_), "timer");
  Check(uv_timer_init(&loop_, &round_timer_), "timer");
  Check(uv_signal_init(&loop_, &interrupt_), "signal");
  Check(uv_signal_init(&loop_, &terminate_), "signal");
  listening_.data = turn_.data = busy_.data = tick_.data = delay_.data = this;
  round_timer_.data = interrupt_.data = terminate_.data = this;
  StartListening();
  Check(uv_check_start(&turn_, [](uv_check_t* turn) { static_cast<Loop*>(turn->data)->OnTurn(); }),
        "check");
  Check(uv_timer_start(&tick_, OnTick, kTickMs, kTickMs), "timer");
  Check(uv_signal_start(&interrupt_, OnSignal, SIGINT), "signal");
  Check(uv_signal_start(&terminate_, OnSignal, SIGTERM), "signal");
  BeginSchedule();
  RaisePriority();
  is_running_ = true;
  StartPoolWork();
  StartGuest();
  try {
    ending_ = first == nullptr ? std::nullopt : jobs.MustEnd();
    if (first != nullptr) Serve(*first);
  } catch (...) {
    Fail(std::current_exception());  // the pool may have work of the job already
  }
  uv_run(&loop_, UV_RUN_DEFAULT);
  if (failure_) std::rethrow_exception(failure_);
  return finished_;
}

// Of the loop's thread. The pool's threads start with the first work, so that they do not inherit
// it.
void Server::Loop::RaisePriority() {
  uv_queue_work(
      &loop_, &first_work_, [](uv_work_t*) {}, [](uv_work_t*, int) {});
  posix::RaiseThreadPriority();
}

void Server::Loop::OnTick(uv_timer_t* timer) { static_cast<Loop*>(timer->data)->Tick(); }

void Server::Loop::Tick() {
  {
    const LoopMonitor::Piece piece(monitor_, LoopWork::kTick);
    TickSessions();
    TickStrangers();
    ticket_keys_.Retire(posix::SinceBootMs());
  }
  if (job_ != nullptr) ReportLacking();
  WatchFleet();
  if (waits_ && !in_step_) LookWhetherToWait();
  if (events_.alive) events_.alive(now());
  if (source_->stays()) {
    LeaveJobIfUnused();
    return;
  }
  const bool may_go = (job_ != nullptr && HaveAllParted()) || now() >= farewell_deadline_ms_;
  if (finished_ && IsPoolIdle() && may_go) StopLoop();
}

// Tells the operator of devices that lack something, before the round's result does: as soon as
// there is one, and then each time that there are twice as many.
void Server::Loop::ReportLacking() {
  const LackCounts lacking = job_->Lacking();
  if (lacking.devices == 0 || lacking.devices < 2 * lacking_reported_) return;
  lacking_reported_ = lacking.devices;
  events_.info(fmt::format("told to wait so far: {}", DescribeLacks(lacking)));
}

// Takes a step of the job in the pool, where the log is written, then calls `then` on the loop. The
// job is suspended, and there is one step at a time.
void Server::Loop::TakeStep(std::function<void()> step, void (Loop::*then)()) {
  step_ = std::move(step);
  after_step_ = then;
  in_step_ = true;
  fleet_of_step_ = fleet_;
  step_work_.data = this;
  uv_queue_work(
      &loop_, &step_work_,
      [](uv_work_t* work) {
        auto* self = static_cast<Loop*>(work->data);
        try {
          self->step_();
        } catch (...) {
          self->step_failure_ = std::current_exception();
        }
      },
      [](uv_work_t* work, int) { static_cast<Loop*>(work->data)->OnStepTaken(); });
}

void Server::Loop::OnStepTaken() {
  const LoopMonitor::Piece piece(monitor_, LoopWork::kRound);
  in_step_ = false;
  try {
    if (step_failure_) std::rethrow_exception(step_failure_);
    (this->*after_step_)();
  } catch (...) {
    Fail(std::current_exception());
  }
}

void Server::Loop::RunInPool(PoolWork work) {
  if (must_stop_) return;
  pool_work_.push_back(std::move(work));
  StartPoolWork();
}

void Server::Loop::StartPoolWork() {
  if (!is_running_ || in_pool_work_ || pool_work_.empty()) return;
  in_pool_work_ = true;
  pool_work_handle_.data = this;
  uv_queue_work(
      &loop_, &pool_work_handle_,
      [](uv_work_t* work) {
        auto* self = static_cast<Loop*>(work->data);
        try {
          self->pool_work_.front().run(self->must_stop_);
        } catch (...) {
          self->pool_failure_ = std::current_exception();
        }
      },
      [](uv_work_t* work, int) { static_cast<Loop*>(work->data)->OnPoolWorkDone(); });
}

void Server::Loop::OnPoolWorkDone() {
  in_pool_work_ = false;
  const PoolWork done = std::move(pool_work_.front());
  pool_work_.pop_front();
  if (must_stop_) pool_work_.clear();
  if (pool_failure_) {
    pool_work_.clear();
    Fail(pool_failure_);
    return;
  }
  {
    const LoopMonitor::Wait wait(monitor_);
    done.then();
  }
  StartPoolWork();
}

void Server::Loop::Tell(ServerPhase::Kind kind, const std::string& reason) {
  phase_.kind = kind;
  phase_.round = job_->round();
  phase_.attempt = job_->attempt();
  phase_.end = job_->end();
  phase_.reason = reason;
  if (events_.on_phase) events_.on_phase(phase_);
}

void Server::Loop::OpenRound() {
  TakeStep([this] { job_->OpenRound(); }, &Loop::OnRoundOpened);
}

void Server::Loop::OnRoundOpened() {
  if (stopping_) return;
  if (job_->phase() == Job::Phase::kFinished) {
    Finish();
    return;
  }
  opened_ = true;
  if (job_->phase() == Job::Phase::kIdle) {
    Wait();
  } else {
    AnnounceAttempt();
  }
  EndJobIfAsked();
}

// Until the fleet changes, enough devices connect, or the job is resumed. The fleet may have
// changed since the job's last step began.
void Server::Loop::Wait() {
  waits_ = true;
  job_->Proceed();
  AskForHeld();
  phase_.goes_on = false;
  Tell(ServerPhase::Kind::kWaiting, job_->waiting_for());
  if (fleet_ != fleet_of_step_) EndWait();
}

// The next attempt begins now, if it can.
void Server::Loop::EndWait() {
  waits_ = false;
  BeginSchedule();
  job_->Suspend();
  OpenRound();
}

// A cohort was drawn. The attempt begins at the time of the last publication, not when this line is
// reached, so that no load shifts the times of later attempts.
void Server::Loop::AnnounceAttempt() {
  ShiftSchedule();
  deadline_ms_ = publication_ms_ + options_.round_timeout_ms;
  publication_ms_ = deadline_ms_ + options_.release_allowance_ms;
  awaits_look_ = job_->config().plan.timed_reports;
  RememberDeadline();
  StartRoundTimer();
  job_->Proceed();
  AskForHeld();
  phase_.goes_on = false;
  phase_.drawn = static_cast<uint32_t>(job_->cohort().size());
  phase_.opened_ms = WallClockMs();
  phase_.deadline_ms =
      phase_.opened_ms + static_cast<int64_t>(deadline_ms_) - static_cast<int64_t>(now());
  Tell(ServerPhase::Kind::kOpen);
}

// The publication of the closed attempt, or the end of the open one. A timed attempt
// (Plan::timed_reports) may end before its deadline, but only at one look, whose time is set
// beforehand: at the last report it would tell how long the last update took to travel and to
// decode.
uint64_t Server::Loop::NextRoundTimeMs() const {
  if (awaits_publication_) return publication_ms_;
  return awaits_look_ ? deadline_ms_ - options_.round_timeout_ms / 6 : deadline_ms_;
}

void Server::Loop::StartRoundTimer() {
  const uint64_t at_ms = NextRoundTimeMs();
  uv_update_time(&loop_);
  Check(uv_timer_start(&round_timer_, OnRoundTime, at_ms > now() ? at_ms - now() : 0, 0), "timer");
}

// The schedule begins now.
void Server::Loop::BeginSchedule() {
  uv_update_time(&loop_);
  slept_ms_ = std::max(slept_ms_, monitor_.slept_ms());
  publication_ms_ = now();
}

// Moves the schedule by what the server has slept since it was made, or moved last. Returns that.
// Nothing else moves it: see lemma 9 in round/job.cc.
uint64_t Server::Loop::ShiftSchedule() {
  const uint64_t slept_ms = std::max(slept_ms_, monitor_.slept_ms());
  const uint64_t shift_ms = slept_ms - slept_ms_;
  slept_ms_ = slept_ms;
  deadline_ms_ += shift_ms;
  publication_ms_ += shift_ms;
  return shift_ms;
}

// True if the time that has come is to come later, because the server could not receive meanwhile.
bool Server::Loop::Extend() {
  const uint64_t shift_ms = ShiftSchedule();
  if (shift_ms == 0) return false;
  StartRoundTimer();
  events_.info(
      fmt::format("this server was not run for {:.1f} s; round {} attempt {} and its "
                  "release come so much later. Was the process stopped, or its machine paused?",
                  1e-3 * static_cast<double>(shift_ms), job_->round() + 1, job_->attempt() + 1));
  if (awaits_publication_) return true;
  phase_.deadline_ms += static_cast<int64_t>(shift_ms);
  phase_.goes_on = true;
  Tell(ServerPhase::Kind::kOpen);
  return true;
}

// NextRoundTimeMs() has come.
void Server::Loop::OnRoundTime(uv_timer_t* timer) {
  auto* self = static_cast<Loop*>(timer->data);
  if (self->Extend()) return;
  if (self->awaits_publication_) {
    self->Publish();
  } else if (std::exchange(self->awaits_look_, false) && !self->job_->IsComplete()) {
    self->StartRoundTimer();
  } else {
    self->CloseRound();
  }
}

void Server::Loop::CloseRound() {
  if (in_step_ || awaits_publication_ || waits_ || finished_ || stopping_) return;
  job_->Suspend();
  Tell(ServerPhase::Kind::kClosed);
  closed_ms_ = WallClockMs();
  TakeStep([this] { outcome_ = job_->CloseRound(); }, &Loop::OnRoundClosed);
}

void Server::Loop::OnRoundClosed() {
  awaits_publication_ = true;
  ShiftSchedule();
  uv_update_time(&loop_);
  const bool early = job_->config().close_early();
  if (!early && now() > publication_ms_) outcome_.late_ms = now() - publication_ms_;
  if (early || outcome_.late_ms > 0 || stopping_) {
    BeginSchedule();
    Publish();
  } else {
    StartRoundTimer();
  }
}

// What was closed becomes visible: the next attempt opens, or the job ends. A server that stops
// tells its operator only; a later start opens the next attempt.
void Server::Loop::Publish() {
  awaits_publication_ = false;
  if (outcome_.released) job_->ShowRelease();
  outcome_.traffic = std::exchange(traffic_, {});
  outcome_.opened_ms = phase_.opened_ms;
  outcome_.closed_ms = closed_ms_;
  outcome_.published_ms = WallClockMs();
  events_.on_outcome(outcome_);
  if (stopping_) return;
  if (outcome_.released && MustEndJob()) {
    EndJobIfAsked();
  } else if (outcome_.released) {
    OpenRound();
  } else if (job_->phase() == Job::Phase::kFinished) {
    Finish();
  } else if (job_->phase() == Job::Phase::kIdle) {
    Wait();
  } else {
    AnnounceAttempt();
  }
  EndJobIfAsked();
}

void Server::Loop::Fail(const std::exception_ptr& failure) {
  if (!failure_) failure_ = failure;
  StopLoop();
}

void Server::Loop::OnSignal(uv_signal_t* signal, int number) {
  auto* self = static_cast<Loop*>(signal->data);
  self->signal_ = number;
  self->events_.info(fmt::format("signal {}: stopping; a later start goes on here", number));
  self->StopLoop();
}

// Closes everything; uv_run() returns when the last handle is closed and the pool is idle.
void Server::Loop::StopLoop() {
  must_stop_ = signal_ != 0 || failure_ != nullptr;
  if (stopping_) return;
  stopping_ = true;
  if (awaits_publication_) Publish();
  std::vector<Client*> clients;
  for (const auto& [id, client] : clients_) clients.push_back(client);
  ForgetUndecoded();
  for (Client* client : clients) Close(*client);
  monitor_.Stop();
  if (guest_.run) {
    uv_close(reinterpret_cast<uv_handle_t*>(&guest_poll_), nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&guest_timer_), nullptr);
  }
  for (uv_handle_t* handle :
       {reinterpret_cast<uv_handle_t*>(&first_stream_), reinterpret_cast<uv_handle_t*>(&listening_),
        reinterpret_cast<uv_handle_t*>(&turn_), reinterpret_cast<uv_handle_t*>(&busy_),
        reinterpret_cast<uv_handle_t*>(&tick_), reinterpret_cast<uv_handle_t*>(&delay_),
        reinterpret_cast<uv_handle_t*>(&round_timer_), reinterpret_cast<uv_handle_t*>(&interrupt_),
        reinterpret_cast<uv_handle_t*>(&terminate_)}) {
    if (!uv_is_closing(handle)) uv_close(handle, nullptr);
  }
  listener_.reset();
}

NetworkFigures Server::Loop::Figures() const {
  NetworkFigures figures = figures_;
  figures.connections = admission_.size();
  figures.max_connections = admission_.limits().connections;
  figures.handshakes = admission_.handshakes();
  figures.max_handshakes = admission_.limits().handshakes;
  figures.sessions = by_device_.size();
  figures.held = held_.size();
  figures.loop_stall_ms_max = monitor_.longest_turn_ms();
  figures.loop_cpu_ms_max = monitor_.longest_cpu_ms();
  for (int work = 0; work < kLoopWorks; ++work) {
    const auto kind = static_cast<LoopWork>(work);
    figures.work_ms_max.emplace_back(LoopMonitor::NameOf(kind), monitor_.longest_work_ms(kind));
  }
  return figures;
}

Server::Server(SharedDevices devices, const ServerOptions& options, const ServerEvents& events)
    : loop_(std::make_unique<Loop>(std::move(devices), options, events)) {}

Server::~Server() = default;

void Server::Listen() { loop_->Listen(); }

uint16_t Server::port() const { return loop_->port(); }

bool Server::Run(JobSource& jobs, Job* first) { return loop_->Run(jobs, first); }

void Server::Remember(SharedFormerKeys former) {
  std::unordered_map<uint64_t, uint32_t> handles = FindHandles({}, {}, former.get()).former;
  loop_->Remember(std::move(former), std::move(handles));
}

void Server::RunInPool(PoolWork work) { loop_->RunInPool(std::move(work)); }

void Server::Host(LoopGuest guest) { loop_->Host(std::move(guest)); }

int Server::signal() const { return loop_->signal(); }
NetworkFigures Server::Figures() const { return loop_->Figures(); }

}  // namespace sotto::server
