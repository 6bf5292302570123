#include "views/figures.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

#include <nlohmann/json.hpp>

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kClassesOfALine = 12;
constexpr size_t kWorstClasses = 5;

std::string NameOf(const SampleInfo& info, size_t label) {
  return label < info.class_names.size() ? info.class_names[label] : std::to_string(label);
}

double Rate(const ClassCount& each) {
  return static_cast<double>(each.correct) / static_cast<double>(each.total);
}

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

}  // namespace

nlohmann::ordered_json FigureToJson(double figure) {
  if (std::isnan(figure)) return nullptr;
  if (std::isinf(figure)) return figure > 0 ? "Infinity" : "-Infinity";
  return figure;
}

std::string Digits(double figure, int decimals) {
  const bool is_small = figure != 0 && std::fabs(figure) < std::pow(10.0, 2 - decimals);
  return is_small ? fmt::format("{:.3g}", figure) : fmt::format("{:.{}f}", figure, decimals);
}

nlohmann::ordered_json DeviceAccuracyToJson(
    const std::optional<privacy::AccuracyEstimate>& estimate) {
  if (!estimate) return nullptr;
  return {{"accuracy", estimate->accuracy},
          {"bar", estimate->bar},
          {"confidence", privacy::kAccuracyConfidence},
          {"noise_deviation", estimate->noise_deviation}};
}

std::string DescribeDeviceAccuracy(const privacy::AccuracyEstimate& estimate) {
  return fmt::format("{:.3f} +- {:.3f} on the devices before it", estimate.accuracy, estimate.bar);
}

std::string DescribeExtras(const privacy::Plan& plan) {
  if (plan.clip_bit_scale == 0) return "";
  return fmt::format(
      "  clip bits or accuracies of devices are beside the updates, of norm at most {:.4f}: these "
      "figures cover them\n",
      plan.clip_bit_scale / 2);
}

std::string DescribeEvaluation(const Evaluation& evaluation) {
  if (const auto error = evaluation.mean_squared_error()) {
    return fmt::format("mean squared error {:.6g}", *error);
  }
  return fmt::format("accuracy {:.4f}, loss {:.4f}", *evaluation.accuracy(), evaluation.loss);
}

std::string DescribeClasses(const Evaluation& evaluation, const SampleInfo& info) {
  const std::vector<ClassCount>& classes = evaluation.classes;
  std::vector<size_t> shown;
  for (size_t k = 0; k < classes.size(); ++k) {
    if (classes[k].total > 0) shown.push_back(k);
  }
  const bool are_many = shown.size() > kClassesOfALine;
  if (are_many) {
    std::stable_sort(shown.begin(), shown.end(),
                     [&](size_t a, size_t b) { return Rate(classes[a]) < Rate(classes[b]); });
    shown.resize(kWorstClasses);
  }
  std::string text;
  for (const size_t k : shown) {
    text += fmt::format("{}{} {:.4f}", text.empty() ? "" : ", ", NameOf(info, k), Rate(classes[k]));
  }
  return are_many ? "worst: " + text : text;
}

Json EvaluationToJson(const Evaluation& evaluation, const SampleInfo& info) {
  Json json = {{"samples", evaluation.samples},
               {"loss", FigureToJson(evaluation.loss)},
               {"accuracy", OrNull(evaluation.accuracy())},
               {"mean_squared_error", OrNull(evaluation.mean_squared_error())},
               {"classes", nullptr}};
  for (size_t k = 0; k < evaluation.classes.size(); ++k) {
    const ClassCount& each = evaluation.classes[k];
    json["classes"].push_back(
        {{"class", NameOf(info, k)}, {"correct", each.correct}, {"total", each.total}});
  }
  return json;
}

}  // namespace sotto::server
