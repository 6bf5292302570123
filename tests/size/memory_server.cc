#include "size/memory_server.h"

#include "sotto/emulated/semihosting.h"

namespace sotto {
namespace {

constexpr uint32_t kMostChunkBytes = 1024;

}  // namespace

Reply MemoryServer::TrainReply() const {
  Reply reply;
  reply.kind = Reply::Kind::kTrain;
  reply.max_frame = max_frame_;
  reply.task.quantizer_scale = 0.1f;
  return reply;
}

Reply MemoryServer::ModelChunk(uint32_t offset) const {
  static const uint8_t zeros[kMostChunkBytes] = {};
  const uint32_t left = model_bytes_ - offset;
  const uint32_t most = MaxChunkBytes(max_frame_);
  if (most > kMostChunkBytes) emulated::Exit(1);
  Reply reply;
  reply.kind = Reply::Kind::kModelChunk;
  reply.bytes = {zeros, left < most ? left : most};
  return reply;
}

Reply MemoryServer::Ack(const Request& request) {
  update_bytes_ += static_cast<uint32_t>(request.bytes.size());
  for (const uint8_t byte : request.bytes) update_hash_ = (update_hash_ ^ byte) * 16777619u;
  has_update_ = request.last;
  Reply reply;
  reply.kind = Reply::Kind::kAck;
  reply.offset = update_bytes_;
  reply.complete = request.last;
  return reply;
}

Reply MemoryServer::Answer(const Request& request) {
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
      emulated::Exit(1);
  }
  if (!has_update_) return TrainReply();
  Reply done;
  done.kind = Reply::Kind::kDone;
  return done;
}

}  // namespace sotto
