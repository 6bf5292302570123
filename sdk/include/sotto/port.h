// The functions that a platform gives the SDK, with their context. Part of sotto/base.
//
// A port is written once per platform. Vendor headers, sockets, UARTs and clocks are used in ports
// only. No call may block for long or call back into the SDK. The context may be null. The SDK
// calls a port in the thread of the object that holds it.
#pragma once

#include <cstdint>

#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

struct Port {
  // Milliseconds since an arbitrary start; never goes back.
  uint64_t (*now_ms)(void* context) = nullptr;

  // Fills `out` with unpredictable bytes. An error ends the round: a device without entropy must
  // not send an update. Returns kOk or kEntropyFailed (out unspecified).
  Status (*entropy)(void* context, MutableByteSpan out) = nullptr;

  void* context = nullptr;
};

}  // namespace sotto
