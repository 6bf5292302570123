// Answers that wait for work: see loop.h. Part of sotto::server/net.
//
// A device may let the server hold the answer to its Hello (Hello.hold_ms). Then it learns of a
// round when that opens, and not with its next poll. In two steps: when an attempt has opened, all
// held requests are put to the job, which notes who checks in; only then is any of them answered.
// So nobody outside the server can know the draw before all held devices have checked in
// (round/attempt.h).
#include <algorithm>
#include <new>

#include "net/loop.h"
#include "sotto/messages.h"

namespace sotto::server {
namespace {

constexpr uint64_t kAnswerBudgetNs = 5'000'000;  // of one turn

}  // namespace

// Whether the server has nothing to tell the device now and may hold its answer. If a device that
// stays waits for something other than a round, the server first answers once, at once, with that;
// the device then asks again.
bool Server::Loop::MayHold(const Session& session) const {
  const Request& request = session.connection.request();
  return !session.failure && request.kind == Request::Kind::kHello && request.hold_ms > 0 &&
         session.reply.kind == Reply::Kind::kWait && !IsNews(session) && !stopping_;
}

bool Server::Loop::IsNews(const Session& session) const {
  const Request& request = session.connection.request();
  const bool stays = (request.abilities.features & kFeatureStays) != 0;
  const bool is_release =  // between jobs; in one, a device that wants each round's polls
      session.reply.state != WaitState::kRounds && session.reply.release != session.told_release;
  return stays && request.hold_ms > 0 && (session.reply.state != session.told || is_release);
}

void Server::Loop::Hold(Client& client) {
  Session& session = *client.session;
  const uint64_t hold_ms = std::min<uint64_t>(session.connection.request().hold_ms, kMostHoldMs);
  session.held_until_ms = now() + hold_ms;
  held_.insert(client.id);
  SignAnswer(client);
  CloseIfComplete();  // this may be the last device that had to check in
}

// Something has come, after which all may have reported.
void Server::Loop::CloseIfComplete() {
  if (job_ == nullptr) return;
  if (!job_->config().plan.timed_reports && job_->IsComplete()) CloseRound();
}

// The job has something new to say: to all held devices at once. What they wait for is news, too:
// it is the same for all of them.
void Server::Loop::AskForHeld() {
  std::set<Id> waits_for_else;
  for (const Id id : held_) {
    Client* client = Find(id);
    if (client == nullptr) continue;
    Reply& reply = client->session->reply;
    const WaitState before = reply.state;
    AskJob(*client);
    if (reply.kind != Reply::Kind::kWait || reply.state == before) continue;
    reply.wait_ms = 0;
    waits_for_else.insert(id);
  }
  for (auto held = held_.begin(); held != held_.end();) {
    Client* client = Find(*held);
    if (client != nullptr && MayHold(*client->session) && waits_for_else.count(*held) == 0) {
      ++held;
      continue;
    }
    if (client != nullptr) told_.push_back(*held);
    held = held_.erase(held);
  }
  CloseIfComplete();
}

// Returns true if the budget left answers over.
bool Server::Loop::AnswerTold() {
  const uint64_t end_ns = uv_hrtime() + kAnswerBudgetNs;
  for (; !told_.empty(); told_.pop_front()) {
    if (uv_hrtime() >= end_ns) return true;
    Client* client = Find(told_.front());
    if (client != nullptr) AnswerHeld(*client);
  }
  return false;
}

void Server::Loop::AnswerHeld(Client& client) {
  client.session->held_until_ms = 0;
  try {
    Respond(client);
    Pump(client);
  } catch (const std::bad_alloc&) {
    Close(client, "no memory");
  }
}

// The device has waited as long as it wanted. It asks again at once.
void Server::Loop::EndHold(Client& client) {
  held_.erase(client.id);
  client.session->reply.wait_ms = 0;
  told_.push_back(client.id);
}

}  // namespace sotto::server
