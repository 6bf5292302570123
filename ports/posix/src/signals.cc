#include "sotto/posix/signals.h"

#include <csignal>

namespace sotto::posix {

void IgnoreWriteSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace sotto::posix
