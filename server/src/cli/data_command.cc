#include "cli/data_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "sotto/data/source.h"

namespace sotto::server {

void AddDataCommand(CLI::App& app) {
  CLI::App& data = *app.add_subcommand("data", "list the formats of samples");
  data.require_subcommand(1);
  data.add_subcommand("formats",
                      "print the formats of --data and their options as Markdown tables, for "
                      "documentation")
      ->callback([] { fmt::print("{}", FormatsTable()); });
}

}  // namespace sotto::server
