// What a server does with the jobs of its store, and with what was asked of them. Part of
// sotto::server/jobs.
//
// Pure functions over the store's records: a server that was killed at any moment decides the same
// again. Safe from any thread.
#pragma once

#include <optional>
#include <string>

#include "store/history.h"

namespace sotto::server {

// The options with which a job began, or was last extended; absent: the store has none.
std::optional<std::string> SettingsOf(const History& history, int64_t job);

// The job that began with these options, the last such one; null: none did.
const JobEntry* JobBegunWith(const History& history, const std::string& settings);

// Whether a job that is over may open rounds again: it gave up, it has no turns or no budget left,
// which new devices or another fleet can change. One that has all its rounds may not, nor one that
// was stopped or followed by another.
bool MayReopen(Halt end);

// The job with which a start of the server goes on if nobody names another one: the last one, if it
// is not over; or if it may reopen and nothing is queued behind it. Null: none.
const JobEntry* JobToGoOnWith(const History& history);

// The next job of the queue, without those that are moot; null: it is empty.
const JobRequestEntry* NextStart(const History& history);

// The last job, if it is over and somebody asked to go on with it; null: nobody did.
const JobRequestEntry* NextResume(const History& history);

// Why the last job, which is over, would open no round if it went on now: too few devices have
// turns. Empty: these records show nothing.
std::string WhyNotReopened(const History& history, const JobEntry& last);

// Why the job that runs must end: somebody asked for it, or a queued job replaces it and it has
// released no round. Absent: it need not.
std::optional<HaltRecord> WhyEnd(const History& history);

// A request that can have no effect any more, and why: it stops a job that is over, resumes one
// that cannot go on, or replaces one that has released a round.
struct MootRequest {
  int64_t number = 0;
  std::string reason;
};
std::optional<MootRequest> FindMoot(const History& history);

}  // namespace sotto::server
