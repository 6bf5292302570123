// The connections of a server: see loop.h. Part of sotto::server/net.
#include <algorithm>
#include <fmt/format.h>
#include <new>

#include "net/client_hello.h"
#include "net/loop.h"

namespace sotto::server {
namespace {

constexpr uint64_t kLastWordsMs = 2000;
constexpr uint64_t kGaveWayMs = 10'000;    // a machine that trains answers later
constexpr uint64_t kAskAtOnceMs = 10'000;  // of a device that was told to ask again at once
constexpr int kDelayedPerTurn = 128;
constexpr uint64_t kReadBudgetNs = 10'000'000;  // of one turn; the last request may exceed it

uv_buf_t BufferOf(ByteSpan bytes) {
  auto* const begin = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  return uv_buf_init(begin, static_cast<unsigned>(bytes.size()));
}

}  // namespace

Server::Loop::Client* Server::Loop::Find(Id id) const {
  const auto found = clients_.find(id);
  return found == clients_.end() || found->second->closing ? nullptr : found->second;
}

void Server::Loop::StartReading(Client& client) {
  uv_read_start(
      reinterpret_cast<uv_stream_t*>(&client.handle),
      [](uv_handle_t* handle, size_t, uv_buf_t* buffer) {
        auto* p = static_cast<Client*>(handle->data);
        auto& bytes = p->loop.read_buffer_;
        // Without a buffer the bytes stay with the system (UV_ENOBUFS).
        if (p->session && p->loop.read_ns_ >= kReadBudgetNs) {
          *buffer = uv_buf_init(nullptr, 0);
          return;
        }
        // A ClientHello that is still partial has fewer bytes than kMaxClientHello.
        const size_t most = p->session ? bytes.size() : kMaxClientHello - p->hello.size();
        *buffer = uv_buf_init(bytes.data(), static_cast<unsigned>(most));
      },
      OnRead);
}

void Server::Loop::OnRead(uv_stream_t* stream, ssize_t got, const uv_buf_t* buffer) {
  auto* client = static_cast<Client*>(stream->data);
  if (got == 0) return;
  Loop& loop = client->loop;
  if (client->session) loop.NoteHeard(*client->session, got);
  if (got == UV_ENOBUFS) {
    uv_read_stop(stream);
    if (!client->session->unread) loop.unread_.push_back(client->id);
    client->session->unread = true;
    return;
  }
  if (client->session && client->session->dismissed) {
    loop.OnDismissedRead(*client, got);
    return;
  }
  const ByteSpan bytes(reinterpret_cast<const uint8_t*>(buffer->base),
                       got < 0 ? 0 : static_cast<size_t>(got));
  try {
    if (client->session == nullptr) {
      loop.OnStrangerBytes(*client, bytes);
      return;
    }
    const uint64_t begin_ns = uv_hrtime();
    {
      const LoopMonitor::Piece piece(loop.monitor_, LoopWork::kRequest);
      loop.OnSessionBytes(*client, bytes);
    }
    loop.read_ns_ += uv_hrtime() - begin_ns;
  } catch (const std::bad_alloc&) {
    loop.Close(*client, "no memory");
  }
}

void Server::Loop::NoteHeard(Session& session, ssize_t got) const {
  const bool has_failed = got < 0 && got != UV_EOF && got != UV_ENOBUFS;
  session.lost = has_failed ? static_cast<int>(got) : 0;
  if (!has_failed) session.heard_ms = now();
  session.ask_by_ms = 0;
}

void Server::Loop::OnSessionBytes(Client& client, ByteSpan bytes) {
  if (client.session->lost != 0 && client.session->proved) {
    Close(client, uv_strerror(client.session->lost));
    return;
  }
  if (bytes.empty() && client.session->held_until_ms != 0) {
    Close(client, "left while its answer was held");
    return;
  }
  Connection& connection = client.session->connection;
  connection.OnBytes(bytes, now());
  if (connection.state() == Connection::State::kHandshake) {
    uv_read_stop(reinterpret_cast<uv_stream_t*>(&client.handle));
    QueueHandshake(client);
  } else {
    Pump(client);
  }
}

// Advances a connection as far as possible: answers, writes, reads or closes. A client that has not
// taken its last answer gets no further answer, and nothing more is read from it.
void Server::Loop::Pump(Client& client) {
  if (client.closing) return;
  Session& session = *client.session;
  if (session.connection.state() == Connection::State::kAnswering && !session.working &&
      !session.delayed && session.held_until_ms == 0) {
    AnswerInTime(client);
  }
  if (client.closing) return;
  if (!session.writing && !session.connection.output().empty()) StartWrite(client);
  if (client.closing) return;
  const bool is_closed = session.connection.state() == Connection::State::kClosed;
  if (is_closed && session.closed_since_ms == 0) session.closed_since_ms = now();
  // Nothing is read before the last answer is written. So a client that does not read its answer
  // cannot make the server hold more than that answer.
  const bool reads = session.connection.wants_input() || session.held_until_ms != 0;
  if (is_closed && !session.writing && !session.dismissed) {
    Close(client);
  } else if ((reads || session.dismissed) && !session.writing) {
    StartReading(client);
  } else {
    uv_read_stop(reinterpret_cast<uv_stream_t*>(&client.handle));
  }
}

// Writes what the system takes at once, and the rest when it takes that. A client that has sent its
// next request already, before it got this answer, waits for another turn of the loop.
void Server::Loop::StartWrite(Client& client) {
  Session& session = *client.session;
  Connection& connection = session.connection;
  auto* const stream = reinterpret_cast<uv_stream_t*>(&client.handle);
  if (connection.state() != Connection::State::kAnswering) {
    uv_buf_t at_once = BufferOf(connection.output());
    const int written = uv_try_write(stream, &at_once, 1);
    if (written > 0) connection.Sent(static_cast<size_t>(written));
    if (connection.output().empty()) return;
  }
  const ByteSpan output = connection.output();
  session.write_buffer.assign(output.begin(), output.end());
  connection.Sent(output.size());
  uv_buf_t buffer = BufferOf({session.write_buffer.data(), session.write_buffer.size()});
  session.write.data = &client;
  session.writing = true;
  session.write_deadline_ms = now() + options_.limits.request_timeout_ms;
  const int error = uv_write(&session.write, stream, &buffer, 1, [](uv_write_t* write, int status) {
    auto* p = static_cast<Client*>(write->data);
    p->session->writing = false;
    p->session->write_buffer = std::vector<uint8_t>();
    try {
      if (status < 0) {
        p->loop.Close(*p);
      } else {
        p->loop.Pump(*p);
      }
    } catch (const std::bad_alloc&) {
      p->loop.Close(*p, "no memory");
    }
    p->loop.Reap(*p);
  });
  if (error < 0) {
    session.writing = false;
    Close(client);
  }
}

// Answers now, or when the device's pace allows it.
void Server::Loop::AnswerInTime(Client& client) {
  Session& session = *client.session;
  const uint64_t at_ms = pace_.AnswerAt(session.device, session.connection.request().kind, now());
  if (at_ms <= now()) {
    Answer(client);
    return;
  }
  ++figures_.delayed;
  session.delayed = true;
  delayed_.emplace(at_ms, client.id);
  StartDelayTimer();
}

void Server::Loop::StartDelayTimer() {
  if (delayed_.empty() || stopping_) return;
  const uint64_t at_ms = delayed_.begin()->first;
  uv_timer_start(
      &delay_, [](uv_timer_t* timer) { static_cast<Loop*>(timer->data)->OnDelayed(); },
      at_ms - std::min(at_ms, now()), 0);
}

void Server::Loop::OnDelayed() {
  const LoopMonitor::Piece piece(monitor_, LoopWork::kRequest);
  for (int answered = 0; answered < kDelayedPerTurn; ++answered) {
    if (delayed_.empty() || delayed_.begin()->first > now()) break;
    Client* client = Find(delayed_.begin()->second);
    delayed_.erase(delayed_.begin());
    if (client == nullptr) continue;
    try {
      client->session->delayed = false;
      if (client->session->connection.state() == Connection::State::kAnswering) Answer(*client);
      Pump(*client);
    } catch (const std::bad_alloc&) {
      Close(*client, "no memory");
    }
  }
  StartDelayTimer();
}

void Server::Loop::Answer(Client& client) {
  // Decoding an update, with its last bytes, takes time. All other requests are answered here.
  const Request& request = client.session->connection.request();
  if (request.kind == Request::Kind::kUpdateChunk && request.last && job_ != nullptr) {
    AnswerInPool(client);
    return;
  }
  AskJob(client);
  if (MayHold(*client.session)) {
    Hold(client);
  } else {
    Respond(client);
  }
}

// Runs on the loop or in the pool.
void Server::Loop::AskJob(Client& client) {
  Session& session = *client.session;
  try {
    const Loop& loop = client.loop;
    const Request& request = session.connection.request();
    if (request.kind == Request::Kind::kGetRelease) {
      session.reply = loop.source_->AnswerRelease(request);
      return;
    }
    const auto poll_ms = static_cast<uint32_t>(loop.options_.poll_interval_ms);
    const bool is_done = !loop.source_->stays() || loop.source_->IsDone();
    if (loop.job_ == nullptr && request.kind == Request::Kind::kHello) {
      loop.source_->CheckReceipt(request.receipt, loop.devices_->NumberOf(session.device));
    }
    session.reply = loop.job_ != nullptr ? loop.job_->Answer(session.device, request)
                                         : AnswerWithoutJob(request, is_done, poll_ms);
    if (session.reply.kind == Reply::Kind::kDone && !is_done) {
      session.reply = AnswerWithoutJob(request, is_done, poll_ms);
    }
    const bool wants_news = (request.abilities.features & kFeatureReleases) != 0;
    if (session.reply.kind == Reply::Kind::kWait && wants_news) {
      session.reply.release = loop.source_->NewestRelease(request);
    }
    const bool is_of_a_code = request.kind == Request::Kind::kGetModel && request.code != 0;
    const bool is_unknown =
        session.reply.kind == Reply::Kind::kError && session.reply.code != ErrorCode::kMalformed;
    if (is_of_a_code && is_unknown) {
      session.reply = loop.source_->AnswerCode(request);
    }
  } catch (...) {
    session.failure = std::current_exception();
  }
}

void Server::Loop::Respond(Client& client) {
  Session& session = *client.session;
  if (session.failure) {
    Fail(session.failure);
    return;
  }
  CloseIfComplete();
  if (client.closing || session.dismissed) return;
  SignAnswer(client);
  const bool stays = session.reply.kind == Reply::Kind::kWait &&
                     session.reply.state == WaitState::kNoJob;  // and is told so
  const bool is_hello = session.connection.request().kind == Request::Kind::kHello;
  const bool is_done = session.reply.kind == Reply::Kind::kDone;
  session.was_done = session.was_done || is_done;
  if (is_done || stays) {
    to_be_told_.erase(session.device);
  } else if (is_hello && !session.was_done) {
    to_be_told_.insert(session.device);
  }
  if (session.reply.kind == Reply::Kind::kError) LogRefusal(client);
  if (session.reply.kind == Reply::Kind::kWait) {
    if (IsNews(session)) session.reply.wait_ms = 0;  // the next Hello may be held
    session.told = session.reply.state;
    session.told_release = session.reply.release;
  }
  if (session.idle && session.reply.kind == Reply::Kind::kWait && session.reply.wait_ms == 0)
    session.ask_by_ms = now() + kAskAtOnceMs;
  session.reply.wait_ms = Jittered(session.reply.wait_ms);
  pace_.OnReply(session.device, session.reply, now());
  const bool is_task = session.reply.kind == Reply::Kind::kTrain;
  const bool is_end = session.reply.kind == Reply::Kind::kAck && session.reply.complete;
  session.connection.Respond(session.reply, now());
  CountMoved(session, is_task, is_end);
}

// A device that got its task over another connection is not counted: a part of what it has moved
// is unknown.
void Server::Loop::CountMoved(Session& session, bool is_task, bool is_end) {
  if (is_task) session.at_task = session.moved;
  session.moved = {session.connection.received(), session.connection.answered(),
                   session.moved.turns + 1};
  if (!is_end || !session.at_task) return;
  const Moved& moved = session.moved;
  const Moved& before = *session.at_task;
  traffic_.devices += 1;
  traffic_.bytes_up += moved.up - before.up;
  traffic_.bytes_down += moved.down - before.down;
  traffic_.turns += moved.turns - before.turns;
  session.at_task.reset();
}

void Server::Loop::LogRefusal(const Client& client) {
  events_.detail(fmt::format("{}: refused: {}", client.session->connection.device(),
                             ErrorCodeName(client.session->reply.code)));
}

// A wait and up to a quarter of it more, so that a fleet does not ask all at once. It depends on
// nothing else.
uint32_t Server::Loop::Jittered(uint32_t wait_ms) {
  return wait_ms + std::uniform_int_distribution<uint32_t>(0, wait_ms / 4)(jitter_);
}

// `reason` is for the log, unless the connection has closed itself and has its own reason.
void Server::Loop::Close(Client& client, const char* reason) {
  if (client.closing) return;
  client.closing = true;
  sessions_.erase(&client);
  held_.erase(client.id);
  if (client.session && client.session->proved) {
    const auto found = by_device_.find(client.session->device);
    if (found != by_device_.end() && found->second == &client) {
      by_device_.erase(found);
      OnEndOfSession(client);
    }
  } else {
    figures_.failed_handshakes += client.session ? 1 : 0;
    if (client.session && client.session->connection.handshake_failure() == Status::kMismatch) {
      Sign(DeviceSign::Kind::kClaim, client);
    }
  }
  admission_.Leave(client.id, now());
  LogClose(client, reason);
  uv_close(reinterpret_cast<uv_handle_t*>(&client.handle), [](uv_handle_t* handle) {
    auto* p = static_cast<Client*>(handle->data);
    p->closed = true;
    p->loop.Reap(*p);
  });
}

// Strangers cannot fill the log.
void Server::Loop::LogClose(const Client& client, const char* reason) {
  std::string text = reason;
  if (client.session && !client.session->connection.close_reason().empty()) {
    text = client.session->connection.close_reason();
  }
  if (text.empty()) return;
  if (client.session && client.session->proved) {
    events_.detail(fmt::format("{}: {}", client.session->connection.device(), text));
    return;
  }
  const auto line = lines_.Take("a stranger: " + text, "", "a stranger: " + text, now());
  if (line) events_.detail(*line);
}

// Frees a client if nothing refers to it any more.
void Server::Loop::Reap(Client& client) {
  if (!client.closed) return;
  if (client.session && (client.session->working || client.session->writing)) return;
  clients_.erase(client.id);
  delete &client;
}

void Server::Loop::TickSessions() {
  const std::vector<Client*> clients(sessions_.begin(), sessions_.end());
  for (Client* client : clients) {
    if (client->closing) continue;
    Session& session = *client->session;
    session.connection.OnTime(now());
    const bool is_held = held_.count(client->id) != 0;
    if (is_held && now() >= session.held_until_ms) EndHold(*client);
    if (client->closing) continue;
    if (session.writing && now() >= session.write_deadline_ms) {
      Close(*client);
    } else if (session.ask_by_ms != 0 && now() >= session.ask_by_ms) {
      const std::string& name = session.connection.device();
      const auto line = lines_.Take("has not asked again", name,
                                    name +
                                        ": was told to ask again at once, and said nothing for "
                                        "10 s: its link is closed. If this comes again, see "
                                        "the device's own log, or start its client again",
                                    now());
      if (line) events_.info(*line);
      Close(*client, "has not asked again");
    } else if (session.connection.state() != Connection::State::kHandshake) {
      Pump(*client);
    }
    // A client that does not take the last bytes in time is closed without them.
    const bool gave_way = session.dismissed && session.proved && !session.writing;
    if (!client->closing && session.closed_since_ms != 0 &&
        now() >= session.closed_since_ms + (gave_way ? kGaveWayMs : kLastWordsMs)) {
      Close(*client);
    }
  }
}

}  // namespace sotto::server
