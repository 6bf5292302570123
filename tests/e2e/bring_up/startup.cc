// From reset to main(), as a vendor's startup code does it; and the table of interrupts.
#include <cstdint>

int main(int argc, char** argv);

extern "C" {

using Constructor = void (*)();

extern uint32_t stack_top[];
extern const uint32_t data_load[];
extern uint32_t data_begin[];
extern uint32_t data_end[];
extern uint32_t bss_begin[];
extern uint32_t bss_end[];
extern const Constructor constructors_begin[];
extern const Constructor constructors_end[];

void OnTick();
void OnUart();

[[noreturn]] void Fault() {
  for (;;) {
  }
}

[[noreturn]] void Reset() {
  auto* const cpacr = reinterpret_cast<volatile uint32_t*>(0xe000ed88);
  *cpacr = *cpacr | 0xfu << 20;  // the floating-point unit
  __asm volatile("dsb\n\tisb" ::: "memory");
  const uint32_t* from = data_load;
  for (uint32_t* to = data_begin; to != data_end;) *to++ = *from++;
  for (uint32_t* to = bss_begin; to != bss_end;) *to++ = 0;
  for (const Constructor* c = constructors_begin; c != constructors_end; ++c) (*c)();
  main(0, nullptr);
  Fault();
}

}  // extern "C"

namespace {

constexpr int kUart = 16 + 37;  // USART1

struct Vectors {
  void* stack = stack_top;
  void (*handlers[kUart])() = {};
};

constexpr Vectors MakeVectors() {
  Vectors vectors;
  for (auto& handler : vectors.handlers) handler = Fault;
  vectors.handlers[0] = Reset;
  vectors.handlers[14] = OnTick;
  vectors.handlers[kUart - 1] = OnUart;
  return vectors;
}

[[gnu::section(".vectors"), gnu::used]] const Vectors vectors = MakeVectors();

}  // namespace
