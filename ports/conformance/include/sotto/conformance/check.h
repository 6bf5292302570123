// Checks that a port keeps the rules of sotto/port.h, TlsIo and sotto/persistent_store.h. Part of
// ports/conformance.
//
// Run the checks on the board itself, before the first round. They need no heap and no operating
// system, and at most 1 kB of stack. One thread.
//
// Each check returns nullptr if the port keeps its rules, else the rule that it breaks, in words.
// If a check does not return, one of the port's calls blocks. A port that passes may still be
// wrong: the output of a generator does not show that it is unpredictable.
#pragma once

#include <cstdint>

#include "sotto/persistent_store.h"
#include "sotto/port.h"
#include "sotto/tls.h"

namespace sotto::conformance {

// This build computes the bits of every other one (sotto/self_test.h), in the library and in this
// file's own unit: no fused multiply-add, no sum in another order, no wider register.
const char* CheckArithmetic();

// The port has a clock that never goes back and counts milliseconds: over a sleep of 20 ms it
// advances by at least 19, and in one of eight such sleeps by less than 10,000.
//   sleep_ms  returns after at least this many milliseconds
const char* CheckClock(const Port& port, void (*sleep_ms)(uint32_t ms));

// The port has entropy that fills requests of 1 to 64 bytes and writes nothing beside them. None of
// the 512 bits of a request is the same in 64 requests in a row. A correct generator fails this
// check with probability 2^-54.
const char* CheckEntropy(const Port& port);

// The link sends 4,096 bytes of all values and receives them unchanged and in order, in pieces of
// many sizes. It never moves more bytes than asked, and returns 0 while nothing has arrived.
//   io          a new link whose other end returns each byte: a wire from TX to RX, an echo server
//   timeout_ms  by the port's clock, for the whole check; afterwards the link counts as dead
const char* CheckLink(const Port& port, const TlsIo& io, uint32_t timeout_ms);

// The store keeps a record for each slot: made of parts, read from any offset, replaced as a whole
// by a longer or a shorter one, 50 times in turn, and still there when the store is opened again.
// It does not show what a reset within a write leaves.
//   open  gives the store as after a reset: it keeps nothing in RAM from one call to the next. The
//         store is empty before the check and has records of the check afterwards: erase it
const char* CheckStore(PersistentStore (*open)());

}  // namespace sotto::conformance
