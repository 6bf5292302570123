#include "sotto/conformance/check_frames.h"

#include <algorithm>

#include "sotto/bytes.h"
#include "sotto/frame_listener.h"

namespace sotto::conformance {
namespace {

constexpr uint8_t kGuard = 0xa5;
constexpr size_t kMargin = 8;  // behind a buffer
constexpr uint32_t kFramesOfASize = 16;
constexpr uint8_t kWindow = 4;
constexpr uint32_t kSlackMs = 1000;  // a busy board

// Byte i of the frame with this number; the first four bytes are the number.
uint8_t ByteOf(uint32_t number, size_t i) {
  if (i < 4) return static_cast<uint8_t>(number >> (8 * i));
  return static_cast<uint8_t>(number * 37 + i * 11 + 1);
}

// The frames of the first part: five sizes, in turn.
size_t SizeOf(uint32_t number, uint8_t max_frame) {
  const size_t sizes[] = {4, 5, 11, kSmallestFrame, max_frame};
  return sizes[number % 5];
}

class FrameEcho {
 public:
  FrameEcho(const Port& port, const FrameIo& io, uint8_t max_frame, uint32_t timeout_ms)
      : port_(port), io_(io), max_frame_(max_frame), timeout_ms_(timeout_ms) {}

  const char* Run() {
    if (const char* rule = Drain()) return rule;
    const uint64_t begin_ms = Now();
    for (uint32_t number = 0; number < 5 * kFramesOfASize; ++number) {
      if (const char* rule = Send(number)) return rule;
      if (const char* rule = Receive(kLargestFrame, timeout_ms_ / 100)) return rule;
      if (Now() - begin_ms > timeout_ms_ + kSlackMs) return "frames: the time is over";
    }
    if (const char* rule = ReceiveRest()) return rule;
    for (const uint32_t returned : returned_) {
      if (returned <= kFramesOfASize / 4) return "frames: three of four are lost, or more";
    }
    return CheckSmallBuffer();
  }

 private:
  uint64_t Now() const { return port_.now_ms(port_.context); }

  // Drops what is still under way from before.
  const char* Drain() {
    uint8_t frame[kLargestFrame];
    for (int i = 0; i < 100; ++i) {
      const int got = io_.receive(io_.context, frame, sizeof(frame), timeout_ms_ / 100);
      if (got < 0) return "frames: receiving fails";
      if (got == 0) return nullptr;
    }
    return "frames: frames come that nobody sent";
  }

  const char* Send(uint32_t number) {
    uint8_t frame[kLargestFrame];
    const size_t size = SizeOf(number, max_frame_);
    for (size_t i = 0; i < size; ++i) frame[i] = ByteOf(number, i);
    sent_ = number + 1;
    return io_.send(io_.context, frame, size) < 0 ? "frames: sending fails" : nullptr;
  }

  // What is still under way.
  const char* ReceiveRest() {
    for (uint32_t i = 0; i < 5 * kFramesOfASize; ++i) {
      got_ = 0;
      if (const char* rule = Receive(kLargestFrame, timeout_ms_ / 100)) return rule;
      if (got_ == 0) return nullptr;
    }
    return nullptr;
  }

  const char* Receive(size_t size, uint32_t wait_ms) {
    uint8_t frame[kLargestFrame + kMargin];
    std::fill(frame, frame + sizeof(frame), kGuard);
    const uint64_t begin_ms = Now();
    const int got = io_.receive(io_.context, frame, size, wait_ms);
    if (Now() - begin_ms > wait_ms + kSlackMs) return "frames: receiving waits for too long";
    if (got < 0) return "frames: receiving fails";
    const auto is_guard = [](uint8_t byte) { return byte == kGuard; };
    if (static_cast<size_t>(got) > size ||
        !std::all_of(frame + size, frame + sizeof(frame), is_guard)) {
      return "frames: more is received than was asked for";
    }
    got_ = static_cast<size_t>(got);
    return got_ == 0 ? nullptr : Compare(frame);
  }

  const char* Compare(const uint8_t* frame) {
    const char* const rule = "frames: a frame is changed, cut or joined to another one";
    if (got_ < 4) return rule;
    const uint32_t number = LoadU32Le(frame);
    if (number >= sent_ || got_ != SizeOf(number, max_frame_)) return rule;
    for (size_t i = 0; i < got_; ++i) {
      if (frame[i] != ByteOf(number, i)) return rule;
    }
    ++returned_[number % 5];
    return nullptr;
  }

  // A frame that is longer than what was asked for.
  const char* CheckSmallBuffer() {
    if (const char* rule = Send(4)) return rule;  // of max_frame bytes
    sent_ = 5 * kFramesOfASize;
    return Receive(10, timeout_ms_ / 100);
  }

