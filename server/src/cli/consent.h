// Before a command changes what is promised, it says what changes and asks. Part of
// sotto::server/cli.
//
//   struct Options { ...; Consent consent; };
//   CommandFor<Options>(...).Takes({...}).TakesFor(&Options::consent, ConsentRows())
//   ...
//   fmt::print("{}", text);                                   // the claims before and after
//   if (!GoOn(o.consent, "begin this job?")) return;          // nothing is changed yet
//
// An act that changes no figure asks nothing. It takes the rows too, and calls MayAct().
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "sotto/options/field.h"

namespace sotto::server {

struct Consent {
  bool yes = false;
  bool dry_run = false;
};

// --yes and --dry-run.
std::vector<posix::Field<Consent>> ConsentRows();

// Who answers. Null: nobody, since standard input or standard error is no terminal.
struct Person {
  std::FILE* answers = nullptr;
  std::FILE* reads = nullptr;
};

// The person at the terminal.
Person AtTerminal();

// Whether the command may act. With --dry-run it says that nothing was changed; that counts before
// --yes. Without --yes the person is asked, and says no with anything but y or yes.
//   question  without the way to answer it: "begin this job?"
// Throws std::invalid_argument that names --yes if there is nobody to ask.
bool GoOn(const Consent& consent, const std::string& question, const Person& person = AtTerminal());

// The same for an act that needs no answer.
bool MayAct(const Consent& consent);

}  // namespace sotto::server
