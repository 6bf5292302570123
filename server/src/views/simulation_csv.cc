#include "views/simulation_csv.h"

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

#include "aggregate/spectrum.h"
#include "plans/claim.h"
#include "views/round_output.h"

namespace sotto::server {
namespace {

// A row with the configuration it belongs to.
struct RoundRow {
  const SimulationConfig& config;
  const RoundReport& report;
};

std::string Cell(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

std::string Cell(const std::optional<double>& value) { return value ? Cell(*value) : ""; }

std::string EpsilonCell(const RoundRow& row, privacy::Adversary adversary, privacy::View view) {
  const privacy::Claim* claim = row.report.outcome.spent.Find(adversary, view);
  return claim == nullptr ? "" : Cell(claim->epsilon);
}

// A figure of the evaluation.
template <class Figure>
std::string EvaluationCell(const RoundRow& row, Figure figure) {
  return row.report.evaluation ? Cell(figure(*row.report.evaluation)) : "";
}

struct Column {
  const char* name;
  std::string (*cell)(const RoundRow& row);
};

const Column kFirst[] = {
    {"seed",
     [](const RoundRow& row) {
       return row.config.seed ? fmt::format("{}", *row.config.seed) : std::string();
     }},
    {"round", [](const RoundRow& row) { return fmt::format("{}", row.report.outcome.round + 1); }},
    {"attempts", [](const RoundRow& row) { return fmt::format("{}", row.report.attempts); }},
};

// After the figures of the round.
const Column kLast[] = {
    {"epsilon",
     [](const RoundRow& row) {
       return EpsilonCell(row, privacy::Adversary::kPublic, privacy::View::kReleases);
     }},
    {"epsilon_network",
     [](const RoundRow& row) {
       return EpsilonCell(row, privacy::Adversary::kNetwork,
                          privacy::View::kReleasesAndParticipants);
     }},
    {"epsilon_watcher",
     [](const RoundRow& row) {
       return EpsilonCell(row, privacy::Adversary::kWatcher,
                          privacy::View::kReleasesAndParticipants);
     }},
    {"epsilon_server",
     [](const RoundRow& row) {
       return EpsilonCell(row, privacy::Adversary::kServer, privacy::View::kEveryUpdate);
     }},
    {"accuracy",
     [](const RoundRow& row) {
       return EvaluationCell(row, [](const Evaluation& e) { return e.accuracy(); });
     }},
    {"loss",
     [](const RoundRow& row) {
       return EvaluationCell(row, [](const Evaluation& e) { return e.loss; });
     }},
    {"mean_squared_error",
     [](const RoundRow& row) {
       return EvaluationCell(row, [](const Evaluation& e) { return e.mean_squared_error(); });
     }},
};

std::string Line(const std::vector<std::string>& cells) {
  return fmt::format("{}\n", fmt::join(cells, ","));
}

std::string LineOf(const RoundRow& row) {
  const JobConfig& job = row.config.job;
  const RoundFacts facts = {&row.report.outcome, nullptr, &job.plan, !job.codec->noise};
  std::vector<std::string> cells;
  for (const Column& column : kFirst) cells.push_back(column.cell(row));
  for (const FigureField& each : SimulatedFigures(kRoundsCsv)) {
    cells.push_back(ValueToCell(each.figure->Read(facts)));
  }
  for (const Column& column : kLast) cells.push_back(column.cell(row));
  return Line(cells);
}

}  // namespace

std::string RoundsCsvHeader() {
  std::vector<std::string> names;
  for (const Column& column : kFirst) names.push_back(column.name);
  for (const FigureField& each : SimulatedFigures(kRoundsCsv)) names.push_back(each.field);
  for (const Column& column : kLast) names.push_back(column.name);
  return Line(names);
}

std::string RoundsCsvRows(const SimulationConfig& config, const SimulationResult& result) {
  std::string text;
  for (const RoundReport& report : result.rounds) text += LineOf({config, report});
  return text;
}

std::string SpectrumCsv(const SimulationConfig& config, const SimulationResult& result) {
  const AggregationOptions& options = config.job.aggregation;
  const std::vector<TrainedTensor> tensors =
      TrainedTensors(*config.job.model, options.smoothing_image);
  std::string text = "round,tensor,axes,extents,frequency,magnitude\n";
  for (const MeanUpdateOfRound& update : result.updates) {
    size_t first = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const TrainedTensor& tensor = tensors[i];
      const std::vector<float> magnitudes = SpectrumOf(
          {update.values.data() + first, tensor.size()}, tensor, options.smoothing_order);
      for (size_t k = 0; k < magnitudes.size(); ++k) {
        text += fmt::format("{},{},{},{},{},{}\n", update.round + 1, i + 1, tensor.axes,
                            fmt::join(tensor.extents, "x"), k, magnitudes[k]);
      }
      first += tensor.size();
    }
  }
  return text;
}

}  // namespace sotto::server
