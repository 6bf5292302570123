#include "views/repeated_runs.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/mean_deviation.h"

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
    {"accuracy_own", "/accuracy_own", "own accuracy", 4},
    {"accuracy_never", "/accuracy_never", "never sharing", 4},
    {"loss", "/evaluation/loss", "loss", 4},
    {"mean_squared_error", "/evaluation/mean_squared_error", "squared error", 6},
    {"epsilon", "/epsilon", "epsilon", 3},
    {"bytes_up_per_device_round", "/bytes_up_per_device_round", "upload, bytes", 1},
    {"publications", "/publications_in_all", "publications", 1},
};

constexpr const Figure& kSquaredError = kFigures[4];

MeanDeviation SpreadOf(const FinishedRuns& runs, const Figure& figure) {
  std::vector<double> values;
  for (const Json& run : runs) {
    const Json value = run.value(Json::json_pointer(figure.pointer), Json(nullptr));
    if (value.is_number()) values.push_back(value.get<double>());
  }
  return MeanDeviationOf(values);
}

// A loss is also the mean squared error of a model without classes: one line is enough.
bool IsShown(const Figure& figure, const FinishedRuns& runs) {
  const bool is_loss = std::string(figure.name) == "loss";
  return SpreadOf(runs, figure).count > 0 && !(is_loss && SpreadOf(runs, kSquaredError).count > 0);
}

}  // namespace

std::string DescribeRuns(const FinishedRuns& runs) {
  std::string text = fmt::format("\n{}, each with its seed: mean and standard deviation of a run\n",
                                 Counted(runs.size(), "simulation"));
  for (const Figure& figure : kFigures) {
    if (!IsShown(figure, runs)) continue;
    const MeanDeviation spread = SpreadOf(runs, figure);
    text += fmt::format("  {:<14} {:.{}f}", figure.text, spread.mean, figure.decimals);
    text +=
        spread.count < 2 ? "\n" : fmt::format(" +- {:.{}f}\n", spread.deviation, figure.decimals);
  }
  return text;
}

Json RunsToJson(const std::vector<uint64_t>& seeds, const FinishedRuns& runs) {
  Json json = {{"seeds", Json::array()}, {"mean", nullptr}, {"deviation", nullptr}};
  json["runs"] = runs;
  for (size_t i = 0; i < runs.size(); ++i) json["seeds"].push_back(seeds[i]);
  for (const Figure& figure : kFigures) {
    const MeanDeviation spread = SpreadOf(runs, figure);
    json["mean"][figure.name] = spread.count == 0 ? Json(nullptr) : Json(spread.mean);
    json["deviation"][figure.name] = spread.count < 2 ? Json(nullptr) : Json(spread.deviation);
  }
  return json;
}

}  // namespace sotto::server
