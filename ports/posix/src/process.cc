#include "sotto/posix/process.h"

#include <cerrno>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <system_error>

namespace sotto::posix {
namespace {

constexpr int kNice = -10;

}  // namespace

void ForbidCoreDumps() {
  const rlimit none{0, 0};
  // The limit alone does not hold for a core that is piped to a program.
  if (setrlimit(RLIMIT_CORE, &none) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    throw std::runtime_error("cannot forbid core dumps: " + std::generic_category().message(errno));
  }
}

size_t AllowOpenFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (limit.rlim_cur != limit.rlim_max) {
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  }
  return static_cast<size_t>(limit.rlim_cur);
}

// Linux keeps a niceness for each thread; 0 is the calling one.
void RaiseThreadPriority() { (void)setpriority(PRIO_PROCESS, 0, kNice); }

}  // namespace sotto::posix
