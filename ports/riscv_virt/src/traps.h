// The interrupts that the port handles. Part of ports/riscv_virt; private to the port.
//
// The definitions in startup.cc are weak and end the program. clock.cc and uart.cc replace them if
// they are linked.
#pragma once

#include <cstdint>

// Control registers are an extension. As a compiler's option it would select other libraries: GCC
// 12 has none for rv32imac_zicsr, and takes the ones for 64 bits.
__asm(".option arch, +zicsr");

extern "C" {

void SottoOnTick();  // the timer: clock.cc
void SottoOnUart();  // the UART received a byte: uart.cc
}

namespace sotto::emulated {

// RISC-V, "Privileged Architecture", 3.1: bits of mie, and of mstatus.
constexpr uint32_t kTimerEnable = 1 << 7;
constexpr uint32_t kExternalEnable = 1 << 11;
constexpr uint32_t kInterrupts = 1 << 3;

inline void EnableInterrupt(uint32_t which) {
  __asm volatile("csrs mie, %0\n\tcsrs mstatus, %1" ::"r"(which), "r"(kInterrupts) : "memory");
}

}  // namespace sotto::emulated
