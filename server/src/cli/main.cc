// The command `sotto`. Part of sotto::server/cli.
#include <CLI/CLI.hpp>

#include "base/gave_up.h"
#include "cli/account_command.h"
#include "cli/data_command.h"
#include "cli/directory_command.h"
#include "cli/inspect_command.h"
#include "cli/job_options.h"
#include "cli/keys_command.h"
#include "cli/model_command.h"
#include "cli/program.h"
#include "cli/report_command.h"
#include "cli/serve_command.h"
#include "cli/simulate_command.h"
#include "cli/store_commands.h"
#include "sotto/data/mat_files.h"

int main(int argc, char** argv) {
  sotto::AddMatFiles();
  sotto::server::SimulationRequest simulation;
  const auto add_commands = [&simulation](CLI::App& app) {
    CLI::App* simulate = app.add_subcommand(
        "simulate", "train a fleet of simulated devices in this process, under a privacy budget");
    sotto::server::AddSimulateOptions(*simulate, simulation);
    simulate->footer(sotto::server::kJobFooter);
    simulate->callback([&simulation] { sotto::server::RunSimulate(simulation); });
    sotto::server::AddServeCommand(app);
    sotto::server::AddDirectoryCommand(app);
    sotto::server::AddKeysCommand(app);
    sotto::server::AddStoreCommands(app);
    sotto::server::AddReportCommand(app);
    sotto::server::AddAccountCommand(app);
    sotto::server::AddDataCommand(app);
    sotto::server::AddModelCommand(app);
    sotto::server::AddInspectCommand(app);
  };
  return sotto::server::RunProgram(
      {"sotto", "Private federated learning that fits on a microcontroller.", add_commands}, argc,
      argv);
}
