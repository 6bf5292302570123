// The interface of a store, the durable record of devices and jobs. Part of sotto::server/store.
//
// A store holds the registered devices and an append-only log of what jobs did: jobs, attempts,
// releases with their models and their privacy claims. A store returns records and takes no
// decision. history.h decides from records what counts as spent, which job resumes, and which
// figure rests on seeded noise.
//
// A server that was killed at any moment starts again from the log:
//   const History history = store.ReadHistory();
//   const JobEntry* resumed = LastJob(history);
//   config.spent_before = SpentBefore(history, resumed);
//   Job job(config, devices, store, key, ReadState(store, resumed));
// No release is lost or counted twice, and no attempt's number is used again.
//
// Only the log's last job can be resumed. Beginning a new job ends the job before it.
//
// Several processes may read and write a store at once. One of them runs its jobs (ClaimJobs());
// the others add and revoke devices, and read. Each call reads its data anew and sees one moment; a
// call waits while another process commits.
//
// To add a database: classes that implement Database (backends/sql.h) and StorePlace
// (backends/store_place.h), its row in open_store.cc, its lines in CMakeLists.txt; the tests of the
// store then run on it. An implementation keeps nothing in memory except the number of the job that
// it began or resumed.
//
// Every error is a std::runtime_error that names the store, what failed, and what to do. One thread
// at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "round/devices.h"
#include "round/former_keys.h"
#include "round/job_log.h"
#include "store/records.h"

namespace sotto::server {

enum class StoreMode {
  kExisting,  // the store must exist
  kCreate,    // a new store is created if none exists
  // The store must exist, and it is only read: a file that nobody may write will do.
  kRead,
};

// BeginJob() of a new job: devices have changed since they were loaded. Nothing was begun.
struct FleetChanged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The store cannot be reached now, or another server has taken it over. A commit that was under way
// is in it or is not. Everything in memory may be old: start anew from the store.
struct StoreLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// ClaimJobs(): another server runs the store's jobs, and this process may wait for its end and call
// again.
struct ServedByAnother : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Store : public JobLog {
 public:
  // For messages.
  virtual const std::string& name() const = 0;

  // What `read` reads is of one moment. It reads only, and briefly: nobody commits meanwhile.
  virtual void ReadAtOneMoment(const std::function<void()>& read) = 0;

  // Registers devices, all or none.
  //   seeded  their secrets derive from a known number
  // Throws std::invalid_argument for a bad name, std::runtime_error for a name or a secret that is
  // in the store already, revoked or not.
  virtual void Register(const std::vector<Registration>& devices, bool seeded) = 0;
  // The same, with one owner.
  void AddDevices(const std::vector<Device>& devices, bool seeded, const std::string& owner = "") {
    std::vector<Registration> all;
    for (const Device& device : devices) all.push_back({device, owner});
    Register(all, seeded);
  }

  // Throws as Register() would now.
  virtual void RequireNew(const std::vector<Device>& devices) = 0;

  // Makes the device ineligible for good. Its name and its secrets stay taken.
  virtual void RevokeDevice(const std::string& id) = 0;

  // Gives the device a new secret; the one before it opens nothing any more. The device stays the
  // one that it was: in the jobs that it takes part in, and in what it has spent.
  virtual void RotateDevice(const std::string& id, const Key& secret) = 0;

  // Names the owner of a device, or another one. Throws std::invalid_argument for a bad label.
  virtual void SetOwner(const std::string& id, const std::string& owner) = 0;

  // The settings of a device's kit: posix::KitSettingsText(). Empty: it has had none.
  virtual void SetKit(const std::string& id, const std::string& settings) = 0;
  //   id  empty: of the kit of any device that was recorded last
  virtual std::string KitOf(const std::string& id) = 0;

  // The secret of a device that is not revoked.
  virtual Device FindDevice(const std::string& id) = 0;

  // All devices in the order in which they were added, revoked devices included.
  virtual std::vector<DeviceRecord> ListDevices() = 0;

  // The eligible devices, in the same order.
  virtual DeviceRegistry LoadDevices() = 0;

  // The secrets that devices had, and the secrets of revoked devices. Of each device in the order
  // in which it got them.
  virtual std::vector<FormerKey> LoadFormerKeys() = 0;

  // What any process has changed about devices since the last LoadDevices() or TakeChanges(), in
  // its order. Cheap if nothing has changed. Throws as RequireServer(): by this a server that has
  // nothing to write notices that it serves no more.
  virtual std::vector<DeviceChange> TakeChanges() = 0;

