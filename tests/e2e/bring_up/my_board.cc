// The functions of examples/bring_up/board.h on an STM32F405, and what ports/template calls of a
// vendor. QEMU emulates neither its random generator nor its flash controller: a generator that
// anybody can guess, and a store that a reset empties, stand for them. No product is made like
// this.
//
// BROKEN_CLOCK and BROKEN_ENTROPY break a rule on purpose.
#include "board.h"
#include "sotto/template/port.h"

namespace {

volatile uint32_t ticks = 0;
uint8_t flash[4 * sotto::board::kStorePageSize];

volatile uint32_t& Register(uint32_t address) {
  return *reinterpret_cast<volatile uint32_t*>(address);
}

// USART1.
volatile uint32_t& uart_status = Register(0x40011000);
volatile uint32_t& uart_data = Register(0x40011004);
constexpr uint32_t kRxNotEmpty = 1u << 5;
constexpr uint32_t kTxEmpty = 1u << 7;
constexpr uint32_t kOverrun = 1u << 3;

void StartTick() {
  Register(0xe000e014) = 168000 - 1;  // SysTick: a millisecond at 168 MHz
  Register(0xe000e018) = 0;
  Register(0xe000e010) = 7;
}

void StartUart() {
  Register(0x40011008) = 84000000 / 115200;                       // BRR
  Register(0x4001100c) = 1u << 13 | 1u << 5 | 1u << 3 | 1u << 2;  // CR1: UE, RXNEIE, TE, RE
  Register(0xe000e104) = 1u << (37 - 32);                         // NVIC: USART1
}

void Put(char byte) {
  while ((uart_status & kTxEmpty) == 0) {
  }
  uart_data = static_cast<uint8_t>(byte);
}

}  // namespace

extern "C" {

void OnTick() { ticks = ticks + 1; }

void OnUart() {
  const uint32_t status = uart_status;
  if ((status & kRxNotEmpty) != 0) sotto::board::OnByteReceived(static_cast<uint8_t>(uart_data));
  if ((status & kOverrun) != 0) sotto::board::OnBytesLost();
}

// A prescaler that is wrong is the usual fault.
uint32_t vendor_tick_ms() {
#if defined(BROKEN_CLOCK)
  return ticks / 2;
#else
  return ticks;
#endif
}

// INSECURE: it stands for the generator, which QEMU has not.
int vendor_random(uint32_t* word) {
#if defined(BROKEN_ENTROPY)
  static bool is_odd = false;
  is_odd = !is_odd;
  *word = is_odd ? 0x12345678 : 0x9abcdef0;
#else
  static uint32_t state = 2463534242u;
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  *word = state;
#endif
  return 0;
}

int vendor_uart_put(uint8_t byte) {
  if ((uart_status & kTxEmpty) == 0) return 0;
  uart_data = byte;
  return 1;
}

const void* vendor_flash_memory() { return flash; }

int vendor_flash_read(uint32_t address, void* bytes, uint32_t size) {
  __builtin_memcpy(bytes, flash + address, size);
  return 0;
}

int vendor_flash_erase(uint32_t address) {
  __builtin_memset(flash + address, sotto::board::kErasedByte, sotto::board::kFlashPageSize);
  return 0;
}

int vendor_flash_program(uint32_t address, const void* bytes, uint32_t size) {
  __builtin_memcpy(flash + address, bytes, size);
  return 0;
}

}  // extern "C"

namespace sotto::board {

void Start() {
  __builtin_memset(flash, kErasedByte, sizeof(flash));
  StartTick();
  StartUart();
}

// On the link's UART, as where a board has only one.
void Say(const char* line) {
  for (; *line != '\0'; ++line) Put(*line);
  Put('\r');
  Put('\n');
}

void SleepMs(uint32_t ms) {
  const uint32_t begin = ticks;
  while (ticks - begin <= ms) __asm volatile("wfi");
}

const char* Name() { return "an STM32F405 of QEMU's, INSECURE entropy"; }
uint32_t StackUsed() { return 0; }
void End(int) {}

}  // namespace sotto::board
