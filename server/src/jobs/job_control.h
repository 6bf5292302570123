// What `sotto job` does to a store, whether or not a server runs on it. Part of
// sotto::server/jobs.
//
// All functions throw std::invalid_argument, with what to do, for what cannot be done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "net/serve_request.h"
#include "store/store.h"

namespace sotto::server {

// A job as `sotto job start` would queue it, and what the person must see first.
struct JobProposal {
  JobAsk ask;
  std::vector<std::string> lines;  // what it costs alone and with earlier jobs, and when it begins
  std::string question;            // that says what will happen
};
//   after  it waits until the job that runs is over, even if that has released no round
JobProposal ProposeJob(const ServeRequest& request, bool after, Store& store);

// The end of the last job, which is not over.
JobProposal ProposeStop(Store& store);

// Refuses a number that no queued job has.
void RequireQueued(Store& store, int64_t request);

// Withdraws a queued job.
void WithdrawRequest(Store& store, int64_t request);

// That the server goes on with the last job, which is over and may reopen.
JobAsk ProposeReopening(Store& store);

// What became of a request, as soon as a server has answered it; absent: none has within this time,
// or none runs.
std::optional<JobAnswer> WaitForAnswer(Store& store, int64_t request, uint32_t wait_ms);

}  // namespace sotto::server
