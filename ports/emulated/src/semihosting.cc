#include "sotto/emulated/semihosting.h"

#include "semihosting_call.h"

namespace sotto::emulated {
namespace {

constexpr uint32_t kSysWrite0 = 0x04;
constexpr uint32_t kSysTime = 0x11;
constexpr uint32_t kSysExitExtended = 0x20;
constexpr uint32_t kApplicationExit = 0x20026;

}  // namespace

void Print(const char* text) { SemihostingCall(kSysWrite0, text); }

void Print(uint32_t number) {
  char digits[11] = {};
  char* first = digits + 10;
  do {
    *--first = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  Print(first);
}

uint32_t HostSeconds() { return SemihostingCall(kSysTime, nullptr); }

void Exit(int status) {
  const uint32_t reason_and_status[2] = {kApplicationExit, static_cast<uint32_t>(status)};
  SemihostingCall(kSysExitExtended, reason_and_status);
  for (;;) {
  }
}

}  // namespace sotto::emulated
