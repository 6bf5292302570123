// The server's memory: one SQLite file with the registered devices, their jobs one after the other,
// releases and the privacy ledger. Part of sotto::server/store.
//
// A server that is killed at any moment goes on with Job(config, store.LoadDevices(), store, key,
// store.Load()): no release is forgotten or counted twice, and no attempt's number comes again.
// Every commit is on the disk before the call returns (write-ahead log, synchronous = FULL).
//
// The last job goes on until another one is begun after it, which ends it for good. What a job
// spends is charged to its devices, those that were eligible while it ran; a later job on any of
// them starts from there: its config.spent_before is SpentBefore().
//
// The file holds the devices' secrets, as they are: mode 0600 is enforced, and whoever can read it
// can take the noise off every update. It belongs to one process at a time; a second one is
// refused. Stop that process before copying the file, and copy no file beside which a NAME-wal
// lies: open it first, for example with `sotto keys list`. A restored backup does not know what was
// released after it was made; go on with it only if nothing was.
//
// The format and its versions are those of schema.h.
//
// Opening a store reads all of it once, to find damage.
//
// Every error is a std::runtime_error: the file, what failed, what to do. One thread at a time.
#ifndef SOTTO_STORE_SQLITE_STORE_H_
#define SOTTO_STORE_SQLITE_STORE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "round/devices.h"
#include "round/store.h"
#include "store/ledger.h"
#include "store/sqlite.h"

namespace sotto::server {

// What may be shown of a device: everything but its secret.
struct DeviceRecord {
  std::string id;
  int64_t created = 0;             // seconds since 1970
  std::optional<int64_t> revoked;  // the same; a revoked device never takes part again
  bool seeded = false;             // whoever knows the seed knows the secret: not private
};

// A job of the store.
struct JobEntry {
  int64_t number = 0;  // from 1, in the order of their beginnings
  std::string model;
  int64_t begun = 0;   // seconds since 1970
  int64_t rounds = 0;  // planned
  int64_t released = 0;
  int64_t attempts = 0;
  int64_t devices = 0;  // that were eligible while it ran, those that took another's place too
  std::vector<int64_t> before;  // earlier jobs that share devices with it: it is charged with them
};

class SqliteStore final : public Store {
 public:
  enum class Mode {
    kExisting,  // the file must be there
    kCreate,    // a new one is created if there is none
  };

  // Throws for a file that others may read, that another process uses, or that is no store.
  explicit SqliteStore(const std::string& path, Mode mode = Mode::kExisting);

  // Registers devices, all or none.
  //   seeded  their secrets derive from a known number
  //   before_commit  runs when all are accepted and nothing is durable yet; if it throws, nothing
  //   is
  //                  registered
  // Throws std::invalid_argument for a bad name, std::runtime_error for a name or a secret that is
  // in the store already, revoked or not.
  void AddDevices(
      const std::vector<Device>& devices, bool seeded,
      const std::function<void()>& before_commit = [] {});

  // The device is no longer eligible, from the next LoadDevices() on. Its name and its secret stay
  // taken. A job whose plan counts on it goes on only with another device in its place.
  void RevokeDevice(const std::string& id);

  // The secret of a device that is not revoked.
  Device FindDevice(const std::string& id);

  // All devices in the order they were added, revoked ones too.
  std::vector<DeviceRecord> ListDevices();

  // The eligible devices, in the same order.
  DeviceRegistry LoadDevices();

  // The last job as it stands, for Job's constructor; nothing if a new one is to begin.
  std::optional<JobState> Load();

  // From here on the last job is over: Load() is empty, and BeginJob() begins another one after it.
  // Nothing is written until then.
  void AllowNewJob();

  // What jobs before the one that goes on, or begins, have spent on any device of its own or
  // eligible now. A job without privacy is a plan without noise.
  std::vector<privacy::SpentRounds> SpentBefore();

  // All jobs and all releases, in order.
  std::vector<JobEntry> Jobs();
  std::vector<LedgerEntry> Ledger();

  // The model after a released round of the last job, [model.parameters].
  std::vector<float> Parameters(uint32_t round);

  void BeginJob(const JobRecord& record) override;
  void CommitAttempt(const AttemptRecord& record) override;
  void CommitRelease(const ReleaseRecord& record) override;

 private:
  int64_t LastJob();
  double NextClip(uint32_t round);
  int64_t Count(const char* table, int64_t job);
  std::vector<int64_t> JobsBefore(int64_t job, bool with_eligible_devices);
  void AddJob(const JobRecord& record, const std::string& configuration);
  void RequireSameJob(const JobRecord& record, const nlohmann::ordered_json& configuration);
  bool RestsOnSeededNoise();
  void AddDevice(const Device& device, bool seeded);
  void AddRelease(const ReleaseRecord& record);
  [[noreturn]] void Refuse(const std::string& why) const;

  Database database_;
  int64_t job_ = 0;  // number of the job that goes on; 0: none
};

}  // namespace sotto::server

#endif  // SOTTO_STORE_SQLITE_STORE_H_
