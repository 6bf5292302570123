// What C gives as C++ takes it. Part of sotto/c.
#pragma once

#include "sotto/port.h"
#include "sotto_c.h"

namespace sotto {

inline sotto_status ToC(Status status) { return static_cast<sotto_status>(status); }

// Of a callback's answer. A number that is no status is no success either.
inline Status FromC(sotto_status status) { return static_cast<Status>(status); }

inline ByteSpan TextOf(const char* text) {
  return {reinterpret_cast<const uint8_t*>(text), __builtin_strlen(text)};
}

namespace internal {

inline uint64_t NowMs(void* context) {
  const auto& port = *static_cast<const sotto_port*>(context);
  return port.now_ms(port.context);
}

inline Status Entropy(void* context, MutableByteSpan out) {
  const auto& port = *static_cast<const sotto_port*>(context);
  return FromC(port.entropy(port.context, out.data(), out.size()));
}

}  // namespace internal

// Outlived by *port.
inline Port PortOf(sotto_port* port) { return {internal::NowMs, internal::Entropy, port}; }

}  // namespace sotto
