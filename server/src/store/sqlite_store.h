// The server's memory: one SQLite file with the registered devices, one job, its releases and its
// privacy ledger. Part of sotto::server/store.
//
// A server that is killed at any moment goes on with Job(config, store.LoadDevices(), store, key,
// store.Load()): no release is forgotten or counted twice, and no attempt's number comes again.
// Every commit is on the disk before the call returns (write-ahead log, synchronous = FULL).
//
// The file holds the devices' secrets, as they are: mode 0600 is enforced, and whoever can read it
// can take the noise off every update. It belongs to one process at a time; a second one is
// refused. Stop that process before copying the file, and copy no file beside which a NAME-wal
// lies: open it first, for example with `sotto keys list`. A restored backup does not know what was
// released after it was made; go on with it only if nothing was.
//
// The format's version is SQLite's user_version, today 1, and its application_id marks the
// file as Sotto's. To change the schema: raise kVersion in sqlite_store.cc, add a step to
// OpenSchema() that turns the former version into the new one in a transaction, and a test with a
// file of the former version. Newer, older and foreign files are refused.
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

#include "round/devices.h"
#include "round/store.h"
#include "store/sqlite.h"

namespace sotto::server {

// What may be shown of a device: everything but its secret.
struct DeviceRecord {
  std::string id;
  int64_t created = 0;             // seconds since 1970
  std::optional<int64_t> revoked;  // the same; a revoked device never takes part again
  bool seeded = false;             // whoever knows the seed knows the secret: not private
};

// What one release cost, all over the job so far; the words are those of privacy/types.h.
struct LedgerEntry {
  uint32_t round = 0;
  std::string mechanism;
  double noise_sigma = 0.0;  // of one encoding, model units
  int64_t planned_reports = 0;
  double noise_multiplier = 0.0;
  double accounted_noise_multiplier = 0.0;
  int64_t colluders = 0;
  std::string adjacency;
  std::string sampling;
  std::string unit;
  std::string trust_mode;
  std::string accountant;
  double delta = 0.0;
  double epsilon = 0.0;          // +infinity without privacy, and where no bound can be stated
  double epsilon_network = 0.0;  // the same
  bool seeded = false;           // the job or an eligible device was: not private
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

  // The job as it stands, for Job's constructor; nothing if none was begun.
  std::optional<JobState> Load();

  // Of all releases, in order.
  std::vector<LedgerEntry> Ledger();

  // The model after a released round, [model.parameters].
  std::vector<float> Parameters(uint32_t round);

  void BeginJob(const JobRecord& record) override;
  void CommitAttempt(const AttemptRecord& record) override;
  void CommitRelease(const ReleaseRecord& record) override;

 private:
  void OpenSchema(Mode mode);
  void AddDevice(const Device& device, bool seeded);
  void AddRelease(const ReleaseRecord& record);
  void AddLedgerEntry(const ReleaseRecord& record);
  [[noreturn]] void Refuse(const std::string& why) const;

  Database database_;
};

}  // namespace sotto::server

#endif  // SOTTO_STORE_SQLITE_STORE_H_
