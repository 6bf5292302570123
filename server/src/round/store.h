// What a job writes down so that it survives its process: an interface. Part of
// sotto::server/round.
#ifndef SOTTO_ROUND_STORE_H_
#define SOTTO_ROUND_STORE_H_

#include <cstdint>
#include <vector>

#include "privacy/plan.h"
#include "sotto/span.h"

namespace sotto::server {

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
  bool is_private = false;
  privacy::Statement spent;  // after this round, over the whole job; if is_private
};

class Store {
 public:
  virtual ~Store() = default;

  // Both return only when the record is durable, and throw std::runtime_error if it cannot be.
  virtual void CommitAttempt(const AttemptRecord& record) = 0;
  virtual void CommitRelease(const ReleaseRecord& record) = 0;
};

}  // namespace sotto::server

#endif  // SOTTO_ROUND_STORE_H_
