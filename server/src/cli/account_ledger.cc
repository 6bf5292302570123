#include "cli/account_ledger.h"

#include <algorithm>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
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
#include "store/sqlite_store.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDecimals = 4;  // of an epsilon

struct LedgerOptions {
  std::string store;
  std::string json;
};

struct Ledger {
  std::vector<JobEntry> jobs;
  std::vector<LedgerEntry> releases;
};

std::vector<LedgerEntry> ReleasesOf(const Ledger& ledger, int64_t job) {
  std::vector<LedgerEntry> releases;
  for (const LedgerEntry& entry : ledger.releases) {
    if (entry.job == job) releases.push_back(entry);
  }
  return releases;
}

// The last entry of each job that has released anything.
std::vector<LedgerEntry> LastEntries(const Ledger& ledger) {
  std::vector<LedgerEntry> last;
  for (const LedgerEntry& entry : ledger.releases) {
    if (!last.empty() && last.back().job == entry.job) last.pop_back();
    last.push_back(entry);
  }
  return last;
}

// The last entry of a job holds for its devices and for those of the jobs before it that it
// composes with. So if it composes with all, it holds for every device of the store. Otherwise each
// device has the figure of the last job it was in, and the largest epsilon at the largest delta
// covers them; under two adjacencies there is no such figure.
std::optional<LedgerEntry> FigureForAll(const Ledger& ledger) {
  const std::vector<LedgerEntry> last = LastEntries(ledger);
  if (last.empty()) return std::nullopt;
  LedgerEntry figure = last.back();
  const std::vector<int64_t>& before = ledger.jobs.at(static_cast<size_t>(figure.job - 1)).before;
  const bool covers_all = std::all_of(last.begin(), last.end() - 1, [&](const LedgerEntry& entry) {
    return std::find(before.begin(), before.end(), entry.job) != before.end();
  });
  if (covers_all) return figure;
  for (const LedgerEntry& entry : last) {
    if (entry.adjacency != figure.adjacency) return std::nullopt;
    figure.epsilon = std::max(figure.epsilon, entry.epsilon);
    figure.epsilon_network = std::max(figure.epsilon_network, entry.epsilon_network);
    figure.delta = std::max(figure.delta, entry.delta);
    figure.seeded = figure.seeded || entry.seeded;
  }
  return figure;
}

