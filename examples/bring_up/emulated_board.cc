// The functions of board.h for the boards of ports/mps2 and ports/riscv_virt. INSECURE entropy.
// Part of examples/bring_up.
#include SOTTO_DEVICE_KEY

#include <optional>

#include "board.h"
#include "sotto/crypto.h"
#include "sotto/emulated/clock.h"
#include "sotto/emulated/insecure_entropy.h"
#include "sotto/emulated/record_store.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/emulated/stack.h"
#include "sotto/emulated/uart.h"
#include "sotto/emulated/uart_frames.h"

namespace sotto::board {
namespace {

emulated::InsecureEntropy& Entropy() {
  static Key secret;
  __builtin_memcpy(secret.bytes, kSottoDeviceSecret, sizeof(secret.bytes));
  static emulated::InsecureEntropy entropy(secret);
  return entropy;
}

}  // namespace

void Start() {
  emulated::StartClock();
  emulated::StartUart();
}

void Say(const char* line) {
  emulated::Print(line);
  emulated::Print("\n");
}

void SleepMs(uint32_t ms) { emulated::SleepMs(ms); }
const char* Name() { return "emulated by QEMU, INSECURE entropy"; }
uint32_t StackUsed() { return emulated::StackUsed(); }
void End(int failures) { emulated::Exit(failures); }

Port SystemPort() {
  return {[](void*) { return emulated::NowMs(); }, emulated::InsecureEntropy::Fill, &Entropy()};
}

FrameIo Frames() { return emulated::UartFrames(); }
void RestartLink() { emulated::DiscardUartFrames(); }

// Files of QEMU's machine. RAM keeps nothing of them, as after a reset.
PersistentStore Store() {
  static std::optional<emulated::RecordStore> store;
  return store.emplace("bring_up").store();
}

}  // namespace sotto::board
