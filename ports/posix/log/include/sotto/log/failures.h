// The option --errors: why a program failed, as an object for other programs. Part of sotto::log.
//
// With `--errors json` each failure is an object on the last line of standard error, also one that
// the command line itself is:
//
//   {"program":"sotto","status":2,"error":"--rounds: 'x' is not a whole number from 0 on",
//    "option":"--rounds","advice":"`sotto simulate --help` lists what it takes"}
//
//   error   the text that a person would get
//   option  the first one that the text names; or null
//   advice  what to do: what stands behind the text's first semicolon; or null
//
// One thread at a time.
#pragma once

#include <string>

#include "sotto/options/command.h"

namespace sotto::posix {

// Adds the option to a program, for all its commands.
void AddErrorsOption(int argc, char** argv, Command* program);

// Whether the command line has `--errors json`, wherever it stands.
bool AreErrorsJson(int argc, char** argv);

// Writes the object to standard error.
//   reason  any bytes
//   help    the advice where the reason has none; or empty
void TellFailureAsJson(const std::string& program, const std::string& reason, int status,
                       const std::string& help = "");

}  // namespace sotto::posix