std::string Time(int64_t seconds) {
  return fmt::format("{:%F %T}Z", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string DescribeFigure(const LedgerEntry& entry) {
  return fmt::format(
      "epsilon {} ({} against the network) at delta {:.3g}, {} adjacency, unit {}, {}, {}{}",
      privacy::EpsilonText(entry.epsilon, kDecimals),
      privacy::EpsilonText(entry.epsilon_network, kDecimals), entry.delta, entry.adjacency,
      entry.unit, entry.trust_mode, Counted(entry.colluders, "colluder"),
      entry.seeded ? "; seeded: not private" : "");
}

std::string DescribeRelease(const LedgerEntry& entry) {
  return fmt::format(
      "  {:>5} {:>8} {:<14} {:>9.5f} {:>8.4f} {:<8} {:>6}/{:<6} {:>7} {:>8} {:>7.4f} {:>10} {:>10} "
      " "
      "{}{}\n",
      entry.round + 1, entry.attempts, entry.mechanism, entry.noise_sigma, entry.clip_l2,
      entry.sampling, entry.cohort, entry.devices, entry.planned_reports, entry.reported,
      entry.accounted_noise_multiplier, privacy::EpsilonText(entry.epsilon, kDecimals),
      privacy::EpsilonText(entry.epsilon_network, kDecimals), entry.accountant,
      entry.seeded ? ", seeded" : "");
}

std::string DescribeJob(const JobEntry& job, const std::vector<LedgerEntry>& releases) {
  std::string text =
      fmt::format("\njob {}: {}, begun {}, {}; {} of {} released in {}\n", job.number, job.model,
                  Time(job.begun), Counted(job.devices, "device"), job.released,
                  Counted(job.rounds, "round"), Counted(job.attempts, "attempt"));
  if (!job.before.empty()) {
    text += fmt::format("  composed with the rounds of job {}, on the same devices\n",
                        fmt::join(job.before, ", "));
  }
  if (releases.empty()) return text;
  text += fmt::format(
      "  {:>5} {:>8} {:<14} {:>9} {:>8} {:<8} {:>6}/{:<6} {:>7} {:>8} {:>7} {:>10} {:>10}  {}\n",
      "round", "attempts", "mechanism", "sigma", "clip", "sampling", "cohort", "N", "planned",
      "reported", "z", "epsilon", "network", "accountant");
  for (const LedgerEntry& entry : releases) text += DescribeRelease(entry);
  return text + "  " + DescribeFigure(releases.back()) + "\n";
}

std::string Describe(const LedgerOptions& o, const Ledger& ledger) {
  std::string text = fmt::format("{}: {}, {}\n", o.store, Counted(ledger.jobs.size(), "job"),
                                 Counted(ledger.releases.size(), "release"));
  for (const JobEntry& job : ledger.jobs) {
    text += DescribeJob(job, ReleasesOf(ledger, job.number));
  }
  if (ledger.releases.empty()) {
    return text +
           "nothing is released: epsilon 0 (0 against the network) at delta 0, under any "
           "adjacency\n";
  }
  const std::optional<LedgerEntry> figure = FigureForAll(ledger);
  return text + "\nin all: " +
         (figure ? DescribeFigure(*figure)
                 : "no one figure, as jobs on different devices have different adjacencies") +
         "\n";
}

void AddFigure(const LedgerEntry& entry, Json& json) {
  json["epsilon"] = Finite(entry.epsilon);
  json["epsilon_network"] = Finite(entry.epsilon_network);
  json["delta"] = entry.delta;
  json["adjacency"] = entry.adjacency;
  json["unit"] = entry.unit;
  json["trust_mode"] = entry.trust_mode;
  json["colluders"] = entry.colluders;
  json["seeded"] = entry.seeded;
}

Json ToJson(const LedgerEntry& entry) {
  Json json = {{"job", entry.job},
               {"round", entry.round + 1},
               {"attempts", entry.attempts},
               {"mechanism", entry.mechanism},
               {"noise_sigma", entry.noise_sigma},
               {"clip_l2", entry.clip_l2},
               {"sampling", entry.sampling},
               {"devices", entry.devices},
               {"cohort", entry.cohort},
               {"sampling_rate", entry.devices == 0 ? Json(nullptr)
                                                    : Json(static_cast<double>(entry.cohort) /
                                                           static_cast<double>(entry.devices))},
               {"planned_reports", entry.planned_reports},
               {"reported", entry.reported},
               {"dimension", entry.dimension},
               {"certificate_eta", entry.certificate.eta},
               {"certificate_tau", entry.certificate.tau},
               {"certificate_range", entry.certificate.range},
               {"noise_multiplier", entry.noise_multiplier},
               {"accounted_noise_multiplier", entry.accounted_noise_multiplier},
               {"charged_rounds", entry.charged_rounds},
               {"earlier_rounds", entry.earlier_rounds},
               {"accountant", entry.accountant},
               {"numeric_error", Finite(entry.numeric_error)}};
  AddFigure(entry, json);
  return json;
}

Json ToJson(const JobEntry& job) {
  return {{"job", job.number},
          {"model", job.model},
          {"begun", job.begun},
          {"rounds", job.rounds},
          {"rounds_released", job.released},
          {"attempts", job.attempts},
          {"devices", job.devices},
          {"composed_with", job.before}};
}

// Where nothing is released, nothing is spent, under any adjacency. Where there is no figure for
// all devices, its fields are null.
Json TotalToJson(const Ledger& ledger) {
  Json json = {{"jobs", ledger.jobs.size()}, {"rounds_released", ledger.releases.size()}};
  int64_t attempts = 0;
  for (const JobEntry& job : ledger.jobs) attempts += job.attempts;
  json["attempts"] = attempts;
  for (const char* field : {"epsilon", "epsilon_network", "delta", "adjacency", "unit",
                            "trust_mode", "colluders", "seeded"}) {
    json[field] = nullptr;
  }
  if (const std::optional<LedgerEntry> figure = FigureForAll(ledger)) AddFigure(*figure, json);
  if (ledger.releases.empty()) {
    for (const char* field : {"epsilon", "epsilon_network", "delta"}) json[field] = 0.0;
  }
  return json;
}

Json ToJson(const LedgerOptions& o, const Ledger& ledger) {
  Json json = {{"store", o.store}};
  json["jobs"] = Json::array();
  for (const JobEntry& job : ledger.jobs) json["jobs"].push_back(ToJson(job));
  json["releases"] = Json::array();
  for (const LedgerEntry& entry : ledger.releases) json["releases"].push_back(ToJson(entry));
  json["total"] = TotalToJson(ledger);
  return json;
}

void RunLedger(const LedgerOptions& o) {
  if (o.store.empty()) {
    throw std::invalid_argument(
        "which store? It is an argument, `sotto account ledger RUN`, or --store RUN");
  }
  SqliteStore store(o.store);
  const Ledger ledger{store.Jobs(), store.Ledger()};
  fmt::print(IsStandardOutput(o.json) ? stderr : stdout, "{}", Describe(o, ledger));
  WriteJson(o.json, ToJson(o, ledger));
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
