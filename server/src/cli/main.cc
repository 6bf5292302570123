// The command `sotto`. Part of sotto::server/cli.
#include "cli/commands.h"
#include "cli/program.h"
#include "ranks/launched.h"
#include "sotto/data/mat_files.h"

int main(int argc, char** argv) {
  sotto::AddMatFiles();
  sotto::server::LaunchedRanks ranks(argc, argv, {"simulate"});
  return ranks.End(sotto::server::RunProgram(sotto::server::SottoProgram(), argc, argv));
}
