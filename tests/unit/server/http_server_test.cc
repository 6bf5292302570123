// Tests of the HTTP server, over real sockets.
#include "web/http_server.h"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sotto/posix/port.h"
#include "sotto/posix/sockets.h"
#include "sotto/posix/tcp.h"
#include "unit/http_client.h"

namespace sotto::server {
namespace {

constexpr char kHost[] = "127.0.0.1";
constexpr int kPatienceMs = 20000;

// Runs a server in a second thread, as an event loop would.
class Running {
 public:
  explicit Running(HttpServer::Handler handler)
      : server_(std::make_unique<HttpServer>(kHost, 0, std::move(handler))), thread_([this] {
          while (!stop_) Turn();
        }) {}
  ~Running() { Stop(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    server_.reset();
  }
  uint16_t port() const { return server_->port(); }
  void Publish(const std::string& bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    server_->Publish(bytes);
  }
  size_t streams() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return server_->streams();
  }
  bool HasStreams(size_t count) {
    for (int waited = 0; waited < kPatienceMs; waited += 10) {
      if (streams() == count) return true;
      posix::SleepMs(10);
    }
    return false;
  }

 private:
  // Calls the server only when it has asked for that.
  void Turn() {
    std::optional<uint64_t> wait_ms;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      wait_ms = server_->Run();
    }
    std::vector<posix::WaitingSocket> sockets = {{server_->descriptor(), true, false, false}};
    posix::WaitForSockets(&sockets,
                          static_cast<int>(std::min<uint64_t>(wait_ms.value_or(kTurnMs), kTurnMs)));
  }

