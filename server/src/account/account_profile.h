// What else `sotto account` reads off an accountant: delta at an epsilon, and the curves of a plan.
// Part of sotto::server/account.
//
// Both write to standard output and to the files that the options name. They throw
// std::invalid_argument for options that do not go together, and as OutputFile does.
#pragma once

#include "account/account_options.h"

namespace sotto::server {

// The smallest delta at which `sotto account epsilon` prints no more than the epsilon of the
// options.
void RunDelta(const AccountOptions& options);

// Epsilon over delta, mu and the trade-off curve.
void RunProfile(const AccountOptions& options);

}  // namespace sotto::server
