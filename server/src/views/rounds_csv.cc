#include "views/rounds_csv.h"

#include <cmath>
#include <fmt/format.h>
#include <iterator>

#include "plans/claim.h"

namespace sotto::server {
namespace {

// A row with the configuration it belongs to.
struct Row {
  const SimulationConfig& config;
  const RoundReport& report;
};

std::string Cell(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

std::string Cell(const std::optional<double>& value) { return value ? Cell(*value) : ""; }

std::string EpsilonCell(const Row& row, privacy::Adversary adversary, privacy::View view) {
  const privacy::Claim* claim = row.report.outcome.spent.Find(adversary, view);
  return claim == nullptr ? "" : Cell(claim->epsilon);
}

// A figure of the evaluation.
template <class Figure>
std::string EvaluationCell(const Row& row, Figure figure) {
  return row.report.evaluation ? Cell(figure(*row.report.evaluation)) : "";
}

struct Column {
  const char* name;
  std::string (*cell)(const Row& row);
};

const Column kColumns[] = {
    {"seed",
     [](const Row& row) {
       return row.config.seed ? fmt::format("{}", *row.config.seed) : std::string();
     }},
    {"round", [](const Row& row) { return fmt::format("{}", row.report.outcome.round + 1); }},
    {"attempts", [](const Row& row) { return fmt::format("{}", row.report.attempts); }},
    {"cohort", [](const Row& row) { return fmt::format("{}", row.report.outcome.cohort); }},
    {"reported", [](const Row& row) { return fmt::format("{}", row.report.outcome.reported); }},
    {"topped_up", [](const Row& row) { return fmt::format("{}", row.report.outcome.topped_up); }},
    {"update_bytes",
     [](const Row& row) { return fmt::format("{}", row.report.outcome.update_bytes); }},
    {"clip_l2", [](const Row& row) { return Cell(row.report.outcome.clip_l2); }},
    {"noise_sigma",
     [](const Row& row) {
       return row.config.job.codec->noise ? Cell(row.report.outcome.noise_sigma) : std::string();
     }},
    {"unclipped_fraction",
     [](const Row& row) { return Cell(row.report.outcome.unclipped_fraction); }},
    {"epsilon",
     [](const Row& row) {
       return EpsilonCell(row, privacy::Adversary::kPublic, privacy::View::kReleases);
     }},
    {"epsilon_network",
     [](const Row& row) {
       return EpsilonCell(row, privacy::Adversary::kNetwork,
                          privacy::View::kReleasesAndParticipants);
     }},
    {"epsilon_server",
     [](const Row& row) {
       return EpsilonCell(row, privacy::Adversary::kServer, privacy::View::kEveryUpdate);
     }},
    {"accuracy",
     [](const Row& row) {
       return EvaluationCell(row, [](const Evaluation& e) { return e.accuracy(); });
     }},
    {"loss",
     [](const Row& row) {
       return EvaluationCell(row, [](const Evaluation& e) { return e.loss; });
     }},
    {"mean_squared_error",
     [](const Row& row) {
       return EvaluationCell(row, [](const Evaluation& e) { return e.mean_squared_error(); });
     }},
};

}  // namespace

std::string RoundsCsvHeader() {
  std::string line;
  for (const Column& column : kColumns)
    line += (line.empty() ? "" : ",") + std::string(column.name);
  return line + "\n";
}

std::string RoundsCsvRows(const SimulationConfig& config, const SimulationResult& result) {
  std::string text;
  for (const RoundReport& report : result.rounds) {
    for (const Column& column : kColumns) {
      text += (&column == std::begin(kColumns) ? "" : ",") + column.cell({config, report});
    }
    text += "\n";
  }
  return text;
}

}  // namespace sotto::server
