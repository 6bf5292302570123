// The device with a server in memory: one round of the default job. Prints the instructions and the
// stack of the device, without the server's. To be run by `qemu-system-arm -icount shift=0`, where
// the counter counts instructions. Ends with 1 if anything fails or the device asks for a second
// round.
#include "device/line.h"
#include "size/device.h"
#include "sotto/models.h"
#include "sotto/mps2/counter.h"
#include "sotto/mps2/semihosting.h"
#include "sotto/mps2/stack.h"

namespace sotto {
namespace {

constexpr uint32_t kModelBytes = 4 * Softmax784x10::kParameters;

uint8_t g_request[kFrameHeaderSize + kMaxFrame];
uint8_t g_reply[kFrameHeaderSize + kMaxFrame];
uint32_t g_server_ticks = 0;
uint32_t g_stack = 0;
uint32_t g_update_bytes = 0;
bool g_has_update = false;

Reply TrainReply() {
  Reply reply;
  reply.kind = Reply::Kind::kTrain;
  reply.max_frame = kMaxFrame;
  reply.task.quantizer_scale = 0.1f;
  return reply;
}

// A model of zeros.
Reply ModelChunk(uint32_t offset) {
  static const uint8_t zeros[MaxChunkBytes(kMaxFrame)] = {};
  const uint32_t left = kModelBytes - offset;
  Reply reply;
  reply.kind = Reply::Kind::kModelChunk;
  reply.bytes = {zeros, left < sizeof(zeros) ? left : sizeof(zeros)};
  return reply;
}

Reply Ack(const Request& request) {
  g_update_bytes += static_cast<uint32_t>(request.bytes.size());
  g_has_update = request.last;
  Reply reply;
  reply.kind = Reply::Kind::kAck;
  reply.offset = g_update_bytes;
  reply.complete = request.last;
  return reply;
}

Reply Answer(const Request& request) {
  switch (request.kind) {
    case Request::Kind::kHello:
      break;
    case Request::Kind::kGetModel:
      return ModelChunk(request.offset);
    case Request::Kind::kUpdateBegin:
    case Request::Kind::kUpdateChunk:
      return Ack(request);
    case Request::Kind::kGetDescription:
    case Request::Kind::kGetRelease:
    case Request::Kind::kNone:
      mps2::Exit(1);
  }
  if (!g_has_update) return TrainReply();
  Reply done;
  done.kind = Reply::Kind::kDone;
  return done;
}

// From a request's frame to the reply's; its size. Not inlined: its stack is not the device's.
[[gnu::noinline]] size_t Serve(size_t request_size) {
  Request request;
  const ByteSpan body{g_request + kFrameHeaderSize, request_size - kFrameHeaderSize};
  if (DecodeRequest(body, &request) != Status::kOk) mps2::Exit(1);
  size_t size = 0;
  if (EncodeReply(Answer(request), kMaxFrame, g_reply, &size) != Status::kOk) mps2::Exit(1);
  return size;
}

void SeeStack() {
  const uint32_t used = mps2::StackUsed();
  if (used > g_stack) g_stack = used;
}

[[gnu::noinline]] void Report(uint64_t instructions) {
  Line line;
  line << "round: " << instructions << "\n"
       << "stack: " << g_stack << "\n"
       << "update: " << g_update_bytes << " bytes\n";
  mps2::Print(line.text());
}

}  // namespace

bool Exchange(const Request& request, MutableByteSpan frames, Reply* reply) {
  const MutableByteSpan send = frames.first(kFrameHeaderSize + kMaxFrame);
  size_t size = 0;
  if (EncodeRequest(request, kMaxFrame, send, &size) != Status::kOk) return false;
  const uint32_t start = mps2::Ticks();
  SeeStack();
  __builtin_memcpy(g_request, send.data(), size);
  size = Serve(size);
  mps2::ForgetStackUse();
  g_server_ticks += mps2::Ticks() - start;
  FrameReader reader(frames.subspan(send.size()));
  size_t taken = 0;
  if (reader.Feed({g_reply, size}, &taken) != Status::kOk || !reader.complete()) return false;
  return DecodeReply(reader.body(), reply) == Status::kOk;
}

// Nothing has to be waited for unless something failed.
void SleepMs(uint32_t) { mps2::Exit(1); }

}  // namespace sotto

int main(int, char**) {
  using namespace sotto;
  const uint32_t start = mps2::Ticks();
  TakePart();
  const uint32_t ticks = mps2::Ticks() - start - g_server_ticks;
  SeeStack();
  Report(uint64_t{ticks} * mps2::NanosecondsPerTick());
  return 0;
}
