// What a platform gives the SDK: function pointers and a context. Part of sotto/base.
//
// A port is written once per platform; vendor headers, sockets, UARTs and clocks live there and
// nowhere else. No call may block for long or call back into the SDK. A null context is fine.
#ifndef SOTTO_PORT_H_
#define SOTTO_PORT_H_

#include <cstdint>

#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

struct Port {
  // Milliseconds since an arbitrary start; never goes back.
  uint64_t (*now_ms)(void* context) = nullptr;

  // Fills `out` with bytes that nobody can predict. An error is fatal to the round: a device
  // without entropy must not send an update. Returns kOk or kEntropyFailed (out unspecified).
  Status (*entropy)(void* context, MutableByteSpan out) = nullptr;

  void* context = nullptr;
};

}  // namespace sotto

#endif  // SOTTO_PORT_H_
