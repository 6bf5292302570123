#include "sotto/mps2/semihosting.h"

namespace sotto::mps2 {
namespace {

// Arm, "Semihosting for AArch32 and AArch64", release 2.0.
constexpr uint32_t kSysWrite0 = 0x04;
constexpr uint32_t kSysTime = 0x11;
constexpr uint32_t kSysExitExtended = 0x20;
constexpr uint32_t kApplicationExit = 0x20026;

uint32_t Call(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm("r0") = operation;
  register const void* r1 __asm("r1") = argument;
  __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

}  // namespace

void Print(const char* text) { Call(kSysWrite0, text); }

void Print(uint32_t number) {
  char digits[11] = {};
  char* first = digits + 10;
  do {
    *--first = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  Print(first);
}

uint32_t HostSeconds() { return Call(kSysTime, nullptr); }

void Exit(int status) {
  const uint32_t reason_and_status[2] = {kApplicationExit, static_cast<uint32_t>(status)};
  Call(kSysExitExtended, reason_and_status);
  for (;;) {
  }
}

}  // namespace sotto::mps2
