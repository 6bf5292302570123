// A server's jobs, one after the other: see loop.h. Part of sotto::server/net.
#include <algorithm>
#include <utility>

#include "net/loop.h"

namespace sotto::server {

Reply JobSource::AnswerRelease(const Request& /*request*/) {
  Reply reply;
  reply.code = ErrorCode::kBusy;
  return reply;
}

uint32_t JobSource::NewestRelease(const Request& /*hello*/) { return 0; }

Reply JobSource::AnswerCode(const Request& /*request*/) {
  Reply reply;
  reply.code = ErrorCode::kWrongAttempt;
  reply.final = true;
  return reply;
}

// All devices that are connected can take part in its first round. Those whose answer is held since
// an earlier job make themselves heard in this one before that round opens, and learn of it then.
void Server::Loop::Serve(Job& job) {
  job_ = &job;
  finished_ = opened_ = false;
  lacking_reported_ = 0;
  to_be_told_.clear();
  source_->OnBegin();
  BeginSchedule();
  job_->Suspend();
  for (const Id id : held_) {
    const Client* client = Find(id);
    if (client == nullptr) continue;
    (void)job_->Answer(client->session->device, client->session->connection.request());
  }
  if (MustEndJob()) {
    EndJobIfAsked();
  } else {
    OpenRound();
  }
}

// A job that is over goes when nothing refers to it: no step, no answer in the pool or on its way,
// no work that its end began.
void Server::Loop::LeaveJobIfUnused() {
  const auto is_idle = [](const Decoder& decoder) { return decoder.clients.empty(); };
  const bool is_used = in_step_ || !IsPoolIdle() || !told_.empty() || !undecoded_.empty() ||
                       !std::all_of(decoders_.begin(), decoders_.end(), is_idle);
  if (job_ == nullptr || !finished_ || stopping_ || is_used) return;
  job_ = nullptr;
  source_->Leave();
}

// Whether somebody has asked for the job's end. A job that has released a round since then is not
// replaced. Call it while no step is under way.
bool Server::Loop::MustEndJob() const {
  return ending_ && (ending_->kind != Halt::kReplaced || job_->round() == 0);
}

// Its operator ends the job. What was closed is published first, and an open attempt is given up.
void Server::Loop::EndJobIfAsked() {
  if (!ending_ || job_ == nullptr || finished_ || stopping_) return;
  if (in_step_ || awaits_publication_ || !MustEndJob()) return;
  waits_ = awaits_look_ = false;
  uv_timer_stop(&round_timer_);
  job_->Suspend();
  TakeStep([this, end = *std::exchange(ending_, std::nullopt)] { job_->End(end.kind, end.reason); },
           &Loop::OnRoundOpened);
}

void Server::Loop::Finish() {
  finished_ = true;
  ending_.reset();
  job_->Proceed();
  Tell(ServerPhase::Kind::kFinished, job_->finish_reason());
  if (!source_->stays()) {
    BeginFarewell();
    return;
  }
  source_->OnEnd();
  AskForHeld();
}

// Where rounds close early: whether all devices know that the job is done, and none may still fetch
// its model: one that has what it wants ends its connection.
bool Server::Loop::HaveAllParted() const {
  const auto may_fetch = [](const Client* client) { return client->session->was_done; };
  return job_->config().close_early() && to_be_told_.empty() && told_.empty() &&
         std::none_of(sessions_.begin(), sessions_.end(), may_fetch);
}

void Server::Loop::BeginFarewell() {
  if (job_->gave_up()) {
    if (IsPoolIdle()) StopLoop();
    return;
  }
  // A server that started on a finished job does not know which devices to tell: it waits for all.
  for (uint32_t device = 0; !opened_ && device < devices_->size(); ++device) {
    if (devices_->IsEligible(device)) to_be_told_.insert(device);
  }
  farewell_deadline_ms_ = now() + options_.farewell_ms;
  AskForHeld();
}

}  // namespace sotto::server
