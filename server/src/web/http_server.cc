#include "web/http_server.h"

#include <algorithm>
#include <cstring>
#include <microhttpd.h>
#include <set>
#include <stdexcept>

#include "sotto/posix/acceptor.h"

namespace sotto::server {
namespace {

constexpr unsigned kMaxConnections = 32;
constexpr size_t kMaxStreams = 16;
constexpr unsigned kIdleSeconds = 30;
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

}  // namespace

class HttpServer::Daemon {
 public:
  Daemon(const std::string& host, uint16_t port, Handler handler)
      : acceptor_(host, port), handler_(std::move(handler)) {
    daemon_ = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr, OnRequest, this,
        MHD_OPTION_LISTEN_SOCKET, acceptor_.socket(), MHD_OPTION_CONNECTION_LIMIT, kMaxConnections,
        MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds, MHD_OPTION_NOTIFY_COMPLETED, OnCompleted, this,
        MHD_OPTION_EXTERNAL_LOGGER, IgnoreLine, nullptr, MHD_OPTION_END);
    if (daemon_ == nullptr) throw std::runtime_error("starting the HTTP server failed");
  }

  ~Daemon() {
    for (Stream* stream : streams_) {
      stream->is_over = true;
      Resume(*stream);
    }
    // What waits for viewers leaves with the next turns, as far as they take it.
    for (int turn = 0; turn < kLastTurns && !streams_.empty(); ++turn) MHD_run(daemon_);
    // The listening socket stays the acceptor's.
    MHD_quiesce_daemon(daemon_);
    MHD_stop_daemon(daemon_);
  }

  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  uint16_t port() const { return acceptor_.port(); }
  int descriptor() const {
    return MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  }
  size_t streams() const { return streams_.size(); }

  std::optional<uint64_t> Run() {
    MHD_run(daemon_);
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;
    if (MHD_get_timeout(daemon_, &wait_ms) != MHD_YES) return std::nullopt;
    return wait_ms;
  }

  void Publish(const std::string& bytes) {
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
        *state = Begin(connection, url, method);
        return MHD_YES;
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

  static void OnCompleted(void* /*context*/, MHD_Connection* /*connection*/, void** state,
                          MHD_RequestTerminationCode /*code*/) {
    delete static_cast<Incoming*>(*state);
    *state = nullptr;
  }

  HttpReply Ask(const Incoming& incoming) {
    if (incoming.is_too_large) return TextReply(413, "the request is too large\n");
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
  const Handler handler_;
  std::set<Stream*> streams_;
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
