// A store in the tables of a database (sql_tables.h). Part of sotto::server/backends.
//
// Each record is chained to the record before it (sql_chain.h). Opening the store verifies the
// whole chain, and reading devices, ledger or a model verifies their records again. So a value that
// changed on the disk is refused, never used.
//
// Each change is one transaction. Where the tables lie, what makes a commit durable, and who may
// write: store_place.h. Before each commit the log must go on from the last record that this store
// has read or written: a store that was put in the place of this one is never written on.
//
// A restored backup does not know the releases that were made after it. Devices that took part in
// them return a receipt which shows that (round/receipts.h), and the server stops.
//
// One thread at a time, except ReceiptOf(), CheckReceipt() and HasShown().
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/sql.h"
#include "backends/sql_chain.h"
#include "backends/sql_devices.h"
#include "backends/sql_jobs.h"
#include "backends/store_place.h"
#include "store/device_receipts.h"
#include "store/store.h"

namespace sotto::server {

class SqlStore final : public Store {
 public:
  explicit SqlStore(std::unique_ptr<StorePlace> place);
  // As OpenStore() (open_store.h).
  explicit SqlStore(const std::string& where, StoreMode mode = StoreMode::kExisting);

  const std::string& name() const override { return database_.name(); }
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

  // For a copy, which copies what is in it.
  Database& database() { return database_; }

  // For a move (copy_store.h). Claims the store, also one that moves.
  void ClaimPlace() { place_->Claim(); }
  // The answer to the request with which it moves: kBegun, the new store is there; kWithdrawn.
  void AnswerMove(int64_t request, const JobAnswer& answer);

  void Recover() override;
  void RaiseLifeEpsilon(double epsilon, double delta) override;
  int64_t LastRecord() override;
  History ReadHistory() override;
  std::vector<LedgerEntry> Ledger() override;
  std::vector<uint8_t> ReadDescription(int64_t job) override;
  std::vector<int64_t> ListModels(int64_t job) override;
  StoredModel ReadModel(int64_t job, int64_t round) override;
  void AttachThreshold(const ModelThreshold& threshold) override;
  std::vector<ModelThreshold> Thresholds() override;

  void ClaimJobs() override;
  void RequireServer() override;
  std::optional<std::string> Server() override { return place_->Server(); }
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
  std::string TakeWarning() override { return place_->TakeWarning(); }

 private:
  // Whether a store that moves may be written.
  enum class Moving { kRefused, kAllowed };
  class Commit;

  void RequireNotMoving();

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
  void AddThreshold(const ModelThreshold& threshold, int64_t number);
  void DeleteModels(int64_t newest);

  const std::unique_ptr<StorePlace> place_;
  Database& database_;
  SqlDevices devices_{database_};
  SqlJobs jobs_{database_};
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
