// Serves a job to devices over TCP and TLS: one event loop (libuv), and its thread pool for long
// work. Part of sotto::server/net.
//
//   - The pool answers chunks of updates, which includes decoding. The loop answers all other
//     requests.
//   - The pool opens rounds, which writes the log, and closes each at its deadline. The server
//     publishes the result at the deadline plus the release allowance, never earlier: the time of a
//     publication then tells nothing of the reports. Until then devices wait. A release
//     that is not ready in time is published late, and its outcome says how late.
//   - If the job closes rounds early (JobConfig::close_early()), the pool also closes a round when
//     its whole cohort has reported, and a result is published when it is ready. With timed reports
//     (Plan::timed_reports) the server looks once whether it has, after five sixths of the round
//     timeout. Devices announce their updates after two thirds and send them from three quarters
//     on.
//   - Several times a second the pool looks what other processes have changed: devices that joined
//     are served from then on, live connections of devices that left or have another key are
//     closed.
//   - The next round opens with the publication, until the job is over. While too few devices are
//     eligible or connected, or the job is paused, it opens none, and devices wait.
//   - Every device may fetch the newest release at any time, whatever the job does
//     (JobSource::AnswerRelease). That is no request of the job.
//   - When a job is over, a server that stays keeps its connections and serves the next job as soon
//     as its source has one. A server of one job tells devices for `farewell_ms` that the job is
//     done, and ends. If the job gave up, it does not tell them: they try again until a later
//     start. Devices with kFeatureStays wait in any case.
//
// One thread calls Run(), and Run() does all the work.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/connection.h"
#include "round/former_keys.h"
#include "round/job.h"
#include "sotto/posix/ip_address.h"

