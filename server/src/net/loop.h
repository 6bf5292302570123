// The event loop behind Server, for the files that implement it. Part of sotto::server/net.
//
// server.cc keeps the time, and opens and closes rounds. fleet.cc learns what other processes have
// changed. held.cc keeps devices waiting that want to. strangers.cc accepts connections and takes
// them through their handshake. signs.cc tells what the network has seen of a device, and says the
// last words of sessions. clients.cc reads from devices, answers them and closes connections.
// decoders.cc has the pool answer the last chunks of updates, several with one piece of work.
// guest.cc lets another library's loop run in this one.
// All of it runs on the loop's thread, except two kinds of work in libuv's pool: these answers, and
// the opening and closing of rounds.
//
// Nothing that a client does makes a turn of the loop long: connections are accepted in batches, a
// stranger is read once a turn, requests and handshakes compute within budgets of time, and what is
// left over waits for the next turn.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <unordered_map>
#include <utility>
#include <uv.h>
#include <vector>

#include "net/admission.h"
#include "net/connection.h"
#include "net/hello_tokens.h"
#include "net/loop_monitor.h"
#include "net/rates.h"
#include "net/request_pace.h"
#include "net/server.h"
#include "round/job.h"
#include "sotto/posix/acceptor.h"
#include "sotto/posix/locked_memory.h"
#include "sotto/tls_tickets.h"

namespace sotto::server {

class Server::Loop {
 public:
  Loop(SharedDevices devices, const ServerOptions& options, const ServerEvents& events);
  ~Loop();

  void Listen();
  uint16_t port() const { return port_; }
  bool Run(JobSource& jobs, Job* first);
  void RunInPool(PoolWork work);
  void Remember(SharedFormerKeys former, std::unordered_map<uint64_t, uint32_t> handles) {
    former_ = former;
    tokens_.SetFormer(std::move(former), std::move(handles));
  }
  void Host(LoopGuest guest) { guest_ = std::move(guest); }
  int signal() const { return signal_; }
  NetworkFigures Figures() const;

 private:
  using Id = Admission::Id;

  // What a device has moved since some time, both ways.
  struct Moved {
    uint64_t up = 0;  // bytes
    uint64_t down = 0;
    uint64_t turns = 0;
  };

  // What a connection has from its handshake on.
  struct Session {
    Session(Loop& owner, uint64_t begin_ms)
        : connection(owner.tls_, owner.options_.limits, begin_ms), fleet(owner.fleet_) {}
    Status FindKey(const Loop& loop, const std::string& name, Key* psk);
    Status FindCurrentKey(const Loop& loop, const std::string& name, Key* psk);

    uv_write_t write{};
    Connection connection;
    std::vector<uint8_t> write_buffer;
    Reply reply;
    WaitState told = WaitState::kRounds;  // what it waits for; unless told, for a round
    uint32_t told_release = 0;
    const uint64_t fleet;  // Loop::fleet_ when its handshake began
    uint32_t device = 0;   // after the handshake
    bool proved = false;   // the handshake is complete
    std::string claimed;   // the device whose name it says
    // Until the name is known, the one of which it said a token; then the one of the handshake. A
    // session that has proved it is still a stranger's.
    std::shared_ptr<const FormerKey> former;
    bool dismissed = false;  // its last words are said; it is read only until it ends
    std::string mismatch;    // the job's model for which a Hello was refused last
    uint32_t round = 0;      // of the update that it announced last
    uint32_t attempt = 0;
    uint64_t closed_since_ms = 0;  // 0: the connection is open
    uint64_t heard_ms = 0;         // the last bytes, or the end of its connection
    bool holds = false;            // it lets the server hold its answers, so it is reachable
    bool idle = false;             // the same, and its last request got, or waits for, a Wait
    bool was_done = false;         // its last Hello was answered with Done
    int lost = 0;                  // how its network failed, an error of libuv; 0: it has not
    uint64_t ask_by_ms = 0;        // it was told to ask at once; 0: it was not, or it has
    std::exception_ptr failure;    // of the current answer
    Moved moved;                   // up to its last answer
    std::optional<Moved>
        at_task;  // the same before the Hello that got its task; absent: it has none
    bool writing = false;
    uint64_t write_deadline_ms = 0;  // while writing
    bool working = false;            // a decoder has the answer to make
    bool delayed = false;            // the answer is given later
    bool unread = false;             // in unread_
    uint64_t held_until_ms = 0;      // the answer waits for work until then; 0: it does not
  };

  // One accepted connection. It lives until its handle is closed and no work refers to it.
  struct Client {
    explicit Client(Loop& owner) : loop(owner) {}
    Loop& loop;
    uv_tcp_t handle{};
    Id id = 0;
    Address from{};
    uint64_t entered_ms = 0;
    // The proxy's header and the ClientHello so far; none after the handshake began.
    std::vector<uint8_t> hello;
    bool awaits_header = false;  // it comes from a proxy, which has not said yet for whom
    std::unique_ptr<Session> session;
    bool closing = false;
    bool closed = false;
  };
  // Beside it a stranger has some entries in sets and maps.
  static_assert(sizeof(Client) <= 512, "a silent stranger must be cheap");

