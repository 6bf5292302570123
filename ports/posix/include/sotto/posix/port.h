// The SDK's port for POSIX systems: monotonic clock, sleep and the operating system's entropy. Part
// of sotto/posix.
//
// Stateless; safe in any thread. The context of the returned port is null.
#pragma once

#include "sotto/port.h"

namespace sotto::posix {

// A complete port for a Client.
Port SystemPort();
// One for TLS with tickets: its clock counts the time in which the machine sleeps.
Port TlsPort();

// Milliseconds of CLOCK_MONOTONIC.
uint64_t NowMs();

// The same of CLOCK_BOOTTIME, which goes on while the machine is suspended; NowMs() where the
// system has no such clock.
uint64_t SinceBootMs();

// Sleeps for `ms` milliseconds, or until a signal.
void SleepMs(uint32_t ms);

// Fills `out` from the kernel's random generator (getrandom). Blocks only until the generator is
// first seeded after boot. Returns kOk or kEntropyFailed; the caller must treat failure as fatal.
Status Entropy(MutableByteSpan out);

}  // namespace sotto::posix
