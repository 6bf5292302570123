// The event loop behind Server, for the files that implement it. Part of sotto::server/net.
//
// server.cc listens, keeps the time, and opens and closes rounds. peers.cc accepts, reads, answers
// and closes connections. All of it runs on the loop's thread, except two kinds of work in libuv's
// pool: the answer to a chunk of an update, and the closing of a round.
#ifndef SOTTO_NET_LOOP_H_
#define SOTTO_NET_LOOP_H_

#include <cstdint>
#include <exception>
#include <set>
#include <uv.h>
#include <vector>

#include "net/connection.h"
#include "net/server.h"
#include "round/job.h"

namespace sotto::server {

class Server::Loop {
 public:
  Loop(Job& job, const DeviceRegistry& devices, const ServerOptions& options,
       const ServerEvents& events);
  ~Loop();

  void Listen();
  uint16_t port() const { return port_; }
  bool Run();

 private:
  // One accepted connection. It lives until its handle is closed and no work refers to it.
  struct Peer {
    Peer(Loop& owner, uint64_t now_ms)
        : loop(owner), connection(owner.tls_, owner.options_.limits, now_ms) {}
    Loop& loop;
    uv_tcp_t handle{};
    uv_write_t write{};
    uv_work_t work{};
    Connection connection;
    std::vector<char> read_buffer = std::vector<char>(4096);
    std::vector<uint8_t> write_buffer;
    Reply reply;
    uint32_t device = 0;
    uint64_t closed_since_ms = 0;  // 0: the connection is open
    std::exception_ptr failure;    // of the current answer
    bool writing = false;
    uint64_t write_deadline_ms = 0;  // while writing
    bool working = false;
    bool closing = false;
    bool closed = false;
  };

  static Status FindKey(void* context, ByteSpan identity, Key* psk);
  static void OnConnection(uv_stream_t* listener, int status);
  static void OnTick(uv_timer_t* timer);
  static void OnRoundTime(uv_timer_t* timer);
  static void OnSignal(uv_signal_t* signal, int number);

  void Accept();
  void Pump(Peer& peer);
  void StartWrite(Peer& peer);
  void StartReading(Peer& peer);
  void Answer(Peer& peer);
  void AnswerInPool(Peer& peer);
  static void AskJob(Peer& peer);
  void Respond(Peer& peer);
  void Close(Peer& peer);
  void Reap(Peer& peer);
  void Tick();
  void OpenRound();
  void AnnounceAttempt();
  void CloseRound();
  void OnRoundClosed();
  void Publish();
  void StartRoundTimer(uint64_t at_ms);
  void Finish();
  void StopLoop();
  void Fail(const std::exception_ptr& failure);
  uint64_t now() const { return uv_now(&loop_); }

  Job& job_;
  const DeviceRegistry& devices_;
  ServerOptions options_;
  ServerEvents events_;
  TlsContext tls_;

  mutable uv_loop_t loop_{};
  uv_tcp_t listener_{};
  uv_timer_t tick_{};
  uv_timer_t round_timer_{};
  uv_signal_t interrupt_{};
  uv_signal_t terminate_{};
  uint16_t port_ = 0;

  std::set<Peer*> peers_;
  std::set<uint32_t> to_be_told_;  // devices that must still be told that the job is done
  uv_work_t round_work_{};
  bool closing_round_ = false;
  RoundOutcome outcome_;
  std::exception_ptr round_failure_;  // instead of outcome_
  std::exception_ptr failure_;        // what Run() throws
  uint64_t publication_ms_ = 0;       // of the open or closed attempt's result
  bool awaits_publication_ = false;
  uint64_t farewell_deadline_ms_ = 0;
  bool opened_ = false;  // at least one round
  bool finished_ = false;
  bool stopping_ = false;
};

}  // namespace sotto::server

#endif  // SOTTO_NET_LOOP_H_
