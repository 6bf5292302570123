// `sotto account`: privacy arithmetic without a run. Part of sotto::server/cli.
#ifndef SOTTO_CLI_ACCOUNT_COMMAND_H_
#define SOTTO_CLI_ACCOUNT_COMMAND_H_

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/account_options.h"

namespace sotto::server {

// Declares the command with its subcommands. A subcommand runs when it is parsed. A failure is an
// exception.
void AddAccountCommand(CLI::App& app);

// The beginning of a comparison: what an epsilon of these options means, and no accountant yet.
nlohmann::ordered_json StartComparison(const AccountOptions& options);

// Adds a row for each accountant. Returns the rows as text.
std::string AddAccountants(const AccountOptions& options, nlohmann::ordered_json* comparison);

// Prints the text, and writes the JSON to the file of --json.
void Print(const AccountOptions& options, const std::string& text,
           const nlohmann::ordered_json& json);

}  // namespace sotto::server

#endif  // SOTTO_CLI_ACCOUNT_COMMAND_H_
