#include "sotto/posix/core_dumps.h"

#include <cerrno>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <system_error>

namespace sotto::posix {

void ForbidCoreDumps() {
  const rlimit none{0, 0};
  // The limit alone does not hold for a core that is piped to a program.
  if (setrlimit(RLIMIT_CORE, &none) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    throw std::runtime_error("cannot forbid core dumps: " + std::generic_category().message(errno));
  }
}

}  // namespace sotto::posix
