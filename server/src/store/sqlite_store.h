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
// read the file can remove the noise from every update.
//
// Many processes may use the file at once. A commit and a read wait for each other, so nothing here
// keeps the file locked for long: a verification reads the chain in pieces (sqlite_chain.h).
//
// One process runs jobs. It locks the store's inode (sotto/posix/held_file.h), so neither another
// name of the file nor a removed one lets a second server in; and the file NAME-serving, which says
// its process id. A file with a second hard link is not served. A link that appears later, as of a
// backup by hard links, is a warning.
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
// damage. One thread at a time, except ReceiptOf() and CheckReceipt().
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "round/receipts.h"
#include "sotto/posix/lock_file.h"
#include "store/sqlite.h"
#include "store/sqlite_chain.h"
#include "store/store.h"

namespace sotto::server {

class SqliteStore final : public Store {
 public:
  // Throws if other users may read the file, or if it is no store.
  explicit SqliteStore(const std::string& path, StoreMode mode = StoreMode::kExisting);

  const std::string& name() const override { return database_.path(); }
  void ReadAtOneMoment(const std::function<void()>& read) override;
  void AddDevices(const std::vector<Device>& devices, bool seeded) override;
  void RequireNew(const std::vector<Device>& devices) override;
  void RevokeDevice(const std::string& id) override;
  Device FindDevice(const std::string& id) override;
  std::vector<DeviceRecord> ListDevices() override;
  void RotateDevice(const std::string& id, const Key& secret) override;
  DeviceRegistry LoadDevices() override;
  std::vector<DeviceChange> TakeChanges() override;
  void SetPaused(bool paused) override;
  bool IsPaused() override;

  // For a backup, which copies what is in it.
  Database& database() { return database_; }

  History ReadHistory() override;
  std::vector<LedgerEntry> Ledger() override;
  std::vector<int64_t> ListModels(int64_t job) override;
  StoredModel ReadModel(int64_t job, int64_t round) override;

  void ClaimJobs() override;
  std::optional<std::string> Server() override;
  void KeepModels(uint32_t count) override { kept_models_ = std::max(count, 1U); }
  void AllowNewJob() override { may_begin_ = true; }
  void BeginJob(const JobRecord& record) override;
  void CommitAttempt(const AttemptRecord& record) override;
  void CommitRelease(const ReleaseRecord& record) override;
  void CommitEvaluation(uint32_t round, const EvaluatedData& data,
                        const Evaluation& evaluation) override;
  std::vector<StoredEvaluation> Evaluations() override;
  ByteSpan ReceiptOf(uint32_t round, uint32_t attempt) override;
  void CheckReceipt(ByteSpan receipt) override;
  uint64_t ignored_receipts() const override;
  std::string TakeWarning() override;

 private:
  class Commit;

  void RequireSameFile();
  void RequireSameLog();
  void RequireServersName();
  ChainHead EndOfLog();
  void RequireNew(const Device& device);
  void RequireNewSecret(const Device& device);
  int64_t NumberOf(const std::string& id);
  int64_t LastRecord();
  void AddDevice(Chain& chain, const Device& device, bool seeded);
  std::vector<JobEntry> ReadJobs();
  std::vector<int64_t> DevicesOf(int64_t job, int64_t most_start);
  History ReadWithin();
  void RequireSameFleet();
  int64_t AddJob(const JobRecord& record);
  Key ReceiptKey();
  void AddDevicesOfJob(int64_t job);
  void AddDevicesOfJob(int64_t job, const std::vector<int64_t>& devices);
  void Extend(const JobEntry& job, const JobConfig& config);
  void KeepFleet(const AttemptRecord& record);
  std::vector<FleetEntry> FleetsOf(int64_t job);
  std::vector<JobExtension> ExtensionsOf(int64_t job);
  Key SecretOf(Chain& chain, int64_t device);
  void LoadReceipts();
  bool IsSeeded();
  void AddRelease(const ReleaseRecord& record);
  void AddModel(int64_t job, int64_t round, Span<const float> parameters, ByteSpan optimiser_state,
                double next_clip_l2);
  void DeleteModels(int64_t newest);
  [[noreturn]] void Refuse(const std::string& why) const;

  Database database_;
  std::unique_ptr<posix::LockFile> serving_;  // from ClaimJobs() on
  ChainHead head_;          // of the log as this store has read or written it; without `last`
  bool has_links_ = false;  // more names than one: told
  int64_t seen_ = 0;        // the last record that TakeChanges() has seen
  int64_t job_ = 0;         // number of the job that BeginJob() began or resumed; 0: none
  uint8_t job_id_[kJobIdSize] = {};  // of that job
  bool may_begin_ = false;
  std::optional<uint32_t> kept_models_;  // absent: all
  std::unique_ptr<Receipts> receipts_;   // from BeginJob() on
};

}  // namespace sotto::server
