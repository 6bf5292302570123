// A small HTTP server for the operator's page, on an event loop of somebody else's. Part of
// sotto::server/web.
//
// libmicrohttpd speaks HTTP; nothing here starts a thread. The loop waits for one descriptor and
// calls Run() when it is readable. Viewers of a stream of events cost a buffer each.
//
// Limits: 32 connections, 16 of them streams; request bodies of 4 kB; a stream whose viewer takes
// nothing ends when 1 MB waits for it; a viewer that connects again gets what it missed with the
// next overview.
//
// The listener is this class's own. libmicrohttpd stops waiting for its listener at the limit, and
// then nobody wakes it up: 33 silent connections would freeze the port for good. So connections are
// accepted here and handed over, each with a state and, but for a stream, a deadline:
//
//   state      until                                     a stranger's    the operator's
//   asking     its request is whole                      5 s             5 s
//   answering  its answer is taken                       10 s            30 s without progress
//   idle       its next request begins and is whole      5 s             30 s
//   stream     its viewer leaves or takes nothing        none            none
//
// A connection is the operator's from the answer on that says so (HttpReply::is_operators). Beyond
// the limit the oldest stranger makes room for a new connection, and if there is none the oldest of
// the operator's that is no stream: a new one is never refused, so neither silence nor haste of
// strangers keeps the holder of the token out.
//
// Query arguments mean nothing here and are dropped unread. A request with two headers Host,
// Origin, Authorization, Content-Length or Sec-Fetch-Site is refused: two readers could take
// different ones.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sotto::server {

struct HttpRequest {
  std::string method;  // "GET"; HEAD comes as GET
  std::string path;    // "/api/overview", without the query
  std::string body;    // of a POST
  std::vector<std::pair<std::string, std::string>> headers;

  // The value of a header, whatever the case of its name; empty: there is none.
  std::string_view Header(std::string_view name) const;
  // How many headers have this name.
  size_t CountOf(std::string_view name) const;
};

struct HttpReply {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> body;  // null: none
  std::vector<std::pair<std::string, std::string>> headers;
  bool is_stream = false;  // after the body come the events of Publish(), until the viewer leaves
  bool is_operators = false;  // the request has shown the token: its connection is no stranger's
};

// A reply of a short text.
HttpReply TextReply(unsigned status, std::string text);

class HttpServer {
 public:
  using Handler = std::function<HttpReply(const HttpRequest& request)>;

  // Listens. What arrives waits for Run().
  //   host     numeric address
  //   port     0: any free one
  //   handler  answers a request; an exception becomes status 500
  // Throws as posix::Acceptor does.
  HttpServer(const std::string& host, uint16_t port, Handler handler);

  // Ends all streams and closes all connections.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;

  // It becomes readable when Run() has something to do.
  int descriptor() const;

  // Does what there is to do without waiting. Returns the milliseconds after which it wants to be
  // called again although the descriptor is not readable; absent: it does not.
  std::optional<uint64_t> Run();

  // Sends these bytes to all streams: an event, or a comment that keeps a connection alive.
  void Publish(const std::string& bytes);

  size_t streams() const;

 private:
  class Daemon;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace sotto::server
