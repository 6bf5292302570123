// Runs that attack a training: `sotto-lab audit membership` as a kind of run. Part of
// sotto::server/experiment.
//
// Reentrant: runs may go on at the same time.
#pragma once

#include <string>

#include "experiment/run_kinds.h"

namespace sotto::server {

// True for the options of a simulation, and for "audit-samples".
bool IsMembershipOption(const std::string& name);

// Throws std::invalid_argument, naming the option.
void CheckMembership(const Settings& settings);

// Figures: "auc" of the last model with "auc_lower", "auc_upper" and "advantage", the largest "auc"
// of all as "auc_most", and "epsilon". Series: "round", "auc", "loss_of_members", "loss_of_others".
Outcome RunMembership(const Settings& settings, const RunContext& context);

std::string MembershipCommand(const Settings& settings);

}  // namespace sotto::server
