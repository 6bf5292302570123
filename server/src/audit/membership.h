// Membership inference by a threshold on the loss: how well the released models of a training tell
// the samples it was made from, from others. Part of sotto::server/audit.
//
// A sample with a small loss is taken for a member. Members are samples that devices train on,
// others come from the test set, as many of each. The attack is weak: it knows no other models and
// no other samples. So a small area means that this attack finds little, not that there is little
// to find. Source: Yeom, Giacomelli, Fredrikson, Jha, "Privacy Risk in Machine Learning" (2018);
// Liang et al., DP-Fed-LS, Section 5.4, which reads the area off 5,000 thresholds; here it is
// exact.
//
// Reentrant: safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "audit/statistics.h"
#include "sim/simulation.h"
#include "sotto/data/dataset.h"
#include "sotto/model_info.h"

namespace sotto::server {

// After `rounds` releases; 0: the initial model.
struct MembershipRound {
  uint32_t rounds = 0;
  Auc auc;
  double loss_of_members = 0;  // means
  double loss_of_others = 0;
  std::optional<privacy::Claim> claim;  // of the releases so far; absent: the codec has none
};

struct MembershipAudit {
  size_t samples = 0;        // of members, and as many others
  size_t members_there = 0;  // samples that some device trains on
  size_t others_there = 0;   // samples of the test set
  std::vector<MembershipRound> rounds;
  std::string finish_reason;  // of the training; "stopped" if it was
};

// Trains, and attacks the initial model, each model after a round whose number divides by
// config.evaluate_every, and the last one.
//   samples  wanted of each kind, >= 2; fewer are taken if there are not so many
//   stop     asked before each round; true ends the training with the rounds that there are
// Throws std::invalid_argument for a test set or devices with fewer than two samples, and as
// Simulate() does.
MembershipAudit AuditMembership(const SimulationConfig& config, const TrainTest& data,
                                uint32_t samples, const std::function<bool()>& stop,
                                const std::function<void(const MembershipRound&)>& on_round);

}  // namespace sotto::server
