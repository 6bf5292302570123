#include "cli/program.h"

#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <stdexcept>
#include <string>

#include "base/gave_up.h"
#include "base/last_words.h"
#include "cli/for_programs.h"
#include "plans/calibration.h"
#include "round/receipts.h"
#include "sotto/posix/output_descriptor.h"
#include "sotto/posix/process.h"
#include "sotto/posix/terminal.h"
#include "sotto/version.h"

namespace sotto::server {
namespace {

using posix::kExitFailure;
using posix::kExitUsage;

// A message that nobody can take changes nothing. What a file holds may stand in it: that moves no
// cursor and begins no line.
int Fail(const std::string& program, const std::string& what, int code) {
  if (const LastWords& say = TheLastWords()) {
    say(what, code);
    return code;
  }
  const std::string text = program + ": " + posix::Printable(what) + "\n";
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  return code;
}

// The exit status of a command that has done its work: 0 only if its texts have arrived, too.
int StatusOfStreams(const std::string& program) {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return Fail(program, "writing to standard output failed: is the disk full? Make room on it",
                kExitFailure);
  }
  return std::ferror(stderr) == 0 ? 0 : Fail(program, "the log is not whole", kExitFailure);
}

}  // namespace

int RunProgram(posix::Command program, int argc, char** argv) {
  const std::string name = program.name;
  program.footer = fmt::format("`{} COMMAND --help` lists the options of a command.", name);
  program.commands.push_back(OptionsCommand(program, kVersion));
  AddErrorsOption(argc, argv, &program);
  try {
    posix::OpenStandardStreams();
    posix::ForbidCoreDumps();
    const int status = posix::RunProgram(program, kVersion, argc, argv);
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
