#include "views/jobs_output.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "base/counted.h"
#include "views/claims_output.h"
#include "views/figures.h"
#include "views/overview.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

JobStanding StandingIn(const JobList& list, const JobLedger& job) {
  const bool is_last = &job == &list.jobs.back();
  const JobPlace place = !is_last          ? JobPlace::kPast
                         : list.has_server ? JobPlace::kServed
                                           : JobPlace::kLast;
  return StandingOf(job, place, list.is_paused, Audience::kOperator);
}

std::string Settings(const JobList& list, int64_t job) {
  std::string settings;
  for (const JobRequestEntry& request : list.requests) {
    const bool is_its = request.answer && request.answer->outcome == JobOutcome::kBegun &&
                        request.answer->job == job;
    if (is_its) settings = request.ask.settings;
  }
  return settings;
}

std::string Spent(const JobLedger& job) {
  if (job.releases.empty()) return "nothing is released";
  const privacy::Claim& claim = job.releases.back().claims.front();
  return fmt::format("epsilon {} at delta {}", privacy::EpsilonText(claim.epsilon),
                     privacy::DeltaText(claim.delta));
}

std::string Line(const JobList& list, const JobLedger& job) {
  const JobStanding standing = StandingIn(list, job);
  return fmt::format("job {}: {}, {} of {} released, {}; {}{}{}\n", job.job.number, job.job.model,
                     job.job.released, Counted(job.rounds, "round"), Spent(job), standing.state,
                     standing.reason.empty() ? "" : ": ", standing.reason);
}

std::string Line(const JobRequestEntry& request) {
  const std::string what = request.ask.act == JobAct::kStart
                               ? "start"
                               : fmt::format("{} job {}", Name(request.ask.act), request.ask.job);
  return fmt::format(
      "request {}: {}, {}\n", request.number, what,
      request.answer ? fmt::format("{}: {}", Name(request.answer->outcome), request.answer->reason)
                     : "waits");
}

}  // namespace

JobList ReadJobList(Store& store) {
  JobList list;
  list.jobs = ReadLedger(store);
  list.requests = store.ReadHistory().requests;
  list.has_server = store.Server().has_value();
  list.is_paused = store.IsPaused();
  return list;
}

std::string DescribeJobs(const JobList& list) {
  std::string text = list.jobs.empty() ? "no job has begun\n" : "";
  for (const JobLedger& job : list.jobs) text += Line(list, job);
  for (const JobRequestEntry& request : list.requests) {
    const bool is_shown = !request.answer || request.answer->outcome == JobOutcome::kRefused;
    if (is_shown) text += Line(request);
  }
  return text;
}

Json JobsToJson(const JobList& list) {
  Json jobs = Json::array();
  for (const JobLedger& job : list.jobs) {
    const JobStanding standing = StandingIn(list, job);
    jobs.push_back({{"job", job.job.number},
                    {"model", job.job.model},
                    {"begun", job.job.begun},
                    {"rounds", job.rounds},
                    {"rounds_released", job.job.released},
                    {"attempts", job.job.attempts},
                    {"state", standing.state},
                    {"ended", standing.EndedToJson()},
                    {"reason", standing.reason},
                    {"claims", job.releases.empty() ? Json::array()
                                                    : ClaimsToJson(job.releases.back().claims)},
                    {"settings", Settings(list, job.job.number)}});
  }
  Json requests = Json::array();
  for (const JobRequestEntry& request : list.requests) {
    Json json = {{"request", request.number},
                 {"act", Name(request.ask.act)},
                 {"job", request.ask.job == 0 ? Json(nullptr) : Json(request.ask.job)},
                 {"asked", request.asked},
                 {"outcome", nullptr},
                 {"reason", ""},
                 {"settings", request.ask.settings}};
    if (request.answer) {
      json["outcome"] = Name(request.answer->outcome);
      json["reason"] = request.answer->reason;
      if (request.answer->job != 0) json["job"] = request.answer->job;
    }
    requests.push_back(json);
  }
  return {{"audience", "operator"}, {"jobs", jobs}, {"requests", requests}};
}

std::optional<std::string> DescribeJob(const JobList& list, int64_t job) {
  for (const JobLedger& ledger : list.jobs) {
    if (ledger.job.number != job) continue;
    return fmt::format("{}begun {:%F %T}Z, {}\n{}", Line(list, ledger),
                       fmt::gmtime(static_cast<std::time_t>(ledger.job.begun)),
                       Counted(ledger.job.attempts, "attempt"), Settings(list, job));
  }
  return std::nullopt;
}

}  // namespace sotto::server
