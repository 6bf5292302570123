#include "net/server.h"

#include <csignal>
#include <exception>
#include <fmt/format.h>
#include <set>
#include <stdexcept>
#include <uv.h>
#include <vector>

#include "sotto/keys.h"
#include "sotto/posix/port.h"

namespace sotto::server {
namespace {

constexpr int kBacklog = 1024;
constexpr uint64_t kTickMs = 200;
constexpr uint64_t kLastWordsMs = 2000;

void Check(int error, const std::string& what) {
  if (error < 0) throw std::runtime_error(fmt::format("{}: {}", what, uv_strerror(error)));
}

}  // namespace

class Server::Loop {
 public:
  Loop(Job& job, const DeviceRegistry& devices, const ServerOptions& options,
       const ServerEvents& events);
  ~Loop();

  void Listen();
  uint16_t port() const { return port_; }
  bool Run();

 private:
  // One accepted connection. Lives until its handle is closed and no work refers to it.
  struct Peer {
    Peer(Loop& owner, uint64_t now_ms)
        : loop(owner), connection(owner.tls_, owner.options_.limits, now_ms) {}
    Loop& loop;
    uv_tcp_t handle{};
    uv_write_t write{};
    uv_work_t work{};
    Connection connection;
    std::vector<char> read_buffer = std::vector<char>(4096);
    std::vector<uint8_t> write_buffer;
    Reply reply;
    uint32_t device = 0;
    uint64_t closed_since_ms = 0;  // 0: the connection is open
    bool writing = false;
    uint64_t write_deadline_ms = 0;  // while writing
    bool working = false;
    bool closing = false;
    bool closed = false;
  };

  static Status FindKey(void* context, ByteSpan identity, Key* psk);
  static void OnConnection(uv_stream_t* listener, int status);
  static void OnTick(uv_timer_t* timer);
  static void OnSignal(uv_signal_t* signal, int number);

  void Accept();
  void Pump(Peer& peer);
  void StartWrite(Peer& peer);
  void StartReading(Peer& peer);
  void Answer(Peer& peer);
  void AnswerInPool(Peer& peer);
  void Respond(Peer& peer);
  void Close(Peer& peer);
  void Reap(Peer& peer);
  void Tick();
  void OpenRound();
  void AnnounceAttempt();
  void CloseRound();
  void OnRoundClosed();
  void Finish();
  void StopLoop();
  void Fail();
  uint64_t now() const { return uv_now(&loop_); }

  Job& job_;
  const DeviceRegistry& devices_;
  ServerOptions options_;
  ServerEvents events_;
  TlsContext tls_;

  mutable uv_loop_t loop_{};
  uv_tcp_t listener_{};
  uv_timer_t tick_{};
  uv_signal_t interrupt_{};
  uv_signal_t terminate_{};
  uint16_t port_ = 0;

