// A store in one SQLite file. Part of sotto::server/store.
//
// Every commit is on the disk before the call returns (write-ahead log, synchronous = FULL).
//
// The file holds the devices' secrets without encryption. Mode 0600 is enforced: anyone who can
// read the file can remove the noise from every update. The file belongs to one process at a time;
// a second process is refused.
//
// Backups: stop that process before you copy the file. If a file NAME-wal lies beside it, open the
// store first, for example with `sotto keys list`. A restored backup does not know the releases
// that were made after it; continue with it only if there were none.
//
// sqlite_versions.h defines the file's format and its versions. Opening a store reads the whole
// file once, to find damage. One thread at a time.
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
  // Throws if other users may read the file, if another process uses it, or if it is no store.
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
