// The privacy of nodes without a server, as text for people and as JSON for programs. Pure
// functions, safe from any thread. Part of sotto::server/views.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "plans/peer_privacy.h"

namespace sotto::server {

// Several lines: each claim with unit, adjacency, adversary and assumptions, or the reason why
// there is none; what the directory learns.
//   seeded  the noise follows from a seed that somebody knows
std::string DescribePeerPrivacy(const privacy::PeerStatement& statement, bool seeded);

// All members of the statement. `claims` as of a job with a server; `epsilon` is that of the first
// claim, `epsilon_sample` and `epsilon_device` those of each unit, null without a claim. Norms and
// noise in model units.
nlohmann::ordered_json PeerPrivacyToJson(const privacy::PeerStatement& statement, bool seeded);

}  // namespace sotto::server
