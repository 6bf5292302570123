// A range check for options. Part of sotto::server/cli.
#ifndef SOTTO_CLI_IN_RANGE_H_
#define SOTTO_CLI_IN_RANGE_H_

#include <fmt/format.h>
#include <string>

#include <CLI/CLI.hpp>

namespace sotto::server {

// Like CLI::Range, but rejects NaN.
template <typename T>
CLI::Validator InRange(T smallest, T largest) {
  const std::string range = fmt::format("[{} - {}]", smallest, largest);
  return {[=](std::string& text) {
            T value{};
            const bool inside =
                CLI::detail::lexical_cast(text, value) && value >= smallest && value <= largest;
            return inside ? std::string() : fmt::format("{} is not in the range {}", text, range);
          },
          range};
}

}  // namespace sotto::server

#endif  // SOTTO_CLI_IN_RANGE_H_
