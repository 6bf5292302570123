// One of the two servers, as `sotto serve` is one: it opens the store, waits for its turn, resumes
// the job or begins one, opens and closes rounds, and begins anew from the store when it was lost
// (server/src/service/session.cc, server/src/net/server.cc). Job and store are the real ones.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/sql_store.h"
#include "faults/database.h"
#include "faults/scenario.h"
#include "faults/witness.h"
#include "faults/world.h"
#include "round/job.h"

namespace sotto::server {

class BrokenLog;

class SimulatedServer {
 public:
  // Everything must outlive the server.
  SimulatedServer(Postgres& postgres, Witness& witness, const JobConfig& config, Broken broken,
                  const std::string& name);
  ~SimulatedServer();

  // A process starts.
  void Start();
  // It is killed, and started again after a while; or it is stopped, and goes on.
  void Kill(const char* why);
  void Stop(uint64_t ms);
  // It ends, and does not start by itself.
  void Shut();
  Process& process() { return process_; }

  // The process in which it serves devices now; 0: it takes no connection.
  int Serving() const { return job_ != nullptr ? process_.life : 0; }

  // A request of a device comes. The answer is empty if the connection ends.
  //   life  the process that the device's connection leads to
  using OnAnswer = std::function<void(std::vector<uint8_t> frame)>;
  void Receive(int life, uint32_t device, std::vector<uint8_t> frame, OnAnswer on_answer);

  bool is_over() const { return is_over_; }  // all jobs are
  bool waits() const { return job_ != nullptr && job_->phase() == Job::Phase::kIdle; }
  bool is_stale() const { return is_stale_; }  // it has found an older copy, and stays away

 private:
  template <typename Call>
  bool Guarded(const char* what, Call call);
  void Drop();
  void OnStaleLog();
  void Later(uint64_t ms, void (SimulatedServer::*next)());
  void Open();
  void Claim();
  void Begin();
  void BeginJob(const History& history, const JobEntry* resumed);
  void OpenRound();
  void OnRoundOpened();
  void Watch();
  void Announce();
  void CloseRound();
  void Publish();
  void Finish();

  Postgres& postgres_;
  World& world_;
  const Scenario& scenario_;
  Witness& witness_;
  const JobConfig config_;
  const Broken broken_;
  Process process_;
  std::unique_ptr<SqlStore> store_;
  std::unique_ptr<BrokenLog> log_;
  std::optional<DeviceRegistry> devices_;
  std::unique_ptr<Job> job_;
  Witness::JobId job_id_ = {};
  RoundOutcome outcome_;
  bool closes_ = false;  // the open attempt, before its deadline
  bool is_over_ = false;
  bool is_stale_ = false;
};

}  // namespace sotto::server
