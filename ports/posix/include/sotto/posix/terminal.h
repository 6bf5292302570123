// Tells whether output goes to a terminal, for programs that draw progress bars. Part of
// sotto/posix. Safe in any thread.
#ifndef SOTTO_POSIX_TERMINAL_H_
#define SOTTO_POSIX_TERMINAL_H_

namespace sotto::posix {

// True if standard error is a terminal.
bool StandardErrorIsTerminal();

}  // namespace sotto::posix

#endif  // SOTTO_POSIX_TERMINAL_H_
