// One start of `sotto serve`: the store, the server, and everything that watches them, as long as
// the process lives; and the job that it serves now. Part of sotto::server/service.
//
// The constructor does what can fail before a job begins in the store: it listens. Run() serves the
// job that the options ask for, and unless they say --once all that follow.
//
// Events come on the thread of Run(), but for the ledger's entries and looks at the store, which
// come from the server's pool.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "net/serve_request.h"
#include "net/server.h"
#include "service/fleet.h"
#include "service/live_file.h"
#include "service/log.h"
#include "service/monitor.h"
#include "service/page.h"
#include "service/releases.h"
#include "service/served_devices.h"
#include "service/served_job.h"
#include "store/store.h"

namespace sotto::server {

class ServeSession : private JobSource {
 public:
  // The request must outlive the session.
  //   store  whose jobs this process has claimed
  // Throws std::invalid_argument for wrong options, and what opening the ports throws.
  ServeSession(const ServeRequest& request, std::unique_ptr<Store> store);
  ServeSession(const ServeSession&) = delete;
  ServeSession& operator=(const ServeSession&) = delete;

  // Serves until a signal, or with --once until the job is over. Each job's results are written at
  // its end. Throws Stopped after a signal, with the results written, and with --once GaveUp if the
  // job gave up.
  void Run();

 private:
  struct PageBeginning;

  // JobSource.
  bool stays() const override { return !request_.once; }
  Job* Next() override;
  std::optional<HaltRecord> MustEnd() override;
  void OnBegin() override;
  void OnEnd() override;
  void Leave() override;
  void CheckReceipt(ByteSpan receipt, int64_t device) override {
    shared_.CheckReceipt(receipt, device);
  }
  bool IsDone() const override { return is_done_ && !has_next_; }
  Reply AnswerRelease(const Request& request) override { return releases_.AnswerRelease(request); }
  uint32_t NewestRelease(const Request& hello) override { return releases_.NewestRelease(hello); }
  Reply AnswerCode(const Request& request) override { return releases_.AnswerCode(request); }

  ServerEvents Events();
  PageSources Sources();
  void Warn(const std::string& line);
  void SayLater(const std::string& line);
  void SayDue();
  void KeepQueue(const History& history);
  void KeepThresholds();
  void ShowThresholds();
  nlohmann::ordered_json Queue();
  Job* Make(JobChoice choice);
  JobChoice ChoiceOf(const History& history, const JobRequestEntry& request) const;
  Job* Begin(const History& history, const JobRequestEntry& request);
  bool Refuse(int64_t request, const std::string& reason);
  bool RefuseMoot(const History& history);
  std::optional<History> LookAgain(std::optional<int64_t>* seen);
  nlohmann::ordered_json Overview();
  void ShowIdle();
  void TellReady();
  void LogStart();
  void LogPhase(const ServerPhase& phase) const;
  void Finish(bool is_over);

  const ServeRequest& request_;
  const ServerOptions options_;
  const std::vector<std::string> leftovers_;  // of killed backups, beside the store
  const std::unique_ptr<Store> store_;
  LiveFile live_;
  SharedLog shared_;
  ServedFleet fleet_;
  ServeLog log_;
  ServedDevices device_states_;
  ServeMonitor monitor_;
  Releases releases_;
  std::optional<ServePage> page_;
  Server server_;
  ServeParts parts_;
  std::unique_ptr<ServedJob> made_;                   // in the pool, until OnBegin()
  bool is_made_seeded_ = false;                       // its claims rest on seeded noise
  std::shared_ptr<const PageBeginning> page_begins_;  // of made_
  std::unique_ptr<ServedJob> served_;                 // null: no job runs
  // Of looks at the store, which come one after the other: its last record when MustEnd() and
  // Next() saw all that it has for them, and what MustEnd() found.
  std::optional<int64_t> seen_;
  std::optional<int64_t> seen_idle_;
  std::optional<HaltRecord> why_end_;
  bool is_ready_ = false;
  std::atomic<bool> is_done_{false};       // the last job is over, and did not give up
  std::atomic<bool> has_next_{false};      // the queue has a job
  std::mutex mutex_;                       // guards the next members
  std::vector<JobRequestEntry> requests_;  // as the pool saw them last
  std::vector<std::string> due_;           // lines that the loop's thread writes
  std::optional<std::vector<ModelThreshold>> thresholds_;  // that it has not shown yet
};

// Sessions of one request, until one ends by itself or by a signal: it waits while another server
// has the store, and begins again, from the store alone, when the store was lost (StoreLost).
// Throws as ServeSession does, and what opening the store throws.
void ServeStore(ServeRequest request);

}  // namespace sotto::server
