// The event loop behind Server, for the files that implement it. Part of sotto::server/net.
//
// server.cc keeps the time, and opens and closes rounds. strangers.cc accepts connections and takes
// them through their handshake. peers.cc reads from devices, answers them and closes connections.
// All of it runs on the loop's thread, except two kinds of work in libuv's pool: the answer to a
// chunk of an update, and the opening and closing of rounds.
//
// Nothing that a peer does makes a turn of the loop long: connections are accepted in batches, a
// stranger is read once a turn, handshakes compute within a budget of time, and what is left over
// waits for the next turn.
#ifndef SOTTO_NET_LOOP_H_
#define SOTTO_NET_LOOP_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <uv.h>
#include <vector>

#include "net/admission.h"
#include "net/connection.h"
#include "net/hello_tokens.h"
#include "net/loop_monitor.h"
#include "net/request_pace.h"
#include "net/server.h"
#include "round/job.h"
#include "sotto/posix/acceptor.h"

namespace sotto::server {

class Server::Loop {
 public:
  Loop(const DeviceRegistry& devices, const ServerOptions& options, const ServerEvents& events);
  ~Loop();

  void Listen();
  uint16_t port() const { return port_; }
  bool Run(Job& job);
  void RunInPool(PoolWork work);
  int signal() const { return signal_; }
  NetworkFigures Figures() const;

 private:
  using Id = Admission::Id;

  // What a connection has from its handshake on.
  struct Session {
    Session(Loop& owner, uint64_t begin_ms)
        : connection(owner.tls_, owner.options_.limits, begin_ms) {}
    uv_write_t write{};
    uv_work_t work{};
    Connection connection;
    std::vector<uint8_t> write_buffer;
    Reply reply;
    uint32_t device = 0;           // after the handshake
    bool proved = false;           // the handshake is complete
    uint64_t closed_since_ms = 0;  // 0: the connection is open
    std::exception_ptr failure;    // of the current answer
    bool writing = false;
    uint64_t write_deadline_ms = 0;  // while writing
    bool working = false;
    bool delayed = false;  // the answer is given later
  };

  // One accepted connection. It lives until its handle is closed and no work refers to it.
  struct Peer {
    explicit Peer(Loop& owner) : loop(owner) {}
    Loop& loop;
    uv_tcp_t handle{};
    Id id = 0;
    uint64_t entered_ms = 0;
    std::vector<uint8_t> hello;  // the ClientHello so far; none after the handshake began
    std::unique_ptr<Session> session;
    bool closing = false;
    bool closed = false;
  };
  // Beside it a stranger has some entries in sets and maps.
  static_assert(sizeof(Peer) <= 512, "a silent stranger must be cheap");

  static Status FindKey(void* context, ByteSpan identity, Key* psk);
  static void OnTick(uv_timer_t* timer);
  static void OnRoundTime(uv_timer_t* timer);
  static void OnSignal(uv_signal_t* signal, int number);

  // strangers.cc
  void StartListening();
  void AcceptBatch();
  void Open(int socket, const Address& from);
  Peer* Enter(const Address& from);
  void OnStrangerBytes(Peer& peer, ByteSpan bytes);
  void OnTurn();
  bool CloseOverdue();
  bool CloseLeaving();
  void ResumeReading();
  void BeginHandshakes();
  void BeginHandshake(Peer& peer);
  void QueueHandshake(Peer& peer);
  bool WorkOnHandshakes();
  void OnProof(Peer& peer);
  void TickStrangers();

  // peers.cc
  Peer* Find(Id id) const;  // null if it is closing or gone
  static void OnRead(uv_stream_t* stream, ssize_t got, const uv_buf_t* buffer);
  void StartReading(Peer& peer);
  void Pump(Peer& peer);
  void StartWrite(Peer& peer);
  void AnswerInTime(Peer& peer);
  void OnDelayed();
  void StartDelayTimer();
  void Answer(Peer& peer);
  void AnswerInPool(Peer& peer);
  static void AskJob(Peer& peer);
  void Respond(Peer& peer);
  void Close(Peer& peer, const char* reason = "");
  void LogClose(const Peer& peer, const char* reason);
  void Reap(Peer& peer);
  void TickSessions();

  void RaisePriority();
  void Tick();
  void ReportLacking();
  void TakeStep(std::function<void()> step, void (Loop::*then)());
  void OnStepTaken();
  void StartPoolWork();
  void OnPoolWorkDone();
  bool IsPoolIdle() const { return !in_pool_work_ && pool_work_.empty(); }
  void OpenRound();
  void OnRoundOpened();
  void AnnounceAttempt();
  void CloseRound();
  void OnRoundClosed();
  void Publish();
  void StartRoundTimer(uint64_t at_ms);
  void Finish();
  void StopLoop();
  void Fail(const std::exception_ptr& failure);
  uint64_t now() const { return uv_now(&loop_); }

  Job* job_ = nullptr;  // from Run() on
  const DeviceRegistry& devices_;
  ServerOptions options_;
  ServerEvents events_;
  TlsContext tls_;

  mutable uv_loop_t loop_{};
  std::unique_ptr<posix::Acceptor> listener_;  // until the loop stops
  uint16_t port_ = 0;
  uv_tcp_t first_stream_{};  // never connected
  uv_poll_t listening_{};
  uv_check_t turn_{};
  uv_idle_t busy_{};  // active: a turn left work over, so the loop does not wait
  uv_timer_t tick_{};
  uv_timer_t delay_{};
  uv_timer_t round_timer_{};
  uv_signal_t interrupt_{};
  uv_signal_t terminate_{};
  int signal_ = 0;  // that ended Run()
  LoopMonitor monitor_;

  const HelloTokens tokens_;
  Admission admission_;
  RequestPace pace_;
  std::array<char, 4096> read_buffer_{};  // of whoever is being read
  std::unordered_map<Id, Peer*> peers_;   // all that are not freed
  std::set<Peer*> sessions_;              // peers with a session that are not closing
  std::unordered_map<uint32_t, Peer*> by_device_;
  std::vector<Id> paused_;                     // strangers that were read in this turn
  std::deque<Id> leaving_;                     // strangers that have hung up
  std::deque<Id> handshake_work_[2];           // of favoured addresses, and of others
  std::set<std::pair<uint64_t, Id>> delayed_;  // by the time of the answer
  bool accepted_this_turn_ = false;
  bool out_of_files_ = false;  // until the next tick
  Bucket stranger_lines_;
  uint64_t unlogged_strangers_ = 0;
  NetworkFigures figures_;

  std::set<uint32_t> to_be_told_;  // devices that must still be told that the job is done
  uv_work_t first_work_{};
  uv_work_t step_work_{};
  std::function<void()> step_;  // see TakeStep()
  void (Loop::*after_step_)() = nullptr;
  std::exception_ptr step_failure_;
  bool in_step_ = false;
  std::deque<PoolWork> pool_work_;  // the first one may be under way
  uv_work_t pool_work_handle_{};
  std::exception_ptr pool_failure_;
  std::atomic<bool> must_stop_{false};
  bool in_pool_work_ = false;
  bool is_running_ = false;
  RoundOutcome outcome_;
  std::exception_ptr failure_;   // what Run() throws
  uint64_t publication_ms_ = 0;  // of the open or closed attempt's result
  bool awaits_publication_ = false;
  uint64_t farewell_deadline_ms_ = 0;
  uint32_t lacking_reported_ = 0;  // devices, at most, in one line of the log
  bool opened_ = false;            // at least one round
  bool finished_ = false;
  bool stopping_ = false;
};

}  // namespace sotto::server

#endif  // SOTTO_NET_LOOP_H_