  static constexpr uint64_t kTurnMs = 1000;  // so that Stop() ends it
  std::mutex mutex_;
  std::unique_ptr<HttpServer> server_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

HttpReply Echo(const HttpRequest& request) {
  if (request.path == "/throw") throw std::runtime_error("failed");
  if (request.path == "/stream") {
    HttpReply reply = TextReply(200, "begin\n");
    reply.is_stream = true;
    reply.is_operators = true;
    return reply;
  }
  if (request.path == "/large") return TextReply(200, std::string(3000000, 'x'));
  HttpReply reply = TextReply(200, request.method + " " + request.path + " " +
                                       std::string(request.Header("x-test")) + " " + request.body);
  reply.headers.emplace_back("X-Answer", "yes");
  return reply;
}

TEST(HttpServer, AnswersWithMethodPathHeaderAndBody) {
  Running server(Echo);
  const HttpAnswer get = Get(kHost, server.port(), "/a/b?c=d", {"X-Test: 7"});
  EXPECT_EQ(get.status, 200);
  EXPECT_EQ(get.body, "GET /a/b 7 ");
  EXPECT_NE(get.head.find("X-Answer: yes\r\n"), std::string::npos);
  const HttpAnswer post =
      HttpExchange(kHost, server.port(), "POST", "/login", {}, "token=1").Finish();
  EXPECT_EQ(post.body, "POST /login  token=1");
  const HttpAnswer head = HttpExchange(kHost, server.port(), "HEAD", "/").Finish();
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(Get(kHost, server.port(), "/large").body.size(), 3000000U);
}

TEST(HttpServer, RefusesWhatIsTooLargeAndSurvivesItsHandler) {
  Running server(Echo);
  EXPECT_EQ(
      HttpExchange(kHost, server.port(), "POST", "/", {}, std::string(4097, 'x')).Finish().status,
      413);
  EXPECT_EQ(Get(kHost, server.port(), "/throw").status, 500);
  EXPECT_EQ(Get(kHost, server.port(), "/", {"X-Long: " + std::string(100000, 'x')}).status / 100,
            4);
  EXPECT_EQ(Get(kHost, server.port(), "/").status, 200);
}

TEST(HttpServer, StreamsGetWhatIsPublishedUntilTheServerEnds) {
  Running server(Echo);
  HttpExchange first(kHost, server.port(), "GET", "/stream");
  HttpExchange second(kHost, server.port(), "GET", "/stream");
  ASSERT_TRUE(server.HasStreams(2));
  server.Publish("data: 1\n\n");
  server.Publish("data: 2\n\n");
  for (HttpExchange* viewer : {&first, &second}) {
    const std::string text = viewer->ReadUntil("data: 2\n\n", kPatienceMs);
    EXPECT_NE(text.find("begin\ndata: 1\n\ndata: 2\n\n"), std::string::npos) << text;
  }
  server.Publish("data: last\n\n");
  server.Stop();
  EXPECT_NE(first.Finish().body.find("data: last\n\n"), std::string::npos);
  EXPECT_TRUE(first.is_closed());
}

TEST(HttpServer, AViewerThatLeavesOrTakesNothingIsForgotten) {
  Running server(Echo);
  {
    HttpExchange leaves(kHost, server.port(), "GET", "/stream");
    ASSERT_TRUE(server.HasStreams(1));
  }
  const std::string event(65536, 'x');
  for (int i = 0; i < 100 && server.streams() > 0; ++i) server.Publish(event);
  EXPECT_TRUE(server.HasStreams(0));
  HttpExchange takes_nothing(kHost, server.port(), "GET", "/stream");
  ASSERT_TRUE(server.HasStreams(1));
  for (int i = 0; i < 1000; ++i) server.Publish(event);
  EXPECT_LE(takes_nothing.ReadUntil(std::string("\0never\0", 7), 2000).size(), 1000 * event.size());
  EXPECT_TRUE(server.HasStreams(0));
}

using Strangers = std::vector<std::unique_ptr<posix::TcpStream>>;

// Connections that say nothing, or only a part of a request.
Strangers Silent(uint16_t port, size_t count, const std::string& part = "") {
  Strangers strangers;
  for (size_t i = 0; i < count; ++i) {
    strangers.push_back(std::make_unique<posix::TcpStream>());
    EXPECT_EQ(strangers.back()->Connect(kHost, port, 10000), Status::kOk);
    if (part.empty()) continue;
    EXPECT_EQ(strangers.back()->Send({reinterpret_cast<const uint8_t*>(part.data()), part.size()}),
              static_cast<int>(part.size()));
  }
  return strangers;
}

bool IsClosedWithin(posix::TcpStream& stream, int timeout_ms) {
  uint8_t byte[64];
  for (const uint64_t end_ms = posix::NowMs() + static_cast<uint64_t>(timeout_ms);
       posix::NowMs() < end_ms;) {
    if (stream.Receive(MutableByteSpan(byte)) < 0) return true;
    stream.Wait(false, 50);
  }
  return false;
}

// SECURITY.md S30.
TEST(HttpServer, ConnectionsThatSayNothingKeepNobodyOut) {
  Running server(Echo);
  HttpExchange viewer(kHost, server.port(), "GET", "/stream");
  ASSERT_TRUE(server.HasStreams(1));
  for (const char* part : {"", "GET / HTTP/1.1\r\nX-Slow: "}) {
    const Strangers strangers = Silent(server.port(), 100, part);
    const uint64_t begin_ms = posix::NowMs();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(Get(kHost, server.port(), "/").status, 200);
    EXPECT_LT(posix::NowMs() - begin_ms, 4000U) << "before any deadline";
  }
  EXPECT_EQ(server.streams(), 1U) << "the operator's viewer does not make room for strangers";
  server.Publish("data: still here\n\n");
  EXPECT_NE(viewer.ReadUntil("still here", kPatienceMs).find("still here"), std::string::npos);
}

TEST(HttpServer, AStrangerHasADeadlineInEachState) {
  Running server(Echo);
  Strangers strangers = Silent(server.port(), 1);
  for (const char* part :
       {"GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET /large HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    for (auto& each : Silent(server.port(), 1, part)) strangers.push_back(std::move(each));
  }
  posix::SleepMs(3000);
  EXPECT_FALSE(IsClosedWithin(*strangers[0], 100)) << "it has 5 s";
  // The first four have 5 s, also behind an answer; the last one takes all of its answer at once.
  for (auto& stranger : strangers) EXPECT_TRUE(IsClosedWithin(*stranger, 9000));
}

TEST(HttpServer, QueryArgumentsAreDroppedAndAnsweredAtOnce) {
  Running server(Echo);
  std::string many;
  for (int i = 0; i < 1500; ++i) many += "a&";
  for (const std::string& query :
       {std::string("a=1"), many, std::string(3000, '&'), "x=" + std::string(3000, 'y'),
        std::string("?"), std::string()}) {
    const uint64_t begin_ms = posix::NowMs();
    const HttpAnswer answer = Get(kHost, server.port(), "/a/b?" + query, {"X-Test: 7"});
    EXPECT_EQ(answer.status, 200) << query.substr(0, 10);
    EXPECT_EQ(answer.body, "GET /a/b 7 ");
    EXPECT_LT(posix::NowMs() - begin_ms, 3000U);
  }
}

TEST(HttpServer, AHeaderThatMayComeOnceIsRefusedTwice) {
  Running server(Echo);
  EXPECT_EQ(Get(kHost, server.port(), "/", {"Host: a", "Host: b"}).status, 400);
  EXPECT_EQ(Get(kHost, server.port(), "/", {"Host: a", "host: a"}).status, 400);
  EXPECT_EQ(Get(kHost, server.port(), "/", {"Origin: a", "Origin: b"}).status, 400);
  EXPECT_EQ(Get(kHost, server.port(), "/", {"X-Test: a", "X-Test: b"}).status, 200);
}

// What comes before the connection ends, which is soon.
std::string AnswerTo(uint16_t port, const std::string& bytes) {
  const Strangers stranger = Silent(port, 1, bytes);
  std::string answer;
  for (const uint64_t end_ms = posix::NowMs() + 3000; posix::NowMs() < end_ms;) {
    uint8_t part[512];
    const int count = stranger[0]->Receive(MutableByteSpan(part));
    if (count < 0) return answer;
    answer.append(reinterpret_cast<const char*>(part), static_cast<size_t>(count));
    stranger[0]->Wait(false, 50);
  }
  return answer + "(still open)";
}

// A body that is refused is not waited for, and what stands in its place is no further request.
TEST(HttpServer, ABodyThatIsTooLargeOrOfTwoLengthsIsRefusedByItsHead) {
  Running server(Echo);
  const std::string post = "POST /login HTTP/1.1\r\nHost: a\r\n";
  for (const char* length : {"4097", "99999999999", "9223372036854775807"}) {
    const std::string answer =
        AnswerTo(server.port(), post + "Content-Length: " + length + "\r\n\r\nabc");
    EXPECT_EQ(answer.find("HTTP/1.1 413"), 0U) << length << answer;
    EXPECT_EQ(answer.find("(still open)"), std::string::npos) << length;
  }
  const std::string answer =
      AnswerTo(server.port(), post +
                                  "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
                                  "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(answer.find("HTTP/1.1 400"), 0U) << answer;
  EXPECT_EQ(answer.find("smuggled"), std::string::npos);
}

TEST(HttpServer, TakesALimitedNumberOfViewers) {
  Running server(Echo);
  std::vector<std::unique_ptr<HttpExchange>> viewers;
  for (size_t i = 0; i < 16; ++i) {
    viewers.push_back(std::make_unique<HttpExchange>(kHost, server.port(), "GET", "/stream"));
  }
  ASSERT_TRUE(server.HasStreams(16));
  EXPECT_EQ(Get(kHost, server.port(), "/stream").status, 503);
  EXPECT_EQ(Get(kHost, server.port(), "/").status, 200);
}

}  // namespace
}  // namespace sotto::server
