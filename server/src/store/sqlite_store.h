// A store in one SQLite file. Part of sotto::server/store.
//
// Every commit is on the disk before the call returns (write-ahead log, synchronous = FULL).
//
// The file holds the devices' secrets, as they are: mode 0600 is enforced, and whoever can read it
// can take the noise off every update. It belongs to one process at a time; a second one is
// refused. Stop that process before copying the file, and copy no file beside which a NAME-wal
// lies: open it first, for example with `sotto keys list`. A restored backup does not know what was
// released after it was made; go on with it only if nothing was.
//
// The file's format and its versions are those of sqlite_versions.h. Opening a store reads all of
// it once, to find damage.
#ifndef SOTTO_STORE_SQLITE_STORE_H_
#define SOTTO_STORE_SQLITE_STORE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "store/sqlite.h"
#include "store/store.h"

namespace sotto::server {

class SqliteStore final : public Store {
 public:
  // Throws for a file that others may read, that another process uses, or that is no store.
  explicit SqliteStore(const std::string& path, StoreMode mode = StoreMode::kExisting);

  using Store::AddDevices;
  void AddDevices(const std::vector<Device>& devices, bool seeded,
                  const std::function<void()>& before_commit) override;
  void RevokeDevice(const std::string& id) override;
  Device FindDevice(const std::string& id) override;
  std::vector<DeviceRecord> ListDevices() override;
  DeviceRegistry LoadDevices() override;

  History ReadHistory() override;
  std::vector<LedgerEntry> Ledger() override;
  StoredModel ReadModel(int64_t job, uint32_t round) override;

  void AllowNewJob() override { may_begin_ = true; }
  void BeginJob(const JobRecord& record) override;
  void CommitAttempt(const AttemptRecord& record) override;
  void CommitRelease(const ReleaseRecord& record) override;

 private:
  void AddDevice(const Device& device, bool seeded);
  std::vector<JobEntry> ReadJobs();
  std::vector<int64_t> DevicesOf(int64_t job);
  History ReadWithin();
  int64_t AddJob(const JobRecord& record);
  void AddDevicesOfJob(int64_t job);
  bool IsSeeded();
  void AddRelease(const ReleaseRecord& record);
  [[noreturn]] void Refuse(const std::string& why) const;

  Database database_;
  int64_t job_ = 0;  // number of the job that BeginJob() began or resumed; 0: none
  bool may_begin_ = false;
};

}  // namespace sotto::server

#endif  // SOTTO_STORE_SQLITE_STORE_H_
