// The command `sotto`. Part of sotto::server/cli.
#include "cli/commands.h"
#include "cli/program.h"
#include "sotto/data/mat_files.h"

int main(int argc, char** argv) {
  sotto::AddMatFiles();
  return sotto::server::RunProgram(sotto::server::SottoProgram(), argc, argv);
}