  const Port& port_;
  const FrameIo& io_;
  const uint8_t max_frame_;
  const uint32_t timeout_ms_;
  uint32_t sent_ = 0;
  size_t got_ = 0;  // bytes of the last frame
  uint32_t returned_[5] = {};
};

// 2,000 bytes in one direction.
class Stream {
 public:
  explicit Stream(uint8_t seed) : seed_(seed) {}

  void SendSome(FrameLink& link) {
    uint8_t bytes[kPiece];
    const size_t size = std::min(sizeof(bytes), kTotal - sent_);
    for (size_t i = 0; i < size; ++i) bytes[i] = ByteAt(sent_ + i);
    const int count = link.Send(bytes, size);
    if (count > 0) sent_ += static_cast<size_t>(count);
  }

  // False: a byte is not the next one.
  bool ReceiveSome(FrameLink& link) {
    uint8_t bytes[kPiece];
    const int count = link.Receive(bytes, sizeof(bytes));
    for (int i = 0; i < count; ++i) {
      if (bytes[i] != ByteAt(received_++)) return false;
    }
    return received_ <= sent_;
  }

  bool is_done() const { return received_ == kTotal; }

 private:
  static constexpr size_t kTotal = 2000;
  static constexpr size_t kPiece = 50;

  uint8_t ByteAt(size_t i) const { return static_cast<uint8_t>(i * 7 + (i >> 8) * 3 + seed_); }

  uint8_t seed_;
  size_t sent_ = 0;
  size_t received_ = 0;
};

FrameLinkConfig ConfigOf(uint8_t max_frame, uint32_t timeout_ms) {
  FrameLinkConfig config;
  config.max_frame = max_frame;
  config.window = kWindow;
  config.first_pause_ms = std::max<uint32_t>(timeout_ms / 100, config.shortest_pause_ms);
  config.longest_pause_ms = std::max(config.longest_pause_ms, config.first_pause_ms);
  return config;
}

// Sends a frame of either end; each end drops its own frames, which the echo returns. False: the
// radio is dead.
bool Move(FrameLink& device, FrameListener& gateway, const Port& port, const FrameIo& io) {
  uint8_t frame[kLargestFrame];
  const uint64_t now_ms = port.now_ms(port.context);
  size_t size = device.NextFrame(now_ms, frame);
  if (size > 0 && io.send(io.context, frame, size) < 0) return false;
  size = gateway.NextFrame(now_ms, frame);
  if (size > 0 && io.send(io.context, frame, size) < 0) return false;
  const int got = io.receive(io.context, frame, sizeof(frame), 1);
  if (got < 0) return false;
  const ByteSpan bytes = {frame, static_cast<size_t>(got)};
  (void)gateway.OnFrame(bytes, port.now_ms(port.context));
  device.OnFrame(bytes, port.now_ms(port.context));
  return true;
}

const char* CheckLinkOf(const Port& port, const FrameIo& io, uint8_t max_frame,
                        uint32_t timeout_ms) {
  static uint8_t memory[2][FrameLinkBytes(kLargestFrame, kWindow)];
  const FrameLinkConfig config = ConfigOf(max_frame, timeout_ms);
  FrameLink device(config, memory[0]);
  FrameLink gateway(config, memory[1]);
  FrameListener listener(&gateway, 1);
  Stream up(1);
  Stream down(2);
  const uint64_t begin_ms = port.now_ms(port.context);
  if (listener.Start() != Status::kOk || device.Open(1, begin_ms) != Status::kOk) {
    return "frames: sizes of 20 to 250 bytes are needed";
  }
  while (!up.is_done() || !down.is_done()) {
    up.SendSome(device);
    down.SendSome(gateway);
    if (!Move(device, listener, port, io)) return "frames: the radio fails under the link";
    if (!up.ReceiveSome(gateway) || !down.ReceiveSome(device)) {
      return "frames: a byte of the link is changed, missing or twice there";
    }
    const bool is_lost = device.status() != Status::kOk;
    if (is_lost || port.now_ms(port.context) - begin_ms > timeout_ms) {
      return "frames: the link's bytes do not come in time";
    }
  }
  return nullptr;
}

}  // namespace

const char* CheckFrames(const Port& port, const FrameIo& io, uint8_t max_frame,
                        uint32_t timeout_ms) {
  if (io.send == nullptr || io.receive == nullptr) return "frames: there are no functions";
  if (max_frame < kSmallestFrame || max_frame > kLargestFrame) {
    return "frames: sizes of 20 to 250 bytes are needed";
  }
  if (const char* rule = FrameEcho(port, io, max_frame, timeout_ms).Run()) return rule;
  return CheckLinkOf(port, io, max_frame, timeout_ms);
}

}  // namespace sotto::conformance
