// One job that a server serves, from its configuration to its results. Part of
// sotto::server/service.
//
// The constructor may run in the server's pool. All other calls come from the thread of
// Server::Run(), but for WriteEnd().
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_start.h"
#include "net/serve_request.h"
#include "net/server.h"
#include "service/evaluation.h"
#include "service/fleet.h"
#include "service/log.h"
#include "service/monitor.h"
#include "service/page.h"
#include "service/report.h"
#include "service/served_devices.h"
#include "spec/inputs.h"
#include "store/history.h"
#include "views/job_warnings.h"

namespace sotto::server {

// What lives as long as the process, and a job needs. All of it must outlive the job.
struct ServeParts {
  SharedLog& log;
  ServedFleet& fleet;
  ServeMonitor& monitor;
  const ServeLog& lines;
  ServedDevices& devices;
  Server* server = nullptr;
  ServePage* page = nullptr;  // null: there is none
};

class ServedJob {
 public:
  // Begins the job in the store, or goes on with it. Throws std::invalid_argument for options that
  // make no job; nothing is then written. Throws what the store throws.
  ServedJob(JobChoice choice, const ServeParts& parts);
  ServedJob(const ServedJob&) = delete;
  ServedJob& operator=(const ServedJob&) = delete;

  Job& job() { return *job_; }
  const JobConfig& config() const { return config_; }
  int64_t number() const { return number_; }  // in the store

  // Before its first round: tells the operator what the job is.
  void Begin();
  void OnOutcome(const RoundOutcome& outcome);
  void Warn(const std::string& line);

  // The job is over and the server goes on: evaluates its last models and writes the results that
  // the request asks for, in the pool.
  void EndInPool();
  // The same after the server has ended, unless it is done.
  //   was_stopped  by a signal: the job is not over
  void End(bool was_stopped);

  // For people, of a job that a signal stopped.
  static constexpr char kStopReason[] = "stopped; a later start goes on here";

 private:
  JobConfig MakeConfig();
  void Open();
  void FindPairs(uint32_t round, std::vector<privacy::Claim> claims);
  privacy::Statement PlannedStatement();
  void LogStart(const privacy::Statement& planned) const;
  void WarnOfStart();

  void WarnOfEnd();
  std::string TryToWriteEnd();
  void WriteEnd(bool was_stopped);

  const JobChoice choice_;
  const ServeRequest& request_;
  const ServeParts parts_;
  const InputDigests inputs_;
  const SharedDevices devices_;  // at the beginning
  const History history_;        // the same
  const JobEntry* const resumed_;
  const int64_t number_;
  const JobConfig config_;
  const SharedDataset test_;
  OperatorReport report_;
  JobWarnings warnings_{config_};
  std::optional<Job> job_;
  std::optional<ServedEvaluations> evaluations_;
  privacy::Statement planned_;  // at the beginning
  bool finds_pairs_ = false;    // in the pool
  bool is_over_ = false;        // nothing changes the report any more
  bool is_written_ = false;
  NetworkFigures network_;  // at the end
  std::mutex mutex_;        // guards the members below: of the last release, until its publication
  std::optional<LedgerEntry> unpublished_;
  JobTurns turns_;
};

}  // namespace sotto::server
