// The rules for numbers: what is a feature, what is a target, what is missing. Part of sotto::data.
//
// All readers take their numbers from here, so a number is refused in each format or in none. A
// reader adds where the number stands. Pure functions, safe in any thread. Each throws
// std::invalid_argument with what was expected.
#pragma once

#include <optional>
#include <string_view>

#include "formats.h"

namespace sotto {

// The text without blanks around it, no-break spaces among them.
std::string_view Trimmed(std::string_view text);

// A text that commonly stands for a missing value, such as NA.
bool IsMissingMark(std::string_view text);

// A decimal number, with or without a sign; infinite if a double cannot hold it. Nothing for any
// other text.
std::optional<double> RealIn(std::string_view text);

// The number that a text writes; NaN if it is empty or a mark of a missing value.
//   advice  what to do about a text that is no number; it may be empty
double NumberIn(std::string_view text, std::string_view advice);

// A number as a feature of the model. NaN is a missing value: a model that does not say what stands
// for it refuses it, and so does one of tokens.
float FeatureOf(const ReadRequest& request, double value);

// A number of a target: it is never missing.
float TargetOf(double value);

}  // namespace sotto
