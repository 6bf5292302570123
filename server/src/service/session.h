// One start of `sotto serve`: the store, the job, the server, and everything that watches them.
// Part of sotto::server/service.
//
// The constructor does what can fail before the job begins in the store: it opens the store, makes
// the job's configuration, and listens. Run() begins the job and serves it.
//
// Events come on the thread of Run(), but for the ledger's entries and looks at the store, which
// come from the server's pool.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "net/serve_request.h"
#include "net/server.h"
#include "service/evaluation.h"
#include "service/fleet.h"
#include "service/live_file.h"
#include "service/log.h"
#include "service/monitor.h"
#include "service/page.h"
#include "service/report.h"
#include "service/served_devices.h"
#include "spec/inputs.h"
#include "store/store.h"

namespace sotto::server {

class ServeSession {
 public:
  // The request must outlive the session. Throws std::invalid_argument for wrong options, and what
  // opening the store and the ports throws.
  explicit ServeSession(const ServeRequest& request);
  ServeSession(const ServeSession&) = delete;
  ServeSession& operator=(const ServeSession&) = delete;

  // Serves until the job is finished, and writes the results. Throws Stopped after a signal, with
  // the results written, and GaveUp if the job gave up.
  void Run();

 private:
  JobConfig MakeConfig();
  ServerEvents Events();
  PageSources Sources();
  void LogPhase(const ServerPhase& phase) const;
  void OnOutcome(const RoundOutcome& outcome);
  void RecordFigures();
  void FindPairs(uint32_t round, std::vector<privacy::Claim> claims);
  void Warn(const std::string& line);
  void BeginPage();
  privacy::Statement PlannedStatement();
  void LogStart(const privacy::Statement& planned) const;
  void WarnOfStart();
  void EvaluateEnd();
  void Finish(bool is_finished);

  const ServeRequest& request_;
  const ServerOptions options_;
  const InputDigests inputs_;
  const std::vector<std::string> leftovers_;  // of killed backups, beside the store
  const std::unique_ptr<Store> store_;
  LiveFile live_;
  SharedLog shared_;
  ServedFleet fleet_;
  const SharedDevices devices_;  // at the start
  const History history_;        // at the start
  const JobEntry* resumed_ = nullptr;
  const JobConfig config_;
  const SharedDataset test_;
  ServeLog log_;
  ServedDevices device_states_;
  OperatorReport report_;
  ServeMonitor monitor_;
  std::optional<ServePage> page_;
  Server server_;
  std::optional<Job> job_;
  std::optional<ServedEvaluations> evaluations_;
  bool finds_pairs_ = false;  // in the pool
  std::mutex
      mutex_;  // guards the members below; the first and the last: of a release until its publication
  std::optional<LedgerEntry> unpublished_;
  std::vector<RoundRecord> unrecorded_;  // published attempts
  JobTurns turns_;
};

}  // namespace sotto::server
