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
#include "store/ledger.h"
#include "store/open_store.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDecimals = 4;  // of an epsilon

struct LedgerOptions {
  std::string store;
  std::string json;
};

size_t CountReleases(const std::vector<JobLedger>& jobs) {
  size_t count = 0;
  for (const JobLedger& job : jobs) count += job.releases.size();
  return count;
}

// The summary of an entry for one line: its headline claim, and the epsilon of its network claim.
struct Figure {
  privacy::Claim headline;
  double epsilon_network = 0.0;
  std::vector<privacy::Claim> claims;  // all that the line names, the headline first
  bool seeded = false;
};

const privacy::ClaimKind& NetworkKind() {
  return *privacy::FindKind(privacy::Adversary::kNetwork, privacy::View::kReleasesAndParticipants);
}

Figure FigureOf(const std::vector<privacy::Claim>& claims, bool seeded) {
  Figure figure;
  figure.seeded = seeded;
  figure.claims = claims;
  if (const auto* claim = privacy::FindClaim(claims, privacy::ClaimKinds().front()))
    figure.headline = *claim;
  const privacy::Claim* network = privacy::FindClaim(claims, NetworkKind());
  figure.epsilon_network = network == nullptr ? privacy::Claim().epsilon : network->epsilon;
  return figure;
}

Figure FigureOf(const LedgerEntry& entry) { return FigureOf(entry.claims, entry.seeded); }

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
  if (const privacy::Claim* network = privacy::FindClaim(last.claims, NetworkKind())) {
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
  return fmt::format("epsilon {} at delta {}, {} adjacency, unit {}, {}, {}{}",
                     DescribeClaims(figure.claims, kDecimals), privacy::DeltaText(claim.delta),
                     privacy::Name(claim.adjacency), privacy::Name(claim.unit),
                     privacy::Name(claim.trust_mode), Counted(claim.colluders, "colluder"),
                     figure.seeded ? "; seeded: not private" : "");
}

// A column of the table of releases for each kind of claim that a release has.
std::vector<const privacy::ClaimKind*> ColumnsOf(const JobLedger& ledger) {
  std::vector<const privacy::ClaimKind*> columns;
  for (const privacy::ClaimKind& kind : privacy::ClaimKinds()) {
    const bool is_claimed =
        std::any_of(ledger.releases.begin(), ledger.releases.end(), [&](const LedgerEntry& entry) {
          return privacy::FindClaim(entry.claims, kind) != nullptr;
        });
    if (is_claimed) columns.push_back(&kind);
  }
  return columns;
}

// "epsilon", "network", "server", ...: the field in JSON without the word that all have.
std::string Heading(const privacy::ClaimKind& kind) {
  const std::string field = kind.json_field;
  const std::string common = "epsilon_";
  return field.rfind(common, 0) == 0 ? field.substr(common.size()) : field;
}

std::string DescribeRelease(const LedgerEntry& entry,
                            const std::vector<const privacy::ClaimKind*>& columns) {
  std::string text = fmt::format(
      "  {:>5} {:>8} {:<14} {:>9.5f} {:>8.4f} {:<8} {:>6}/{:<6} {:>7} {:>8} {:>7.4f}",
      entry.round + 1, entry.attempts, entry.mechanism, entry.plan.noise_sigma, entry.plan.clip_l2,
      privacy::Name(entry.plan.sampling), entry.plan.cohort, entry.plan.devices,
      entry.plan.planned_reports, entry.reported, entry.accounted_noise_multiplier);
  for (const privacy::ClaimKind* kind : columns) {
    const privacy::Claim* claim = privacy::FindClaim(entry.claims, *kind);
    text += fmt::format(" {:>13}",
                        claim == nullptr ? "" : privacy::EpsilonText(claim->epsilon, kDecimals));
  }
  return text + fmt::format("  {}{}\n", FigureOf(entry).headline.accountant,
                            entry.seeded ? ", seeded" : "");
}

std::string DescribeReleases(const JobLedger& ledger) {
  std::string text = fmt::format(
      "  {:>5} {:>8} {:<14} {:>9} {:>8} {:<8} {:>6}/{:<6} {:>7} {:>8} {:>7}", "round", "attempts",
      "mechanism", "sigma", "clip", "sampling", "cohort", "N", "planned", "reported", "z");
  const std::vector<const privacy::ClaimKind*> columns = ColumnsOf(ledger);
  for (const privacy::ClaimKind* kind : columns) text += fmt::format(" {:>13}", Heading(*kind));
  text += "  accountant\n";
  for (const LedgerEntry& entry : ledger.releases) text += DescribeRelease(entry, columns);
  return text;
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
  return text + DescribeReleases(ledger) + "  " + DescribeFigure(FigureOf(ledger.releases.back())) +
         "\n";
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
  const std::vector<JobLedger> jobs = ReadLedger(*OpenStore(o.store));
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
