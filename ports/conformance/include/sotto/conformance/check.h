// Does a port keep the rules of sotto/port.h and TlsIo? To be run on the board itself, before the
// first round. No heap, no operating system; at most 1 kB of stack.
//
// Each check returns nullptr if the port keeps its rules, else the rule that it breaks, in words. A
// check that does not return has found a call that blocks. Passing is necessary and not sufficient:
// nobody can see from its output that a generator is unpredictable.
#ifndef SOTTO_CONFORMANCE_CHECK_H_
#define SOTTO_CONFORMANCE_CHECK_H_

#include <cstdint>

#include "sotto/port.h"
#include "sotto/tls.h"

namespace sotto::conformance {

// The clock is there, never goes back, and counts milliseconds: over a sleep of 20 ms it advances
// by at least 19, and in one of eight such sleeps by less than 10,000.
//   sleep_ms  returns after at least so many milliseconds
const char* CheckClock(const Port& port, void (*sleep_ms)(uint32_t ms));

// Entropy is there, fills requests of 1 to 64 bytes and nothing beside them, and none of the 512
// bits of a request is the same in 64 requests in a row. A generator without fault fails once in
// 2^54 calls of this check.
const char* CheckEntropy(const Port& port);

// The link moves 4,096 bytes of all values there and back unchanged and in order, in pieces of many
// sizes, moves no more than it was asked to, and says 0 while nothing has arrived.
//   io          a new link whose other end returns each byte: a wire from TX to RX, an echo server
//   timeout_ms  by the port's clock, for all of it; then the link counts as dead
const char* CheckLink(const Port& port, const TlsIo& io, uint32_t timeout_ms);

}  // namespace sotto::conformance

#endif  // SOTTO_CONFORMANCE_CHECK_H_
