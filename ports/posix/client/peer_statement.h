// What a node without a server can say about its privacy. Part of ports/posix/client. Pure
// functions, safe in any thread.
#pragma once

#include <optional>
#include <string>

#include "sotto/model_info.h"
#include "sotto/peer_job.h"
#include "sotto/peer_trainer.h"
#include "sotto/policy/policies.h"

namespace sotto::posix {

// The zCDP of all publications on the node's ledger under the job's unit; nothing if none can be
// stated: without noise, or with a policy that decides by private data.
std::optional<double> StatedRho(const PeerJob& job, const SharePolicyInfo& policy,
                                const PeerLedger& ledger);

// For people, before the first step: who is protected, by what noise, and what a publication costs;
// or why no figure is stated.
std::string PeerStatement(const ModelInfo& model, const PeerJob& job,
                          const SharePolicyInfo& policy);

}  // namespace sotto::posix
