#include "audit/observed_training.h"

#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {

ObservedTraining::ObservedTraining(const SimulationConfig& config, const Dataset& train,
                                   const Key& run_key, const std::optional<JobState>& from)
    : config_(config),
      fleet_(config.fleet, *config.job.model, train, run_key),
      job_(config.job, fleet_.registry(), log_, posix::DeriveKey(run_key, key_label::kServer),
           from) {}

std::optional<RoundOutcome> ObservedTraining::NextRound() {
  if (!job_.OpenRound()) return std::nullopt;
  while (true) {
    fleet_.RunRound(job_, config_.threads);
    const RoundOutcome outcome = job_.CloseRound();
    if (outcome.released) return outcome;
    if (job_.phase() != Job::Phase::kOpen) return std::nullopt;
  }
}

}  // namespace sotto::server
