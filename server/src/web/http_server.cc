#include "web/http_server.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <microhttpd.h>
#include <set>
#include <stdexcept>
#include <string_view>

#include "sotto/posix/acceptor.h"
#include "sotto/posix/descriptor_set.h"
#include "sotto/posix/port.h"

namespace sotto::server {
namespace {

constexpr size_t kMaxConnections = 32;
constexpr size_t kMaxStreams = 16;
static_assert(kMaxStreams < kMaxConnections, "somebody can always make room");
// With those that were told to make room and are not closed yet.
constexpr unsigned kMaxSockets = 4 * kMaxConnections;
constexpr unsigned kIdleSeconds = 30;
constexpr uint64_t kAskMs = 5000;
constexpr uint64_t kStrangersAnswerMs = 10000;
constexpr uint64_t kOperatorsIdleMs = 30000;
constexpr uint64_t kNever = ~uint64_t{0};
// In one turn: each may show its token before the next ones come.
constexpr int kAcceptedAtOnce = 8;
constexpr uint64_t kNoFilesMs = 100;  // until accepting is tried again
constexpr size_t kMaxBody = 4096;
constexpr size_t kMaxWaiting = size_t{1} << 20;  // bytes of one stream
constexpr size_t kBlock = 32768;
constexpr int kLastTurns = 16;

// A request until its answer is given.
struct Incoming {
  HttpRequest request;
  bool is_too_large = false;
};

MHD_Result AddHeader(void* headers, MHD_ValueKind /*kind*/, const char* name, const char* value) {
  static_cast<decltype(HttpRequest::headers)*>(headers)->emplace_back(
      name, value == nullptr ? "" : value);
  return MHD_YES;
}

// Of two such headers each reader could take another one, and so of two lengths of a body.
bool IsAmbiguous(const HttpRequest& request) {
  constexpr std::array<std::string_view, 5> kSingle = {"host", "origin", "authorization",
                                                       "content-length", "sec-fetch-site"};
  const bool has_length = request.CountOf("content-length") > 0;
  return (has_length && request.CountOf("transfer-encoding") > 0) ||
         std::any_of(kSingle.begin(), kSingle.end(),
                     [&](std::string_view name) { return request.CountOf(name) > 1; });
}

// Whether the body will be too large, as its head says.
bool AnnouncesTooMuch(const HttpRequest& request) {
  const std::string length(request.Header("content-length"));
  return std::strtoull(length.c_str(), nullptr, 10) > kMaxBody;
}

enum class Doing { kAsking, kAnswering, kIdle, kStream };

// A connection, from its acceptance to its end.
struct Visitor {
  int socket = -1;
  uint64_t order = 0;  // a lower one is older
  Doing doing = Doing::kAsking;
  bool is_operators = false;
  bool is_ended = false;  // libmicrohttpd closes it with its next turns
  uint64_t deadline_ms = kNever;
};

}  // namespace

class HttpServer::Daemon {
 public:
  Daemon(const std::string& host, uint16_t port, Handler handler)
      : acceptor_(host, port), handler_(std::move(handler)) {
    daemon_ = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0, nullptr, nullptr,
        OnRequest, this, MHD_OPTION_CONNECTION_LIMIT, kMaxSockets, MHD_OPTION_CONNECTION_TIMEOUT,
        kIdleSeconds, MHD_OPTION_URI_LOG_CALLBACK, DropArguments, nullptr,
        MHD_OPTION_NOTIFY_CONNECTION, OnConnection, this, MHD_OPTION_NOTIFY_COMPLETED, OnCompleted,
        this, MHD_OPTION_EXTERNAL_LOGGER, IgnoreLine, nullptr, MHD_OPTION_END);
    if (daemon_ == nullptr) throw std::runtime_error("starting the HTTP server failed");
    watched_.Add(MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd);
    watched_.Add(acceptor_.socket());
  }

  ~Daemon() {
    for (Stream* stream : streams_) {
      stream->is_over = true;
      Resume(*stream);
    }
    // What waits for viewers leaves with the next turns, as far as they take it.
    for (int turn = 0; turn < kLastTurns && !streams_.empty(); ++turn) MHD_run(daemon_);
    MHD_stop_daemon(daemon_);
  }

  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  uint16_t port() const { return acceptor_.port(); }
  int descriptor() const { return watched_.descriptor(); }
  size_t streams() const { return streams_.size(); }

