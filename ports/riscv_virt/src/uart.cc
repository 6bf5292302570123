#include "sotto/emulated/uart.h"

#include "memory_map.h"
#include "traps.h"

namespace sotto::emulated {
namespace {

// The 16550's registers, a byte each.
struct UartRegisters {
  volatile uint8_t data;
  volatile uint8_t interrupts;
  volatile uint8_t fifo;
  volatile uint8_t format;
  volatile uint8_t modem;
  volatile uint8_t status;
};

constexpr uint8_t kReceiveInterrupt = 1;  // interrupts
constexpr uint8_t kFifoOn = 1;            // fifo
constexpr uint8_t kEightBits = 3;         // format
constexpr uint8_t kReceiveFull = 1;       // status
constexpr uint8_t kReceiveOverrun = 2;
constexpr uint8_t kTransmitEmpty = 0x20;

// RISC-V, "Platform-Level Interrupt Controller": of the first processor.
constexpr uintptr_t kEnable = kInterruptsBase + 0x2000;
constexpr uintptr_t kClaim = kInterruptsBase + 0x200004;

// A ring that the interrupt fills and the program empties; each side writes one index.
uint8_t ring[kUartBuffer];
volatile uint32_t filled = 0;   // bytes put in since the start, modulo 2^32
volatile uint32_t emptied = 0;  // bytes taken out since the start, modulo 2^32
volatile bool has_lost = false;
static_assert((kUartBuffer & (kUartBuffer - 1)) == 0, "indices wrap with the counters");

UartRegisters& Uart() { return *reinterpret_cast<UartRegisters*>(kUartBase); }
volatile uint32_t& Register(uintptr_t address) {
  return *reinterpret_cast<volatile uint32_t*>(address);
}

// Reading the status clears an overrun.
uint8_t ReadStatus() {
  const uint8_t status = Uart().status;
  if ((status & kReceiveOverrun) != 0) has_lost = true;
  return status;
}

// Moves bytes from the UART into the ring. If the ring is full, a byte stays in the UART, whose
// interrupt is then off until UartReceive() makes room.
void TakeBytes() {
  UartRegisters& uart = Uart();
  for (;;) {
    if ((ReadStatus() & kReceiveFull) == 0) return;
    if (filled - emptied == kUartBuffer) {
      uart.interrupts = 0;
      return;
    }
    ring[filled % kUartBuffer] = uart.data;
    filled = filled + 1;
  }
}

void MaskInterrupts() { __asm volatile("csrc mstatus, %0" ::"r"(kInterrupts) : "memory"); }
void AllowInterrupts() { __asm volatile("csrs mstatus, %0" ::"r"(kInterrupts) : "memory"); }

// Turns the interrupt on again, and reads a byte that arrived while it was off.
void ListenAgain() {
  MaskInterrupts();
  Uart().interrupts = kReceiveInterrupt;
  TakeBytes();
  AllowInterrupts();
}

}  // namespace

void StartUart() {
  UartRegisters& uart = Uart();
  uart.format = kEightBits;
  uart.fifo = kFifoOn;
  uart.interrupts = kReceiveInterrupt;
  Register(kInterruptsBase + 4 * kUartInterrupt) = 1;  // its priority
  Register(kEnable) = 1u << kUartInterrupt;
  Register(kClaim - 4) = 0;  // the threshold
  EnableInterrupt(kExternalEnable);
}

int UartSend(ByteSpan bytes) {
  int sent = 0;
  for (const uint8_t byte : bytes) {
    if ((ReadStatus() & kTransmitEmpty) == 0) break;
    Uart().data = byte;
    ++sent;
  }
  return sent;
}

int UartReceive(MutableByteSpan out) {
  if (has_lost) return -1;
  int received = 0;
  for (uint8_t& byte : out) {
    if (filled == emptied) break;
    byte = ring[emptied % kUartBuffer];
    emptied = emptied + 1;
    ++received;
  }
  if (Uart().interrupts == 0) ListenAgain();
  return received;
}

void UartDiscard() {
  has_lost = false;
  emptied = filled;
  ListenAgain();
}

// Interrupts are masked between the check and the sleep, so none is missed: a pending interrupt
// ends `wfi` even when it is masked.
void UartWait() {
  MaskInterrupts();
  if (filled == emptied) __asm volatile("wfi" ::: "memory");
  AllowInterrupts();
}

}  // namespace sotto::emulated

// Claims the interrupt, and completes it.
void SottoOnUart() {
  using namespace sotto::emulated;
  const uint32_t which = Register(kClaim);
  TakeBytes();
  Register(kClaim) = which;
}
