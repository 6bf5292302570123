// Mechanisms to compare Gau-LRQ with: in simulations only, never on a network. Part of
// sotto::server/baseline.
//
// A simulated device trains with the SDK's client as for any mechanism; its clipped update then
// goes through one of these channels instead of the SDK's encoder, really encoded to bytes and
// decoded.
#ifndef SOTTO_BASELINE_BASELINE_H_
#define SOTTO_BASELINE_BASELINE_H_

#include <memory>

#include "round/job_config.h"
#include "round/update_channel.h"

namespace sotto::server::baseline {

// The channel of the job's mechanism; null for a mechanism that is none of the baselines. The plan
// is valid: see JobConfig::Validate().
std::unique_ptr<UpdateChannel> MakeChannel(const JobConfig& job);

}  // namespace sotto::server::baseline

#endif  // SOTTO_BASELINE_BASELINE_H_
