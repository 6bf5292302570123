#include "views/round_output.h"

#include <cmath>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "views/figures.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

struct KnownField {
  const char* figure;
  const char* field;
};

constexpr KnownField kFirstFields[] = {{"drawn", "cohort"},
                                       {"reported", "reported"},
                                       {"topped_up", "topped_up"},
                                       {"update_bytes", "update_bytes"},
                                       {"clip_l2", "clip_l2"},
                                       {"noise_sigma", "noise_sigma"},
                                       {"noise_multiplier", "noise_multiplier"},
                                       {"unclipped_fraction", "unclipped_fraction"},
                                       {"device_accuracy", "device_accuracy"}};

bool IsKnown(const RoundFigure& figure) {
  for (const KnownField& known : kFirstFields) {
    if (&FigureByName(known.figure) == &figure) return true;
  }
  return false;
}

}  // namespace

Json ValueToJson(const FigureValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return FigureToJson(*real);
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  const auto* estimate = std::get_if<privacy::AccuracyEstimate>(&value);
  return estimate == nullptr ? Json(nullptr) : DeviceAccuracyToJson(*estimate);
}

std::string ValueToCell(const FigureValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  const std::optional<double> real = NumberOf(value);
  return real && std::isfinite(*real) ? fmt::format("{}", *real) : "";
}

std::string ValueToText(const FigureValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{:.6g}", *real);
  return ValueToCell(value);
}

void AddFigures(const FigureList& figures, const RoundFacts& facts, Json& json) {
  for (const RoundFigure* figure : figures) {
    if (figure->CanRead(facts)) json[figure->name()] = ValueToJson(figure->Read(facts));
  }
}

void AddNullFigures(const FigureList& figures, Json& json) {
  for (const RoundFigure* figure : figures) json[figure->name()] = nullptr;
}

std::string DescribeMore(Place place, const RoundFacts& facts) {
  std::string text;
  for (const RoundFigure* figure : FiguresForOperator(place)) {
    const FigureValue value = figure->Read(facts);
    const bool is_nothing = std::holds_alternative<std::monostate>(value) ||
                            (NumberOf(value) == 0.0 && !figure->is_said_if_zero());
    if (!is_nothing) text += fmt::format(", {} {}", ValueToText(value), figure->words());
  }
  return text;
}

std::vector<FigureField> SimulatedFigures(Place place) {
  std::vector<FigureField> figures;
  for (const KnownField& known : kFirstFields) {
    const RoundFigure& figure = FigureByName(known.figure);
    if (figure.IsIn(place)) figures.push_back({&figure, known.field});
  }
  for (const RoundFigure* figure : FiguresForOperator(place)) {
    if (figure->IsSeen() && !IsKnown(*figure)) figures.push_back({figure, figure->name()});
  }
  return figures;
}

}  // namespace sotto::server
