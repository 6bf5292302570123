// A link of small frames takes any frame at any time, at both of its ends, and any bytes of a wire.
// It gives no more bytes than the frames had, and its own frames keep their limit.
//
// Input: window and largest frame (bytes), then frames: a length (byte), whose highest bit lets
// time pass before, and so many bytes.
#include "sotto/frame_link.h"

#include <algorithm>
#include <vector>

#include "fuzz/input.h"
#include "sotto/frame_listener.h"
#include "sotto/serial_frames.h"

namespace sotto::fuzz {
namespace {

constexpr uint32_t kNonce = 0x01020304;  // as in the seeds

// One end, its counts, and what it does after each frame.
struct End {
  explicit End(const FrameLinkConfig& config)
      : max_frame(config.max_frame),
        memory(FrameLinkBytes(config.max_frame, config.window)),
        link(config, {memory.data(), memory.size()}) {}

  template <class Sender>
  void Work(Sender& sender, uint64_t now_ms) {
    uint8_t bytes[100] = {};
    for (int got = 0; (got = link.Receive(bytes, sizeof(bytes))) > 0;) {
      received += static_cast<size_t>(got);
    }
    Require(received <= fed, "bytes come from frames");
    (void)link.Send(bytes, sizeof(bytes));
    uint8_t frame[kLargestFrame];
    for (int frames = 0; const size_t size = sender.NextFrame(now_ms, frame); ++frames) {
      Require(size <= max_frame, "a frame keeps its limit");
      Require(frames <= 2 * kLargestWindow, "a turn ends");
    }
  }

  const size_t max_frame;
  std::vector<uint8_t> memory;
  FrameLink link;
  size_t fed = 0;
  size_t received = 0;
};

void CheckWire(ByteSpan wire) {
  uint8_t memory[kLargestSerialFrame];
  SerialFrameReader reader(memory);
  for (const uint8_t byte : wire) {
    if (reader.Feed(byte)) Require(reader.frame().size() <= kLargestFrame, "no frame is larger");
  }
}

void CheckLinks(Input& input) {
  FrameLinkConfig config;
  config.window = static_cast<uint8_t>(1 << input.TakeByte() % 6);
  config.max_frame = static_cast<uint8_t>(kSmallestFrame +
                                          input.TakeByte() % (kLargestFrame - kSmallestFrame + 1));
  CheckWire(input.rest());
  End device(config);
  End other(config);
  FrameListener listener(&other.link, 7);
  Require(device.link.Open(kNonce, 0) == Status::kOk, "a link opens");
  Require(listener.Start() == Status::kOk, "a listener starts");
  uint64_t now_ms = 0;
  while (!input.rest().empty()) {
    const uint8_t head = input.TakeByte();
    if (head >= 128) now_ms += 500;
    std::vector<uint8_t> frame(std::min<size_t>(head % 128, input.rest().size()));
    for (uint8_t& byte : frame) byte = input.TakeByte();
    device.fed += frame.size();
    other.fed += frame.size();
    device.link.OnFrame({frame.data(), frame.size()}, now_ms);
    (void)listener.OnFrame({frame.data(), frame.size()}, now_ms);
    device.Work(device.link, now_ms);
    other.Work(listener, now_ms);
  }
}

}  // namespace
}  // namespace sotto::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sotto::fuzz::Input input(data, size);
  sotto::fuzz::CheckLinks(input);
  return 0;
}
