// Serves a job to devices over TCP and TLS: one event loop (libuv), and its thread pool for long
// work. Part of sotto::server/net.
//
//   - The pool answers chunks of updates, which includes decoding. The loop answers all other
//     requests.
//   - The pool closes a round as soon as its whole cohort has reported, or at its deadline.
//   - The next round opens at once, until the job is finished. The server then tells devices for a
//     while that the job is done. If the job gave up, it does not tell them: they try again until a
//     later start.
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
#include "sotto/posix/listener.h"

namespace sotto::server {

struct ServerOptions {
  // Listens already, so that nothing is begun for a port that is in use. Null: Listen() opens
  // `host` and `port`.
  std::shared_ptr<posix::Listener> listener;
  std::string host = "127.0.0.1";  // numeric address to listen on
  uint16_t port = 7177;            // 0: any free one, see Server::port()
  ConnectionLimits limits;
  size_t max_connections = 4096;      // further ones are closed at once
  uint64_t round_timeout_ms = 60000;  // from the opening of a round to its deadline
  uint64_t farewell_ms = 5000;        // how long the server tells devices that the job is done
};

// One line for every event, for people. A line never holds a key or an update.
struct ServerEvents {
  std::function<void(const std::string&)> info;
  std::function<void(const std::string&)> detail;       // with -v: connections come and go
  std::function<void(const RoundOutcome&)> on_release;  // after each released round
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

  // Takes the options' listener, or starts listening. Throws std::runtime_error that says what to
  // do, for example if the port is in use or the address is bad.
  void Listen();

  // The port that Listen() got.
  uint16_t port() const;

  // Serves until the job is finished, or until SIGINT or SIGTERM. After a signal the open attempt
  // is given up, nothing of it is released, and a later start continues with the next attempt.
  // Returns true if the job is finished. Throws std::runtime_error if the log or the job fails, and
  // if a device's receipt shows that the log is an older copy.
  bool Run();

  // The signal that ended Run(); 0: none.
  int signal() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace sotto::server

#endif  // SOTTO_NET_SERVER_H_
