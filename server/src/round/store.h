// What a job writes down so that it survives its process: an interface. Part of
// sotto::server/round.
#ifndef SOTTO_ROUND_STORE_H_
#define SOTTO_ROUND_STORE_H_

#include <cstdint>
#include <vector>

#include "round/job_config.h"
#include "sotto/keys.h"
#include "sotto/span.h"

namespace sotto::server {

// A job as it begins. Spans and references are valid during the call.
struct JobRecord {
  ByteSpan job_id;        // [kJobIdSize]
  ByteSpan model_digest;  // [kSha256Size]
  const JobConfig& config;
};

// A job as it stands between two rounds: where a new process goes on.
struct JobState {
  uint8_t job_id[kJobIdSize] = {};
  uint32_t next_round = 0;
  uint32_t next_attempt = 0;  // above all that were committed for that round
  uint32_t attempts = 0;      // committed in all rounds
  // Attempts of all rounds that are charged though they released nothing: an earlier program gave
  // attempts up for what the drawn devices did.
  uint32_t surcharge = 0;
  std::vector<float> parameters;  // [model.parameters] of the last release; empty if there is none
  // Of the next round, as the last release left it under adaptive clipping; 0: as configured.
  double clip_l2 = 0.0;
};

// An attempt at a round, written before any device hears of it: a number that was committed is
// never given out again, so no round key is used twice.
struct AttemptRecord {
  uint32_t round = 0;
  uint32_t attempt = 0;
  std::vector<uint32_t> cohort;
};

// A released round: the model and what it cost, written together or not at all.
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
  // After this round, over the whole job and those before it; empty without privacy.
  privacy::Statement spent;
};

class Store {
 public:
  virtual ~Store() = default;

  // All return only when the record is durable, and throw std::runtime_error if it cannot be.

  // Called by each process that runs the job, before its first round. Throws too if another job
  // goes on in the store, or this one with another configuration, naming the field.
  virtual void BeginJob(const JobRecord& record) = 0;
  virtual void CommitAttempt(const AttemptRecord& record) = 0;
  virtual void CommitRelease(const ReleaseRecord& record) = 0;
};

}  // namespace sotto::server

#endif  // SOTTO_ROUND_STORE_H_
