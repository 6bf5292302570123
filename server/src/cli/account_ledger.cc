#include "cli/account_ledger.h"

#include <algorithm>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "accounting/figures.h"
#include "base/counted.h"
#include "cli/claims_output.h"
#include "cli/figures.h"
#include "cli/json_output.h"
#include "plans/claim_kinds.h"
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

// A job: its settings for the output, and its releases.
struct JobLedger {
  JobEntry job;
  int64_t rounds = 0;           // planned
  std::vector<int64_t> before;  // earlier jobs that share devices: the claims include theirs
  std::vector<LedgerEntry> releases;
};

// Reads the releases first. Then the history contains the job of each release, even if another
// process writes meanwhile.
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

// The entries whose claims together cover every device of the store. The last entry of a job holds
// for the devices of the job and of all earlier jobs that it composes with. If it composes with all
// jobs, it alone covers all devices. Otherwise each device has the claims of its last job.
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

// The summary of an entry for one line: its headline claim, and the epsilon of its network claim.
struct Figure {
  privacy::Claim headline;
  double epsilon_network = 0.0;
  std::vector<privacy::Claim> claims;  // all that the line names, the headline first
  bool seeded = false;
};

// Null if the entry has no such claim.
const privacy::Claim* Find(const std::vector<privacy::Claim>& claims,
                           const privacy::ClaimKind& kind) {
  const auto claim = std::find_if(claims.begin(), claims.end(), [&](const privacy::Claim& c) {
    return c.adversary == kind.adversary && c.view == kind.view;
  });
  return claim == claims.end() ? nullptr : &*claim;
}

const privacy::ClaimKind& NetworkKind() {
  return *privacy::FindKind(privacy::Adversary::kNetwork, privacy::View::kReleasesAndParticipants);
}

Figure FigureOf(const std::vector<privacy::Claim>& claims, bool seeded) {
  Figure figure;
  figure.seeded = seeded;
  figure.claims = claims;
  if (const auto* claim = Find(claims, privacy::ClaimKinds().front())) figure.headline = *claim;
  const privacy::Claim* network = Find(claims, NetworkKind());
  figure.epsilon_network = network == nullptr ? privacy::Claim().epsilon : network->epsilon;
  return figure;
}

Figure FigureOf(const LedgerEntry& entry) { return FigureOf(entry.claims, entry.seeded); }

// One claim for all devices, or the reason why there is none.
struct ClaimForAll {
  const privacy::ClaimKind* kind = nullptr;
  privacy::CombinedClaim combined;
};

// Why the claims against the server leave something out: a server sees the updates of every
// attempt, and an attempt after a job's last release is in no entry. Empty if there is none.
std::string UnclaimedAttempts(const std::vector<JobLedger>& jobs) {
  for (const JobLedger& job : jobs) {
    const int64_t claimed = job.releases.empty() ? 0 : job.releases.back().attempts;
    if (job.job.attempts > claimed) {
      return fmt::format("job {} made {} after its last release", job.job.number,
                         Counted(job.job.attempts - claimed, "attempt"));
    }
  }
  return "";
}

// The claim on one update is of its own job alone, so every job must make it. All others are of the
// job and of those before it.
ClaimForAll CombineKind(const privacy::ClaimKind& kind, const std::vector<JobLedger>& jobs) {
  if (kind.adversary == privacy::Adversary::kServer) {
    const std::string unclaimed = UnclaimedAttempts(jobs);
    if (!unclaimed.empty()) return {&kind, {std::nullopt, unclaimed}};
  }
  const std::vector<const LedgerEntry*> entries =
      kind.view == privacy::View::kOneUpdate ? LastEntries(jobs) : EntriesThatCoverAll(jobs);
  std::vector<privacy::Claim> claims;
  for (const LedgerEntry* entry : entries) {
    const privacy::Claim* claim = Find(entry->claims, kind);
    if (claim == nullptr) {
      return {&kind, {std::nullopt, fmt::format("job {} claims nothing of this kind", entry->job)}};
    }
    claims.push_back(*claim);
  }
  return {&kind, privacy::CombineClaims(claims)};
}

// The combined claims of each kind that a job of the store has, in the order of every statement.
std::vector<ClaimForAll> ClaimsForAll(const std::vector<JobLedger>& jobs) {
  const std::vector<const LedgerEntry*> entries = EntriesThatCoverAll(jobs);
  std::vector<ClaimForAll> claims;
  for (const privacy::ClaimKind& kind : privacy::ClaimKinds()) {
    const bool is_claimed =
        std::any_of(entries.begin(), entries.end(),
                    [&](const LedgerEntry* entry) { return Find(entry->claims, kind) != nullptr; });
    if (is_claimed) claims.push_back(CombineKind(kind, jobs));
  }
  return claims;
}

