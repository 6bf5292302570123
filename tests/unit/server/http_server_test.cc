// Tests of the HTTP server, over real sockets.
#include "web/http_server.h"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sotto/posix/port.h"
#include "unit/http_client.h"

namespace sotto::server {
namespace {

constexpr char kHost[] = "127.0.0.1";
constexpr int kPatienceMs = 20000;

// Runs a server in a thread of its own, as an event loop would.
class Running {
 public:
  explicit Running(HttpServer::Handler handler)
      : server_(std::make_unique<HttpServer>(kHost, 0, std::move(handler))), thread_([this] {
          while (!stop_) {
            {
              const std::lock_guard<std::mutex> lock(mutex_);
              server_->Run();
            }
            posix::SleepMs(1);
          }
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
