#include <algorithm>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "backends/open_store.h"
#include "base/counted.h"
#include "cli/commands.h"
#include "cli/rows.h"
#include "plans/claim_kinds.h"
#include "store/ledger.h"
#include "views/claims_output.h"
#include "views/figures.h"
#include "views/ledger_output.h"
#include "views/output_file.h"
#include "views/round_output.h"
#include "views/turns_output.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

struct LedgerOptions {
  std::string store;
  std::string json;
  // Without the counts of reports, which tell who took part: what the public may see.
  bool published = false;
};

using LedgerRow = posix::Field<LedgerOptions>;

size_t CountReleases(const std::vector<JobLedger>& jobs) {
  size_t count = 0;
  for (const JobLedger& job : jobs) count += job.releases.size();
  return count;
}

// The claims that hold for all jobs.
std::vector<privacy::Claim> CombinedClaims(const std::vector<JobLedger>& jobs) {
  std::vector<privacy::Claim> claims;
  for (const ClaimForAll& one : ClaimsForAll(jobs)) {
    if (one.combined.claim) claims.push_back(*one.combined.claim);
  }
  return claims;
}

// The figure of the line "in all" and of the total's own fields in JSON: the claims that hold for
// all jobs. Absent if there is none against a person who sees the released models.
std::optional<Figure> FigureForAll(const std::vector<JobLedger>& jobs) {
  const std::vector<privacy::Claim> claims = CombinedClaims(jobs);
  bool seeded = false;
  for (const LedgerEntry* entry : EntriesThatCoverAll(jobs)) seeded = seeded || entry->seeded;
  if (privacy::FindClaim(claims, privacy::ClaimKinds().front()) == nullptr) return std::nullopt;
  return FigureOf(claims, seeded);
}

