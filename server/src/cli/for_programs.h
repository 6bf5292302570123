// What other programs read of `sotto` and `sotto-lab`, such as the Python package: their commands
// and options, and why a command failed, as JSON. Part of sotto::server/cli.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "sotto/options/command.h"

namespace sotto::server {

// The commands of a program with all their options, from the rows that also read the command line:
//
//   {"program": "sotto", "version": "0.2.0", "options": [OPTION...],
//    "commands": [COMMAND...]}
//
//   COMMAND: name, help, hidden, runs (false: one of `commands` must be named), options, commands
//   OPTION   name          without dashes; empty: an argument alone
//            argument      its name in capitals; empty: an option alone
//            letter        the short name; empty: none
//            type          "flag", "count", "integer", "real", "text" or "texts"
//            default       null: none, or derived from others as `derived_default` says
//            help, group, unit, required, choices, needs, excludes
//            range         null, or least, most (null: infinite) and open: `least` is excluded
//            or_word       what a number may be instead; or null
//            or_file       what a text may be instead of a choice; or null
nlohmann::ordered_json ProgramToJson(const posix::Command& program, const char* version);

// The command `options`, which prints that.
//   program  the caller keeps it while the command runs
posix::Command OptionsCommand(const posix::Command& program, const char* version);

// Adds the option --errors of sotto/log/failures.h to a program whose commands end with
// TheLastWords().
void AddErrorsOption(int argc, char** argv, posix::Command* program);

}  // namespace sotto::server
