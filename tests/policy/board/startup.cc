// What the project of ports/PORTING.md needs of a board to be linked; it is not run.
#include <cstdint>

int main();

void StartBoard() {}
void Say(const char*) {}
void SleepMs(uint32_t) {}

extern "C" {

uint32_t vendor_tick_ms() { return 0; }
int vendor_random(uint32_t*) { return 1; }
int vendor_uart_put(uint8_t) { return -1; }
const void* vendor_flash_memory() { return nullptr; }
int vendor_flash_read(uint32_t, void*, uint32_t) { return 1; }
int vendor_flash_erase(uint32_t) { return 1; }
int vendor_flash_program(uint32_t, const void*, uint32_t) { return 1; }

[[gnu::used]] void Reset() {
  main();
  for (;;) {
  }
}

}  // extern "C"
