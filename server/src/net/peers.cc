// The connections of a server: see loop.h. Part of sotto::server/net.
#include <algorithm>
#include <fmt/format.h>
#include <new>

#include "net/client_hello.h"
#include "net/loop.h"
#include "sotto/model/model_text.h"

namespace sotto::server {
namespace {

constexpr uint64_t kLastWordsMs = 2000;
constexpr int kDelayedPerTurn = 128;
constexpr uint64_t kReadBudgetNs = 10'000'000;  // of one turn; the last request may exceed it

uv_buf_t BufferOf(ByteSpan bytes) {
  auto* const begin = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  return uv_buf_init(begin, static_cast<unsigned>(bytes.size()));
}

}  // namespace

Server::Loop::Peer* Server::Loop::Find(Id id) const {
  const auto found = peers_.find(id);
  return found == peers_.end() || found->second->closing ? nullptr : found->second;
}

void Server::Loop::StartReading(Peer& peer) {
  uv_read_start(
      reinterpret_cast<uv_stream_t*>(&peer.handle),
      [](uv_handle_t* handle, size_t, uv_buf_t* buffer) {
        auto* p = static_cast<Peer*>(handle->data);
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
  auto* peer = static_cast<Peer*>(stream->data);
  if (got == 0) return;
  Loop& loop = peer->loop;
  if (got == UV_ENOBUFS) {
    uv_read_stop(stream);
    if (!peer->session->unread) loop.unread_.push_back(peer->id);
    peer->session->unread = true;
    return;
  }
  const ByteSpan bytes(reinterpret_cast<const uint8_t*>(buffer->base),
                       got < 0 ? 0 : static_cast<size_t>(got));
  try {
    if (peer->session == nullptr) {
      loop.OnStrangerBytes(*peer, bytes);
      return;
    }
    const uint64_t begin_ns = uv_hrtime();
    {
      const LoopMonitor::Piece piece(loop.monitor_, LoopWork::kRequest);
      loop.OnSessionBytes(*peer, bytes);
    }
    loop.read_ns_ += uv_hrtime() - begin_ns;
  } catch (const std::bad_alloc&) {
    loop.Close(*peer, "no memory");
  }
}

void Server::Loop::OnSessionBytes(Peer& peer, ByteSpan bytes) {
  if (bytes.empty() && peer.session->held_until_ms != 0) {
    Close(peer, "left while its answer was held");
    return;
  }
  Connection& connection = peer.session->connection;
  connection.OnBytes(bytes, now());
  if (connection.state() == Connection::State::kHandshake) {
    uv_read_stop(reinterpret_cast<uv_stream_t*>(&peer.handle));
    QueueHandshake(peer);
  } else {
    Pump(peer);
  }
}

// Advances a connection as far as possible: answers, writes, reads or closes. A peer that has not
// taken its last answer gets no further answer, and nothing more is read from it.
void Server::Loop::Pump(Peer& peer) {
  if (peer.closing) return;
  Session& session = *peer.session;
  if (session.connection.state() == Connection::State::kAnswering && !session.working &&
      !session.delayed && session.held_until_ms == 0) {
    AnswerInTime(peer);
  }
  if (peer.closing) return;
  if (!session.writing && !session.connection.output().empty()) StartWrite(peer);
  if (peer.closing) return;
  const bool is_closed = session.connection.state() == Connection::State::kClosed;
  if (is_closed && session.closed_since_ms == 0) session.closed_since_ms = now();
  // Nothing is read before the last answer is written. So a peer that does not read its answer
  // cannot make the server hold more than that answer.
  if (is_closed && !session.writing) {
    Close(peer);
  } else if ((session.connection.wants_input() || session.held_until_ms != 0) && !session.writing) {
    StartReading(peer);
  } else {
    uv_read_stop(reinterpret_cast<uv_stream_t*>(&peer.handle));
  }
}

// Writes what the system takes at once, and the rest when it takes that. A peer that has sent its
// next request already, before it got this answer, waits for another turn of the loop.
void Server::Loop::StartWrite(Peer& peer) {
  Session& session = *peer.session;
  Connection& connection = session.connection;
  auto* const stream = reinterpret_cast<uv_stream_t*>(&peer.handle);
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
  session.write.data = &peer;
  session.writing = true;
  session.write_deadline_ms = now() + options_.limits.request_timeout_ms;
  const int error = uv_write(&session.write, stream, &buffer, 1, [](uv_write_t* write, int status) {
    auto* p = static_cast<Peer*>(write->data);
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
    Close(peer);
  }
}

// Answers now, or when the device's pace allows it.
void Server::Loop::AnswerInTime(Peer& peer) {
  Session& session = *peer.session;
  const uint64_t at_ms = pace_.AnswerAt(session.device, session.connection.request().kind, now());
  if (at_ms <= now()) {
    Answer(peer);
    return;
  }
  ++figures_.delayed;
  session.delayed = true;
  delayed_.emplace(at_ms, peer.id);
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
    Peer* peer = Find(delayed_.begin()->second);
    delayed_.erase(delayed_.begin());
    if (peer == nullptr) continue;
    try {
      peer->session->delayed = false;
      if (peer->session->connection.state() == Connection::State::kAnswering) Answer(*peer);
      Pump(*peer);
    } catch (const std::bad_alloc&) {
      Close(*peer, "no memory");
    }
  }
  StartDelayTimer();
}

void Server::Loop::Answer(Peer& peer) {
  // Decoding an update, with its last bytes, takes time. All other requests are answered here.
  const Request& request = peer.session->connection.request();
  if (request.kind == Request::Kind::kUpdateChunk && request.last) {
    AnswerInPool(peer);
    return;
  }
  AskJob(peer);
  if (MayHold(*peer.session)) {
    Hold(peer);
  } else {
    Respond(peer);
  }
}

// Runs on the loop or in the pool.
void Server::Loop::AskJob(Peer& peer) {
  Session& session = *peer.session;
  try {
    session.reply = peer.loop.job_->Answer(session.device, session.connection.request());
  } catch (...) {
    session.failure = std::current_exception();
  }
}

void Server::Loop::Respond(Peer& peer) {
  Session& session = *peer.session;
  if (session.failure) {
    Fail(session.failure);
    return;
  }
  if (job_->IsComplete()) CloseRound();
  if (peer.closing) return;
  if (session.reply.kind == Reply::Kind::kDone) {
    to_be_told_.erase(session.device);
  } else {
    to_be_told_.insert(session.device);
  }
  if (session.reply.kind == Reply::Kind::kError) LogRefusal(peer);
  session.reply.wait_ms = Jittered(session.reply.wait_ms);
  pace_.OnReply(session.device, session.reply, now());
  session.connection.Respond(session.reply, now());
}

// A device of another model stays out until somebody changes it, so its operator is told.
void Server::Loop::LogRefusal(const Peer& peer) {
  const Connection& connection = peer.session->connection;
  const ErrorCode code = peer.session->reply.code;
  events_.detail(fmt::format("{}: refused: {}", connection.device(), ErrorCodeName(code)));
  if (code != ErrorCode::kModelMismatch) return;
  const auto line = mismatch_lines_.Take(
      fmt::format("{}: refused, it has {}, and the job trains {}; start it with that model",
                  connection.device(), posix::DescribeModelOf(connection.request().model_digest),
                  posix::DescribeModel(*job_->config().model)),
      now());
  if (line) events_.info(*line);
}

// A wait and up to a quarter of it more, so that a fleet does not ask all at once. It depends on
// nothing else.
uint32_t Server::Loop::Jittered(uint32_t wait_ms) {
  return wait_ms + std::uniform_int_distribution<uint32_t>(0, wait_ms / 4)(jitter_);
}

// `reason` is for the log, unless the connection has closed itself for a reason of its own.
void Server::Loop::Close(Peer& peer, const char* reason) {
  if (peer.closing) return;
  peer.closing = true;
  sessions_.erase(&peer);
  held_.erase(peer.id);
  if (peer.session && peer.session->proved) {
    const auto found = by_device_.find(peer.session->device);
    if (found != by_device_.end() && found->second == &peer) {
      by_device_.erase(found);
      if (events_.on_device) events_.on_device(peer.session->device, false);
    }
  } else {
    figures_.failed_handshakes += peer.session ? 1 : 0;
  }
  admission_.Leave(peer.id, now());
  LogClose(peer, reason);
  uv_close(reinterpret_cast<uv_handle_t*>(&peer.handle), [](uv_handle_t* handle) {
    auto* p = static_cast<Peer*>(handle->data);
    p->closed = true;
    p->loop.Reap(*p);
  });
}

// Strangers cannot fill the log.
void Server::Loop::LogClose(const Peer& peer, const char* reason) {
  std::string text = reason;
  if (peer.session && !peer.session->connection.close_reason().empty()) {
    text = peer.session->connection.close_reason();
  }
  if (text.empty()) return;
  if (peer.session && peer.session->proved) {
    events_.detail(fmt::format("{}: {}", peer.session->connection.device(), text));
    return;
  }
  if (const auto line = stranger_lines_.Take("a stranger: " + text, now())) events_.detail(*line);
}

// Frees a peer if nothing refers to it any more.
void Server::Loop::Reap(Peer& peer) {
  if (!peer.closed) return;
  if (peer.session && (peer.session->working || peer.session->writing)) return;
  peers_.erase(peer.id);
  delete &peer;
}

void Server::Loop::TickSessions() {
  const std::vector<Peer*> peers(sessions_.begin(), sessions_.end());
  for (Peer* peer : peers) {
    if (peer->closing) continue;
    Session& session = *peer->session;
    session.connection.OnTime(now());
    const bool is_held = held_.count(peer->id) != 0;
    if (is_held && now() >= session.held_until_ms) EndHold(*peer);
    if (peer->closing) continue;
    if (session.writing && now() >= session.write_deadline_ms) {
      Close(*peer);
    } else if (session.connection.state() != Connection::State::kHandshake) {
      Pump(*peer);
    }
    // A peer that does not take the last bytes in time is closed without them.
    if (!peer->closing && session.closed_since_ms != 0 &&
        now() >= session.closed_since_ms + kLastWordsMs) {
      Close(*peer);
    }
  }
}

}  // namespace sotto::server
