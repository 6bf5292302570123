#include "cli/account_ledger.h"

#include <algorithm>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "accounting/figures.h"
#include "base/counted.h"
#include "cli/figures.h"
#include "cli/json_output.h"
#include "store/history.h"
#include "store/open_store.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDecimals = 4;  // of an epsilon

struct LedgerOptions {
  std::string store;
  std::string json;
};

// A job with what people ask about it, and its releases.
struct JobLedger {
  JobEntry job;
  int64_t rounds = 0;           // planned
  std::vector<int64_t> before;  // earlier jobs that share devices: the claims include theirs
  std::vector<LedgerEntry> releases;
};

// Releases are read first: a job of each is then in the history, whoever else writes.
std::vector<JobLedger> ReadJobs(Store& store) {
  const std::vector<LedgerEntry> releases = store.Ledger();
  const History history = store.ReadHistory();
  std::vector<JobLedger> jobs;
  for (const JobEntry& job : history.jobs) {
    jobs.push_back({job, PlanOf(history, job).rounds, JobsBefore(history, job), {}});
    std::copy_if(releases.begin(), releases.end(), std::back_inserter(jobs.back().releases),
                 [&](const LedgerEntry& entry) { return entry.job == job.number; });
  }
  return jobs;
}

size_t CountReleases(const std::vector<JobLedger>& jobs) {
  size_t count = 0;
  for (const JobLedger& job : jobs) count += job.releases.size();
  return count;
}

// The last entry of each job that has released anything.
std::vector<const LedgerEntry*> LastEntries(const std::vector<JobLedger>& jobs) {
  std::vector<const LedgerEntry*> last;
  for (const JobLedger& job : jobs) {
    if (!job.releases.empty()) last.push_back(&job.releases.back());
  }
  return last;
}

// Two claims of a release in one line: what the released models tell the public and the network.
struct Figure {
  double epsilon = std::numeric_limits<double>::infinity();
  double epsilon_network = std::numeric_limits<double>::infinity();
  privacy::Claim meaning;  // its delta is that of both
  bool seeded = false;
};

Figure FigureOf(const LedgerEntry& entry) {
  Figure figure;
  figure.seeded = entry.seeded;
  for (const privacy::Claim& claim : entry.claims) {
    if (claim.adversary == privacy::Adversary::kPublic) {
      figure.epsilon = claim.epsilon;
      figure.meaning = claim;
    }
    if (claim.adversary == privacy::Adversary::kNetwork) figure.epsilon_network = claim.epsilon;
  }
  return figure;
}

// The entries whose claims together cover every device of the store. The last entry of a job holds
// for its devices and for those of the jobs before it that it composes with: where it composes with
// all jobs, it alone covers them. Otherwise each device has the claims of the last job it was in.
std::vector<const LedgerEntry*> EntriesThatCoverAll(const std::vector<JobLedger>& jobs) {
  const std::vector<const LedgerEntry*> last = LastEntries(jobs);
  if (last.empty()) return last;
  const auto of_last = std::find_if(jobs.begin(), jobs.end(), [&](const JobLedger& job) {
    return job.job.number == last.back()->job;
  });
  const bool covers_all = std::all_of(last.begin(), last.end() - 1, [&](const LedgerEntry* entry) {
    return std::find(of_last->before.begin(), of_last->before.end(), entry->job) !=
           of_last->before.end();
  });
  return covers_all ? std::vector<const LedgerEntry*>{last.back()} : last;
}

// The largest epsilon at the largest delta; under two adjacencies there is no such figure.
std::optional<Figure> FigureForAll(const std::vector<JobLedger>& jobs) {
  const std::vector<const LedgerEntry*> entries = EntriesThatCoverAll(jobs);
  if (entries.empty()) return std::nullopt;
  Figure figure = FigureOf(*entries.back());
  for (const LedgerEntry* entry : entries) {
    const Figure other = FigureOf(*entry);
    if (other.meaning.adjacency != figure.meaning.adjacency) return std::nullopt;
    figure.epsilon = std::max(figure.epsilon, other.epsilon);
    figure.epsilon_network = std::max(figure.epsilon_network, other.epsilon_network);
    figure.meaning.delta = std::max(figure.meaning.delta, other.meaning.delta);
    figure.seeded = figure.seeded || other.seeded;
  }
  return figure;
}

