// The figures of an attempt as its store keeps them: what a row of round_figures.h reads of an
// outcome. Part of sotto::server/round.
//
// They are the operator's records; the audience of each row says who may see which. Pure functions,
// safe from any thread.
#pragma once

#include <map>
#include <string>

#include "round/round_figures.h"

namespace sotto::server {

// By the figure's name.
using RecordedFigures = std::map<std::string, FigureValue>;

// As JSON: {"drawn": 5, ...}, of all figures of rounds and attempts that the outcome has.
std::string FiguresToRecord(const RoundOutcome& outcome);

// Throws std::runtime_error if the text is no
// such record.
RecordedFigures FiguresOfRecord(const std::string& text);

}  // namespace sotto::server
