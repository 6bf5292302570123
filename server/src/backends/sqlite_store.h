// A store in one SQLite file. Part of sotto::server/backends.
//
// Every commit is on the disk, in the file itself, before the call returns (rollback journal in
// mode TRUNCATE, synchronous = EXTRA). A write-ahead log would hold the last commits in a second
// file, and a store that lost it would look like an older store: no jobs, nothing spent.
//
// Each record is chained to the record before it (sqlite_chain.h). Opening the store verifies the
// whole chain, and reading devices, ledger or a model verifies their records again. So a value that
// changed on the disk is refused, never used.
//
// The file holds the devices' secrets without encryption. Mode 0600 is enforced: no epsilon holds
// against a reader of the file who also has the bytes of an update (sdk/LRQ.md, section 8.1).
//
// Many processes may use the file at once. A commit and a read wait for each other, so nothing here
// keeps the file locked for long: a verification reads the chain in pieces (sqlite_chain.h).
//
// One process runs jobs: sqlite_file.h says how it keeps a second one out, by whatever name.
//
// Before each commit the path must still name the file that was opened, and its log must go on from
// the last record that this store has read or written: a store that was put in the place of this
// one, as another file or over its bytes, is never written on.
//
// Backups: backup.h. A plain copy of the file is one only while no process uses it, and if no file
// NAME-journal with something in it lies beside it: a kill or a power failure leaves one, and every
// program that opens the store undoes it. A restored backup does not know the releases that were
// made after it. Devices that took part in them return a receipt which shows that
// (round/receipts.h), and the server stops.
//
// The pages of deleted models (KeepModels()) are used again for later models: the file does not
// grow, and it does not shrink.
//
// sqlite_tables.h defines the file's format. Opening a store reads the whole file twice, to find
// damage. One thread at a time, except ReceiptOf(), CheckReceipt() and
// HasShown().
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/sqlite.h"
#include "backends/sqlite_chain.h"
#include "backends/sqlite_devices.h"
#include "backends/sqlite_file.h"
#include "backends/sqlite_jobs.h"
#include "store/device_receipts.h"
#include "store/store.h"

namespace sotto::server {

class SqliteStore final : public Store {
 public:
  // Throws if other users may read the file, or if it is no store.
  explicit SqliteStore(const std::string& path, StoreMode mode = StoreMode::kExisting);

  const std::string& name() const override { return database_.path(); }
  void ReadAtOneMoment(const std::function<void()>& read) override;
  void Register(const std::vector<Registration>& devices, bool seeded) override;
  void RequireNew(const std::vector<Device>& devices) override;
  void RevokeDevice(const std::string& id) override;
  Device FindDevice(const std::string& id) override;
  std::vector<DeviceRecord> ListDevices() override { return devices_.List(); }
  void RotateDevice(const std::string& id, const Key& secret) override;
  void SetOwner(const std::string& id, const std::string& owner) override;
  void SetKit(const std::string& id, const std::string& settings) override;
  std::string KitOf(const std::string& id) override;
  DeviceRegistry LoadDevices() override;
  std::vector<FormerKey> LoadFormerKeys() override;
  std::vector<DeviceChange> TakeChanges() override;
  void SetPaused(bool paused) override;
  bool IsPaused() override;

  // For a backup, which copies what is in it.
  Database& database() { return database_; }

  void Recover() override;
  void RaiseLifeEpsilon(double epsilon, double delta) override;
  int64_t LastRecord() override;
  History ReadHistory() override;
  std::vector<LedgerEntry> Ledger() override;
  std::vector<uint8_t> ReadDescription(int64_t job) override;
  std::vector<int64_t> ListModels(int64_t job) override;
  StoredModel ReadModel(int64_t job, int64_t round) override;

  void ClaimJobs() override { file_.Claim(); }
  std::optional<std::string> Server() override { return file_.Server(); }
  void KeepModels(uint32_t count) override { kept_models_ = std::max(count, 1U); }
  void AllowNewJob() override { may_begin_ = true; }
  void AnswerWithNextJob(int64_t request) override { request_ = request; }
  void AnswerWithNextJob(const JobAsk& ask) override { ask_ = ask; }
  int64_t Ask(const JobAsk& ask) override;
  bool AnswerRequest(int64_t number, const JobAnswer& answer) override;
  void BeginJob(const JobRecord& record) override;
  void CommitAttempt(const AttemptRecord& record) override;
  void SealAttempt(const SealRecord& record) override;
  void HaltJob(const HaltRecord& record) override;
  void CommitRelease(const ReleaseRecord& record) override;
  void CommitEvaluation(uint32_t round, const EvaluatedData& data,
                        const Evaluation& evaluation) override;
  std::vector<StoredEvaluation> Evaluations() override;
  void CommitFigures(const RoundRecord& record) override;
  std::vector<RoundRecord> RoundRecords() override;
  ByteSpan ReceiptOf(uint32_t round, uint32_t attempt, int64_t device) override;
  void CheckReceipt(ByteSpan receipt, int64_t device) override;
  bool HasShown(int64_t device) const override;
  const SettledDevices* Settle() override;
  void LoadReceipts() override;
  uint64_t ignored_receipts() const override;
  std::string TakeWarning() override { return file_.TakeWarning(); }

 private:
  class Commit;

  void RequireSameLog();
  ChainHead EndOfLog();
  History ReadWithin();
  std::optional<LifeEpsilon> ReadLife();
  std::optional<Recovery> ReadRecovery();
  void RequireSameFleet();
  int64_t AddJob(const JobRecord& record);
  Key ReceiptKey();
  std::shared_ptr<DeviceReceipts> LoadedReceipts() const { return std::atomic_load(&receipts_); }
  bool IsSeeded();
  void AddRelease(const ReleaseRecord& record);
  void AddModel(int64_t job, int64_t round, Span<const float> parameters, ByteSpan optimiser_state,
                double next_clip_l2);
  void DeleteModels(int64_t newest);

  Database database_;
  SqliteFile file_{database_};
  SqliteDevices devices_{database_};
  SqliteJobs jobs_{database_};
  ChainHead head_;    // of the log as this store has read or written it; without `last`
  int64_t seen_ = 0;  // the last record that TakeChanges() has seen
  int64_t job_ = 0;   // number of the job that BeginJob() began or resumed; 0: none
  uint8_t job_id_[kJobIdSize] = {};  // of that job
  bool may_begin_ = false;
  int64_t request_ = 0;                       // that the next job answers; 0: none
  std::optional<JobAsk> ask_;                 // the same, not recorded yet
  std::optional<uint32_t> kept_models_;       // absent: all
  std::shared_ptr<DeviceReceipts> receipts_;  // by std::atomic_load(); from LoadReceipts() on
};

}  // namespace sotto::server
