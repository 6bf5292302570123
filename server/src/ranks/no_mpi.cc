// A build without MPI.
#include "ranks/launched.h"
#include "ranks/launcher.h"

namespace sotto::server {

class LaunchedRanks::Joined {};

LaunchedRanks::LaunchedRanks(int, char** argv, const std::vector<std::string>&) {
  if (LaunchedCount() <= 1) return;
  RefuseLauncher(
      argv[0],
      "this program was built without MPI, so each process would do the whole work: build "
      "it with -DSOTTO_WITH_MPI=ON (Debian: libopenmpi-dev, openmpi-bin), or start it "
      "without mpirun");
}

LaunchedRanks::~LaunchedRanks() = default;

int LaunchedRanks::End(int status) { return status_ = status; }

}  // namespace sotto::server
