// The records of a store, as values: devices, jobs, releases. Part of sotto::server/store.
//
// A store only adds records, and changes none; only older models may be deleted. Every decision is
// a function over records (history.h), the same for every store.
//
// Plain values: any thread may read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "evaluation/evaluation.h"
#include "round/devices.h"
#include "round/job_log.h"
#include "round/ledger_entry.h"
#include "sotto/span.h"
#include "sotto/wire.h"

namespace sotto::server {

// The public part of a device: everything except its secret.
struct DeviceRecord {
  int64_t number = 0;  // the devices' order; never used again
  std::string id;
  int64_t created = 0;             // seconds since 1970
  std::optional<int64_t> revoked;  // seconds since 1970; a revoked device never takes part again
  std::optional<int64_t> rotated;  // seconds since 1970; when its secret was last exchanged
  std::string owner;               // whose data it trains on; empty: it has none
  // A secret that it has or had derives from a known seed: not private.
  bool seeded = false;

  bool is_eligible() const { return !revoked.has_value(); }
};

// A device that is to be registered.
struct Registration {
  Device device;
  std::string owner = {};  // whose data it trains on; empty: it has none
  std::string kit = {};    // posix::KitSettingsText(); empty: it gets none
};

// From one attempt of a job on, another number of devices is eligible.
struct FleetEntry {
  int64_t round = 0;
  int64_t attempt = 0;
  int64_t devices = 0;
  int64_t attempts_before = 0;  // committed in all rounds before it holds
};

// From now on a job has this plan; it began with the plan of its configuration.
struct JobExtension {
  int64_t rounds = 0;           // of the whole job
  double epsilon_budget = 0.0;  // +infinity: none
};

// Why a job opened no attempt at that time.
struct HaltEntry {
  int64_t number = 0;    // of the job's halts, from 1
  int64_t attempts = 0;  // committed by then
  int64_t rounds = 0;    // planned then
  Halt kind = Halt::kWaiting;
  std::string reason;  // for people: the operator's
  int64_t since = 0;   // seconds since 1970

  bool SaysTheSameAs(const HaltEntry& other) const {
    return attempts == other.attempts && rounds == other.rounds && kind == other.kind &&
           reason == other.reason;
  }
};

// The turns of one device in a job of kPasses. For the operator.
struct DeviceTurns {
  std::string id;
  int64_t used = 0;
  int64_t left = 0;              // of the job's and the store's limits; 0 if it is not asked
  int64_t last_round = kNoTurn;  // of the last one, from 0
  bool is_revoked = false;
  bool must_settle = false;   // before it is asked: the store is a recovered copy
  int64_t left_if_shown = 0;  // it must settle: the most that may be left then

