// The privacy that a job has spent, and whether its budget pays for another round. Part of
// sotto::server/round.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plans/statement.h"
#include "round/job_config.h"
#include "round/job_phases.h"

namespace sotto::server {

class Budget {
 public:
  // The configuration must outlive the budget.
  //   phases  of the rounds that the job has released
  Budget(const JobConfig& config, const JobPhases& phases);

  // From the next attempt on another number of devices is eligible: see JobPhases::SetFleet().
  void SetFleet(uint32_t devices, uint32_t round, uint32_t attempts);

  // What earlier jobs have spent on the job's devices, those that joined included. At first it is
  // config.spent_before.
  void SetSpentBefore(std::vector<privacy::SpentRounds> before);

  // The number of eligible devices of the next attempt, as SetFleet() was told.
  int64_t devices() const { return phases_.DevicesNow(config_.plan); }

  const JobPhases& phases() const { return phases_; }

  // The statement after `rounds` released rounds, over this job and the jobs before it. Call it
  // only if the configuration's codec is accounted.
  //   attempts  committed so far: the server has seen the updates of every attempt, however many
  //             rounds are charged
  privacy::Statement SpentAfter(uint32_t rounds, uint32_t attempts);

  // The epsilon of the first claim once all rounds of the plan are released, if the fleet stays as
  // it is. Call it as SpentAfter(). Computed anew only after the fleet has changed.
  double PlannedEpsilon();

  // Why config.epsilon_budget cannot pay for one more round after `rounds`, and for the jobs before
  // it; empty if it can. Of passes it pays for the limits, which are the same for all rounds.
  std::string Refusal(uint32_t rounds);

  // How many rounds of the plan it pays for, counted from the first one, if the fleet stays as it
  // is.
  uint32_t RoundsPaid();

  // How many more it pays for after `rounds`, at most `most`.
  int64_t MorePaid(uint32_t rounds, int64_t most) const;

 private:
  struct Disclosed;  // the phase of the last round, and all before it
  Disclosed DisclosedAfter(uint32_t rounds, uint32_t attempts) const;
  const privacy::Statement& Accounted(uint32_t rounds);
  void ForgetFigures();
  std::string RefusalOfTurns();

  const JobConfig& config_;
  JobPhases phases_;
  std::vector<privacy::SpentRounds> before_;
  // The last statement, which holds its number of rounds. It is kept because accounting takes
  // milliseconds and each round needs it twice: before the round opens and when it is released.
  std::optional<privacy::Statement> accounted_;
  std::optional<double> planned_epsilon_;
};

}  // namespace sotto::server
