// The command `sotto`. Exit codes: 0 done, 1 it failed, 2 it was asked the wrong way.
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "cli/simulate_command.h"
#include "privacy/calibration.h"
#include "sotto/version.h"

namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

int Fail(const std::exception& error, int code) {
  fmt::print(stderr, "sotto: {}\n", error.what());
  return code;
}

int Run(int argc, char** argv) {
  CLI::App app("Private federated learning that fits on a microcontroller.", "sotto");
  app.set_version_flag("--version", sotto::kVersion);
  app.require_subcommand(1);
  app.fallthrough();
  app.footer("`sotto COMMAND --help` lists the options of a command.");

  sotto::server::SimulateOptions simulate_options;
  CLI::App* simulate = app.add_subcommand(
      "simulate", "train a fleet of simulated devices in this process, under a privacy budget");
  sotto::server::AddSimulateOptions(*simulate, simulate_options);
  simulate->set_config("--config", "", "read options from a TOML file: the same names, no dashes");
  simulate->allow_config_extras(CLI::config_extras_mode::error);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  sotto::server::RunSimulate(simulate_options);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const sotto::privacy::UnattainableEpsilon& error) {
    return Fail(error, kExitUsage);
  } catch (const std::invalid_argument& error) {
    return Fail(error, kExitUsage);
  } catch (const std::exception& error) {
    return Fail(error, kExitFailure);
  }
}
