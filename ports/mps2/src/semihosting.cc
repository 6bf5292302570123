#include "sotto/mps2/semihosting.h"

#include <cstdint>

namespace sotto::mps2 {
namespace {

// Arm, "Semihosting for AArch32 and AArch64", release 2.0.
constexpr uint32_t kSysWrite0 = 0x04;
constexpr uint32_t kSysExitExtended = 0x20;
constexpr uint32_t kApplicationExit = 0x20026;

void Call(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm("r0") = operation;
  register const void* r1 __asm("r1") = argument;
  __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

}  // namespace

void Print(const char* text) { Call(kSysWrite0, text); }

void Exit(int status) {
  const uint32_t reason_and_status[2] = {kApplicationExit, static_cast<uint32_t>(status)};
  Call(kSysExitExtended, reason_and_status);
  for (;;) {
  }
}

}  // namespace sotto::mps2
