// The startup code, from reset to main(), and the handler of interrupts and faults. Part of
// ports/riscv_virt.
//
// The machine has RAM alone. The processor's memory protection makes it a microcontroller: the
// program cannot be written, and below the stack is nothing.
#include <cstdint>

#include "memory_map.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/emulated/stack.h"
#include "traps.h"

int main(int argc, char** argv);

extern "C" {

using Constructor = void (*)();

// Addresses that linker/virt.ld defines; nothing is stored in the symbols themselves.
extern const uint8_t sotto_flash_begin[];
extern const uint8_t sotto_flash_end[];
extern uint32_t sotto_stack_begin[];
extern const uint32_t sotto_data_load[];
extern uint32_t sotto_data_begin[];
extern uint32_t sotto_data_end[];
extern uint32_t sotto_bss_begin[];
extern uint32_t sotto_bss_end[];
extern const Constructor sotto_constructors_begin[];
extern const Constructor sotto_constructors_end[];

[[noreturn]] void SottoReset();
[[noreturn]] void SottoStart();
void SottoTrap();
void SottoInterrupt();
[[noreturn]] void SottoFault(uint32_t cause);

// Called by the compiler to register the destructors of static objects. A board's program does not
// end, so they never run; libc's own version would need the heap.
void* __dso_handle = nullptr;  // NOLINT: the ABI's name
int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
}

namespace sotto::emulated {
namespace {

constexpr int kFaultStatus = 125;
constexpr uint32_t kInterruptBit = 0x80000000;
constexpr uint32_t kTimer = kInterruptBit | 7;
constexpr uint32_t kExternal = kInterruptBit | 11;
constexpr uint32_t kBreakpoint = 3;

uint32_t AddressOf(const void* p) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p)); }

// RISC-V, "Privileged Architecture", 3.7: the accesses that are allowed from the previous address
// up to this one, also in machine mode. Behind the last address, in RAM, every access is allowed.
enum Allowed : uint32_t { kNothing = 0x88, kReadWrite = 0x8b, kReadExecute = 0x8d };

void ProtectMemory() {
  __asm volatile("csrw pmpaddr0, %0" ::"r"(kTestBase >> 2));  // null is here
  __asm volatile("csrw pmpaddr1, %0" ::"r"(kDevicesEnd >> 2));
  __asm volatile("csrw pmpaddr2, %0" ::"r"(AddressOf(sotto_flash_begin) >> 2));
  __asm volatile("csrw pmpaddr3, %0" ::"r"(AddressOf(sotto_flash_end) >> 2));
  __asm volatile("csrw pmpaddr4, %0" ::"r"(AddressOf(sotto_stack_begin) >> 2));
  __asm volatile("csrw pmpcfg1, %0" ::"r"(kNothing));
  __asm volatile("csrw pmpcfg0, %0" ::"r"(kNothing | kReadWrite << 8 | kNothing << 16 |
                                          uint32_t{kReadExecute} << 24));
}

void PrepareMemory() {
  const uint32_t* from = sotto_data_load;
  for (uint32_t* to = sotto_data_begin; to != sotto_data_end;) *to++ = *from++;
  for (uint32_t* to = sotto_bss_begin; to != sotto_bss_end;) *to++ = 0;
}

// Ends QEMU without semihosting: SiFive's test device.
[[noreturn]] void EndMachine(uint32_t status) {
  *reinterpret_cast<volatile uint32_t*>(kTestBase) = status << 16 | 0x3333;
  for (;;) {
  }
}

}  // namespace
}  // namespace sotto::emulated

[[gnu::weak]] void SottoOnTick() { SottoFault(sotto::emulated::kTimer); }
[[gnu::weak]] void SottoOnUart() { SottoFault(sotto::emulated::kExternal); }

// Handles every exception: prints its number (2 is an illegal instruction, 5 and 7 are accesses)
// and ends the program. A breakpoint is a semihosting call that nobody answers.
void SottoFault(uint32_t cause) {
  using namespace sotto::emulated;
  if (cause == kBreakpoint) EndMachine(kFaultStatus);
  Print("exception ");
  Print(cause & ~kInterruptBit);
  Print("\n");
  Exit(kFaultStatus);
}

// GCC saves all registers that it changes, also those with floats.
[[gnu::interrupt("machine"), gnu::used]] void SottoInterrupt() {
  uint32_t cause = 0;
  __asm volatile("csrr %0, mcause" : "=r"(cause));
  if (cause == sotto::emulated::kTimer) return SottoOnTick();
  if (cause == sotto::emulated::kExternal) return SottoOnUart();
  SottoFault(cause);
}

// What the processor calls. A fault takes the stack from its top: nobody returns from one, and what
// was left of the stack may be its reason.
[[gnu::naked, gnu::aligned(4)]] void SottoTrap() {
  __asm volatile(
      "csrw mscratch, t0\n\tcsrr t0, mcause\n\tbgez t0, 1f\n\t"
      "csrr t0, mscratch\n\tj SottoInterrupt\n"
      "1:\tmv a0, t0\n\tla sp, sotto_stack_top\n\tj SottoFault");
}

void SottoStart() {
  using namespace sotto::emulated;
  ProtectMemory();
  ForgetStackUse();
  PrepareMemory();
  for (const Constructor* c = sotto_constructors_begin; c != sotto_constructors_end; ++c) (*c)();
  Exit(main(0, nullptr));
}

// The first instructions: stack, global pointer, traps, and the floating-point unit (mstatus.FS)
// before any instruction uses it.
[[gnu::naked, gnu::section(".reset"), gnu::used]] void SottoReset() {
  __asm volatile(
      ".option push\n\t.option norelax\n\tla gp, __global_pointer$\n\t.option pop\n\t"
      "la sp, sotto_stack_top\n\t"
      "la t0, SottoTrap\n\tcsrw mtvec, t0\n\t"
#if defined(__riscv_flen)
      "li t0, 0x2000\n\tcsrs mstatus, t0\n\tfscsr zero\n\t"
#endif
      "j SottoStart");
}
