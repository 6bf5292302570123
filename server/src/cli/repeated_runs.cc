#include "cli/repeated_runs.h"

#include <cmath>
#include <fmt/format.h>

#include "base/counted.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

// A figure of a result that repeated runs summarise.
struct Figure {
  const char* name;     // in JSON
  const char* pointer;  // to it in a result
  const char* text;     // for people
  int decimals;
};

constexpr Figure kFigures[] = {
    {"accuracy", "/accuracy", "accuracy", 4},
    {"loss", "/evaluation/loss", "loss", 4},
    {"mean_squared_error", "/evaluation/mean_squared_error", "squared error", 6},
    {"epsilon", "/epsilon", "epsilon", 3},
    {"bytes_up_per_device_round", "/bytes_up_per_device_round", "upload, bytes", 1},
};

Spread SpreadOf(const std::vector<FinishedRun>& runs, const Figure& figure) {
  std::vector<double> values;
  for (const FinishedRun& run : runs) {
    const Json value = run.result.value(Json::json_pointer(figure.pointer), Json(nullptr));
    if (value.is_number()) values.push_back(value.get<double>());
  }
  return server::SpreadOf(values);
}

// A loss is also the mean squared error of a model without classes: one line is enough.
bool IsShown(const Figure& figure, const std::vector<FinishedRun>& runs) {
  const bool is_loss = std::string(figure.name) == "loss";
  return SpreadOf(runs, figure).runs > 0 && !(is_loss && SpreadOf(runs, kFigures[2]).runs > 0);
}

}  // namespace

Spread SpreadOf(const std::vector<double>& values) {
  Spread spread;
  spread.runs = values.size();
  if (values.empty()) return spread;
  for (const double value : values) spread.mean += value;
  spread.mean /= static_cast<double>(values.size());
  if (values.size() < 2) return spread;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return spread;
}

std::string DescribeRuns(const std::vector<FinishedRun>& runs) {
  std::string text = fmt::format("\n{}, each with its seed: mean and standard deviation of a run\n",
                                 Counted(runs.size(), "simulation"));
  for (const Figure& figure : kFigures) {
    if (!IsShown(figure, runs)) continue;
    const Spread spread = SpreadOf(runs, figure);
    text += fmt::format("  {:<14} {:.{}f}", figure.text, spread.mean, figure.decimals);
    text +=
        spread.runs < 2 ? "\n" : fmt::format(" +- {:.{}f}\n", spread.deviation, figure.decimals);
  }
  return text;
}

Json RunsToJson(const std::vector<FinishedRun>& runs) {
  Json json = {{"seeds", Json::array()}, {"mean", nullptr}, {"deviation", nullptr}};
  json["runs"] = Json::array();
  for (const FinishedRun& run : runs) {
    json["seeds"].push_back(run.seed);
    json["runs"].push_back(run.result);
  }
  for (const Figure& figure : kFigures) {
    const Spread spread = SpreadOf(runs, figure);
    json["mean"][figure.name] = spread.runs == 0 ? Json(nullptr) : Json(spread.mean);
    json["deviation"][figure.name] = spread.runs < 2 ? Json(nullptr) : Json(spread.deviation);
  }
  return json;
}

}  // namespace sotto::server
