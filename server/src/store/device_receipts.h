// The receipts of a store's devices while a server has it: what they say, and how devices settle on
// a store that was recovered from an older copy (recovery.h; round/receipts.h, lemma 2). Part of
// sotto::server/store.
//
// From then on a job of passes asks a device only after it has settled on this recovery:
//   - A device that was registered before it settles with its first Hello that brings a genuine
//     receipt of format 2. It is charged for what the receipt has above the store, each number by
//     itself, like turns of the job that the receipt names: that is the last one that asked the
//     device. If the store does not know it, like turns of the store's last job, which runs or is
//     over. A store without a job lets no device settle.
//   - A device that was registered later settles with its first Hello. It has lost no turns, but is
//     charged for a receipt that says so, of an entry that was lost with the original, like turns
//     of the last job: no earlier figure counts it (recovery.h, LostBeside()).
//   - Afterwards a receipt that the store does not know stops the server as on any store, unless it
//     is the one with which the device settled.
// Every settling is a record. Receipts carry the turns over all jobs, each with the colluders that
// its job assumed.
//
// All methods are safe from any thread, except Settle() and settled(): on the thread of the job, or
// while no job runs on another one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "round/receipts.h"
#include "store/history.h"
#include "store/life.h"

namespace sotto::server {

class DeviceReceipts {
 public:
  // The job of Charge() and Of() is the history's last one.
  DeviceReceipts(const Key& key, const History& history);

  // As Receipts::Add().
  void Add(ByteSpan job_id, uint32_t round, uint32_t attempt, ByteSpan record) {
    receipts_.Add(job_id, round, attempt, record);
  }

  // An attempt of the job was sealed or released.
  void Charge(const SealRecord& seal);

  // Of an attempt of the job that was added, for a device that is drawn in it.
  ByteSpan Of(uint32_t round, uint32_t attempt, int64_t device);

  // Throws StaleLog as JobLog::CheckReceipt() does.
  void Check(ByteSpan receipt, int64_t device);
  bool HasShown(int64_t device) const;

  // Lets the devices settle that have shown so since the last call.
  //   write  makes these records durable, all or none; not called for none
  using Write = std::function<void(const std::vector<SettledEntry>&)>;
  void Settle(const Write& write);

  // Null: the store is no recovered copy.
  const SettledDevices* settled() const { return settled_ ? &*settled_ : nullptr; }

  uint64_t ignored() const { return receipts_.ignored(); }

 private:
  struct JobPlan {
    int64_t number = 0;
    privacy::Plan plan;
  };

  struct Shown {
    std::vector<uint8_t> receipt;
    privacy::Turns turns;
    const JobPlan* job = nullptr;  // that the receipt names; null: the store does not know it
    bool is_later = false;         // the device was registered after the recovery
  };

  // What a device that holds so much is charged for, and as of which job.
  SettledEntry EntryOf(int64_t device, const privacy::Turns& held, const Shown& shown) const;

  Receipts receipts_;
  std::array<uint8_t, kJobIdSize> job_id_ = {};
  std::map<std::array<uint8_t, kJobIdSize>, JobPlan> jobs_;
  privacy::Plan plan_;  // of the job
  int64_t number_ = 0;  // its number
  const std::optional<Recovery> recovery_;
  std::optional<SettledDevices> settled_;

  mutable std::mutex mutex_;                              // guards the rest
  TurnsByDevice charged_;                                 // in all jobs
  std::optional<std::pair<uint32_t, uint32_t>> sealed_;   // the attempt of the last Charge()
  std::map<int64_t, std::vector<uint8_t>> settled_with_;  // this recovery's
  std::map<int64_t, Shown> shown_;
};

}  // namespace sotto::server
