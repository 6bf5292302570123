// sotto-client: a device of the fleet on Linux, for example on a Raspberry Pi. Part of
// ports/posix/client.
//
// Reads its share of a data set and its key file, connects, and takes part in rounds until the
// job is done. One thread. Exit statuses: 0 the job is done; 1 a failure of the machine, which may
// pass; 2 an option or a file is wrong; 3 the device's options refuse the job, or the server the
// device's model or version; 4 no server in time (--give-up). Nothing that comes over an
// unauthenticated link ends it, but for 4.
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "device.h"
#include "options.h"
#include "share.h"
#include "sotto/options/strict.h"
#include "sotto/posix/core_dumps.h"
#include "sotto/posix/files.h"
#include "sotto/posix/key_file.h"
#include "sotto/posix/signals.h"
#include "sotto/posix/terminal.h"
#include "sotto/version.h"

namespace {

using sotto::posix::ClientOptions;
using sotto::posix::Device;
using sotto::posix::Ending;
using sotto::posix::Outcome;
using sotto::posix::Printable;
using sotto::posix::Share;

constexpr int kExitDone = 0;
constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitRefused = 3;
constexpr int kExitNoServer = 4;

int ExitCode(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
      return kExitDone;
    case Outcome::kRefused:
      return kExitRefused;
    case Outcome::kNoServer:
      return kExitNoServer;
  }
  return kExitFailure;
}

int Fail(const char* why, int code) {
  const std::string line = fmt::format("sotto-client: {}\n", Printable(why));
  (void)std::fputs(line.c_str(), stderr);
  return code;
}

// CLI11's help, or what it refuses.
int EndParsing(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream complaint;
  const int code = app.exit(error, std::cout, complaint);
  std::istringstream lines(complaint.str());
  for (std::string line; std::getline(lines, line);) {
    (void)std::fputs((Printable(line) + "\n").c_str(), stderr);
  }
  return code == 0 ? kExitDone : kExitUsage;
}

Ending TakePart(const ClientOptions& options) {
  CheckOptions(options);
  const sotto::posix::SharedModel model = ModelOf(options);
  Share share = LoadShare(options, *model);
  Device device(options, *model, sotto::posix::ReadKeyFile(options.key), std::move(share));
  return device.Run();
}

int RunClient(int argc, char** argv) {
  CLI::App app("Takes part in a Sotto job as one device.", "sotto-client");
  app.set_version_flag("--version", sotto::kVersion);
  ClientOptions options;
  AddOptions(app, options);
  sotto::posix::MakeStrict(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return EndParsing(app, error);
  }
  sotto::posix::ForbidCoreDumps();
  sotto::posix::IgnoreWriteSignals();
  const Ending ending = TakePart(options);
  if (ending.outcome == Outcome::kDone) return kExitDone;
  return Fail(ending.why.c_str(), ExitCode(ending.outcome));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return RunClient(argc, argv);
  } catch (const std::invalid_argument& error) {
    return Fail(error.what(), kExitUsage);
  } catch (const sotto::posix::FileError& error) {
    return Fail(error.what(), kExitUsage);
  } catch (const std::exception& error) {
    return Fail(error.what(), kExitFailure);
  }
}
