// The instruction by which a program calls its debugger. Part of ports/emulated; private to it.
#pragma once

#include <cstdint>

namespace sotto::emulated {

#if defined(__riscv)

// RISC-V, "Semihosting for RISC-V", 0.2: three instructions of 32 bits in one page.
inline uint32_t SemihostingCall(uint32_t operation, const void* argument) {
  register uint32_t a0 __asm("a0") = operation;
  register const void* a1 __asm("a1") = argument;
  __asm volatile(
      ".option push\n\t.option norvc\n\t.balign 16\n\t"
      "slli zero, zero, 0x1f\n\tebreak\n\tsrai zero, zero, 7\n\t.option pop"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
  return a0;
}

#else

// Numbers and arguments: Arm, "Semihosting for AArch32 and AArch64", release 2.0.
inline uint32_t SemihostingCall(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm("r0") = operation;
  register const void* r1 __asm("r1") = argument;
  __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

#endif

}  // namespace sotto::emulated
