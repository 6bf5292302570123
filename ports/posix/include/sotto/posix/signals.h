// What signals do to a program, on POSIX systems. Part of sotto/posix.
#pragma once

#include <cstdint>

namespace sotto::posix {

// After this call, writing to a closed connection or beyond a limit on file sizes fails instead of
// ending the process. Applies to the whole process; call it once, at the start.
void IgnoreWriteSignals();

// After this call the end of the terminal or of the connection to it does not end the process.
void IgnoreHangUp();

// After this call the first SIGINT or SIGTERM ends nothing: StopSignal() then returns its number,
// and 0 before. A second one ends the process. For work that ends itself at its next good moment.
void CatchStopSignals();
int StopSignal();

// A descriptor that can be read from then on, for poll(); nobody reads it. -1: no signal is caught.
int StopDescriptor();

// Sleeps for `ms` milliseconds; or shorter, if a stop signal comes or has come.
void SleepUnlessStopped(uint32_t ms);

}  // namespace sotto::posix
