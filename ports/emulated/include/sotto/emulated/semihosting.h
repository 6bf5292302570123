// Text output and exit status of a program under a debugger or QEMU: Arm's semihosting, also on
// RISC-V. Part of ports/emulated.
//
// QEMU needs `-semihosting-config enable=on,target=native`; it writes the text to its
// standard error. Without a debugger or QEMU each call is a fault. One thread; not for interrupts.
#pragma once

#include <cstdint>

namespace sotto::emulated {

// Writes a zero-terminated text as it is; adds no end of line. Returns after it is written.
void Print(const char* text);

// Writes a number in decimal digits.
void Print(uint32_t number);

// Seconds since 1970-01-01, UTC, by the clock of the debugger's or QEMU's machine; modulo 2^32.
uint32_t HostSeconds();

// Ends the program; QEMU ends with this exit status. 0 <= status <= 255.
[[noreturn]] void Exit(int status);

}  // namespace sotto::emulated
