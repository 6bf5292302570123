// Signals that a server or a client wants as errors of the call instead. POSIX systems.
#ifndef SOTTO_POSIX_SIGNALS_H_
#define SOTTO_POSIX_SIGNALS_H_

namespace sotto::posix {

// From here on writing to a peer that has left, or beyond a limit on file sizes, fails instead of
// ending the process. For the whole process; call once at its start.
void IgnoreWriteSignals();

}  // namespace sotto::posix

#endif  // SOTTO_POSIX_SIGNALS_H_
