// The command `sotto-lab`. Part of sotto::server/lab.
#include "cli/program.h"
#include "lab/commands.h"
#include "ranks/launched.h"
#include "sotto/data/mat_files.h"

int main(int argc, char** argv) {
  sotto::AddMatFiles();
  sotto::server::LaunchedRanks ranks(argc, argv, {"experiment"});
  return ranks.End(sotto::server::RunProgram(sotto::server::SottoLabProgram(), argc, argv));
}
