#include "sotto/posix/terminal.h"

#include <unistd.h>

namespace sotto::posix {

bool StandardErrorIsTerminal() { return isatty(STDERR_FILENO) == 1; }

}  // namespace sotto::posix
