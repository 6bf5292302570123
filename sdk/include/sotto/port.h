// The functions that a platform gives the SDK, with their context. Part of sotto/base.
//
// You write a port once for each platform (ports/PORTING.md). Vendor headers, sockets, UARTs and
// clocks are used in ports only. No function may block for long or call back into the SDK. The SDK
// calls a port in the thread of the object that holds the port.
#pragma once

#include <cstdint>

#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

struct Port {
  // Returns the milliseconds since an arbitrary start. The value never decreases.
  uint64_t (*now_ms)(void* context) = nullptr;

  // Fills `out` with unpredictable bytes, from a hardware source or a generator that one has
  // seeded: keys and noise come from them. Returns kOk or kEntropyFailed (out unspecified); an
  // error ends the round, since a device without entropy must not send an update.
  Status (*entropy)(void* context, MutableByteSpan out) = nullptr;

  void* context = nullptr;  // the port's own; passed to both functions; may be null
};

}  // namespace sotto
