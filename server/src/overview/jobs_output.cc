#include "overview/jobs_output.h"

#include <algorithm>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "base/counted.h"
#include "base/json_text.h"
#include "overview/overview.h"
#include "spec/job_spec.h"
#include "views/claims_output.h"
#include "views/figures.h"

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
  return fmt::format("job {}: {}, {} of {} released, {}; {}\n", job.job.number, job.job.model,
                     job.job.released, Counted(job.rounds, "round"), Spent(job),
                     StandingIn(list, job).Text());
}

std::string Time(int64_t seconds) {
  return fmt::format("{:%F %T}Z", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

// The lines of a file of --config as one: "start with model = "a", rounds = "2"".
std::string Start(std::string settings) {
  while (!settings.empty() && settings.back() == '\n') settings.pop_back();
  for (size_t at = 0; (at = settings.find('\n', at)) != std::string::npos; at += 2) {
    settings.replace(at, 1, ", ");
  }
  return settings.empty() ? "start" : "start with " + settings;
}

std::string What(const JobAsk& ask) {
  if (ask.act == JobAct::kStart) return Start(ask.settings);
  if (ask.act == JobAct::kMove) return "move to " + ask.settings;
  return fmt::format("{} job {}", Name(ask.act), ask.job);
}

std::string Line(const JobRequestEntry& request) {
  std::string what = What(request.ask);
  if (!request.answer && request.ask.act == JobAct::kStart && request.ask.job != 0) {
    what += fmt::format(", in place of job {} unless that releases a round first", request.ask.job);
  }
  const std::optional<JobAnswer>& answer = request.answer;
  return fmt::format(
      "request {}, {}: {}, {}\n", request.number, Time(request.asked), what,
      answer ? fmt::format("{} {}: {}", Name(answer->outcome), Time(answer->since),
                           answer->outcome == JobOutcome::kBegun && request.ask.act != JobAct::kMove
                               ? fmt::format("job {}", answer->job)
                               : answer->reason)
      : request.ask.act == JobAct::kMove ? "and goes on there"
                                         : "waits");
}

// Of the requests that have an answer: the newest ones that were refused since the last job began.
bool IsNews(const JobList& list, const JobRequestEntry& request) {
  constexpr int64_t kNewest = 5;
  const auto later =
      std::count_if(list.requests.begin(), list.requests.end(), [&](const auto& each) {
        return each.number > request.number && each.answer &&
               each.answer->outcome == JobOutcome::kRefused;
      });
  return request.answer->outcome == JobOutcome::kRefused && later < kNewest &&
         (list.jobs.empty() || request.answer->since >= list.jobs.back().job.begun);
}

// A number that was a float is written as one: 0.4, not 0.4000000059604645.
std::string Text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_float()) return value.dump();
  const auto number = value.get<double>();
  const auto single = static_cast<float>(number);
  return static_cast<double>(single) == number ? fmt::format("{}", single)
                                               : fmt::format("{}", number);
}

// The options that nobody gave, with the values that hold for the job, as comments of a file of
// --config.
std::string Defaults(const JobLedger& ledger, const std::string& given) {
  const Json configuration = ParseJson(ledger.job.configuration);
  const JobRequest request;
  std::string lines;
  for (const JobField& row : JobFields()) {
    const std::string name = row.name;
    if (!row.is_option() || ("\n" + given).find("\n" + name + " = ") != std::string::npos) continue;
    const Json held = configuration.value(row.stored_name(), Json(nullptr));
    const posix::Value value = row.get(request);
    // What other values imply was a default of theirs, or was not asked for.
    const bool has_default = !posix::IsAbsent(value) && row.resume != Resume::kImplied;
    std::string text = has_default ? posix::ExactText(row, value) : "";
    if (!held.is_null()) text = Text(held);
    if (!text.empty()) lines += fmt::format("# {} = \"{}\"\n", name, text);
  }
  return lines;
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

std::string DescribeJobs(const JobList& list, bool lists_all) {
  std::string text = list.jobs.empty() ? "no job has begun\n" : "";
  for (const JobLedger& job : list.jobs) text += Line(list, job);
  if (list.is_paused) text += "paused: no round opens until `sotto job resume`\n";
  for (const JobRequestEntry& request : list.requests) {
    if (lists_all || !request.answer || IsNews(list, request)) text += Line(request);
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
                 {"answered", nullptr},
                 {"reason", ""},
                 {"settings", request.ask.settings}};
    if (request.answer) {
      json["outcome"] = Name(request.answer->outcome);
      json["answered"] = request.answer->since;
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
    const std::string given = Settings(list, job);
    return fmt::format("{}begun {}, {}\n{}# by default:\n{}", Line(list, ledger),
                       Time(ledger.job.begun), Counted(ledger.job.attempts, "attempt"), given,
                       Defaults(ledger, given));
  }
  return std::nullopt;
}

}  // namespace sotto::server
