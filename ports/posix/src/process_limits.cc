#include "sotto/posix/process_limits.h"

#include <sys/resource.h>

namespace sotto::posix {
namespace {

constexpr int kNice = -10;

}  // namespace

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