  std::optional<uint64_t> Run() {
    now_ms_ = posix::NowMs();
    uint64_t wake_ms = std::min(AcceptSome(), EndLate());
    MHD_run(daemon_);
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;
    if (MHD_get_timeout(daemon_, &wait_ms) == MHD_YES) {
      wake_ms = std::min<uint64_t>(wake_ms, now_ms_ + wait_ms);
    }
    // What has begun in this turn.
    for (const auto& [connection, visitor] : visitors_) {
      if (!visitor.is_ended) wake_ms = std::min(wake_ms, visitor.deadline_ms);
    }
    if (wake_ms == kNever) return std::nullopt;
    return wake_ms > now_ms_ ? wake_ms - now_ms_ : 0;
  }

  void Publish(const std::string& bytes) {
    now_ms_ = posix::NowMs();
    for (Stream* stream : streams_) {
      if (stream->waiting.size() + bytes.size() > kMaxWaiting) {
        stream->is_over = true;
      } else {
        stream->waiting += bytes;
      }
      Resume(*stream);
    }
    // What is resumed makes the descriptor readable only after a turn.
    if (!streams_.empty()) MHD_run(daemon_);
  }

 private:
  struct Stream {
    Daemon* owner;
    MHD_Connection* connection;
    std::string waiting;  // bytes that the viewer has not taken
    bool is_suspended = false;
    bool is_over = false;
  };

  // Returns when it wants to be called again; kNever: when the listener is readable.
  uint64_t AcceptSome() {
    if (now_ms_ < accepts_from_ms_) return accepts_from_ms_;
    if (accepts_from_ms_ != 0) watched_.Add(acceptor_.socket());
    accepts_from_ms_ = 0;
    const auto result = acceptor_.Accept(kAcceptedAtOnce, [this](int socket, const auto&) {
      Admit(socket);
      return true;
    });
    if (result == posix::Acceptor::Result::kDrained) return kNever;
    if (result == posix::Acceptor::Result::kMore) return now_ms_;
    // It would be readable without end.
    watched_.Remove(acceptor_.socket());
    accepts_from_ms_ = now_ms_ + kNoFilesMs;
    return accepts_from_ms_;
  }

  void Admit(int socket) {
    if (CountLive() >= kMaxConnections) MakeRoom();
    // Nobody asks for the address of a viewer.
    sockaddr_storage nowhere{};
    nowhere.ss_family = AF_INET;
    MHD_add_connection(daemon_, socket, reinterpret_cast<const sockaddr*>(&nowhere),
                       sizeof(nowhere));  // the socket is the daemon's now, also if this fails
    MHD_run(daemon_);                     // takes it, and the request that has come with it
  }

  size_t CountLive() const {
    return static_cast<size_t>(
        std::count_if(visitors_.begin(), visitors_.end(),
                      [](const auto& each) { return !each.second.is_ended; }));
  }

  // The oldest stranger, else the oldest of the operator's that is no stream.
  void MakeRoom() {
    Visitor* leaves = nullptr;
    for (auto& [connection, visitor] : visitors_) {
      if (visitor.is_ended || visitor.doing == Doing::kStream) continue;
      const bool is_before =
          leaves == nullptr || std::make_pair(visitor.is_operators, visitor.order) <
                                   std::make_pair(leaves->is_operators, leaves->order);
      if (is_before) leaves = &visitor;
    }
    if (leaves != nullptr) End(*leaves);
  }

  // Returns the next deadline.
  uint64_t EndLate() {
    uint64_t next_ms = kNever;
    for (auto& [connection, visitor] : visitors_) {
      if (visitor.is_ended) continue;
      if (visitor.deadline_ms <= now_ms_) {
        End(visitor);
      } else {
        next_ms = std::min(next_ms, visitor.deadline_ms);
      }
    }
    return next_ms;
  }

  static void End(Visitor& visitor) {
    visitor.is_ended = true;
    posix::EndConnection(visitor.socket);
  }