namespace sotto::server {

struct ServerOptions {
  std::string host = "127.0.0.1";  // numeric address to listen on
  uint16_t port = 7177;            // 0: any free one, see Server::port()
  ConnectionLimits limits;
  // Addresses of TCP proxies in front of the server. Their connections begin with a PROXY header
  // (proxy_header.h), and count as the address's in it.
  std::vector<posix::IpRange> proxies;
  // Of connections and handshakes at a time: see admission.h. Fewer connections if the process may
  // not open so many files; the server raises that limit as far as it may.
  size_t max_connections = 4096;
  size_t max_handshakes = 64;
  size_t max_handshakes_per_address = 8;
  bool session_tickets = true;        // for devices that ask: see sotto/tls_tickets.h
  uint64_t round_timeout_ms = 60000;  // from the opening of a round to its deadline
  // From a round's deadline to the publication of its result. It must be longer than the release
  // takes; unused if rounds close early.
  uint64_t release_allowance_ms = 1000;
  uint64_t poll_interval_ms = 1000;  // of devices while no job runs
  // How long the server tells devices that the job is done. If rounds close early it ends as soon
  // as every device that has sent a request has been told, and has ended its connection.
  uint64_t farewell_ms = 5000;
};

// A change of the fleet or of what is asked of the job, made by another process.
struct FleetNews {
  SharedDevices devices;  // DeviceRegistry::Changed() of the one before
  // Indices of the devices that joined, left, or have another secret.
  std::vector<uint32_t> changed;
  std::vector<privacy::SpentRounds> spent_before;  // see Job::SetFleet()
  bool paused = false;                             // see Job::SetPaused()
  SharedFormerKeys former = {};                    // null: as before
  std::vector<std::string> lines;                  // for people: what has changed
};

// What a server is about.
struct ServerPhase {
  enum class Kind {
    kOpen,      // an attempt takes updates
    kClosed,    // its deadline is over
    kWaiting,   // no attempt opens, see `reason`
    kFinished,  // the job is over, see `end` and `reason`
  };
  Kind kind = Kind::kWaiting;
  uint32_t round = 0;  // from 0
  uint32_t attempt = 0;
  uint32_t drawn = 0;         // devices, of an attempt
  int64_t opened_ms = 0;      // of an attempt; milliseconds since 1970
  int64_t deadline_ms = 0;    // the same
  Halt end = Halt::kWaiting;  // of kFinished
  std::string reason = {};    // for people
  bool goes_on = false;       // kWaiting: it has waited before, for what has another reason now
};

// What the network has seen of a device. For the operator alone: nothing of it decides whom a job
// asks.
struct DeviceSign {
  enum class Kind {
    kWaits,       // it asked, and there is no work for it now
    kTrains,      // it got the task of a round
    kUploaded,    // all of its update is there
    kLate,        // it offered an update `late_ms` after the attempt's deadline
    kOtherModel,  // refused; text: that model, and the job's
    kLacks,       // told to wait; text: what it lacks
    kFormerKey,   // somebody proved a key that was taken from it
    kClaim,       // somebody who does not hold its key connected in its name
    kTakeover,    // two machines have its key: one took the place of the other, which is alive
  };
  Kind kind = Kind::kWaits;
  std::string id;          // of the device
  std::string text = {};   // for people; of kOtherModel it may hold anything
  std::string from = {};   // of the last three: an address, or the network of one
  std::string other = {};  // of kTakeover: where the newer connection comes from
  uint32_t round = 0;      // of kTrains, kUploaded and kLate; from 0
  uint64_t late_ms = 0;
};

// The events of a server, for its operator alone: times, counts and names tell who took part. A
// line is for people. It never holds a key or an update.
struct ServerEvents {
  std::function<void(const std::string&)> info;
  std::function<void(const std::string&)> detail;  // with -v: connections come and go
  std::function<void(const ServerPhase&)> on_phase;
  // A device, by registry index, has a session or has it no more; it was heard so long ago.
  std::function<void(uint32_t device, bool is_connected, uint64_t silent_ms)> on_device;
  std::function<void(const DeviceSign&)> on_sign;
  // The result of an attempt when it is published: a release, or an attempt that was given up.
  std::function<void(const RoundOutcome&)> on_outcome;
  // Called several times a second by the event loop, with its clock in milliseconds.
  std::function<void(uint64_t now_ms)> alive;
  // Asked several times a second, in the pool: what has changed since it was last asked. Absent: it
  // is the same, or nobody changes it. Throws what ends the server.
  std::function<std::optional<FleetNews>()> watch;
};

// What the network did to the server so far. For the operator alone: the figures depend on who
// connects.
struct NetworkFigures {
  // Now, and the most that there may be.
  size_t connections = 0;
  size_t max_connections = 0;
  size_t handshakes = 0;
  size_t max_handshakes = 0;
  size_t sessions = 0;  // of devices
  size_t held = 0;      // of them, those whose answer waits for work

  double loop_stall_ms_max = 0;  // longest time in which the event loop served nobody else
  double loop_cpu_ms_max = 0;    // the most that the loop computed in such a time
  std::vector<std::pair<std::string, double>> work_ms_max;  // longest piece of each kind of work
  uint64_t accepted = 0;                                    // connections
  uint64_t refused = 0;            // connections closed at once, for want of room
  uint64_t made_room = 0;          // strangers closed for other connections
  uint64_t no_client_hello = 0;    // strangers whose bytes were no TLS, or no PROXY header
  uint64_t overdue = 0;            // strangers closed because they were slow
  uint64_t failed_handshakes = 0;  // begun and not completed
  uint64_t resumed = 0;            // sessions that a ticket has opened
  uint64_t replaced = 0;           // sessions whose device connected again
  uint64_t delayed = 0;            // requests answered late because their device asked too often
};

// A library with its own event loop; the server's loop waits for the library's one descriptor.
struct LoopGuest {
  int descriptor = -1;  // readable: run() has something to do
  // Does it without waiting. Returns the milliseconds after which it wants to be called again
  // although the descriptor is not readable; absent: it does not.
  std::function<std::optional<uint64_t>()> run;
};

// Where a server has its jobs from, one after the other. Nothing that it is given here is used by
// the server after the next call of Leave().
class JobSource {
 public:
  virtual ~JobSource() = default;

