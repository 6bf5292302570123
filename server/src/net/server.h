// Serves a job to devices over TCP and TLS: one event loop (libuv), and its thread pool for long
// work. Part of sotto::server/net.
//
//   - The pool answers chunks of updates, which includes decoding. The loop answers all other
//     requests.
//   - The pool closes a round at its deadline. The server publishes the result at the deadline plus
//     the release allowance, never earlier: the time of a publication then tells nothing of the
//     reports. Until then devices are told to wait. A release that is not ready in time is
//     published late, and its outcome says how late.
//   - If the job closes rounds early (JobConfig::close_early()), the pool also closes a round when
//     its whole cohort has reported, and a result is published when it is ready.
//   - The next round opens with the publication, until the job is finished. The server then tells
//     devices for `farewell_ms` that the job is done. If the job gave up, it does not tell them:
//     they try again until a later start.
//
// One thread calls Run(), and Run() does all the work.
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
  // From a round's deadline to the publication of its result. It must be longer than the release
  // takes; unused if rounds close early.
  uint64_t release_allowance_ms = 1000;
  // How long the server tells devices that the job is done. If rounds close early it ends as soon
  // as every device that has sent a request has been told.
  uint64_t farewell_ms = 5000;
};

// The events of a server, for its operator alone: times, counts and names tell who took part. A
// line is for people. It never holds a key or an update.
struct ServerEvents {
  std::function<void(const std::string&)> info;
  std::function<void(const std::string&)> detail;  // with -v: connections come and go
  // The result of an attempt when it is published: a release, or an attempt that was given up.
  std::function<void(const RoundOutcome&)> on_outcome;
};

class Server {
 public:
  // The job and the registry must outlive the server. The registry must be the one that the job
  // uses.
  Server(Job& job, const DeviceRegistry& devices, const ServerOptions& options,
         const ServerEvents& events);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Starts listening. Throws std::runtime_error that says what to do, for example if the port is in
  // use or the address is bad.
  void Listen();

  // The port that Listen() got.
  uint16_t port() const;

  // Serves until the job is finished, or until SIGINT or SIGTERM. After a signal the open attempt
  // is given up, nothing of it is released, and a later start continues with the next attempt.
  // Returns true if the job is finished. Throws std::runtime_error if the log or the job fails.
  bool Run();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace sotto::server

#endif  // SOTTO_NET_SERVER_H_
