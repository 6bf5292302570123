// The connections of a server: see loop.h. Part of sotto::server/net.
#include <fmt/format.h>
#include <memory>

#include "net/loop.h"

namespace sotto::server {

void Server::Loop::OnConnection(uv_stream_t* listener, int status) {
  auto* self = static_cast<Loop*>(listener->data);
  if (status == 0) self->Accept();
}

void Server::Loop::Accept() {
  auto peer = std::make_unique<Peer>(*this, now());
  if (uv_tcp_init(&loop_, &peer->handle) != 0) return;
  Peer* raw = peer.release();
  raw->handle.data = raw;
  peers_.insert(raw);
  if (uv_accept(reinterpret_cast<uv_stream_t*>(&listener_),
                reinterpret_cast<uv_stream_t*>(&raw->handle)) != 0 ||
      peers_.size() > options_.max_connections || stopping_) {
    Close(*raw);
    return;
  }
  uv_tcp_nodelay(&raw->handle, 1);
  StartReading(*raw);
}

void Server::Loop::StartReading(Peer& peer) {
  uv_read_start(
      reinterpret_cast<uv_stream_t*>(&peer.handle),
      [](uv_handle_t* handle, size_t, uv_buf_t* buffer) {
        auto* p = static_cast<Peer*>(handle->data);
        *buffer = uv_buf_init(p->read_buffer.data(), static_cast<unsigned>(p->read_buffer.size()));
      },
      [](uv_stream_t* stream, ssize_t got, const uv_buf_t* buffer) {
        auto* p = static_cast<Peer*>(stream->data);
        if (got == 0) return;
        const auto* bytes = reinterpret_cast<const uint8_t*>(buffer->base);
        p->connection.OnBytes({bytes, got < 0 ? 0 : static_cast<size_t>(got)}, p->loop.now());
        p->loop.Pump(*p);
      });
}

// Advances a connection as far as possible: answers, writes, reads or closes. A peer that has not
// taken its last answer gets no further answer, and nothing more is read from it.
void Server::Loop::Pump(Peer& peer) {
  if (peer.closing) return;
  if (peer.connection.state() == Connection::State::kAnswering && !peer.working) Answer(peer);
  if (peer.closing) return;
  if (!peer.writing && !peer.connection.output().empty()) StartWrite(peer);
  const bool is_closed = peer.connection.state() == Connection::State::kClosed;
  if (is_closed && peer.closed_since_ms == 0) peer.closed_since_ms = now();
  // Nothing is read before the last answer is written. So a peer that does not read its answer
  // cannot make the server hold more than that answer.
  if (is_closed && !peer.writing) {
    Close(peer);
  } else if (peer.connection.wants_input() && !peer.writing) {
    StartReading(peer);
  } else {
    uv_read_stop(reinterpret_cast<uv_stream_t*>(&peer.handle));
  }
}

void Server::Loop::StartWrite(Peer& peer) {
  const ByteSpan output = peer.connection.output();
  peer.write_buffer.assign(output.begin(), output.end());
  peer.connection.Sent(output.size(), now());
  uv_buf_t buffer = uv_buf_init(reinterpret_cast<char*>(peer.write_buffer.data()),
                                static_cast<unsigned>(peer.write_buffer.size()));
  peer.write.data = &peer;
  peer.writing = true;
  peer.write_deadline_ms = now() + options_.limits.request_timeout_ms;
  const int error = uv_write(&peer.write, reinterpret_cast<uv_stream_t*>(&peer.handle), &buffer, 1,
                             [](uv_write_t* write, int status) {
                               auto* p = static_cast<Peer*>(write->data);
                               p->writing = false;
                               if (status < 0) {
                                 p->loop.Close(*p);
                               } else {
                                 p->loop.Pump(*p);
                               }
                               p->loop.Reap(*p);
                             });
  if (error < 0) {
    peer.writing = false;
    Close(peer);
  }
}

void Server::Loop::Answer(Peer& peer) {
  peer.device = devices_.Find(peer.connection.device());
  // Decoding an update takes time. All other requests are answered here.
  if (peer.connection.request().kind == Request::Kind::kUpdateChunk) {
    AnswerInPool(peer);
    return;
  }
  AskJob(peer);
  Respond(peer);
}

// Runs on the loop or in the pool.
void Server::Loop::AskJob(Peer& peer) {
  try {
    peer.reply = peer.loop.job_.Answer(peer.device, peer.connection.request());
  } catch (...) {
    peer.failure = std::current_exception();
  }
}

void Server::Loop::AnswerInPool(Peer& peer) {
  peer.working = true;
  peer.work.data = &peer;
  uv_queue_work(
      &loop_, &peer.work, [](uv_work_t* work) { AskJob(*static_cast<Peer*>(work->data)); },
      [](uv_work_t* work, int) {
        auto* p = static_cast<Peer*>(work->data);
        p->working = false;
        p->loop.Respond(*p);
        p->loop.Pump(*p);
        p->loop.Reap(*p);
      });
}

void Server::Loop::Respond(Peer& peer) {
  if (peer.failure) {
    Fail(peer.failure);
    return;
  }
  if (job_.IsComplete()) CloseRound();
  if (peer.closing) return;
  if (peer.reply.kind == Reply::Kind::kDone) {
    to_be_told_.erase(peer.device);
  } else {
    to_be_told_.insert(peer.device);
  }
  if (peer.reply.kind == Reply::Kind::kError) {
    events_.detail(fmt::format("{}: refused with error {}", peer.connection.device(),
                               static_cast<int>(peer.reply.code)));
  }
  peer.connection.Respond(peer.reply, now());
}

void Server::Loop::Close(Peer& peer) {
  if (peer.closing) return;
  peer.closing = true;
  if (!peer.connection.close_reason().empty()) {
    events_.detail(fmt::format(
        "{}: {}", peer.connection.device().empty() ? "a stranger" : peer.connection.device(),
        peer.connection.close_reason()));
  }
  uv_close(reinterpret_cast<uv_handle_t*>(&peer.handle), [](uv_handle_t* handle) {
    auto* p = static_cast<Peer*>(handle->data);
    p->closed = true;
    p->loop.Reap(*p);
  });
}

// Frees a peer if nothing refers to it any more.
void Server::Loop::Reap(Peer& peer) {
  if (!peer.closed || peer.working || peer.writing) return;
  peers_.erase(&peer);
  delete &peer;
}

}  // namespace sotto::server