std::string Time(int64_t seconds) {
  return fmt::format("{:%F %T}Z", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

// How strong each claim is, and the claims but the first one, a line each.
std::string DescribeLines(const std::vector<privacy::Claim>& claims) {
  std::string text;
  for (const std::string& line : DescribeHowStrong(claims.front(), privacy::kFineDecimals)) {
    text += fmt::format("    {}\n", line);
  }
  for (const std::string& other :
       DescribeOtherClaims(claims, privacy::kFineDecimals, Beside::kStrength)) {
    text += fmt::format("    epsilon {}\n", other);
  }
  return text;
}

// Several lines; the first one begins where the caller is.
std::string DescribeFigure(const Figure& figure) {
  const privacy::Claim& claim = figure.headline;
  return fmt::format("epsilon {} at delta {}, {} adjacency, unit {}, {}, {}{}\n",
                     privacy::EpsilonText(claim.epsilon, privacy::kFineDecimals),
                     privacy::DeltaText(claim.delta), privacy::Name(claim.adjacency),
                     privacy::Name(claim.unit), privacy::Name(claim.trust_mode),
                     Counted(claim.colluders, "colluder"),
                     figure.seeded ? "; seeded: not private" : "") +
         (figure.claims.empty() ? "" : DescribeLines(figure.claims));
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

Audience AudienceOf(const LedgerOptions& o) {
  return o.published ? Audience::kPublic : Audience::kOperator;
}

// The columns of round_figures.h, between the plan's columns and the claims'.
FigureList FiguresOf(const JobLedger& ledger, const LedgerOptions& o) {
  FigureList figures = FiguresFor(AudienceOf(o), ledger.releases.back().plan, kLedgerTable);
  figures.erase(std::remove_if(figures.begin(), figures.end(),
                               [](const RoundFigure* figure) { return !figure->IsKept(); }),
                figures.end());
  return figures;
}

std::string FigureColumn(const RoundFigure& figure, const std::string& text) {
  return fmt::format(" {:>{}}", text, std::max<size_t>(8, figure.words().size()));
}

std::string DescribeRelease(const LedgerEntry& entry, const FigureList& figures,
                            const std::vector<const privacy::ClaimKind*>& columns) {
  std::string text =
      fmt::format("  {:>5} {:>8} {:<14} {:>9.5f} {:>8.4f} {:<8} {:>6.5g}/{:<6} {:>7}",
                  entry.round + 1, entry.attempts, entry.mechanism, entry.plan.noise_sigma,
                  entry.plan.clip_l2, privacy::Name(entry.plan.sampling),
                  entry.plan.ExpectedCohort(), entry.plan.devices, entry.plan.planned_reports);
  for (const RoundFigure* figure : figures) {
    text += FigureColumn(*figure, ValueToText(figure->Read({nullptr, &entry})));
  }
  text += fmt::format(" {:>7.4f}", entry.accounted_noise_multiplier);
  for (const privacy::ClaimKind* kind : columns) {
    const privacy::Claim* claim = privacy::FindClaim(entry.claims, *kind);
    text += fmt::format(
        " {:>13}",
        claim == nullptr ? "" : privacy::EpsilonText(claim->epsilon, privacy::kFineDecimals));
  }
  return text + fmt::format("  {}{}\n", FigureOf(entry.claims, entry.seeded).headline.accountant,
                            entry.seeded ? ", seeded" : "");
}

std::string DescribeReleases(const JobLedger& ledger, const LedgerOptions& o) {
  std::string text =
      fmt::format("  {:>5} {:>8} {:<14} {:>9} {:>8} {:<8} {:>6}/{:<6} {:>7}", "round", "attempts",
                  "mechanism", "sigma", "clip", "sampling", "cohort", "N", "planned");
  const FigureList figures = FiguresOf(ledger, o);
  for (const RoundFigure* figure : figures) text += FigureColumn(*figure, figure->words());
  text += fmt::format(" {:>7}", "z");
  const std::vector<const privacy::ClaimKind*> columns = ColumnsOf(ledger);
  for (const privacy::ClaimKind* kind : columns) text += fmt::format(" {:>13}", Heading(*kind));
  text += "  accountant\n";
  for (const LedgerEntry& entry : ledger.releases) text += DescribeRelease(entry, figures, columns);
  return text;
}

// "3.21 at delta 1e-05 against the server for one update", ...
std::string DescribeEach(const std::vector<privacy::Claim>& claims) {
  std::vector<std::string> each;
  for (const privacy::Claim& claim : claims) {
    each.push_back(fmt::format(
        "{} at delta {} {}", privacy::EpsilonText(claim.epsilon, privacy::kFineDecimals),
        privacy::DeltaText(claim.delta), privacy::FindKind(claim.adversary, claim.view)->against));
  }
  return fmt::format("{}", fmt::join(each, ", "));
}

// What the releases' own figures leave out.
std::string DescribeRest(const JobLedger& ledger) {
  std::string text;
  if (!ledger.after_attempts.empty()) {
    text += fmt::format(
        "  after {}{}, released or not: epsilon {}\n", ledger.job.attempts == 1 ? "" : "all ",
        Counted(ledger.job.attempts, "attempt"), DescribeEach(ledger.after_attempts));
  }
  return text;
}

// On the operator's test set.
std::string DescribeEvaluations(const JobLedger& ledger) {
  std::string text;
  for (const StoredEvaluation& each : ledger.evaluations) {
    text += fmt::format(
        "  round {} evaluated: {}; {} of {}\n", each.round + 1, DescribeEvaluation(each.evaluation),
        Counted(static_cast<int64_t>(each.evaluation.samples), "sample"), each.data.name);
  }
  return text;
}

// What tells who took part, and what the operator's test set tells.
std::string DescribeForOperator(const JobLedger& ledger) {
  std::string text;
  if (ledger.halt) {
    text += fmt::format("  {}: {}\n", Name(ledger.halt->kind), ledger.halt->reason);
  }
  if (!ledger.recovery.empty()) text += fmt::format("  {}\n", ledger.recovery);
  const std::string turns = DescribeTurns(ledger.turns);
  if (!turns.empty()) text += "  turns: " + turns + "\n";
  const std::string never = DescribeNeverAsked(ledger.turns);
  if (!never.empty()) text += "  not asked: " + never + "\n";
  return text + DescribeEvaluations(ledger);
}

std::string DescribeJob(const JobLedger& ledger, const LedgerOptions& o) {
  const JobEntry& job = ledger.job;
  std::string text =
      fmt::format("\njob {}: {}, begun {}, {}; {} of {} released in {}\n", job.number, job.model,
                  Time(job.begun), Counted(job.devices.size(), "device"), job.released,
                  Counted(ledger.rounds, "round"), Counted(job.attempts, "attempt"));
  if (!ledger.before.empty()) {
    text += fmt::format("  composed with the rounds of job {}, on the same devices\n",
                        fmt::join(ledger.before, ", "));
  }
  if (!ledger.releases.empty()) {
    text += DescribeReleases(ledger, o) + DescribeExtras(ledger.releases.back().plan) + "  " +
            DescribeFigure(FigureOf(ledger.releases.back().claims, ledger.releases.back().seeded));
  }
  if (!o.published) text += DescribeForOperator(ledger);
  return text + DescribeRest(ledger);
}

std::string DescribeAudience(const LedgerOptions& o) {
  return o.published
             ? "the published ledger"
             : "the operator's ledger; its counts of reports tell who took part, --published "
               "leaves them out";
}

// What holds for all jobs if no claim covers their releases. The server has seen the updates of
// attempts that released nothing, too.
std::string DescribeTotalWithoutFigure(const std::vector<JobLedger>& jobs) {
  std::string text =
      CountReleases(jobs) == 0
          ? "nothing is released: epsilon 0 (0 against the network) at delta 0, under any "
            "adjacency\n"
          : "no one figure\n";
  const std::vector<privacy::Claim> claims = CombinedClaims(jobs);
  if (!claims.empty()) text += fmt::format("  but epsilon {}\n", DescribeEach(claims));
  return text;
}

// What holds for all jobs, and why there is no more.
std::string DescribeTotal(const std::vector<JobLedger>& jobs) {
  std::string text = "\nin all: ";
  if (const std::optional<Figure> figure = FigureForAll(jobs)) {
    text += DescribeFigure(*figure);
  } else {
    text += DescribeTotalWithoutFigure(jobs);
  }
  for (const ClaimForAll& one : ClaimsForAll(jobs)) {
    if (!one.combined.claim) {
      text += fmt::format("  no one claim {}: {}\n", one.kind->against, one.combined.refusal);
    }
  }
  return text;
}

std::string Describe(const LedgerOptions& o, const std::vector<JobLedger>& jobs) {
  std::string text =
      fmt::format("{}: {}: {}, {}\n", o.store, DescribeAudience(o), Counted(jobs.size(), "job"),
                  Counted(CountReleases(jobs), "release"));
  for (const JobLedger& job : jobs) text += DescribeJob(job, o);
  return text + DescribeTotal(jobs);
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
          {"composed_with", ledger.before},
          {"claims_after_attempts", ClaimsToJson(ledger.after_attempts)}};
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

// If nothing is released, nothing is spent, under any adjacency. If no claim against the public
// holds for all devices, the fields of its figure are null; `no_claims` says why.
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
  AddClaimsForAll(ClaimsForAll(jobs), json);
  return json;
}

Json ToJson(const LedgerOptions& o, const std::vector<JobLedger>& jobs) {
  Json json = {{"store", o.store}, {"audience", Name(AudienceOf(o))}};
  json["jobs"] = Json::array();
  json["releases"] = Json::array();
  for (const JobLedger& job : jobs) {
    json["jobs"].push_back(ToJson(job));
    if (!o.published) {
      json["jobs"].back()["evaluations"] = EvaluationsToJson(job);
      json["jobs"].back()["halt"] = HaltToJson(job);
      if (!job.recovery.empty()) json["jobs"].back()["recovery"] = job.recovery;
      if (job.turns.participations > 0) json["jobs"].back()["turns"] = TurnsToJson(job.turns);
    }
    for (const LedgerEntry& entry : job.releases)
      json["releases"].push_back(ReleaseToJson(entry, AudienceOf(o)));
  }
  json["total"] = TotalToJson(jobs);
  return json;
}

void RunLedger(const LedgerOptions& o) {
  RequireOutput(o.json, o.store);
  const std::unique_ptr<Store> store = OpenStore(o.store, StoreMode::kRead);
  std::vector<JobLedger> jobs = ReadLedger(*store);
  AddPairs(*store, &jobs);
  PrintResults(o.json, Describe(o, jobs), ToJson(o, jobs),
               o.published ? Readers::kAll : Readers::kOwner);
}

}  // namespace

posix::Command AccountLedgerCommand() {
  return posix::CommandFor<LedgerOptions>(
             "ledger",
             "what the jobs of a store have spent, release by release; also while a server runs")
      .Takes({
          StoreRow<LedgerOptions>(),
          JsonRow<LedgerOptions>("the ledger"),
          posix::Field<LedgerOptions>("published", &LedgerOptions::published,
                                      "print only what may be published: no counts of reports, "
                                      "because they tell who took part"),
      })
      .Runs(RunLedger);
}

}  // namespace sotto::server
