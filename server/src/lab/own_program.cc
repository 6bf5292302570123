// The program of a researcher with own methods (sotto/research/methods.h).
#include <algorithm>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/program.h"
#include "lab/commands.h"
#include "ranks/launched.h"
#include "sotto/data/mat_files.h"
#include "sotto/research/methods.h"

namespace sotto::server {
namespace {

// All commands of both programs but the second `inspect`.
posix::Command BothPrograms(const char* name) {
  posix::Command all = SottoProgram();
  all.name = name;
  all.help = "Sotto with own methods: the commands of sotto and of sotto-lab.";
  all.renamed.clear();
  for (posix::Command& command : SottoLabProgram().commands) {
    const auto is_it = [&](const posix::Command& each) { return each.name == command.name; };
    if (std::any_of(all.commands.begin(), all.commands.end(), is_it)) continue;
    all.commands.push_back(std::move(command));
  }
  return all;
}

}  // namespace

int RunWithOwnMethods(int argc, char** argv) {
  AddMatFiles();
  const std::string path = argc > 0 ? argv[0] : "";
  const std::string name = path.substr(path.rfind('/') + 1);
  LaunchedRanks ranks(argc, argv, {"simulate", "experiment"});
  return ranks.End(RunProgram(BothPrograms(name.empty() ? "sotto" : name.c_str()), argc, argv));
}

}  // namespace sotto::server
