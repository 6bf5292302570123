#include "sotto/emulated/uart.h"

#include "memory_map.h"
#include "vectors.h"

namespace sotto::emulated {
namespace {

// Arm, "Cortex-M System Design Kit Technical Reference Manual" (DDI 0479), 4.3: the APB UART.
struct UartRegisters {
  volatile uint32_t data;
  volatile uint32_t state;
  volatile uint32_t control;
  volatile uint32_t interrupts;  // write 1 to clear
  volatile uint32_t divider;
};

constexpr uint32_t kTransmitFull = 1;  // state
constexpr uint32_t kReceiveFull = 2;
constexpr uint32_t kReceiveOverrun = 8;  // write 1 to clear
constexpr uint32_t kTransmit = 1;        // control
constexpr uint32_t kReceive = 2;
constexpr uint32_t kReceiveInterrupt = 8;
constexpr uint32_t kReceived = 2;  // interrupts
constexpr uint32_t kBaud = 115200;

// Armv7-M, B3.4: the interrupt controller's set-enable registers.
constexpr uintptr_t kInterruptEnableBase = 0xe000e100;

// A ring that the interrupt fills and the program empties; each side writes one index.
uint8_t ring[kUartBuffer];
volatile uint32_t filled = 0;   // bytes put in since the start, modulo 2^32
volatile uint32_t emptied = 0;  // bytes taken out since the start, modulo 2^32
static_assert((kUartBuffer & (kUartBuffer - 1)) == 0, "indices wrap with the counters");

UartRegisters& Uart() { return *reinterpret_cast<UartRegisters*>(kUartBase); }

// Moves bytes from the UART into the ring. If the ring is full, a byte stays in the UART, whose
// interrupt is then off until UartReceive() makes room.
void TakeBytes() {
  UartRegisters& uart = Uart();
  uart.interrupts = kReceived;  // before the bytes are read: a later one interrupts again
  while ((uart.state & kReceiveFull) != 0) {
    if (filled - emptied == kUartBuffer) {
      uart.control = kTransmit | kReceive;
      break;
    }
    ring[filled % kUartBuffer] = static_cast<uint8_t>(uart.data);
    filled = filled + 1;
  }
}

// Turns the interrupt on again, and reads a byte that arrived while it was off.
void ListenAgain() {
  __asm volatile("cpsid i" ::: "memory");
  Uart().control = kTransmit | kReceive | kReceiveInterrupt;
  TakeBytes();
  __asm volatile("cpsie i" ::: "memory");
}

}  // namespace

void StartUart() {
  UartRegisters& uart = Uart();
  uart.divider = kUartClockHz / kBaud;
  uart.control = kTransmit | kReceive | kReceiveInterrupt;
  // QEMU delivers the first byte only after the register was read.
  (void)uart.data;
  auto* const enable = reinterpret_cast<volatile uint32_t*>(kInterruptEnableBase);
  enable[kUartInterrupt / 32] = 1u << kUartInterrupt % 32;
}

int UartSend(ByteSpan bytes) {
  UartRegisters& uart = Uart();
  int sent = 0;
  for (const uint8_t byte : bytes) {
    if ((uart.state & kTransmitFull) != 0) break;
    uart.data = byte;
    ++sent;
  }
  return sent;
}

int UartReceive(MutableByteSpan out) {
  if ((Uart().state & kReceiveOverrun) != 0) return -1;
  int received = 0;
  for (uint8_t& byte : out) {
    if (filled == emptied) break;
    byte = ring[emptied % kUartBuffer];
    emptied = emptied + 1;
    ++received;
  }
  if ((Uart().control & kReceiveInterrupt) == 0) ListenAgain();
  return received;
}

void UartDiscard() {
  Uart().state = kReceiveOverrun;
  emptied = filled;
  ListenAgain();
}

// Interrupts are masked between the check and the sleep, so none is missed: a pending interrupt
// ends `wfi` even when it is masked.
void UartWait() {
  __asm volatile("cpsid i" ::: "memory");
  if (filled == emptied) __asm volatile("wfi" ::: "memory");
  __asm volatile("cpsie i" ::: "memory");
}

}  // namespace sotto::emulated

void SottoOnUart() { sotto::emulated::TakeBytes(); }
