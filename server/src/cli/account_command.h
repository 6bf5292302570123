// `sotto account`: privacy arithmetic without a run. Part of sotto::server/cli.
#ifndef SOTTO_CLI_ACCOUNT_COMMAND_H_
#define SOTTO_CLI_ACCOUNT_COMMAND_H_

#include <string>

#include <nlohmann/json.hpp>

#include "cli/account_options.h"

namespace sotto::server {

// Declares the command with its subcommands. A subcommand runs when it is parsed. A failure is an
// exception.
void AddAccountCommand(CLI::App& app);

// A table of figures, as text and as JSON.
struct Comparison {
  std::string text;
  nlohmann::ordered_json json;
};

// Begins with what an epsilon of these options means.
Comparison StartComparison(const AccountOptions& options);

// Adds a row for each accountant.
void AddAccountants(const AccountOptions& options, Comparison* comparison);

// Prints the text, and writes the JSON to the file of --json.
void Print(const AccountOptions& options, const std::string& text,
           const nlohmann::ordered_json& json);

}  // namespace sotto::server

#endif  // SOTTO_CLI_ACCOUNT_COMMAND_H_
