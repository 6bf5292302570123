// A range check for options. Part of sotto::server/cli.
#ifndef SOTTO_CLI_IN_RANGE_H_
#define SOTTO_CLI_IN_RANGE_H_

#include <fmt/format.h>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "sotto/options/field.h"
#include "sotto/options/numbers.h"

namespace sotto::server {

// Like CLI::Range, but rejects NaN, and names the unit of measure if there is one.
//   word  what may stand instead of a number; null: nothing
inline CLI::Validator InRange(const posix::Range& range, const std::string& unit = "",
                              const char* word = nullptr) {
  const std::string allowed = range.Text() + (unit.empty() ? "" : " ") + unit +
                              (word == nullptr ? "" : std::string(" or ") + word);
  return {[range, allowed, word](std::string& text) {
            const std::optional<double> value = posix::ParseReal(text);
            const bool inside =
                (word != nullptr && text == word) || (value && range.Contains(*value));
            return inside ? "" : fmt::format("{} is not in the range {}", text, allowed);
          },
          allowed};
}

}  // namespace sotto::server

#endif  // SOTTO_CLI_IN_RANGE_H_
