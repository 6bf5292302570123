// A store in one SQLite file. Part of sotto::server/store.
//
// Every commit is on the disk, in the file itself, before the call returns (rollback journal in
// mode TRUNCATE, synchronous = EXTRA). A write-ahead log would hold the last commits in a second
// file, and a store that lost it would look like an older store: no jobs, nothing spent.
//
// Each record is chained to the record before it (sqlite_chain.h). Opening the store verifies the
// whole chain, and reading devices, ledger or a model verifies their records again. So a value that
// changed on the disk is refused, never used.
//
// The file holds the devices' secrets without encryption. Mode 0600 is enforced: anyone who can
// read the file can remove the noise from every update. The file belongs to one process at a time;
// a second process is refused.
//
// Backups: stop that process before you copy the file. After a kill or a power failure a file
// NAME-journal that is not empty may lie beside it: open the store first, for example with `sotto
// keys list`. A restored backup does not know the releases that were made after it. Devices that
// took part in them return a receipt which shows that (round/receipts.h), and the server stops.
//
// The pages of deleted models (KeepModels()) are used again for later models: the file does not
// grow, and it does not shrink.
//
// sqlite_versions.h defines the file's format and its versions. Opening a store reads the whole
// file twice, to find damage. One thread at a time, except ReceiptOf() and CheckReceipt().
#ifndef SOTTO_STORE_SQLITE_STORE_H_
#define SOTTO_STORE_SQLITE_STORE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "round/receipts.h"
#include "store/sqlite.h"
#include "store/sqlite_chain.h"
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
  std::vector<int64_t> ListModels(int64_t job) override;
  StoredModel ReadModel(int64_t job, int64_t round) override;

  void KeepModels(uint32_t count) override { kept_models_ = std::max(count, 1U); }
  void AllowNewJob() override { may_begin_ = true; }
  void BeginJob(const JobRecord& record) override;
  void CommitAttempt(const AttemptRecord& record) override;
  void CommitRelease(const ReleaseRecord& record) override;
  void CommitEvaluation(uint32_t round, const std::string& data,
                        const Evaluation& evaluation) override;
  std::vector<StoredEvaluation> Evaluations() override;
  ByteSpan ReceiptOf(uint32_t round, uint32_t attempt) override;
  void CheckReceipt(ByteSpan receipt) override;
  uint64_t ignored_receipts() const override;

 private:
  void AddDevice(Chain& chain, const Device& device, bool seeded);
  std::vector<JobEntry> ReadJobs();
  std::vector<int64_t> DevicesOf(int64_t job);
  History ReadWithin();
  int64_t AddJob(const JobRecord& record);
  Key ReceiptKey();
  void AddDevicesOfJob(int64_t job);
  void LoadReceipts();
  bool IsSeeded();
  void AddRelease(const ReleaseRecord& record);
  void AddModel(int64_t job, int64_t round, Span<const float> parameters, ByteSpan optimiser_state,
                double next_clip_l2);
  void DeleteModels(int64_t newest);
  [[noreturn]] void Refuse(const std::string& why) const;

  Database database_;
  int64_t job_ = 0;                  // number of the job that BeginJob() began or resumed; 0: none
  uint8_t job_id_[kJobIdSize] = {};  // of that job
  bool may_begin_ = false;
  std::optional<uint32_t> kept_models_;  // absent: all
  std::unique_ptr<Receipts> receipts_;   // from BeginJob() on
};

}  // namespace sotto::server

#endif  // SOTTO_STORE_SQLITE_STORE_H_
