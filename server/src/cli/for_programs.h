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

// Adds the option --errors to a program. If the command line has `--errors json`, each failure is
// an object on the last line of standard error, also one that the command line itself is:
//
//   {"program": "sotto", "status": 2, "error": "--rounds: 'x' is not a whole number from 0 on",
//    "option": "--rounds", "advice": "`sotto simulate --help` lists what it takes"}
//
//   error   the text that a person would get
//   option  the first one that the text names; or null
//   advice  what to do: what stands behind the text's first semicolon; or null
void AddErrorsOption(int argc, char** argv, posix::Command* program);

}  // namespace sotto::server