// The figure of the line "in all" and of the total's own fields in JSON: the largest epsilon at the
// largest delta. Trust mode and colluders are those of the last job, even if other jobs differ.
// There is no figure under two adjacencies. The list of claims in JSON is stricter.
std::optional<Figure> FigureForAll(const std::vector<const LedgerEntry*>& entries) {
  if (entries.empty()) return std::nullopt;
  const Figure last = FigureOf(*entries.back());
  std::vector<privacy::Claim> headlines;
  Figure figure = last;
  for (const LedgerEntry* entry : entries) {
    const Figure other = FigureOf(*entry);
    headlines.push_back(other.headline);
    headlines.back().trust_mode = last.headline.trust_mode;
    headlines.back().colluders = last.headline.colluders;
    figure.epsilon_network = std::max(figure.epsilon_network, other.epsilon_network);
    figure.seeded = figure.seeded || other.seeded;
  }
  const privacy::CombinedClaim combined = privacy::CombineClaims(headlines);
  if (!combined.claim) return std::nullopt;
  figure.headline = *combined.claim;
  figure.claims = {figure.headline};
  if (const privacy::Claim* network = Find(last.claims, NetworkKind())) {
    figure.claims.push_back(*network);
    figure.claims.back().epsilon = figure.epsilon_network;
  }
  return figure;
}

std::string Time(int64_t seconds) {
  return fmt::format("{:%F %T}Z", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string DescribeFigure(const Figure& figure) {
  const privacy::Claim& claim = figure.headline;
  return fmt::format("epsilon {} at delta {:.3g}, {} adjacency, unit {}, {}, {}{}",
                     DescribeClaims(figure.claims, kDecimals), claim.delta,
                     privacy::Name(claim.adjacency), privacy::Name(claim.unit),
                     privacy::Name(claim.trust_mode), Counted(claim.colluders, "colluder"),
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
      privacy::EpsilonText(figure.headline.epsilon, kDecimals),
      privacy::EpsilonText(figure.epsilon_network, kDecimals), figure.headline.accountant,
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
  const std::vector<const LedgerEntry*> entries = EntriesThatCoverAll(jobs);
  const std::optional<Figure> figure = FigureForAll(entries);
  text += "\nin all: " +
          (figure ? DescribeFigure(*figure)
                  : "no one figure, as jobs on different devices have different adjacencies") +
          "\n";
  for (const ClaimForAll& claim : ClaimsForAll(jobs)) {
    if (claim.combined.claim) continue;
    text += fmt::format("  no one claim {}: {}\n", claim.kind->against, claim.combined.refusal);
  }
  return text;
}

void AddFigure(const Figure& figure, Json& json) {
  json["epsilon"] = Finite(figure.headline.epsilon);
  json["epsilon_network"] = Finite(figure.epsilon_network);
  json["delta"] = figure.headline.delta;
  json["adjacency"] = privacy::Name(figure.headline.adjacency);
  json["unit"] = privacy::Name(figure.headline.unit);
  json["trust_mode"] = privacy::Name(figure.headline.trust_mode);
  json["colluders"] = figure.headline.colluders;
  json["seeded"] = figure.seeded;
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
               {"accountant", figure.headline.accountant},
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

// `claims`: claims that cover all devices of the store. `no_claims`: the kinds without such a
// claim, each with the reason.
void AddClaimsForAll(const std::vector<ClaimForAll>& all, Json& json) {
  std::vector<privacy::Claim> claims;
  Json refused = Json::array();
  for (const ClaimForAll& one : all) {
    if (one.combined.claim) {
      claims.push_back(*one.combined.claim);
    } else {
      refused.push_back({{"adversary", privacy::Name(one.kind->adversary)},
                         {"view", privacy::Name(one.kind->view)},
                         {"why", one.combined.refusal}});
    }
  }
  json["claims"] = ClaimsToJson(claims);
  json["no_claims"] = refused;
}

// If nothing is released, nothing is spent, under any adjacency. If there is no figure for all
// devices, its fields are null.
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
  const std::vector<const LedgerEntry*> entries = EntriesThatCoverAll(jobs);
  if (const std::optional<Figure> figure = FigureForAll(entries)) AddFigure(*figure, json);
  if (releases == 0) {
    for (const char* field : {"epsilon", "epsilon_network", "delta"}) json[field] = 0.0;
  }
  AddClaimsForAll(ClaimsForAll(jobs), json);
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
