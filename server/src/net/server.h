// Serves a job to devices over TCP and TLS: one event loop (libuv), and its pool for what takes
// time. Part of sotto::server/net.
//
//   a device's update is decoded in the pool, everything else is answered on the loop;
//   a round is closed in the pool as soon as its whole cohort has reported, or at its deadline;
//   the next one opens at once, until the job is finished; then devices are told for a while,
//   unless it gave up: then they try again until a later start.
//
// One thread calls Run(); everything else happens inside it.
#ifndef SOTTO_NET_SERVER_H_
#define SOTTO_NET_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/connection.h"
#include "round/job.h"

namespace sotto::server {

struct ServerOptions {
  std::string host = "127.0.0.1";  // numeric address to listen on
  uint16_t port = 7177;            // 0: any free one, see Server::port()
  ConnectionLimits limits;
  size_t max_connections = 4096;      // further ones are closed at once
  uint64_t round_timeout_ms = 60000;  // from the opening of a round to its deadline
  uint64_t farewell_ms = 5000;        // how long devices may learn that the job is done
};

// One line for every event, for people; never a key, never an update.
struct ServerEvents {
  std::function<void(const std::string&)> info;
  std::function<void(const std::string&)> detail;       // with -v: connections come and go
  std::function<void(const RoundOutcome&)> on_release;  // after each released round
};

class Server {
 public:
  // Job and registry must outlive the server; both are the job's own.
  Server(Job& job, const DeviceRegistry& devices, const ServerOptions& options,
         const ServerEvents& events);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Starts listening. Throws std::runtime_error that says what to do: port in use, bad address.
  void Listen();

  // The port that Listen() got.
  uint16_t port() const;

  // Serves until the job is finished, or SIGINT or SIGTERM asks to stop: then the open attempt is
  // given up, nothing of it is released, and a later start goes on with the next attempt.
  // Throws std::runtime_error if the store or the job fails. True: the job is finished.
  bool Run();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace sotto::server

#endif  // SOTTO_NET_SERVER_H_
