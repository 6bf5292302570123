// The log of a job: its records, and the interface that takes them. Part of sotto::server/round.
//
// A job never reads its log. The program that starts the job reads the log and gives the job its
// state (store/store.h). A simulation keeps no log.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "downloads/model_codes.h"
#include "plans/statement.h"
#include "plans/turns.h"
#include "round/halt.h"
#include "round/job_config.h"
#include "round/job_phases.h"
#include "sotto/keys.h"
#include "sotto/span.h"

namespace sotto::server {

// The beginning of a job. Spans and references are valid during the call only.
struct JobRecord {
  ByteSpan job_id;        // [kJobIdSize]
  ByteSpan model_digest;  // [kSha256Size]
  const JobConfig& config;
  Span<const float> parameters = {};  // [model.parameters] of the model with which the job begins
  // [32] from which it derives (sotto/initial_weights.h), public; empty: it does not, or this
  // process does not know.
  ByteSpan weights_key = {};
};

// An attempt of Sampling::kPasses whose sum is about to be read. It is written before that, so that
// no crash can hide a turn: sealed means charged (plans/turns.h, lemma 6).
struct SealRecord {
  uint32_t round = 0;
  uint32_t attempt = 0;
  std::vector<int64_t> devices;  // that were asked: DeviceRegistry::NumberOf(), ascending
};

struct HaltRecord {
  Halt kind = Halt::kWaiting;
  std::string reason;  // for people: the operator's
};

// Of a log that is an older copy and was recovered (receipts.h): which devices have settled, and
// what devices were charged for when they did, in this job, and since its start in jobs before it.
// By DeviceRegistry::NumberOf().
struct SettledDevices {
  std::set<int64_t> devices;
  std::map<int64_t, privacy::Turns> charged;
  std::map<int64_t, privacy::Turns> charged_before;
};

// The state of a job between two rounds, from its log. A new process resumes the job in this state.
struct JobState {
  uint8_t job_id[kJobIdSize] = {};
  uint32_t next_round = 0;
  uint32_t next_attempt = 0;  // above every attempt that was committed for that round
  uint32_t attempts = 0;      // committed in all rounds
  // [model.parameters] of the last release, or those with which the job began.
  std::vector<float> parameters;
  std::vector<uint8_t> optimiser_state;  // of the last release, as the job wrote it
  // Bound of the next round, which the last release set under adaptive clipping; 0: the configured
  // one.
  double clip_l2 = 0.0;
  // The devices that the last attempt heard, by registry index (round/attempt.h); empty: none. A
  // store does not know them.
  std::vector<bool> heard;
  JobPhases phases;               // what its rounds so far were accounted with
  std::vector<SealRecord> seals;  // of kPasses: all turns of the job so far, in their order
  uint32_t planned =
      0;  // rounds of its plan so far, which the configuration may extend; 0: as there
  // What devices may hold of the job's models, and how it began; null: nobody knows.
  std::shared_ptr<ModelCodes> codes;
};

// An attempt at a round. It is committed before any device takes part in it. A committed number is
// never used again, so no round key is used twice.
struct AttemptRecord {
  uint32_t round = 0;
  uint32_t attempt = 0;
  // Positions of the drawn devices in the list of those that were eligible, in the registry's
  // order; ascending.
  std::vector<uint32_t> cohort;
  uint32_t devices = 0;  // that were eligible; 0: as many as before, and the same
  // Of these the ones that were not eligible in any earlier attempt of this process:
  // DeviceRegistry::NumberOf().
  std::vector<int64_t> joined = {};
};

// A released round: the model, its privacy claims and who was drawn, written together or not at
// all.
struct ReleaseRecord {
  uint32_t round = 0;
  uint32_t attempt = 0;
  uint32_t reported = 0;
  Span<const float> parameters;  // [model.parameters], valid during the call
  const CodecInfo* codec = FindCodec("none");
  bool seeded = false;        // not private, whatever the codec
  double clip_l2 = 0.0;       // bound on an update's norm in this round, model units
  double next_clip_l2 = 0.0;  // of the next round
  double noise_sigma = 0.0;   // of one encoding, model units; 0 without privacy
  privacy::Plan plan;         // of the job
  uint32_t attempts = 0;      // of the job so far, this one included
  // The devices that were drawn: DeviceRegistry::NumberOf(), ascending. Empty if the attempt was
  // sealed, which wrote them. The other samplings need no seal before the sum is read: nobody sees
  // a sum that is not released, and an attempt that was lost is drawn anew.
  std::vector<int64_t> devices = {};
  // After this round, over the whole job and the jobs before it; empty without privacy.
  privacy::Statement spent;
  // The state of the job's optimiser, opaque bytes; empty if it has none. Valid during the call.
  ByteSpan optimiser_state;
  // Attached to the model: of a round that measured prediction errors, if it found one.
  std::optional<float> threshold = std::nullopt;
};

// Every call returns only when the record is durable. It throws std::runtime_error if the record
// cannot be made durable.
class JobLog {
 public:
  virtual ~JobLog() = default;

  // Each process that runs the job calls this before its first round. Throws std::runtime_error
  // also in two cases: the log's last job is another one and no new job was allowed; or the job
  // began with another configuration. In the second case the message names the field.
  virtual void BeginJob(const JobRecord& record) = 0;
  virtual void CommitAttempt(const AttemptRecord& record) = 0;
  // Of kPasses, after CommitAttempt() and before the sum of the attempt is read.
  virtual void SealAttempt(const SealRecord& record) = 0;
  virtual void CommitRelease(const ReleaseRecord& record) = 0;
  // A log that nobody reads later has no need of it.
  virtual void HaltJob(const HaltRecord& /*record*/) {}

  // Receipts for devices: see receipts.h. A log that nobody can restore from a copy needs none.
  // These three methods are safe from any thread. Devices by DeviceRegistry::NumberOf().
  //   ReceiptOf     of the attempt that was committed last, for a device that is drawn in it; its
  //                 bytes live until the next but one is committed; empty: none
  //   CheckReceipt  takes the receipt of a device's Hello; throws StaleLog if the device has seen
  //                 what this log does not hold, and does not settle by that
  //   HasShown      of a recovered copy: whether the next Settle() lets this device settle
  virtual ByteSpan ReceiptOf(uint32_t /*round*/, uint32_t /*attempt*/, int64_t /*device*/) {
    return {};
  }
  virtual void CheckReceipt(ByteSpan /*receipt*/, int64_t /*device*/) {}
  virtual bool HasShown(int64_t /*device*/) const { return false; }

  // Writes what devices have shown since the last call. Returns those that have settled, which
  // alone may be asked, valid until the next call; null: the log is no recovered copy.
  virtual const SettledDevices* Settle() { return nullptr; }
};

// Keeps nothing.
class NoLog : public JobLog {
 public:
  void BeginJob(const JobRecord&) override {}
  void CommitAttempt(const AttemptRecord&) override {}
  void SealAttempt(const SealRecord&) override {}
  void CommitRelease(const ReleaseRecord&) override {}
};

}  // namespace sotto::server