  // Makes answers in the pool, one after the other.
  struct Decoder {
    uv_work_t work{};
    Loop* loop = nullptr;
    std::vector<Client*> clients;  // whose answers it makes; empty: it is idle
  };

  // How often a device has lately connected while it had a session.
  struct Takeovers {
    uint32_t count = 0;
    uint64_t last_ms = 0;
  };

  struct Deadline {
    uint32_t round = 0;
    uint32_t attempt = 0;
    uint64_t at_ms = 0;
  };

  static Status FindKey(void* context, ByteSpan identity, Key* psk);
  static Status FindCurrentKey(void* context, ByteSpan identity, Key* psk);
  static void OnTick(uv_timer_t* timer);
  static void OnRoundTime(uv_timer_t* timer);
  static void OnSignal(uv_signal_t* signal, int number);

  // strangers.cc
  void StartListening();
  void AcceptBatch();
  void Open(int socket, const posix::IpAddress& from);
  Client* Enter(const Address& from);
  void OnStrangerBytes(Client& client, ByteSpan bytes);
  bool TakeProxyHeader(Client& client);
  void EnterFrom(Client& client, const Address& from);
  void TellOfProxy(const Client& client, const char* what);
  void OnTurn();
  bool CloseOverdue();
  bool CloseLeaving();
  void ResumeReading();
  void BeginHandshakes();
  void BeginHandshake(Client& client);
  void QueueHandshake(Client& client);
  bool WorkOnHandshakes();
  void OnProof(Client& client);
  void TickStrangers();

  // clients.cc
  Client* Find(Id id) const;  // null if it is closing or gone
  static void OnRead(uv_stream_t* stream, ssize_t got, const uv_buf_t* buffer);
  void NoteHeard(Session& session, ssize_t got) const;
  void StartReading(Client& client);
  void OnSessionBytes(Client& client, ByteSpan bytes);
  void Pump(Client& client);
  void StartWrite(Client& client);
  void AnswerInTime(Client& client);
  void OnDelayed();
  void StartDelayTimer();
  void Answer(Client& client);
  static void AskJob(Client& client);
  void Respond(Client& client);
  void CountMoved(Session& session, bool is_task, bool is_end);
  void LogRefusal(const Client& client);
  uint32_t Jittered(uint32_t wait_ms);
  void Close(Client& client, const char* reason = "");
  void LogClose(const Client& client, const char* reason);
  void Reap(Client& client);
  void TickSessions();

  // signs.cc
  static std::string TextOf(const Address& address);
  void Sign(DeviceSign::Kind kind, const Client& client, const std::string& text = "") const;
  void SignAnswer(Client& client);
  std::string DescribeOtherModel(const Request& hello, Session& session) const;
  void RememberDeadline();
  std::optional<uint64_t> LateMs(const Session& session) const;
  void Dismiss(Client& client, ErrorCode code, const char* why, uint32_t wait_ms = 0);
  void GiveWay(Client& older);
  void OnDismissedRead(Client& client, ssize_t got);
  void OnEndOfSession(const Client& client);
  void RefuseFormer(Client& client);

  // decoders.cc
  void AnswerInPool(Client& client);
  void StartDecoders();
  void StartDecoder(Decoder& decoder, size_t most);
  void OnDecoded(Decoder& decoder);
  void ForgetUndecoded();

  // held.cc
  bool MayHold(const Session& session) const;
  bool IsNews(const Session& session) const;
  void Hold(Client& client);
  void AskForHeld();
  bool AnswerTold();
  void AnswerHeld(Client& client);
  void EndHold(Client& client);

  // fleet.cc
  void WatchFleet();
  void OnWatched();
  void TakeFleet(FleetNews news);
  void CloseChanged(const std::vector<uint32_t>& changed);

  // guest.cc
  void StartGuest();
  void RunGuest();

  void RaisePriority();
  void Tick();
  void ReportLacking();
  void TakeStep(std::function<void()> step, void (Loop::*then)());
  void OnStepTaken();
  void StartPoolWork();
  void OnPoolWorkDone();
  bool IsPoolIdle() const { return !in_pool_work_ && pool_work_.empty(); }
  void Tell(ServerPhase::Kind kind, const std::string& reason = "");
  void OpenRound();
  void OnRoundOpened();
  void AnnounceAttempt();
  void Wait();
  void LookWhetherToWait();
  void EndWait();
  void CloseIfComplete();
  void CloseRound();
  void OnRoundClosed();
  void Publish();
  uint64_t NextRoundTimeMs() const;
  void StartRoundTimer();
  uint64_t ShiftSchedule();
  void BeginSchedule();
  bool Extend();
  void Finish();
  void BeginFarewell();
  bool HaveAllParted() const;
  void Serve(Job& job);
  bool MustEndJob() const;
  void EndJobIfAsked();
  void LeaveJobIfUnused();
  void StopLoop();
  void Fail(const std::exception_ptr& failure);
  uint64_t now() const { return uv_now(&loop_); }

