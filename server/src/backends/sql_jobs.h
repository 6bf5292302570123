// The jobs of a store and who takes part in them: the tables `jobs`, `descriptions`,
// `job_devices`, `fleets`, `extensions`, `turns`, `settled` and `halts`. Part of
// sotto::server/store.
//
// What writes runs in the caller's transaction and appends its record to the chain.
//
// One thread at a time for each database.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/sql.h"
#include "round/job_log.h"
#include "store/records.h"

namespace sotto::server {

class SqlJobs {
 public:
  // The database must hold the tables of sql_tables.h, and must outlive this object.
  explicit SqlJobs(Database& database) : database_(database) {}

  // All jobs, in the order in which they began. Call it within a transaction: all is then of one
  // moment.
  std::vector<JobEntry> Read();

  // Adds a job without devices and parameters, and returns its number.
  int64_t Add(const JobRecord& record);

  // Adds devices to the job. Those that it has stay as they are.
  void AddDevices(int64_t job, const std::vector<int64_t>& devices);

  // Records that the job goes on with more rounds or a larger budget than before, if it does.
  void Extend(const JobEntry& job, const JobConfig& config);

  // Records who takes part from this attempt on, if that has changed.
  void KeepFleet(int64_t job, const AttemptRecord& record);

  // Records who was drawn in an attempt that is released or sealed.
  void Seal(int64_t job, const SealRecord& record);

  // Records why the job opens no attempt now, unless its last record says the same of the same
  // attempts.
  // An end answers what asked for it.
  void AddHalt(int64_t job, const HaltRecord& record);

  // Returns the request's number.
  int64_t AddRequest(const JobAsk& ask);
  // Throws std::runtime_error if it has an answer already.
  void AddAnswer(int64_t request, const JobAnswer& answer);
  bool IsAnswered(int64_t request);
  // Each such request for the job that has no answer yet: it is done.
  void AnswerAll(JobAct act, int64_t job, const std::string& reason);
  std::vector<JobRequestEntry> ReadRequests();

  // Records that a device settled.
  void AddSettled(const SettledEntry& entry);

 private:
  std::vector<int64_t> DevicesOf(int64_t job, int64_t most_start);
  std::vector<FleetEntry> FleetsOf(int64_t job);
  std::vector<JobExtension> ExtensionsOf(int64_t job);
  std::vector<SealRecord> SealsOf(int64_t job);
  std::vector<SettledEntry> SettledIn(int64_t job);
  std::optional<HaltEntry> HaltOf(int64_t job);

  Database& database_;
};

}  // namespace sotto::server
