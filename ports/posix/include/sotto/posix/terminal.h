// Is anybody looking? For programs that draw progress bars.
#ifndef SOTTO_POSIX_TERMINAL_H_
#define SOTTO_POSIX_TERMINAL_H_

namespace sotto::posix {

// True if standard error is a terminal.
bool StandardErrorIsTerminal();

}  // namespace sotto::posix

#endif  // SOTTO_POSIX_TERMINAL_H_