  // Exchanged only while no step, decoder or answer uses it. Null: there is none now.
  Job* job_ = nullptr;
  JobSource* source_ = nullptr;       // from Run() on
  std::optional<HaltRecord> ending_;  // how the job is to end, as soon as no step is under way
  SharedDevices devices_;
  uint64_t fleet_ = 0;                              // news of the fleet so far
  uint64_t fleet_of_step_ = 0;                      // fleet_ when the last step of the job began
  std::unordered_map<uint32_t, uint64_t> rekeyed_;  // in which change a device got its last secret
  ServerOptions options_;
  ServerEvents events_;
  TlsTicketKeys ticket_keys_;
  posix::LockedMemory ticket_keys_lock_{&ticket_keys_, sizeof(ticket_keys_)};
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
  LoopGuest guest_;
  uv_poll_t guest_poll_{};
  uv_timer_t guest_timer_{};
  uv_signal_t interrupt_{};
  uv_signal_t terminate_{};
  int signal_ = 0;  // that ended Run()
  LoopMonitor monitor_;

  HelloTokens tokens_;
  Admission admission_;
  RequestPace pace_;
  std::array<char, 32768> read_buffer_{};    // of the connection that is being read
  uint64_t read_ns_ = 0;                     // what devices' bytes have cost in this turn
  std::unordered_map<Id, Client*> clients_;  // all that are not freed
  std::set<Client*> sessions_;               // clients with a session that are not closing
  std::unordered_map<uint32_t, Client*> by_device_;
  std::vector<Id> paused_;                     // strangers that were read in this turn
  std::deque<Id> unread_;                      // sessions whose bytes wait for another turn
  std::deque<Id> leaving_;                     // strangers that have hung up
  std::deque<Id> handshake_work_[2];           // of favoured addresses, and of others
  std::set<std::pair<uint64_t, Id>> delayed_;  // by the time of the answer
  std::deque<Client*> undecoded_;              // whose answer waits for a decoder
  std::vector<Decoder> decoders_;
  std::set<Id> held_;          // whose answer waits for work
  std::deque<Id> told_;        // whose answer waits for its turn
  bool must_accept_ = false;   // connections wait for the end of this turn
  bool out_of_files_ = false;  // until the next tick
  LimitedLines lines_;         // that the network can cause
  SharedFormerKeys former_ = std::make_shared<const FormerKeys>();
  Session* handshaking_ = nullptr;                     // whose handshake is computed
  std::unordered_map<uint32_t, Takeovers> takeovers_;  // by device
  std::deque<Id> gave_way_;         // sessions that may still show that their machine is alive
  std::deque<Deadline> deadlines_;  // of the last attempts
  NetworkFigures figures_;
  std::minstd_rand jitter_{std::random_device()()};

  std::set<uint32_t> to_be_told_;  // devices that must still be told that the job is done
  uv_work_t first_work_{};
  uv_work_t step_work_{};
  std::function<void()> step_;  // see TakeStep()
  void (Loop::*after_step_)() = nullptr;
  std::exception_ptr step_failure_;
  bool in_step_ = false;
  uv_work_t watch_work_{};
  std::optional<FleetNews> news_;
  HelloHandles handles_;                // of them
  Job* next_job_ = nullptr;             // of the last look
  std::optional<HaltRecord> must_end_;  // the same
  std::exception_ptr watch_failure_;
  bool in_watch_ = false;
  bool has_job_in_watch_ = false;
  bool waits_ = false;              // for devices, or to be resumed
  std::deque<PoolWork> pool_work_;  // the first one may be under way
  uv_work_t pool_work_handle_{};
  std::exception_ptr pool_failure_;
  std::atomic<bool> must_stop_{false};
  bool in_pool_work_ = false;
  bool is_running_ = false;
  RoundOutcome outcome_;
  RoundOutcome::Traffic traffic_;  // of the attempt under way
  std::exception_ptr failure_;     // what Run() throws
  // The schedule: both times, and how much of LoopMonitor::slept_ms() is in them.
  uint64_t deadline_ms_ = 0;     // of the open attempt
  uint64_t publication_ms_ = 0;  // of the open or closed attempt's result
  uint64_t slept_ms_ = 0;
  bool awaits_publication_ = false;
  bool awaits_look_ = false;  // of a timed attempt: see NextRoundTimeMs()
  ServerPhase phase_;         // as it was last told
  int64_t closed_ms_ = 0;     // of the closed attempt; milliseconds since 1970
  uint64_t farewell_deadline_ms_ = 0;
  uint32_t lacking_reported_ = 0;  // devices, at most, in one line of the log
  bool opened_ = false;            // at least one round
  bool finished_ = false;
  bool stopping_ = false;
};

}  // namespace sotto::server