  static void OnConnection(void* context, MHD_Connection* connection, void** /*state*/,
                           MHD_ConnectionNotificationCode code) {
    auto* self = static_cast<Daemon*>(context);
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
      self->visitors_.erase(connection);
      return;
    }
    Visitor visitor;
    visitor.socket =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    visitor.order = self->admitted_++;
    visitor.deadline_ms = self->now_ms_ + kAskMs;
    self->visitors_[connection] = visitor;
  }

  // The connection gets this answer.
  void NoteAnswer(MHD_Connection* connection, const HttpReply& reply) {
    Visitor& visitor = visitors_[connection];
    visitor.is_operators = visitor.is_operators || reply.is_operators;
    visitor.doing = reply.is_stream ? Doing::kStream : Doing::kAnswering;
    // libmicrohttpd ends it after kIdleSeconds without progress.
    const bool is_limited = !reply.is_stream && !visitor.is_operators;
    visitor.deadline_ms = is_limited ? now_ms_ + kStrangersAnswerMs : kNever;
  }

  void NoteIdle(MHD_Connection* connection) {
    const auto found = visitors_.find(connection);
    if (found == visitors_.end()) return;
    Visitor& visitor = found->second;
    visitor.doing = Doing::kIdle;
    visitor.deadline_ms = now_ms_ + (visitor.is_operators ? kOperatorsIdleMs : kAskMs);
  }

  // Called before a request's target is taken apart. Each argument would take memory of the
  // connection, of which there is little: a few kilobytes of them and the request is neither
  // answered nor refused. The text is the daemon's own memory, and mutable.
  static void* DropArguments(void* /*context*/, const char* target,
                             MHD_Connection* /*connection*/) {
    char* const mark = std::strchr(const_cast<char*>(target), '?');
    if (mark != nullptr && mark[1] != '\0') mark[1] = '\0';
    return nullptr;  // the request has no state yet
  }

  static void IgnoreLine(void* /*context*/, const char* /*format*/, va_list /*values*/) {}

  static void Resume(Stream& stream) {
    if (!stream.is_suspended) return;
    stream.is_suspended = false;
    MHD_resume_connection(stream.connection);
  }

  // libmicrohttpd calls it once for the headers, then for each part of the body, then for the end.
  static MHD_Result OnRequest(void* context, MHD_Connection* connection, const char* url,
                              const char* method, const char* /*version*/, const char* data,
                              size_t* size, void** state) {
    try {
      auto* self = static_cast<Daemon*>(context);
      if (*state == nullptr) {
        Incoming* incoming = Begin(connection, url, method);
        *state = incoming;
        return self->TakeHead(connection, *incoming);
      }
      auto* incoming = static_cast<Incoming*>(*state);
      if (*size == 0) return self->Answer(connection, *incoming);
      if (incoming->request.body.size() + *size > kMaxBody) {
        incoming->is_too_large = true;
      } else {
        incoming->request.body.append(data, *size);
      }
      *size = 0;
      return MHD_YES;
    } catch (const std::exception&) {
      return MHD_NO;  // closes the connection
    }
  }

  static Incoming* Begin(MHD_Connection* connection, const char* url, const char* method) {
    auto incoming = std::make_unique<Incoming>();
    incoming->request.path = url;
    const bool is_head = std::strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    incoming->request.method = is_head ? MHD_HTTP_METHOD_GET : method;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, AddHeader, &incoming->request.headers);
    return incoming.release();
  }

  // A body that is refused need not come, and what follows it is no request. libmicrohttpd reads no
  // more after an answer at once to a POST or a PUT. The body of any other request is not wanted:
  // its connection is closed.
  MHD_Result TakeHead(MHD_Connection* connection, Incoming& incoming) {
    const HttpRequest& request = incoming.request;
    incoming.is_too_large = AnnouncesTooMuch(request);
    const bool has_body =
        request.CountOf("content-length") + request.CountOf("transfer-encoding") > 0;
    if (!has_body || !(incoming.is_too_large || IsAmbiguous(request))) return MHD_YES;
    const bool is_answered = request.method == "POST" || request.method == "PUT";
    return is_answered ? Answer(connection, incoming) : MHD_NO;
  }

  static void OnCompleted(void* context, MHD_Connection* connection, void** state,
                          MHD_RequestTerminationCode /*code*/) {
    delete static_cast<Incoming*>(*state);
    *state = nullptr;
    static_cast<Daemon*>(context)->NoteIdle(connection);
  }

  HttpReply Ask(const Incoming& incoming) {
    if (incoming.is_too_large) return TextReply(413, "the request is too large\n");
    if (IsAmbiguous(incoming.request)) {
      return TextReply(400, "a header that may come once comes twice, or two lengths of a body\n");
    }
    try {
      return handler_(incoming.request);
    } catch (const std::exception&) {
      return TextReply(500, "the server failed to answer\n");
    }
  }

  MHD_Result Answer(MHD_Connection* connection, const Incoming& incoming) {
    HttpReply reply = Ask(incoming);
    if (reply.is_stream && streams_.size() >= kMaxStreams) {
      reply = TextReply(503, "too many viewers; close a page\n");
    }
    NoteAnswer(connection, reply);
    MHD_Response* response = reply.is_stream ? MakeStream(connection, reply) : MakeResponse(reply);
    if (response == nullptr) return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply.type.c_str());
    for (const auto& [name, value] : reply.headers) {
      MHD_add_response_header(response, name.c_str(), value.c_str());
    }
    const MHD_Result result = MHD_queue_response(connection, reply.status, response);
    MHD_destroy_response(response);
    return result;
  }

  // The body is held until it is sent.
  static MHD_Response* MakeResponse(const HttpReply& reply) {
    using Body = std::shared_ptr<const std::string>;
    auto body =
        std::make_unique<Body>(reply.body ? reply.body : std::make_shared<const std::string>());
    const uint64_t size = (*body)->size();
    MHD_Response* response = MHD_create_response_from_callback(
        size, kBlock,
        [](void* context, uint64_t position, char* block, size_t most) -> ssize_t {
          const std::string& text = **static_cast<Body*>(context);
          if (position >= text.size()) return MHD_CONTENT_READER_END_OF_STREAM;
          return static_cast<ssize_t>(text.copy(block, most, position));
        },
        body.get(), [](void* context) { delete static_cast<Body*>(context); });
    if (response != nullptr) static_cast<void>(body.release());
    return response;
  }

  MHD_Response* MakeStream(MHD_Connection* connection, const HttpReply& reply) {
    auto stream = std::make_unique<Stream>();
    stream->owner = this;
    stream->connection = connection;
    if (reply.body) stream->waiting = *reply.body;
    MHD_Response* response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, kBlock, TakeWaiting, stream.get(), [](void* context) {
          auto* ended = static_cast<Stream*>(context);
          ended->owner->streams_.erase(ended);
          delete ended;
        });
    if (response != nullptr) streams_.insert(stream.release());
    return response;
  }

  static ssize_t TakeWaiting(void* context, uint64_t /*position*/, char* block, size_t most) {
    auto* stream = static_cast<Stream*>(context);
    if (stream->waiting.empty()) {
      if (stream->is_over) return MHD_CONTENT_READER_END_OF_STREAM;
      stream->is_suspended = true;
      MHD_suspend_connection(stream->connection);
      return 0;
    }
    const size_t taken = stream->waiting.copy(block, most);
    stream->waiting.erase(0, taken);
    return static_cast<ssize_t>(taken);
  }

  posix::Acceptor acceptor_;
  posix::DescriptorSet watched_;
  const Handler handler_;
  std::set<Stream*> streams_;
  std::map<MHD_Connection*, Visitor> visitors_;
  uint64_t now_ms_ = posix::NowMs();
  uint64_t accepts_from_ms_ = 0;  // 0: now
  uint64_t admitted_ = 0;
  MHD_Daemon* daemon_ = nullptr;
};

HttpServer::HttpServer(const std::string& host, uint16_t port, Handler handler)
    : daemon_(std::make_unique<Daemon>(host, port, std::move(handler))) {}

HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const { return daemon_->port(); }
int HttpServer::descriptor() const { return daemon_->descriptor(); }
std::optional<uint64_t> HttpServer::Run() { return daemon_->Run(); }
void HttpServer::Publish(const std::string& bytes) { daemon_->Publish(bytes); }
size_t HttpServer::streams() const { return daemon_->streams(); }

}  // namespace sotto::server
