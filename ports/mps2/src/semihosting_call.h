// The instruction by which a program calls its debugger. Part of ports/mps2.
#pragma once

#include <cstdint>

namespace sotto::mps2 {

// Numbers and arguments: Arm, "Semihosting for AArch32 and AArch64", release 2.0.
inline uint32_t SemihostingCall(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm("r0") = operation;
  register const void* r1 __asm("r1") = argument;
  __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

}  // namespace sotto::mps2
