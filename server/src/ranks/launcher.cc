#include "ranks/launcher.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>

#include "sotto/options/exit_status.h"

namespace sotto::server {

bool IsLaunched() {
  // Open MPI; MPICH and srun --mpi=pmi2; srun --mpi=pmix.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

unsigned LaunchedCount() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const char* text = std::getenv(name)) {
      return static_cast<unsigned>(std::strtoul(text, nullptr, 10));
    }
  }
  return 0;
}

bool IsOneOf(int argc, char** argv, const std::vector<std::string>& commands) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.empty() || word.front() == '-') continue;
    return std::find(commands.begin(), commands.end(), word) != commands.end();
  }
  return true;
}

void RefuseLauncher(const char* program, const std::string& why) {
  const std::string path = program;
  fmt::print(stderr, "{}: {}\n", path.substr(path.rfind('/') + 1), why);
  std::exit(posix::kExitUsage);
}

}  // namespace sotto::server
