// Watches a server while it runs: signs of life for the service manager, metrics in a file, alarms
// in the log. Part of sotto::server/service.
//
// OnOutcome() and Alive() belong to the event loop's thread, Write() to the server's pool.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "service/metrics.h"
#include "sotto/posix/service.h"

namespace sotto::server {

class ServeMonitor {
 public:
  //   file  for the metrics; empty: none
  //   warn  takes a line that the operator must look at
  ServeMonitor(std::string file, std::function<void(const std::string&)> warn)
      : file_(std::move(file)), warn_(std::move(warn)) {}

  //   epsilon_budget  infinite: none
  //   claims          after the last release, of an earlier start; empty: none
  void SetJob(uint64_t rounds_planned, uint64_t rounds_released, double epsilon_budget,
              const std::vector<privacy::Claim>& claims);
  // From now on looks at the store, too.
  //   attempts       that it has, of all jobs
  //   release_bytes  ReleaseBytes() of the job that begins
  void WatchStore(const std::string& store, int64_t attempts, uint64_t release_bytes);
  void OnOutcome(const RoundOutcome& outcome);
  void OnEnd(Halt end);  // kWaiting: the job is not over
  void OnEvaluation(const Evaluation& evaluation);
  void OnWarning();

  // Where the metrics get the devices' states; without it they have none.
  void CountDevices(std::function<std::map<std::string, uint64_t>()> count) {
    count_ = std::move(count);
  }

  // The metrics as they are now.
  std::string Text(const NetworkFigures& figures, uint64_t eligible_devices);

  // ServerEvents::alive.
  void Alive(const Server& server, uint64_t eligible_devices, uint64_t now_ms);

  // Writes the metrics if they are due. A failure is a warning: no job ends for want of metrics.
  void Write();

  // Writes the metrics of a server that has ended.
  void WriteLast(const Server& server, uint64_t eligible_devices);

 private:
  std::string TextOf(const NetworkFigures& figures, uint64_t eligible_devices);
  void LookForAlarms(const NetworkFigures& now, uint64_t now_ms);
  void LookForStoreAlarms();
  void LookAtStoreIfDue();

  const std::string file_;
  const std::function<void(const std::string&)> warn_;
  std::function<std::map<std::string, uint64_t>()> count_;
  posix::WatchdogSigns watchdog_;
  uint64_t next_write_ms_ = 0;
  uint64_t next_look_ms_ = 0;
  uint64_t last_look_ms_ = 0;
  NetworkFigures last_look_;

  std::string last_failure_;  // the last one in the log

  std::mutex mutex_;  // guards the members below
  JobFigures job_;
  std::string store_;  // empty: none is watched
  uint64_t release_bytes_ = 0;
  std::set<StoreAlarm::Kind> told_;  // of this job
  int64_t next_store_look_ = 0;      // seconds since 1970
  bool has_looked_ = false;          // at the store, and nobody has seen what that found
  std::string due_;                  // what Write() writes; empty: nothing
  std::string failure_;              // of the last Write(); empty: there was none
};

// What has happened between two looks at the network that the operator must look at, one line each,
// with what to do.
//   minutes  between the two looks
std::vector<std::string> NetworkAlarms(const NetworkFigures& before, const NetworkFigures& now,
                                       double minutes);

}  // namespace sotto::server