  static constexpr int64_t kNoTurn = -1;
};

// The turns of a job's devices.
struct JobTurns {
  int64_t participations = 0;        // K of a job of passes; 0: it is not of passes
  int64_t cohort = 0;                // that a round needs
  std::vector<DeviceTurns> devices;  // in the order of the registry, those without a turn too
};

// A device settled on a recovered copy (store/device_receipts.h).
struct SettledEntry {
  int64_t recovery = 0;
  int64_t device = 0;
  std::vector<uint8_t> receipt;  // with which; empty: it is younger than the recovery
  privacy::Turns charged;        // like turns of the job
  int64_t job = 0;
};

// The limit on what the turns of one device in all jobs of a store may cost (store/life.h).
struct LifeEpsilon {
  double epsilon = 0.0;
  double delta = 0.0;
  int64_t since = 0;  // seconds since 1970
};

// An operator said that this older copy is all there is (store/recovery.h).
struct Recovery {
  int64_t number = 0;               // from 1
  int64_t last_device = 0;          // later ones came after it
  int64_t job = 0;                  // the last one of the copy; 0: none had begun
  int64_t first_job = 0;            // the same of an earlier recovery that lacked receipts, or job
  std::optional<LifeEpsilon> life;  // the one that the copy has
  int64_t since = 0;                // seconds since 1970
};

// A job and its progress.
struct JobEntry {
  int64_t number = 0;  // from 1, in the order in which the jobs began
  uint8_t job_id[kJobIdSize] = {};
  std::string model;
  std::string configuration;           // text of ConfigurationToJson()
  int64_t begun = 0;                   // seconds since 1970
  std::vector<int64_t> devices;        // numbers of all that were eligible while it ran, ascending
  std::vector<int64_t> first_devices;  // those with which it began, ascending
  std::vector<FleetEntry> fleets;      // changes, in their order
  std::vector<JobExtension> extensions;  // in their order
  // Who was drawn, by round and attempt: in released attempts, and of kPasses in sealed ones.
  std::vector<SealRecord> seals;
  std::vector<SettledEntry> settled;  // whose lost turns count as turns of this job
  std::optional<HaltEntry> halt;      // the last one, which may be over
  int64_t released = 0;               // rounds
  int64_t attempts = 0;               // committed in all rounds
  int64_t next_attempt = 0;           // at the next round: above every committed one
  bool seeded = false;                // one of its releases is marked as seeded
};

// What somebody asks of the store's jobs: `sotto job`, or a server's options.
enum class JobAct {
  kStart,
  kStop,
  kResume,  // to go on with a job that is over
  kMove,    // all that the store has goes on in another one; until it is answered nothing else does
};
constexpr privacy::Named<JobAct> kJobActs[] = {{JobAct::kStart, "start"},
                                               {JobAct::kStop, "stop"},
                                               {JobAct::kResume, "resume"},
                                               {JobAct::kMove, "move"}};
inline const char* Name(JobAct act) { return privacy::NameIn(kJobActs, act); }

struct JobAsk {
  JobAct act = JobAct::kStart;
  // Which, of kStop and kResume. Of kStart: the one that it replaces, if that has released no round
  // by then; 0: none.
  int64_t job = 0;
  // Of kStart: the job's options, as text of a file of --config. Of kMove: the name of the other
  // store.
  std::string settings;
  // Somebody has seen what it adds to earlier jobs on its devices, and agreed.
  bool agreed = false;
  // Of kStart whose settings name a model file: that model, as posix::BundleOf() has it. The server
  // that begins the job may be unable to read the file. Empty once the request is answered.
  std::vector<uint8_t> model = {};
};

enum class JobOutcome {
  kBegun,
  kDone,
  kRefused,
  kWithdrawn,
};
constexpr privacy::Named<JobOutcome> kJobOutcomes[] = {{JobOutcome::kBegun, "begun"},
                                                       {JobOutcome::kDone, "done"},
                                                       {JobOutcome::kRefused, "refused"},
                                                       {JobOutcome::kWithdrawn, "withdrawn"}};
inline const char* Name(JobOutcome outcome) { return privacy::NameIn(kJobOutcomes, outcome); }

struct JobAnswer {
  JobOutcome outcome = JobOutcome::kBegun;
  int64_t job = 0;     // of kBegun
  std::string reason;  // for people
  int64_t since = 0;   // seconds since 1970; the store sets it
};

struct JobRequestEntry {
  int64_t number = 0;  // from 1; jobs begin in this order
  JobAsk ask;
  int64_t asked = 0;                // seconds since 1970
  std::optional<JobAnswer> answer;  // absent: it waits
};

// Stands for a round: of the model with which a job began.
constexpr int64_t kFirstModel = -1;

// The model after a released round, or the one with which the job began.
struct StoredModel {
  std::vector<float> parameters;
  std::vector<uint8_t> optimiser_state;
  double next_clip_l2 = 0.0;  // bound of the next round
};

// The prediction error above which a released model calls a sample an anomaly.
struct ModelThreshold {
  int64_t job = 0;
  int64_t round = 0;
  float threshold = 0;
};

// A test set. Two of one digest hold the same samples.
struct EvaluatedData {
  std::string name;
  std::string sha256;  // of its files, InputDigest of spec/inputs.h; empty: it is read from none
  std::vector<std::string> class_names = {};  // by label; empty: they are numbers
};

// The evaluation of a released model on the operator's test set.
struct StoredEvaluation {
  int64_t job = 0;
  uint32_t round = 0;
  EvaluatedData data;
  Evaluation evaluation;
  int64_t evaluated = 0;  // seconds since 1970
};

// What the operator saw of an attempt when its result was published.
struct RoundRecord {
  int64_t job = 0;
  uint32_t round = 0;
  uint32_t attempt = 0;
  bool released = false;
  std::string figures;  // FiguresToRecord()
};

// All devices and all jobs at one moment, each in the order of their numbers.
struct History {
  std::string store;  // its name, for messages
  std::vector<DeviceRecord> devices;
  std::vector<JobEntry> jobs;
  std::optional<LifeEpsilon> life = std::nullopt;   // absent: there is no limit
  std::optional<Recovery> recovery = std::nullopt;  // the last one; absent: it is no recovered copy
  std::vector<JobRequestEntry> requests = {};
};

}  // namespace sotto::server
