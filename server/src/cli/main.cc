// The command `sotto`. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 the job gave up, 4 the
// store is an older copy, 128 + n stopped by signal n. Part of sotto::server/cli.
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/account_command.h"
#include "cli/audit_command.h"
#include "cli/data_command.h"
#include "cli/directory_command.h"
#include "cli/experiment_command.h"
#include "cli/gave_up.h"
#include "cli/inspect_command.h"
#include "cli/job_options.h"
#include "cli/keys_command.h"
#include "cli/model_command.h"
#include "cli/report_command.h"
#include "cli/serve_command.h"
#include "cli/simulate_command.h"
#include "cli/store_commands.h"
#include "cli/swarm_command.h"
#include "plans/calibration.h"
#include "round/receipts.h"
#include "sotto/options/nearest.h"
#include "sotto/options/strict.h"
#include "sotto/posix/core_dumps.h"
#include "sotto/posix/output_descriptor.h"
#include "sotto/version.h"

namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

// A message that nobody can take changes nothing.
int Fail(const std::string& what, int code) {
  const std::string text = "sotto: " + what + "\n";
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  return code;
}

int Fail(const std::exception& error, int code) { return Fail(error.what(), code); }

// The exit status of a command that has done its work: 0 only if its texts have arrived, too.
int StatusOfStreams() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return Fail("writing to standard output failed: is the disk full?", kExitFailure);
  }
  return std::ferror(stderr) == 0 ? 0 : Fail("the log is not whole", kExitFailure);
}

// The names of the called command: the keys of a TOML file that stand in no section are its options
// (for `keys new` those of `new`).
std::vector<std::string> CalledCommands(const CLI::App& app) {
  std::vector<std::string> names;
  for (std::vector<CLI::App*> called = app.get_subcommands(); !called.empty();
       called = called.front()->get_subcommands()) {
    names.push_back(called.front()->get_name());
  }
  return names;
}

void RequireKnownCommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  const std::string name = argv[1];
  if (!app.get_subcommands([&](const CLI::App* c) { return c->get_name() == name; }).empty())
    return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  throw std::invalid_argument(
      fmt::format("there is no command '{}'{}\n`sotto --help` lists the commands", name,
                  sotto::posix::DidYouMean(name, names)));
}

int Run(int argc, char** argv) {
  CLI::App app("Private federated learning that fits on a microcontroller.", "sotto");
  app.set_version_flag("--version", sotto::kVersion);
  app.require_subcommand(1);
  app.fallthrough();
  app.set_config("--config", "", "read options of the command from a TOML file, same names");
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.footer("`sotto COMMAND --help` lists the options of a command.");

  sotto::server::SimulationRequest simulation;
  CLI::App* simulate = app.add_subcommand(
      "simulate", "train a fleet of simulated devices in this process, under a privacy budget");
  sotto::server::AddSimulateOptions(*simulate, simulation);
  simulate->footer(sotto::server::kJobFooter);
  simulate->callback([&] { sotto::server::RunSimulate(simulation); });
  sotto::server::AddExperimentCommand(app);
  sotto::server::AddServeCommand(app);
  sotto::server::AddDirectoryCommand(app);
  sotto::server::AddKeysCommand(app);
  sotto::server::AddStoreCommands(app);
  sotto::server::AddReportCommand(app);
  sotto::server::AddSwarmCommand(app);
  sotto::server::AddAccountCommand(app);
  sotto::server::AddAuditCommand(app);
  sotto::server::AddDataCommand(app);
  sotto::server::AddModelCommand(app);
  sotto::server::AddInspectCommand(app);

  sotto::posix::MakeStrict(app, [&app] { return CalledCommands(app); });

  RequireKnownCommand(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    sotto::posix::OpenStandardStreams();
    sotto::posix::ForbidCoreDumps();
    const int status = Run(argc, argv);
    return status == 0 ? StatusOfStreams() : status;
  } catch (const sotto::privacy::UnattainableEpsilon& error) {
    return Fail(error, kExitUsage);
  } catch (const std::invalid_argument& error) {
    return Fail(error, kExitUsage);
  } catch (const sotto::server::Stopped& error) {
    return Fail(error, error.exit_status());
  } catch (const sotto::server::GaveUp& error) {
    return Fail(error, sotto::server::kExitGaveUp);
  } catch (const sotto::server::StaleLog& error) {
    return Fail(error, sotto::server::kExitOlderCopy);
  } catch (const std::exception& error) {
    return Fail(error, kExitFailure);
  }
}
