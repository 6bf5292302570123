// Addresses of the machine's devices. Part of ports/riscv_virt; private to the port. Constants
// only.
//
// Source: QEMU's hw/riscv/virt.c, and the specifications of the devices.
#pragma once

#include <cstdint>

namespace sotto::emulated {

constexpr uintptr_t kTimerBase = 0x02000000;  // CLINT
constexpr uint32_t kNanosecondsPerTick = 100;
constexpr uintptr_t kInterruptsBase = 0x0c000000;  // PLIC
constexpr uintptr_t kUartBase = 0x10000000;        // 16550
constexpr uint32_t kUartInterrupt = 10;
constexpr uintptr_t kTestBase = 0x00100000;  // the first device
constexpr uintptr_t kDevicesEnd = 0x10001000;

}  // namespace sotto::emulated
