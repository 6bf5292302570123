#include "jobs/job_queue.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/counted.h"

namespace sotto::server {
namespace {

template <class Test>
const JobRequestEntry* FindWaiting(const History& history, JobAct act, Test test) {
  for (const JobRequestEntry& request : history.requests) {
    if (!request.answer && request.ask.act == act && test(request)) return &request;
  }
  return nullptr;
}

// Of a start: whether the job that it replaces has released a round. It then begins nothing.
bool HasReleased(const History& history, int64_t job) {
  return std::any_of(history.jobs.begin(), history.jobs.end(), [job](const JobEntry& each) {
    return each.number == job && each.released > 0;
  });
}

bool IsBegun(const JobRequestEntry& request) {
  return request.answer && request.answer->outcome == JobOutcome::kBegun;
}

}  // namespace

std::optional<std::string> SettingsOf(const History& history, int64_t job) {
  std::optional<std::string> settings;
  for (const JobRequestEntry& request : history.requests) {
    if (IsBegun(request) && request.answer->job == job) settings = request.ask.settings;
  }
  return settings;
}

const JobEntry* JobBegunWith(const History& history, const std::string& settings) {
  const JobEntry* found = nullptr;
  for (const JobRequestEntry& request : history.requests) {
    if (!IsBegun(request) || request.ask.settings != settings) continue;
    for (const JobEntry& job : history.jobs) {
      if (job.number == request.answer->job) found = &job;
    }
  }
  return found;
}

bool MayReopen(Halt end) { return IsRetried(end) || end == Halt::kNoTurns || end == Halt::kBudget; }

// A device that is not in the job yet has its turns; so may one that has not settled.
std::string WhyNotReopened(const History& history, const JobEntry& last) {
  const JobTurns turns = TurnsOf(history, last);
  if (turns.participations == 0) return "";
  int64_t with_turn = 0;
  for (const DeviceRecord& device : history.devices) {
    const auto its = std::find_if(turns.devices.begin(), turns.devices.end(),
                                  [&](const DeviceTurns& each) { return each.id == device.id; });
    const bool has_turn = its == turns.devices.end() || its->left > 0 || its->left_if_shown > 0;
    with_turn += device.is_eligible() && has_turn ? 1 : 0;
  }
  if (with_turn >= turns.cohort) return "";
  return fmt::format(
      "{} of the {} that a round needs have a turn left; add devices with `sotto keys new`, or "
      "begin another job, `sotto job start`",
      with_turn, Counted(turns.cohort, "device"));
}

const JobEntry* JobToGoOnWith(const History& history) {
  const JobEntry* last = LastJob(history);
  if (last == nullptr) return nullptr;
  const std::optional<HaltEntry> end = EndOf(history, *last);
  if (!end) return last;
  return MayReopen(end->kind) && NextStart(history) == nullptr ? last : nullptr;
}

const JobRequestEntry* NextStart(const History& history) {
  return FindWaiting(history, JobAct::kStart, [&](const JobRequestEntry& each) {
    return !HasReleased(history, each.ask.job);
  });
}

const JobRequestEntry* NextResume(const History& history) {
  const JobEntry* last = LastJob(history);
  if (last == nullptr) return nullptr;
  const std::optional<HaltEntry> end = EndOf(history, *last);
  if (!end || !MayReopen(end->kind)) return nullptr;
  return FindWaiting(history, JobAct::kResume,
                     [&](const JobRequestEntry& each) { return each.ask.job == last->number; });
}

std::optional<HaltRecord> WhyEnd(const History& history) {
  const JobEntry* last = LastJob(history);
  if (last == nullptr || EndOf(history, *last)) return std::nullopt;
  const auto is_for_it = [&](const JobRequestEntry& each) { return each.ask.job == last->number; };
  if (FindWaiting(history, JobAct::kStop, is_for_it) != nullptr) {
    return HaltRecord{Halt::kOperator, "ended by `sotto job stop`"};
  }
  if (last->released == 0 && FindWaiting(history, JobAct::kStart, is_for_it) != nullptr) {
    return HaltRecord{Halt::kReplaced, "replaced by a queued job before its first release"};
  }
  return std::nullopt;
}

std::optional<MootRequest> FindMoot(const History& history) {
  const JobEntry* last = LastJob(history);
  for (const JobRequestEntry& request : history.requests) {
    if (request.answer || request.ask.act == JobAct::kMove) continue;
    if (request.ask.act == JobAct::kStart) {
      // Its price, to which somebody agreed, does not count that job.
      if (!HasReleased(history, request.ask.job)) continue;
      return MootRequest{request.number,
                         fmt::format("job {} has released a round before it could be replaced, and "
                                     "nothing has changed; begin this one behind it, at a price "
                                     "that counts both: `sotto job start --after`",
                                     request.ask.job)};
    }
    const bool is_last = last != nullptr && last->number == request.ask.job;
    const std::optional<HaltEntry> end = is_last ? EndOf(history, *last) : std::nullopt;
    if (is_last && request.ask.act == JobAct::kStop && !end) continue;
    if (is_last && request.ask.act == JobAct::kResume && end && MayReopen(end->kind)) continue;
    return MootRequest{request.number, is_last && !end
                                           ? fmt::format("job {} is under way", request.ask.job)
                                           : fmt::format("job {} is over", request.ask.job)};
  }
  return std::nullopt;
}

}  // namespace sotto::server
