// Turns signals about failed writes into errors of the call, on POSIX systems. Part of sotto/posix.
#ifndef SOTTO_POSIX_SIGNALS_H_
#define SOTTO_POSIX_SIGNALS_H_

namespace sotto::posix {

// After this call, writing to a closed connection or beyond a limit on file sizes fails instead of
// ending the process. Applies to the whole process; call it once, at the start.
void IgnoreWriteSignals();

}  // namespace sotto::posix

#endif  // SOTTO_POSIX_SIGNALS_H_
