// The startup code, from reset to main(), and the handler that ends a program after a fault. Part
// of ports/mps2.
#include <cstdint>

#include "memory_map.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/emulated/stack.h"
#include "vectors.h"

int main(int argc, char** argv);

extern "C" {

using Constructor = void (*)();

// Addresses that linker/sections.ld defines; nothing is stored in the symbols themselves.
extern uint32_t sotto_stack_top[];
extern const uint32_t sotto_data_load[];
extern uint32_t sotto_data_begin[];
extern uint32_t sotto_data_end[];
extern uint32_t sotto_bss_begin[];
extern uint32_t sotto_bss_end[];
extern const Constructor sotto_constructors_begin[];
extern const Constructor sotto_constructors_end[];

[[noreturn]] void SottoReset();

// Called by the compiler to register the destructors of static objects. A board's program does not
// end, so they never run; libc's own version would need the heap.
void* __dso_handle = nullptr;  // NOLINT: the ABI's name
int __aeabi_atexit(void*, void (*)(void*), void*) { return 0; }
}

namespace sotto::emulated {
namespace {

constexpr int kFaultStatus = 125;

// Must run before any floating-point instruction. So it is a function without such instructions,
// and GCC moves none across its call.
void EnableFpu() {
#if defined(__ARM_FP)
  auto* const cpacr = reinterpret_cast<volatile uint32_t*>(0xe000ed88);
  *cpacr = *cpacr | 0xfu << 20;  // CP10 and CP11: full access
  __asm volatile("dsb\n\tisb" ::: "memory");
#endif
}

void PrepareMemory() {
  const uint32_t* from = sotto_data_load;
  for (uint32_t* to = sotto_data_begin; to != sotto_data_end;) *to++ = *from++;
  for (uint32_t* to = sotto_bss_begin; to != sotto_bss_end;) *to++ = 0;
}

[[gnu::noinline]] int Run() {
  ForgetStackUse();
  PrepareMemory();
  for (const Constructor* c = sotto_constructors_begin; c != sotto_constructors_end; ++c) (*c)();
  return main(0, nullptr);
}

// Handles every exception that has no own handler: prints its number (3 is HardFault) and ends the
// program.
void Fault() {
  uint32_t number = 0;
  __asm volatile("mrs %0, ipsr" : "=r"(number));
  char text[] = "exception 00\n";
  text[10] = static_cast<char>('0' + number / 10 % 10);
  text[11] = static_cast<char>('0' + number % 10);
  Print(text);
  Exit(kFaultStatus);
}

constexpr int kSysTick = 14;  // index into the handlers, which begin at exception 1
constexpr int kFirstInterrupt = 15;

struct VectorTable {
  const uint32_t* stack_top = sotto_stack_top;
  void (*handlers[kFirstInterrupt + kUartInterrupt + 1])() = {};
};

constexpr VectorTable MakeVectors() {
  VectorTable table;
  for (auto& handler : table.handlers) handler = Fault;
  table.handlers[0] = SottoReset;
  table.handlers[kSysTick] = SottoOnTick;
  table.handlers[kFirstInterrupt + kUartInterrupt] = SottoOnUart;
  return table;
}

[[gnu::section(".vectors"), gnu::used]] constexpr VectorTable kVectors = MakeVectors();

}  // namespace

}  // namespace sotto::emulated

[[gnu::weak]] void SottoOnTick() { sotto::emulated::Fault(); }
[[gnu::weak]] void SottoOnUart() { sotto::emulated::Fault(); }

void SottoReset() {
  sotto::emulated::EnableFpu();
  sotto::emulated::Exit(sotto::emulated::Run());
}
