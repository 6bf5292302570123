// The ranks that mpirun or srun has started. Part of sotto::server/ranks.
//
// Of the main thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ranks/ranks.h"

namespace sotto::server {

// While it lives, TheRanks() are the processes that a launcher of MPI started; without a launcher
// this process alone, and nothing is initialised. Standard output and standard error of all ranks
// but the first go nowhere.
class LaunchedRanks {
 public:
  // Exits with status 2, which the first rank explains, if a launcher started several processes and
  //   - this program was built without MPI, or
  //   - the command line names another command than `commands`, which share their work.
  LaunchedRanks(int argc, char** argv, const std::vector<std::string>& commands);

  // Leaves MPI, which waits for the other ranks. After a failure (End()) it ends the process at
  // once: they may be gone, or wait for this one, and the launcher then ends them.
  ~LaunchedRanks();

  LaunchedRanks(const LaunchedRanks&) = delete;
  LaunchedRanks& operator=(const LaunchedRanks&) = delete;

  // The exit status of the process, passed through to main()'s return.
  int End(int status);

 private:
  class Joined;
  std::unique_ptr<Joined> joined_;
  int status_ = 0;
};

}  // namespace sotto::server
