#include "cli/program.h"

#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/gave_up.h"
#include "plans/calibration.h"
#include "round/receipts.h"
#include "sotto/options/nearest.h"
#include "sotto/options/strict.h"
#include "sotto/posix/core_dumps.h"
#include "sotto/posix/output_descriptor.h"
#include "sotto/version.h"

namespace sotto::server {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

// A message that nobody can take changes nothing.
int Fail(const std::string& program, const std::string& what, int code) {
  const std::string text = program + ": " + what + "\n";
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  return code;
}

// The exit status of a command that has done its work: 0 only if its texts have arrived, too.
int StatusOfStreams(const std::string& program) {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return Fail(program, "writing to standard output failed: is the disk full?", kExitFailure);
  }
  return std::ferror(stderr) == 0 ? 0 : Fail(program, "the log is not whole", kExitFailure);
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
      fmt::format("there is no command '{}'{}\n`{} --help` lists the commands", name,
                  posix::DidYouMean(name, names), app.get_name()));
}

int Run(const Program& program, int argc, char** argv) {
  CLI::App app(program.description, program.name);
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  app.fallthrough();
  app.set_config("--config", "", "read options of the command from a TOML file, same names");
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.footer(fmt::format("`{} COMMAND --help` lists the options of a command.", program.name));
  program.add_commands(app);
  posix::MakeStrict(app, [&app] { return CalledCommands(app); });
  RequireKnownCommand(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  return 0;
}

}  // namespace

int RunProgram(const Program& program, int argc, char** argv) {
  const std::string& name = program.name;
  try {
    posix::OpenStandardStreams();
    posix::ForbidCoreDumps();
    const int status = Run(program, argc, argv);
    return status == 0 ? StatusOfStreams(name) : status;
  } catch (const privacy::UnattainableEpsilon& error) {
    return Fail(name, error.what(), kExitUsage);
  } catch (const std::invalid_argument& error) {
    return Fail(name, error.what(), kExitUsage);
  } catch (const Stopped& error) {
    return Fail(name, error.what(), error.exit_status());
  } catch (const GaveUp& error) {
    return Fail(name, error.what(), kExitGaveUp);
  } catch (const StaleLog& error) {
    return Fail(name, error.what(), kExitOlderCopy);
  } catch (const std::exception& error) {
    return Fail(name, error.what(), kExitFailure);
  }
}

}  // namespace sotto::server
