#include "cli/data_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/data_fit.h"
#include "sotto/data/source.h"

namespace sotto::server {

void AddDataCommand(CLI::App& app) {
  CLI::App& data = *app.add_subcommand(
      "data", "list the formats of samples; fit a model's preparation to a data set");
  data.require_subcommand(1);
  data.add_subcommand("formats",
                      "print the formats of --data and their options as Markdown tables, for "
                      "documentation")
      ->callback([] { fmt::print("{}", FormatsTable()); });
  AddDataFits(data);
}

}  // namespace sotto::server
