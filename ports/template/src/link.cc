#include <atomic>

#include "sotto/template/port.h"
#include "vendor.h"

namespace sotto::board {
namespace {

static_assert((kReceiveBufferSize & (kReceiveBufferSize - 1)) == 0, "positions wrap around");

// One writer, the interrupt handler, and one reader. Positions count all bytes, modulo 2^32.
uint8_t g_bytes[kReceiveBufferSize];
std::atomic<uint32_t> g_written{0};
std::atomic<uint32_t> g_read{0};
std::atomic<bool> g_lost{false};

int Send(void*, const uint8_t* bytes, size_t size) {
  size_t sent = 0;
  int taken = 1;
  while (sent < size && taken > 0) {
    taken = vendor_uart_put(bytes[sent]);
    if (taken > 0) ++sent;
  }
  return taken < 0 ? -1 : static_cast<int>(sent);
}

int Receive(void*, uint8_t* out, size_t size) {
  if (g_lost.load(std::memory_order_acquire)) return -1;
  const uint32_t begin = g_read.load(std::memory_order_relaxed);
  const uint32_t available = g_written.load(std::memory_order_acquire) - begin;
  uint32_t count = 0;
  for (; count < available && count < size; ++count) {
    out[count] = g_bytes[(begin + count) % kReceiveBufferSize];
  }
  g_read.store(begin + count, std::memory_order_release);
  return static_cast<int>(count);
}

}  // namespace

TlsIo Link() { return {Send, Receive, nullptr}; }

void RestartLink() {
  g_read.store(g_written.load(std::memory_order_acquire), std::memory_order_release);
  g_lost.store(false, std::memory_order_release);
}

void OnByteReceived(uint8_t byte) {
  const uint32_t end = g_written.load(std::memory_order_relaxed);
  if (end - g_read.load(std::memory_order_acquire) == kReceiveBufferSize) {
    OnBytesLost();
    return;
  }
  g_bytes[end % kReceiveBufferSize] = byte;
  g_written.store(end + 1, std::memory_order_release);
}

void OnBytesLost() { g_lost.store(true, std::memory_order_release); }

}  // namespace sotto::board
