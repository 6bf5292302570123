// The device with a server in memory: one round of the default job. Prints the instructions and the
// stack of the device, without the server's. To be run by `qemu-system-arm -icount shift=0`, where
// the counter counts instructions. Ends with 1 if anything fails or the device asks for a second
// round.
#include "size/device.h"
#include "size/memory_server.h"
#include "sotto/conformance/line.h"
#include "sotto/emulated/counter.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/emulated/stack.h"
#include "sotto/models.h"

namespace sotto {
namespace {

using conformance::Line;

uint8_t g_request[kFrameHeaderSize + kMaxFrame];
uint8_t g_reply[kFrameHeaderSize + kMaxFrame];
MemoryServer g_server(kMaxFrame, 4 * Softmax784x10::kParameters);
uint32_t g_server_ticks = 0;
uint32_t g_stack = 0;

// From a request's frame to the reply's; its size. Not inlined: its stack is not the device's.
[[gnu::noinline]] size_t Serve(size_t request_size) {
  Request request;
  const ByteSpan body{g_request + kFrameHeaderSize, request_size - kFrameHeaderSize};
  if (DecodeRequest(body, &request) != Status::kOk) emulated::Exit(1);
  size_t size = 0;
  if (EncodeReply(g_server.Answer(request), kMaxFrame, g_reply, &size) != Status::kOk)
    emulated::Exit(1);
  return size;
}

void SeeStack() {
  const uint32_t used = emulated::StackUsed();
  if (used > g_stack) g_stack = used;
}

[[gnu::noinline]] void Report(uint64_t instructions) {
  Line line;
  line << "round: " << instructions << "\n"
       << "stack: " << g_stack << "\n"
       << "update: " << g_server.update_bytes() << " bytes\n";
  emulated::Print(line.text());
}

}  // namespace

bool Exchange(const Request& request, MutableByteSpan frames, Reply* reply) {
  const MutableByteSpan send = frames.first(kFrameHeaderSize + kMaxFrame);
  size_t size = 0;
  if (EncodeRequest(request, kMaxFrame, send, &size) != Status::kOk) return false;
  const uint32_t start = emulated::Ticks();
  SeeStack();
  __builtin_memcpy(g_request, send.data(), size);
  size = Serve(size);
  emulated::ForgetStackUse();
  g_server_ticks += emulated::Ticks() - start;
  FrameReader reader(frames.subspan(send.size()));
  size_t taken = 0;
  if (reader.Feed({g_reply, size}, &taken) != Status::kOk || !reader.complete()) return false;
  return DecodeReply(reader.body(), reply) == Status::kOk;
}

// Nothing has to be waited for unless something failed.
void SleepMs(uint32_t) { emulated::Exit(1); }

}  // namespace sotto

int main(int, char**) {
  using namespace sotto;
  const uint32_t start = emulated::Ticks();
  TakePart();
  const uint32_t ticks = emulated::Ticks() - start - g_server_ticks;
  SeeStack();
  Report(uint64_t{ticks} * emulated::NanosecondsPerTick());
  return 0;
}
