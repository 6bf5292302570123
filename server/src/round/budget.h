// What a job has spent of its privacy, and whether it can pay for another round. Part of
// sotto::server/round.
//
// Not for several threads at a time.
#ifndef SOTTO_ROUND_BUDGET_H_
#define SOTTO_ROUND_BUDGET_H_

#include <cstdint>
#include <optional>
#include <string>

#include "plans/statement.h"
#include "round/job_config.h"

namespace sotto::server {

class Budget {
 public:
  // The configuration must outlive it.
  //   surcharge  attempts that are charged though they released nothing, see JobState
  Budget(const JobConfig& config, uint32_t surcharge) : config_(config), surcharge_(surcharge) {}

  // The statement once so many rounds are released, over the job and those before it. Only for a
  // configuration that is accounted.
  //   attempts  committed so far: the server has seen the updates of every one, whatever is charged
  //             for the releases
  privacy::Statement SpentAfter(uint32_t rounds, uint32_t attempts);

  // Why config.epsilon_budget cannot pay for the round after so many; empty if it can.
  std::string Refusal(uint32_t rounds);

 private:
  const privacy::Statement& Accounted(uint32_t rounds);

  const JobConfig& config_;
  uint32_t surcharge_;
  // Accounting takes milliseconds, and each round is asked about before it opens and when it is
  // released: the last answer is kept, and says itself for how many rounds it is.
  std::optional<privacy::Statement> accounted_;
};

}  // namespace sotto::server

#endif  // SOTTO_ROUND_BUDGET_H_