  // Whether the server goes on when a job is over. Else it ends with its first job.
  virtual bool stays() const = 0;

  // In the pool, several times a second, after ServerEvents::watch; MustEnd() also before the first
  // job's first round. They throw what ends the server.
  //   Next     while there is no job: the one to serve from now on, which lives until Leave(), made
  //            for the devices that the server has now; null: there is none
  //   MustEnd  while there is one: why it must end before its plan; absent: it need not
  virtual Job* Next() = 0;
  virtual std::optional<HaltRecord> MustEnd() = 0;

  // On the thread of Run().
  //   OnBegin  the job of Next() is served from now on; no round is open yet
  //   OnEnd    the job is over, in a server that stays. What is given to RunInPool() here is done
  //            before Leave().
  //   Leave    nothing in the server refers to the job any more
  //   CheckReceipt  takes the receipt of a Hello while there is no job, as JobLog::CheckReceipt()
  //   IsDone   of a source that stays, while no job runs: nothing follows that it knows of, so
  //            the server tells devices that do not stay that they are done
  virtual void OnBegin() = 0;
  virtual void OnEnd() = 0;
  virtual void Leave() = 0;
  virtual void CheckReceipt(ByteSpan /*receipt*/, int64_t /*device*/) {}
  virtual bool IsDone() const = 0;

  // On the thread of Run(), with or without a job. A reply's bytes live until the next event.
  //   AnswerRelease  the answer to kGetRelease: the newest model that was shown to devices, of the
  //                  net whose digest the request has. It is a fetch: no attempt hears the device.
  //   NewestRelease  Reply::release of that model, for the device that says this Hello
  //   AnswerCode     the answer to kGetModel with a code that is not the job's
  virtual Reply AnswerRelease(const Request& request);
  virtual uint32_t NewestRelease(const Request& hello);
  virtual Reply AnswerCode(const Request& request);
};

// Long work beside the job, for example an evaluation of a model.
struct PoolWork {
  // Runs in the pool. Should return soon once must_stop is true: the server stops.
  std::function<void(const std::atomic<bool>& must_stop)> run;
  std::function<void()> then;  // on the thread of Run(), after run() returned
};

class Server {
 public:
  // Sets TLS and the event loop up; throws std::runtime_error if that fails.
  Server(SharedDevices devices, const ServerOptions& options, const ServerEvents& events);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Starts listening; clients that connect wait for Run(). Throws std::runtime_error that says what
  // to do, for example if the port is in use or the address is bad.
  void Listen();

  // The port that Listen() got.
  uint16_t port() const;

  // Serves until SIGINT or SIGTERM, and unless the source stays until the first job is over. After
  // a signal the open attempt is given up, nothing of it is released, and a later start continues
  // with the next attempt. Returns true if the last job that was served is over. Throws
  // std::runtime_error if the log or a job fails, and if a device's receipt shows that the log is
  // an older copy.
  //   first  a job that uses the server's registry, and lives as one of Next(); null: there is none
  bool Run(JobSource& jobs, Job* first);

  // The server tells connections that prove one of these keys why it closes them. Call it before
  // Run().
  void Remember(SharedFormerKeys former);

  // Gives the pool a piece of work: one at a time, in the order of the calls. Call it on the thread
  // of Run(), before it or from an event. Run() returns when all work is done; after a signal or a
  // failure, pieces that have not begun are dropped. If run() throws, so does Run().
  void RunInPool(PoolWork work);

  // Runs the guest on the thread of Run(), until Run() returns. Call it before Run(), once.
  void Host(LoopGuest guest);

  // The signal that ended Run(); 0: none.
  int signal() const;
  NetworkFigures Figures() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace sotto::server
