// What the operator of a running job is warned of, from what its releases and evaluations say. Part
// of sotto::server/views.
//
// Each line comes at most once from an object. All of them are the operator's: evaluations are on
// the operator's samples, and turns tell who was asked. Nothing here looks at what one device sent.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evaluation/evaluation.h"
#include "round/budget.h"
#include "round/job_config.h"
#include "round/round_outcome.h"
#include "store/records.h"

namespace sotto::server {

// Releases that can still have a whole cohort, at most `most`: each device takes one place in a
// release and has this many turns left.
int64_t ReleasesWithTurns(const JobTurns& turns, int64_t most);

class JobWarnings {
 public:
  static constexpr int64_t kFewRounds = 5;
  static constexpr int kEvaluations = 3;
  static constexpr double kMoreLoss = 1.1;
  static constexpr int kReleases = 5;

  // The configuration must outlive the object.
  explicit JobWarnings(const JobConfig& job) : job_(job) {}

  // After a closed attempt:
  //   - the plan has more rounds left than the budget pays for, and these are at most kFewRounds.
  //     Of passes: than devices have turns for. Of others: by the accountant, as the job ends;
  //   - under adaptive clipping, the bound has clipped nearly all updates or nearly none in
  //     kReleases releases one after the other, by the noisy share that they have released. Of a
  //     fixed bound no release tells that.
  //   turns   of the job after this attempt; without devices: not known
  //   budget  of the job
  std::vector<std::string> OnOutcome(const RoundOutcome& outcome, const JobTurns& turns,
                                     const Budget& budget);

  // After an evaluation on the operator's samples: kEvaluations losses one after the other were
  // above kMoreLoss times the least one before.
  std::vector<std::string> OnEvaluation(uint32_t round, const Evaluation& evaluation);

 private:
  std::string OfTurns(int64_t planned, const JobTurns& turns);
  std::string OfEpsilon(const RoundOutcome& outcome, int64_t planned, const Budget& budget);
  std::string OfClipping(double unclipped);

  const JobConfig& job_;
  bool told_budget_ = false;
  bool told_clip_ = false;
  bool told_loss_ = false;
  double last_epsilon_ = -1;  // of the last release of this process; below 0: there was none
  int clipped_nearly_all_ = 0;
  int clipped_nearly_none_ = 0;
  double least_loss_ = -1;  // below 0: there was none
  uint32_t least_round_ = 0;
  int worse_ = 0;
};

}  // namespace sotto::server
