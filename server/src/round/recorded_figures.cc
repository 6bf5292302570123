#include "round/recorded_figures.h"

#include <cmath>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "round/round_outcome.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr Places kRecorded = kResults | kAttempts | kOverview;

Json ToJson(const FigureValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) {
    return std::isfinite(*real) ? Json(*real) : Json(nullptr);
  }
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  if (const auto* estimate = std::get_if<privacy::AccuracyEstimate>(&value)) {
    return {estimate->accuracy, estimate->noise_deviation, estimate->bar};
  }
  return nullptr;
}

FigureValue OfJson(const Json& json) {
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  return privacy::AccuracyEstimate{json.at(0), json.at(1), json.at(2)};
}

}  // namespace

std::string FiguresToRecord(const RoundOutcome& outcome) {
  Json record = Json::object();
  for (const RoundFigure& figure : RoundFigures()) {
    if (!figure.IsSeen() || !figure.IsIn(kRecorded)) continue;
    const Json value = ToJson(figure.Read({&outcome}));
    if (!value.is_null()) record[figure.name()] = value;
  }
  return ForgivingJsonText(record);
}

RecordedFigures FiguresOfRecord(const std::string& text) {
  try {
    RecordedFigures figures;
    const Json record = ParseJson(text);
    for (const auto& [name, value] : record.items()) figures[name] = OfJson(value);
    return figures;
  } catch (const std::exception& error) {
    throw std::runtime_error("the recorded figures of a round are damaged: " +
                             std::string(error.what()));
  }
}

}  // namespace sotto::server
