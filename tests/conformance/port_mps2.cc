// The rules of a port, checked on a board whose UART0 returns each byte, in a folder without files
// port_check.*. Exit status 0: all hold.
#include <optional>

#include "sotto/conformance/check.h"
#include "sotto/conformance/check_frames.h"
#include "sotto/conformance/check_model_flash.h"
#include "sotto/mps2/clock.h"
#include "sotto/mps2/insecure_entropy.h"
#include "sotto/mps2/model_flash.h"
#include "sotto/mps2/record_store.h"
#include "sotto/mps2/semihosting.h"
#include "sotto/mps2/uart.h"
#include "sotto/mps2/uart_frames.h"

namespace sotto {
namespace {

constexpr uint32_t kTimeoutMs = 60000;
constexpr uint32_t kFramesMs = 20000;
constexpr size_t kParameters = 7850;

int Send(void*, const uint8_t* bytes, size_t size) { return mps2::UartSend({bytes, size}); }
int Receive(void*, uint8_t* out, size_t size) { return mps2::UartReceive({out, size}); }

// Nothing is kept in RAM: as after a reset.
PersistentStore OpenStore() {
  static std::optional<mps2::RecordStore> store;
  return store.emplace("port_check").store();
}

ModelFlash OpenFlash() { return mps2::OpenModelFlash("port_check"); }

int Run() {
  mps2::StartClock();
  mps2::StartUart();
  mps2::InsecureEntropy entropy{Key()};
  const Port port = {[](void*) { return mps2::NowMs(); }, mps2::InsecureEntropy::Fill, &entropy};
  const char* rules[] = {
      conformance::CheckArithmetic(),
      conformance::CheckClock(port, mps2::SleepMs),
      conformance::CheckEntropy(port),
      conformance::CheckLink(port, {Send, Receive, nullptr}, kTimeoutMs),
      conformance::CheckFrames(port, mps2::UartFrames(), kLargestFrame, kFramesMs),
      conformance::CheckStore(OpenStore),
      conformance::CheckModelFlash(OpenFlash, kParameters),
  };
  int broken = 0;
  for (const char* rule : rules) {
    if (rule == nullptr) continue;
    mps2::Print(rule);
    mps2::Print("\n");
    ++broken;
  }
  return broken;
}

}  // namespace
}  // namespace sotto

int main(int, char**) { return sotto::Run(); }
