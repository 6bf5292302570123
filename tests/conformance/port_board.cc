// The rules of a port, checked on a board whose UART0 returns each byte, in a folder without files
// port_check.*. Exit status 0: all hold.
#include <optional>

#include "sotto/conformance/check.h"
#include "sotto/conformance/check_frames.h"
#include "sotto/conformance/check_model_flash.h"
#include "sotto/emulated/clock.h"
#include "sotto/emulated/insecure_entropy.h"
#include "sotto/emulated/model_flash.h"
#include "sotto/emulated/record_store.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/emulated/uart.h"
#include "sotto/emulated/uart_frames.h"

namespace sotto {
namespace {

constexpr uint32_t kTimeoutMs = 60000;
constexpr uint32_t kFramesMs = 20000;
constexpr size_t kParameters = 7850;

int Send(void*, const uint8_t* bytes, size_t size) { return emulated::UartSend({bytes, size}); }
int Receive(void*, uint8_t* out, size_t size) { return emulated::UartReceive({out, size}); }

// Nothing is kept in RAM: as after a reset.
PersistentStore OpenStore() {
  static std::optional<emulated::RecordStore> store;
  return store.emplace("port_check").store();
}

ModelFlash OpenFlash() { return emulated::OpenModelFlash("port_check"); }

int Run() {
  emulated::StartClock();
  emulated::StartUart();
  emulated::InsecureEntropy entropy{Key()};
  const Port port = {[](void*) { return emulated::NowMs(); }, emulated::InsecureEntropy::Fill,
                     &entropy};
  const char* rules[] = {
      conformance::CheckArithmetic(),
      conformance::CheckClock(port, emulated::SleepMs),
      conformance::CheckEntropy(port),
      conformance::CheckLink(port, {Send, Receive, nullptr}, kTimeoutMs),
      conformance::CheckFrames(port, emulated::UartFrames(), kLargestFrame, kFramesMs),
      conformance::CheckStore(OpenStore),
      conformance::CheckModelFlash(OpenFlash, kParameters),
  };
  int broken = 0;
  for (const char* rule : rules) {
    if (rule == nullptr) continue;
    emulated::Print(rule);
    emulated::Print("\n");
    ++broken;
  }
  return broken;
}

}  // namespace
}  // namespace sotto

int main(int, char**) { return sotto::Run(); }