std::string Time(int64_t seconds) {
  return fmt::format("{:%F %T}Z", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string DescribeFigure(const Figure& figure) {
  const privacy::Claim& meaning = figure.meaning;
  return fmt::format(
      "epsilon {} ({} against the network) at delta {:.3g}, {} adjacency, unit {}, {}, {}{}",
      privacy::EpsilonText(figure.epsilon, kDecimals),
      privacy::EpsilonText(figure.epsilon_network, kDecimals), meaning.delta,
      privacy::Name(meaning.adjacency), privacy::Name(meaning.unit),
      privacy::Name(meaning.trust_mode), Counted(meaning.colluders, "colluder"),
      figure.seeded ? "; seeded: not private" : "");
}

std::string DescribeRelease(const LedgerEntry& entry) {
  const Figure figure = FigureOf(entry);
  return fmt::format(
      "  {:>5} {:>8} {:<14} {:>9.5f} {:>8.4f} {:<8} {:>6}/{:<6} {:>7} {:>8} {:>7.4f} {:>10} {:>10} "
      " "
      "{}{}\n",
      entry.round + 1, entry.attempts, entry.mechanism, entry.plan.noise_sigma, entry.plan.clip_l2,
      privacy::Name(entry.plan.sampling), entry.plan.cohort, entry.plan.devices,
      entry.plan.planned_reports, entry.reported, entry.accounted_noise_multiplier,
      privacy::EpsilonText(figure.epsilon, kDecimals),
      privacy::EpsilonText(figure.epsilon_network, kDecimals), figure.meaning.accountant,
      entry.seeded ? ", seeded" : "");
}

std::string DescribeJob(const JobLedger& ledger) {
  const JobEntry& job = ledger.job;
  std::string text =
      fmt::format("\njob {}: {}, begun {}, {}; {} of {} released in {}\n", job.number, job.model,
                  Time(job.begun), Counted(job.devices.size(), "device"), job.released,
                  Counted(ledger.rounds, "round"), Counted(job.attempts, "attempt"));
  if (!ledger.before.empty()) {
    text += fmt::format("  composed with the rounds of job {}, on the same devices\n",
                        fmt::join(ledger.before, ", "));
  }
  if (ledger.releases.empty()) return text;
  text += fmt::format(
      "  {:>5} {:>8} {:<14} {:>9} {:>8} {:<8} {:>6}/{:<6} {:>7} {:>8} {:>7} {:>10} {:>10}  {}\n",
      "round", "attempts", "mechanism", "sigma", "clip", "sampling", "cohort", "N", "planned",
      "reported", "z", "epsilon", "network", "accountant");
  for (const LedgerEntry& entry : ledger.releases) text += DescribeRelease(entry);
  return text + "  " + DescribeFigure(FigureOf(ledger.releases.back())) + "\n";
}

std::string Describe(const LedgerOptions& o, const std::vector<JobLedger>& jobs) {
  const size_t releases = CountReleases(jobs);
  std::string text = fmt::format("{}: {}, {}\n", o.store, Counted(jobs.size(), "job"),
                                 Counted(releases, "release"));
  for (const JobLedger& job : jobs) text += DescribeJob(job);
  if (releases == 0) {
    return text +
           "nothing is released: epsilon 0 (0 against the network) at delta 0, under any "
           "adjacency\n";
  }
  const std::optional<Figure> figure = FigureForAll(jobs);
  return text + "\nin all: " +
         (figure ? DescribeFigure(*figure)
                 : "no one figure, as jobs on different devices have different adjacencies") +
         "\n";
}

void AddFigure(const Figure& figure, Json& json) {
  json["epsilon"] = Finite(figure.epsilon);
  json["epsilon_network"] = Finite(figure.epsilon_network);
  json["delta"] = figure.meaning.delta;
  json["adjacency"] = privacy::Name(figure.meaning.adjacency);
  json["unit"] = privacy::Name(figure.meaning.unit);
  json["trust_mode"] = privacy::Name(figure.meaning.trust_mode);
  json["colluders"] = figure.meaning.colluders;
  json["seeded"] = figure.seeded;
}

Json ClaimsToJson(const std::vector<privacy::Claim>& claims) {
  Json list = Json::array();
  for (const privacy::Claim& claim : claims) {
    Json assumptions = Json::array();
    for (const privacy::Assumption a : claim.assumptions) assumptions.push_back(privacy::Name(a));
    list.push_back({{"adversary", privacy::Name(claim.adversary)},
                    {"view", privacy::Name(claim.view)},
                    {"unit", privacy::Name(claim.unit)},
                    {"adjacency", privacy::Name(claim.adjacency)},
                    {"sensitivity", claim.sensitivity},
                    {"colluders", claim.colluders},
                    {"trust_mode", privacy::Name(claim.trust_mode)},
                    {"epsilon", Finite(claim.epsilon)},
                    {"delta", claim.delta},
                    {"accountant", claim.accountant},
                    {"assumptions", assumptions}});
  }
  return list;
}

Json ToJson(const LedgerEntry& entry) {
  const privacy::Plan& plan = entry.plan;
  const Figure figure = FigureOf(entry);
  Json json = {{"job", entry.job},
               {"round", entry.round + 1},
               {"attempts", entry.attempts},
               {"mechanism", entry.mechanism},
               {"noise_sigma", plan.noise_sigma},
               {"clip_l2", plan.clip_l2},
               {"sampling", privacy::Name(plan.sampling)},
               {"devices", plan.devices},
               {"cohort", plan.cohort},
               {"sampling_rate", plan.devices == 0 ? Json(nullptr)
                                                   : Json(static_cast<double>(plan.cohort) /
                                                          static_cast<double>(plan.devices))},
               {"planned_reports", plan.planned_reports},
               {"reported", entry.reported},
               {"dimension", plan.dimension},
               {"certificate_eta", plan.certificate.eta},
               {"certificate_tau", plan.certificate.tau},
               {"certificate_range", plan.certificate.range},
               {"noise_multiplier", entry.noise_multiplier},
               {"accounted_noise_multiplier", entry.accounted_noise_multiplier},
               {"charged_rounds", entry.charged_rounds},
               {"earlier_rounds", entry.earlier_rounds},
               {"accountant", figure.meaning.accountant},
               {"numeric_error", Finite(entry.numeric_error)}};
  AddFigure(figure, json);
  json["claims"] = ClaimsToJson(entry.claims);
  return json;
}

Json ToJson(const JobLedger& ledger) {
  const JobEntry& job = ledger.job;
  return {{"job", job.number},
          {"model", job.model},
          {"begun", job.begun},
          {"rounds", ledger.rounds},
          {"rounds_released", job.released},
          {"attempts", job.attempts},
          {"devices", job.devices.size()},
          {"composed_with", ledger.before}};
}

// Where nothing is released, nothing is spent, under any adjacency. Where there is no figure for
// all devices, its fields are null.
Json TotalToJson(const std::vector<JobLedger>& jobs) {
  const size_t releases = CountReleases(jobs);
  Json json = {{"jobs", jobs.size()}, {"rounds_released", releases}};
  int64_t attempts = 0;
  for (const JobLedger& job : jobs) attempts += job.job.attempts;
  json["attempts"] = attempts;
  for (const char* field : {"epsilon", "epsilon_network", "delta", "adjacency", "unit",
                            "trust_mode", "colluders", "seeded"}) {
    json[field] = nullptr;
  }
  if (const std::optional<Figure> figure = FigureForAll(jobs)) AddFigure(*figure, json);
  if (releases == 0) {
    for (const char* field : {"epsilon", "epsilon_network", "delta"}) json[field] = 0.0;
  }
  return json;
}

Json ToJson(const LedgerOptions& o, const std::vector<JobLedger>& jobs) {
  Json json = {{"store", o.store}};
  json["jobs"] = Json::array();
  json["releases"] = Json::array();
  for (const JobLedger& job : jobs) {
    json["jobs"].push_back(ToJson(job));
    for (const LedgerEntry& entry : job.releases) json["releases"].push_back(ToJson(entry));
  }
  json["total"] = TotalToJson(jobs);
  return json;
}

void RunLedger(const LedgerOptions& o) {
  if (o.store.empty()) {
    throw std::invalid_argument(
        "which store? It is an argument, `sotto account ledger RUN`, or --store RUN");
  }
  const std::vector<JobLedger> jobs = ReadJobs(*OpenStore(o.store));
  fmt::print(IsStandardOutput(o.json) ? stderr : stdout, "{}", Describe(o, jobs));
  WriteJson(o.json, ToJson(o, jobs));
}

}  // namespace

void AddAccountLedgerCommand(CLI::App& account) {
  const auto options = std::make_shared<LedgerOptions>();
  CLI::App& ledger = *account.add_subcommand(
      "ledger", "what the jobs of a store have spent, release by release; no server may hold it");
  ledger.add_option("RUN,--store", options->store,
                    "the store of `sotto serve`; needed once, as an argument or as --store");
  ledger.add_option("--json", options->json, "write the ledger to this file; - is standard output");
  ledger.callback([options] { RunLedger(*options); });
}

}  // namespace sotto::server
