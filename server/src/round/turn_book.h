// The turns of each device in a job of Sampling::kPasses: who may be asked, and what was charged.
// Part of sotto::server/round.
//
// A turn is charged when it is sealed: before the sum of its attempt is read, for each device that
// was asked (plans/turns.h, lemma 6). In trust mode kPrivateNoise that is when the attempt begins,
// because the server then sees an update in every attempt, also in one that is given up. A device
// whose next turn its limit does not allow is not asked, and ends nobody's job. Devices are known
// by DeviceRegistry::NumberOf(), which no change of a fleet and no new secret moves; so nothing
// refills a device. A device that joins has had no turn.
//
// Two limits: K turns of this job, and what the store allows a device over all of its jobs, if it
// has such a limit (store/life.h). A device needs room in both.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "plans/turns.h"
#include "round/job_log.h"

namespace sotto::server {

class TurnBook {
 public:
  using TurnsByDevice = std::map<int64_t, privacy::Turns>;

  // Of a plan of kPasses; its limit_rounds set the limit.
  //   before  what earlier jobs of the store charged each device for
  //   life    the limit on those and these turns together; absent: none
  explicit TurnBook(const privacy::Plan& plan, TurnsByDevice before = {},
                    const std::optional<privacy::Turns>& life = std::nullopt);

  // On a recovered copy: what devices were charged for when they settled, which counts like turns
  // of this job or of those before it, and who may be asked. Null: the log is no such copy. It must
  // live on until the next call.
  void SetSettled(const SettledDevices* settled) { settled_ = settled; }
  bool HasSettled(int64_t device) const {
    return settled_ == nullptr || settled_->devices.count(device) != 0;
  }

  // Charges the devices of a sealed attempt. Twice for the same attempt changes nothing.
  void Seal(const SealRecord& seal);
  bool IsSealed(uint32_t round, uint32_t attempt) const;

  // What a turn in this round costs, and whether the device's limit allows it.
  privacy::Turns TurnIn(int64_t round) const { return privacy::TurnIn(plan_, round); }
  bool HasRoom(int64_t device, const privacy::Turns& turn) const;

  // What the device was charged for in this job, and the round of its last turn; kNoRound: it had
  // none.
  static constexpr int64_t kNoRound = -1;
  privacy::Turns UsedBy(int64_t device) const;
  int64_t LastRoundOf(int64_t device) const;

  // What it was charged for in all jobs of the store.
  privacy::Turns UsedInLifeBy(int64_t device) const;

  const privacy::Turns& limit() const { return limit_; }
  const std::vector<SealRecord>& seals() const { return seals_; }  // in their order

 private:
  struct Used {
    privacy::Turns turns;
    int64_t last_round = kNoRound;
  };

  const privacy::Plan plan_;
  const privacy::Turns limit_;
  const TurnsByDevice before_;
  const std::optional<privacy::Turns> life_;
  const SettledDevices* settled_ = nullptr;
  std::unordered_map<int64_t, Used> used_;  // by DeviceRegistry::NumberOf()
  std::vector<SealRecord> seals_;
};

}  // namespace sotto::server
