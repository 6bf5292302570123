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

  // Leaves MPI; ends the process at once where other ranks are gone, with the status that it has
  // then (End()).
  ~LaunchedRanks();

  LaunchedRanks(const LaunchedRanks&) = delete;
  LaunchedRanks& operator=(const LaunchedRanks&) = delete;

  // The status of the process, passed through. With it the destructor ends a process whose ranks
  // are lost, as MPI cannot be left then.
  int End(int status);

 private:
  class Joined;
  std::unique_ptr<Joined> joined_;
  int status_ = 0;
};

}  // namespace sotto::server