  // The number of the last record: if it is the same, so is all that ReadHistory() reads. Cheap.
  virtual int64_t LastRecord() = 0;

  // Whether the store's jobs are to open no further attempt.
  virtual void SetPaused(bool paused) = 0;
  virtual bool IsPaused() = 0;

  // Records what somebody asks of the jobs, and what became of it, once. The server that runs them
  // looks at it. Ask() returns the request's number. AnswerRequest() returns false if the request
  // has an answer already, which stays. HaltJob() with an end answers each kStop of its job,
  // BeginJob() that goes on with a job each kResume of it.
  virtual int64_t Ask(const JobAsk& ask) = 0;
  virtual bool AnswerRequest(int64_t number, const JobAnswer& answer) = 0;

  // Sets the limit on each device's turns in all jobs. Throws std::invalid_argument if the epsilon
  // is not above the one before; that one's delta stays. store/life.h says what else must hold.
  virtual void RaiseLifeEpsilon(double epsilon, double delta) = 0;

  // Says that this older copy is all there is: from now on only devices that have settled are asked
  // (device_receipts.h). No server may run on it.
  virtual void Recover() = 0;

  // Devices, jobs and the limit, all read at one moment.
  virtual History ReadHistory() = 0;

  // All releases, by job and round.
  virtual std::vector<LedgerEntry> Ledger() = 0;

  // The model that a job trains, as ParseBundle() takes it (sotto/model/model_bundle.h). Throws for
  // a job that is not in the store.
  virtual std::vector<uint8_t> ReadDescription(int64_t job) = 0;

  // The rounds of a job whose models the store has, ascending; kFirstModel: the one with which the
  // job began.
  virtual std::vector<int64_t> ListModels(int64_t job) = 0;
  virtual StoredModel ReadModel(int64_t job, int64_t round) = 0;

  // Attaches a threshold to a released model, in place of the one that it has. Throws
  // std::invalid_argument for a threshold that is not positive and normal, std::runtime_error for a
  // round that was not released.
  virtual void AttachThreshold(const ModelThreshold& threshold) = 0;
  // Of each model that has one the threshold that holds, by job and round.
  virtual std::vector<ModelThreshold> Thresholds() = 0;

  // Makes this process the one that runs the store's jobs, until the store is closed. BeginJob()
  // does so, too. Throws std::runtime_error that names the process which does so already:
  // ServedByAnother of a store that a second server may wait for.
  virtual void ClaimJobs() = 0;

  // Throws StoreLost if this process has claimed them and another one has taken them over since. A
  // receipt that seems to be of another log may then be of what that one has written.
  virtual void RequireServer() = 0;

  // The process that has claimed them, for people; absent: none.
  virtual std::optional<std::string> Server() = 0;

  // From now on each CommitRelease() deletes all models of its job but the last `count`, at least
  // 1. The model with which the job began counts as the one before round 0. Without this call all
  // models are kept.
  virtual void KeepModels(uint32_t count) = 0;

  // Records the evaluation of a released model of the job that began; of each round one. It is
  // durable when the call returns.
  virtual void CommitEvaluation(uint32_t round, const EvaluatedData& data,
                                const Evaluation& evaluation) = 0;

  // All evaluations, by job and round.
  virtual std::vector<StoredEvaluation> Evaluations() = 0;

  // Records what was seen of an attempt of the job that began; of each one record. `record.job` is
  // not read. It is durable when the call returns.
  virtual void CommitFigures(const RoundRecord& record) = 0;

  // All of them, by job, round and attempt.
  virtual std::vector<RoundRecord> RoundRecords() = 0;

  // Lets the next BeginJob() begin a new job instead of resuming the last one. Nothing is written
  // before that call.
  virtual void AllowNewJob() = 0;

  // The next BeginJob() answers this request with the job that it begins or resumes, in the same
  // commit. The second one records the request then, too.
  virtual void AnswerWithNextJob(int64_t request) = 0;
  virtual void AnswerWithNextJob(const JobAsk& ask) = 0;

  // What its operator should know, and has not been told by an earlier call; empty: nothing. Cheap.
  virtual std::string TakeWarning() { return ""; }

  // Lets CheckReceipt() and Settle() work before the first BeginJob(). Call it before any of them.
  virtual void LoadReceipts() = 0;

  // How many receipts CheckReceipt() ignored because this store's key did not make them.
  virtual uint64_t ignored_receipts() const { return 0; }
};

}  // namespace sotto::server
