// What must hold, whatever fails. The witness sees each commit at the moment at which it becomes
// the database's state, each task and model that a device or a reader gets, and what a server
// reads when it begins. It keeps its record and compares.
//
// One thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "backends/sql.h"
#include "faults/database.h"
#include "faults/scenario.h"
#include "faults/world.h"
#include "sotto/messages.h"
#include "store/records.h"
#include "store/store.h"

namespace sotto::server {

class Witness {
 public:
  using JobId = std::array<uint8_t, kJobIdSize>;
  static JobId IdOf(const uint8_t (&bytes)[kJobIdSize]);

  Witness(World& world, const Scenario& scenario) : world_(world), scenario_(scenario) {}

  // For each start of a server, and each time that one begins anew: never the same twice.
  int NextLife() { return ++lives_; }

  void OnCommit(const Process* by, Database& tables);

  // An older state is the database now. From here on what was lost is known to the devices alone.
  void OnPromotion(Database& tables);
  void OnStaleLog(const Process& by);
  void OnRecovery() { is_recovered_ = true; }
  bool was_promoted() const { return was_promoted_; }

  // A server that begins has read this.
  void OnStart(const Process& by, const History& history);

  // A device was asked, or somebody has a model that was released before this round.
  //   device  DeviceRecord::number
  void OnTask(const Process& by, int life, int64_t device, const Reply& train);
  void OnModel(const std::string& who, const JobId& job, int64_t round, Span<const float> model);

  // Somebody reads everything, at any moment: it is what was committed.
  void OnLook(Store& store);

  uint64_t commits() const { return commits_; }
  uint64_t releases() const { return released_; }
  // Devices that took part in an attempt which the promoted state has, but not as a charged one:
  // their receipts cannot show that (round/receipts.h).
  uint64_t unseen() const { return unseen_; }
  // Tasks of servers that had been taken over and did not know it: devices train for nothing.
  uint64_t vain() const { return vain_; }
  uint64_t tasks() const { return tasks_; }

 private:
  using AttemptName = std::tuple<int64_t, int64_t, int64_t>;  // job, round, attempt
  struct AttemptSeen {
    int life = 0;                             // of the process that opened it
    std::map<int64_t, int64_t> charged_then;  // turns of each device before it
    std::map<int64_t, int64_t> used_then;     // in how many releases it took part before it
    std::set<int64_t> asked;                  // devices
    std::set<int64_t> charged;                // the same, as the store has them
    bool is_released = false;
  };
  struct ReleaseSeen {
    int64_t attempt = 0;
    size_t model = 0;  // hash
    std::vector<double> epsilons;
  };
  struct LastTask {
    AttemptName attempt;
    JobId job = {};
    int64_t turns = 0;
    bool is_lost = false;
  };

  void ReadEpoch(const Process* by, Database& tables);
  void ReadJobs(Database& tables);
  void ReadAttempts(const Process* by, Database& tables);
  void ReadTurns(const Process* by, Database& tables);
  void ReadReleases(const Process* by, Database& tables);
  void OnRelease(const Process* by, const AttemptName& name, Database& tables);
  void ReadClaims(int64_t job, int64_t round, Database& tables);
  void RequireTurns(const AttemptName& name, const AttemptSeen& attempt);
  void CheckReceipt(const AttemptSeen& attempt, int64_t device, ByteSpan receipt);
  std::map<int64_t, int64_t> ChargedIn(std::optional<int64_t> job) const;

  World& world_;
  const Scenario& scenario_;
  int64_t epoch_ = 0;
  std::map<JobId, int64_t> jobs_;
  std::map<AttemptName, AttemptSeen> attempts_;  // as the store has them
  std::map<std::pair<int64_t, int64_t>, ReleaseSeen> releases_;
  std::map<int64_t, LastTask> last_task_;  // by device
  // In all states that ever were.
  std::map<std::pair<int64_t, JobId>, int64_t> used_;  // turns of a device in released attempts
  std::map<int64_t, int64_t> used_in_life_;
  std::map<std::tuple<JobId, int64_t, int64_t>, int> opened_by_;
  std::map<std::pair<JobId, int64_t>, std::set<size_t>> models_;
  std::set<std::pair<JobId, int64_t>> seen_;  // models that devices or readers have
  bool was_promoted_ = false;
  bool is_recovered_ = false;
  int lives_ = 0;
  uint64_t commits_ = 0;
  uint64_t released_ = 0;
  uint64_t unseen_ = 0;
  uint64_t vain_ = 0;
  uint64_t tasks_ = 0;
};

}  // namespace sotto::server
