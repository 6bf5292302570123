// The figures of a round (round/round_figures.h) as JSON, CSV and text. All outputs of rounds are
// made of these. Pure functions, safe from any thread. Part of sotto::server/views.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "round/round_figures.h"

namespace sotto::server {

// Null if nothing is known, or if the figure is infinite.
nlohmann::ordered_json ValueToJson(const FigureValue& value);

// An empty cell where JSON has null; of an estimate its accuracy.
std::string ValueToCell(const FigureValue& value);

// For people: six digits of a real number.
std::string ValueToText(const FigureValue& value);

// Sets the field of each figure that can be read of such facts.
void AddFigures(const FigureList& figures, const RoundFacts& facts, nlohmann::ordered_json& json);

// Sets the fields of all of them to null.
void AddNullFigures(const FigureList& figures, nlohmann::ordered_json& json);

// ", 3 topped up, 1 refused": the figures of a place that can be read of the facts. For the
// operator.
std::string DescribeMore(Place place, const RoundFacts& facts);

// A figure, and the name that it has in results.
struct FigureField {
  const RoundFigure* figure;
  const char* field;
};

// The figures of a simulation, of kReport or kRoundsCsv. `drawn` is called `cohort` there. Readers
// know the columns of rounds.csv in their order, so a figure that is new in the table comes after
// all that were there.
std::vector<FigureField> SimulatedFigures(Place place);

}  // namespace sotto::server
