#include "sotto/posix/port.h"

#include <cerrno>
#include <time.h>
#if defined(__EMSCRIPTEN__)
#include <unistd.h>
#else
#include <sys/random.h>
#endif

namespace sotto::posix {
namespace {

#if defined(__EMSCRIPTEN__)
// The browser's, or Node's: at most 256 bytes a call.
ssize_t RandomBytes(uint8_t* out, size_t size) {
  const size_t part = size < 256 ? size : 256;
  return getentropy(out, part) == 0 ? static_cast<ssize_t>(part) : -1;
}
#else
ssize_t RandomBytes(uint8_t* out, size_t size) { return getrandom(out, size, 0); }
#endif

}  // namespace

uint64_t NowMs() {
  timespec now{};
  // CLOCK_MONOTONIC exists on every system this port supports; the call has no other error.
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
}

uint64_t SinceBootMs() {
#if defined(CLOCK_BOOTTIME)
  timespec now{};
  if (clock_gettime(CLOCK_BOOTTIME, &now) == 0) {
    return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
  }
#endif
  return NowMs();
}

void SleepMs(uint32_t ms) {
  const timespec duration{static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000) * 1000000};
  (void)nanosleep(&duration, nullptr);
}

Status Entropy(MutableByteSpan out) {
  for (size_t filled = 0; filled < out.size();) {
    const ssize_t got = RandomBytes(out.data() + filled, out.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Status::kEntropyFailed;
    filled += static_cast<size_t>(got);
  }
  return Status::kOk;
}

Port SystemPort() {
  Port port;
  port.now_ms = [](void*) { return NowMs(); };
  port.entropy = [](void*, MutableByteSpan out) { return Entropy(out); };
  return port;
}

Port TlsPort() {
  Port port = SystemPort();
  port.now_ms = [](void*) { return SinceBootMs(); };
  return port;
}

}  // namespace sotto::posix
