// A job's log that breaks one rule on purpose, so that a simulation shows that it would be noticed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/sql_store.h"
#include "faults/scenario.h"
#include "round/job_log.h"

namespace sotto::server {

// With Broken::kNone the store itself.
class BrokenLog final : public JobLog {
 public:
  BrokenLog(SqlStore& store, Broken broken) : store_(store), broken_(broken) {}

  void BeginJob(const JobRecord& record) override { store_.BeginJob(record); }
  void CommitAttempt(const AttemptRecord& record) override {
    Retried([&] { store_.CommitAttempt(record); });
  }
  void SealAttempt(const SealRecord& record) override {
    if (broken_ != Broken::kSeal) Retried([&] { store_.SealAttempt(record); });
  }
  void CommitRelease(const ReleaseRecord& record) override {
    Retried([&] { store_.CommitRelease(record); });
  }
  void HaltJob(const HaltRecord& record) override { store_.HaltJob(record); }
  ByteSpan ReceiptOf(uint32_t round, uint32_t attempt, int64_t device) override {
    return store_.ReceiptOf(round, attempt, device);
  }
  void CheckReceipt(ByteSpan receipt, int64_t device) override {
    if (broken_ != Broken::kReceipts) store_.CheckReceipt(receipt, device);
  }
  bool HasShown(int64_t device) const override { return store_.HasShown(device); }
  const SettledDevices* Settle() override { return store_.Settle(); }

 private:
  template <typename Call>
  void Retried(Call call) {
    if (broken_ != Broken::kRetry) {
      call();
      return;
    }
    try {
      call();
    } catch (const StoreLost&) {
      static_cast<SimulatedConnection&>(store_.database()).Reconnect();
      call();
    }
  }

  SqlStore& store_;
  const Broken broken_;
};

}  // namespace sotto::server