  std::set<Peer*> peers_;
  std::set<uint32_t> to_be_told_;  // devices that have not heard yet that the job is done
  uv_work_t round_work_{};
  bool closing_round_ = false;
  RoundOutcome outcome_;
  std::exception_ptr failure_;
  uint64_t round_deadline_ms_ = 0;
  uint64_t farewell_deadline_ms_ = 0;
  bool opened_ = false;  // a round, ever
  bool finished_ = false;
  bool stopping_ = false;
};

Server::Loop::Loop(Job& job, const DeviceRegistry& devices, const ServerOptions& options,
                   const ServerEvents& events)
    : job_(job), devices_(devices), options_(options), events_(events) {
  if (Status s = tls_.InitServer(posix::SystemPort(), {FindKey, this}); s != Status::kOk) {
    throw std::runtime_error(fmt::format("setting TLS up failed: {}", StatusName(s)));
  }
  Check(uv_loop_init(&loop_), "starting the event loop");
  loop_.data = this;
}

Server::Loop::~Loop() {
  // Run() has closed all handles; without it there may be a listener.
  uv_walk(
      &loop_,
      [](uv_handle_t* handle, void*) {
        if (!uv_is_closing(handle)) uv_close(handle, nullptr);
      },
      nullptr);
  uv_run(&loop_, UV_RUN_DEFAULT);
  for (Peer* peer : peers_) delete peer;
  uv_loop_close(&loop_);
}

Status Server::Loop::FindKey(void* context, ByteSpan identity, Key* psk) {
  const auto* self = static_cast<const Loop*>(context);
  const std::string name(reinterpret_cast<const char*>(identity.data()), identity.size());
  const uint32_t index = self->devices_.Find(name);
  if (index == self->devices_.size()) return Status::kPeerRefused;
  return DeriveTlsKey(self->devices_[index].secret, psk);
}

void Server::Loop::Listen() {
  sockaddr_storage address{};
  const std::string where = fmt::format("{} port {}", options_.host, options_.port);
  if (uv_ip4_addr(options_.host.c_str(), options_.port, reinterpret_cast<sockaddr_in*>(&address)) !=
      0) {
    Check(uv_ip6_addr(options_.host.c_str(), options_.port,
                      reinterpret_cast<sockaddr_in6*>(&address)),
          fmt::format("--listen {}: not a numeric address", options_.host));
  }
  Check(uv_tcp_init(&loop_, &listener_), "creating a socket");
  listener_.data = this;
  Check(uv_tcp_bind(&listener_, reinterpret_cast<sockaddr*>(&address), 0), "listening on " + where);
  Check(uv_listen(reinterpret_cast<uv_stream_t*>(&listener_), kBacklog, OnConnection),
        "listening on " + where + " (choose another port with --listen)");
  int size = sizeof(address);
  Check(uv_tcp_getsockname(&listener_, reinterpret_cast<sockaddr*>(&address), &size),
        "reading the port");
  const uint16_t network_order = reinterpret_cast<sockaddr_in*>(&address)->sin_port;
  port_ = static_cast<uint16_t>(network_order << 8 | network_order >> 8);
}

bool Server::Loop::Run() {
  Check(uv_timer_init(&loop_, &tick_), "timer");
  Check(uv_signal_init(&loop_, &interrupt_), "signal");
  Check(uv_signal_init(&loop_, &terminate_), "signal");
  tick_.data = interrupt_.data = terminate_.data = this;
  Check(uv_timer_start(&tick_, OnTick, kTickMs, kTickMs), "timer");
  Check(uv_signal_start(&interrupt_, OnSignal, SIGINT), "signal");
  Check(uv_signal_start(&terminate_, OnSignal, SIGTERM), "signal");
  uv_update_time(&loop_);
  try {
    OpenRound();
  } catch (...) {
    Fail();
  }
  uv_run(&loop_, UV_RUN_DEFAULT);
  if (failure_) std::rethrow_exception(failure_);
  return finished_;
}

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

// Moves a connection on as far as it goes: answers, writes, reads or closes. A peer that has not
// taken its last answer gets no other, and nothing more is read from it.
void Server::Loop::Pump(Peer& peer) {
  if (peer.closing) return;
  if (peer.connection.state() == Connection::State::kAnswering && !peer.working) Answer(peer);
  if (peer.closing) return;
  if (!peer.writing && !peer.connection.output().empty()) StartWrite(peer);
  const bool is_closed = peer.connection.state() == Connection::State::kClosed;
  if (is_closed && peer.closed_since_ms == 0) peer.closed_since_ms = now();
  // Nothing is read before the last answer is on its way: a peer that does not read what it asked
  // for cannot make the server hold more than that.
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
  // Decoding an update takes time; whatever else a device asks is answered here.
  if (peer.connection.request().kind == Request::Kind::kUpdateChunk) {
    AnswerInPool(peer);
    return;
  }
  peer.reply = job_.Answer(peer.device, peer.connection.request());
  Respond(peer);
}

void Server::Loop::AnswerInPool(Peer& peer) {
  peer.working = true;
  peer.work.data = &peer;
  uv_queue_work(
      &loop_, &peer.work,
      [](uv_work_t* work) {
        auto* p = static_cast<Peer*>(work->data);
        p->reply = p->loop.job_.Answer(p->device, p->connection.request());
      },
      [](uv_work_t* work, int) {
        auto* p = static_cast<Peer*>(work->data);
        p->working = false;
        if (!p->closing) p->loop.Respond(*p);
        p->loop.Pump(*p);
        p->loop.Reap(*p);
      });
}

void Server::Loop::Respond(Peer& peer) {
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
  if (job_.IsComplete()) CloseRound();
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

// Frees a peer once nothing refers to it any more.
void Server::Loop::Reap(Peer& peer) {
  if (!peer.closed || peer.working || peer.writing) return;
  peers_.erase(&peer);
  delete &peer;
}

void Server::Loop::OnTick(uv_timer_t* timer) { static_cast<Loop*>(timer->data)->Tick(); }

void Server::Loop::Tick() {
  const std::vector<Peer*> peers(peers_.begin(), peers_.end());
  for (Peer* peer : peers) {
    if (peer->closing) continue;
    peer->connection.OnTime(now());
    if (peer->writing && now() >= peer->write_deadline_ms) {
      Close(*peer);
    } else {
      Pump(*peer);
    }
    // A peer that does not take the last words is left without them.
    if (!peer->closing && peer->closed_since_ms != 0 &&
        now() >= peer->closed_since_ms + kLastWordsMs) {
      Close(*peer);
    }
  }
  if (finished_ && (to_be_told_.empty() || now() >= farewell_deadline_ms_)) StopLoop();
  if (!finished_ && !stopping_ && !closing_round_ && now() >= round_deadline_ms_) CloseRound();
}

void Server::Loop::OpenRound() {
  if (!job_.OpenRound()) {
    Finish();
    return;
  }
  opened_ = true;
  AnnounceAttempt();
}

// A cohort was drawn: its time runs from here.
void Server::Loop::AnnounceAttempt() {
  round_deadline_ms_ = now() + options_.round_timeout_ms;
  events_.info(fmt::format("round {} attempt {}: {} devices drawn", job_.round() + 1,
                           job_.attempt() + 1, job_.cohort().size()));
}

void Server::Loop::CloseRound() {
  if (closing_round_ || finished_ || stopping_) return;
  closing_round_ = true;
  round_work_.data = this;
  uv_queue_work(
      &loop_, &round_work_,
      [](uv_work_t* work) {
        auto* self = static_cast<Loop*>(work->data);
        try {
          self->outcome_ = self->job_.CloseRound();
        } catch (...) {
          self->failure_ = std::current_exception();
        }
      },
      [](uv_work_t* work, int) { static_cast<Loop*>(work->data)->OnRoundClosed(); });
}

void Server::Loop::OnRoundClosed() {
  closing_round_ = false;
  if (failure_) {
    StopLoop();
    return;
  }
  try {
    if (outcome_.released) {
      events_.on_release(outcome_);
      if (!stopping_) OpenRound();
      return;
    }
    events_.info(fmt::format(
        "round {} attempt {}: {} of {} devices came by, too few; nothing released, nothing charged",
        outcome_.round + 1, outcome_.attempt + 1, outcome_.heard_of, devices_.size()));
    if (job_.phase() == Job::Phase::kFinished) {
      Finish();
    } else {
      AnnounceAttempt();
    }
  } catch (...) {
    Fail();
  }
}

void Server::Loop::Finish() {
  finished_ = true;
  // Who is to be told is not known to a server that started on a finished job: then anyone.
  for (uint32_t device = 0; !opened_ && device < devices_.size(); ++device) {
    to_be_told_.insert(device);
  }
  farewell_deadline_ms_ = now() + options_.farewell_ms;
  events_.info(job_.finish_reason());
}

void Server::Loop::Fail() {
  failure_ = std::current_exception();
  StopLoop();
}

void Server::Loop::OnSignal(uv_signal_t* signal, int number) {
  auto* self = static_cast<Loop*>(signal->data);
  self->events_.info(fmt::format("signal {}: stopping; a later start goes on here", number));
  self->StopLoop();
}

// Closes everything; uv_run() returns when the last handle is closed and the pool is idle.
void Server::Loop::StopLoop() {
  if (stopping_) return;
  stopping_ = true;
  const std::vector<Peer*> peers(peers_.begin(), peers_.end());
  for (Peer* peer : peers) Close(*peer);
  for (uv_handle_t* handle :
       {reinterpret_cast<uv_handle_t*>(&listener_), reinterpret_cast<uv_handle_t*>(&tick_),
        reinterpret_cast<uv_handle_t*>(&interrupt_), reinterpret_cast<uv_handle_t*>(&terminate_)}) {
    if (!uv_is_closing(handle)) uv_close(handle, nullptr);
  }
}

Server::Server(Job& job, const DeviceRegistry& devices, const ServerOptions& options,
               const ServerEvents& events)
    : loop_(std::make_unique<Loop>(job, devices, options, events)) {}

Server::~Server() = default;

void Server::Listen() { loop_->Listen(); }

uint16_t Server::port() const { return loop_->port(); }

bool Server::Run() { return loop_->Run(); }

}  // namespace sotto::server
