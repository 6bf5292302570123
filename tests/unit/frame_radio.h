// Two ends of a frame link on a radio that loses, repeats and delays frames: seeded, with a clock
// that it drives. Part of tests/unit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "sotto/frame_link.h"
#include "sotto/frame_listener.h"

namespace sotto {

using Bytes = std::vector<uint8_t>;

struct RadioConfig {
  double loss = 0;
  double repetition = 0;       // of frames: one more copy
  uint32_t delay_ms = 10;      // of every frame
  uint32_t more_delay_ms = 0;  // at most, by chance: frames overtake one another
  uint32_t late_copy_ms = 0;   // of a copy that comes twice
};

// The frames under way, in the order of their arrival.
class Radio {
 public:
  Radio(const RadioConfig& config, uint32_t seed) : config_(config), random_(seed) {}

  uint64_t now_ms() const { return now_ms_; }
  size_t frames() const { return frames_; }

  // to  0 the device, 1 the gateway
  void Send(int to, ByteSpan frame) {
    ++frames_;
    const Bytes bytes(frame.begin(), frame.end());
    if (records_) recorded_.emplace_back(to, bytes);
    if (!Happens(config_.loss)) Put(to, bytes, config_.delay_ms + UpTo(config_.more_delay_ms));
    if (Happens(config_.repetition)) {
      Put(to, bytes, config_.delay_ms + UpTo(config_.more_delay_ms) + UpTo(config_.late_copy_ms));
    }
  }

  // From now on all frames are kept, to whom and what.
  void Record() { records_ = true; }
  const std::vector<std::pair<int, Bytes>>& recorded() const { return recorded_; }

  // The next frame that arrives at or before a time, which becomes now; else the time becomes now.
  bool Next(uint64_t until_ms, int* to, Bytes* frame) {
    if (under_way_.empty() || under_way_.begin()->first.first > until_ms) {
      now_ms_ = until_ms;
      return false;
    }
    const auto first = under_way_.begin();
    now_ms_ = std::max(now_ms_, first->first.first);
    *to = first->second.first;
    *frame = std::move(first->second.second);
    under_way_.erase(first);
    return true;
  }

  uint32_t UpTo(uint32_t most) {
    return most == 0 ? 0 : static_cast<uint32_t>(random_()) % (most + 1);
  }

 private:
  bool Happens(double chance) { return static_cast<double>(random_()) < chance * 4294967296.0; }
  void Put(int to, const Bytes& frame, uint32_t in_ms) {
    under_way_.emplace(std::make_pair(now_ms_ + in_ms, order_++), std::make_pair(to, frame));
  }

  const RadioConfig config_;
  std::mt19937 random_;
  uint64_t now_ms_ = 0;
  uint64_t order_ = 0;
  size_t frames_ = 0;
  bool records_ = false;
  std::vector<std::pair<int, Bytes>> recorded_;
  std::map<std::pair<uint64_t, uint64_t>, std::pair<int, Bytes>> under_way_;
};

// A link with its memory.
struct LinkEnd {
  explicit LinkEnd(const FrameLinkConfig& config)
      : memory(FrameLinkBytes(config.max_frame, config.window)),
        link(config, {memory.data(), memory.size()}) {}

  Bytes memory;
  FrameLink link;
};

// A device and a gateway.
class Pair {
 public:
  Pair(const FrameLinkConfig& device, const FrameLinkConfig& gateway, const RadioConfig& radio,
       uint32_t seed)
      : radio_(radio, seed), device_(device), gateway_(gateway), listener_(&gateway_.link, seed) {
    is_started_ = listener_.Start() == Status::kOk;
  }

  FrameLink& device() { return device_.link; }
  FrameLink& gateway() { return gateway_.link; }
  Radio& radio() { return radio_; }
  bool is_started() const { return is_started_; }
  int connections() const { return connections_; }

  // Sends what is due, and passes the time until the next frame arrives or is due, at most 1 s.
  void Step() {
    SendDue();
    const uint64_t now_ms = radio_.now_ms();
    const uint32_t wait_ms =
        std::min({device_.link.WaitMs(now_ms), listener_.WaitMs(now_ms), uint32_t{1000}});
    int to = 0;
    Bytes frame;
    if (radio_.Next(now_ms + wait_ms, &to, &frame)) Arrive(to, frame);
  }

  void Arrive(int to, const Bytes& frame) {
    const ByteSpan bytes = {frame.data(), frame.size()};
    if (to == 0) {
      device_.link.OnFrame(bytes, radio_.now_ms());
    } else if (listener_.OnFrame(bytes, radio_.now_ms())) {
      ++connections_;
    }
  }

  void SendDue() {
    uint8_t frame[kLargestFrame];
    const uint64_t now_ms = radio_.now_ms();
    while (const size_t size = device_.link.NextFrame(now_ms, frame)) radio_.Send(1, {frame, size});
    while (const size_t size = listener_.NextFrame(now_ms, frame)) radio_.Send(0, {frame, size});
  }

 private:
  Radio radio_;
  LinkEnd device_;
  LinkEnd gateway_;
  FrameListener listener_;
  bool is_started_ = false;
  int connections_ = 0;
};

// A stream of made-up bytes in one direction.
class Stream {
 public:
  Stream(size_t size, uint32_t seed) : bytes_(size) {
    std::mt19937 random(seed);
    for (uint8_t& byte : bytes_) byte = static_cast<uint8_t>(random());
  }

  // Both move up to `most` bytes. False: the link took or gave something wrong.
  bool SendSome(FrameLink& link, size_t most) {
    if (link.state() == FrameLink::State::kOpening) return true;
    const int sent = link.Send(bytes_.data() + sent_, std::min(most, bytes_.size() - sent_));
    if (sent < 0) return false;
    sent_ += static_cast<size_t>(sent);
    return true;
  }
  bool ReceiveSome(FrameLink& link, size_t most) {
    Bytes out(most);
    const int received = link.Receive(out.data(), out.size());
    for (int i = 0; i < received; ++i) {
      if (received_ == sent_ || out[static_cast<size_t>(i)] != bytes_[received_++]) return false;
    }
    return true;
  }

  bool is_sent() const { return sent_ == bytes_.size(); }
  bool is_done() const { return received_ == bytes_.size(); }

 private:
  Bytes bytes_;
  size_t sent_ = 0;
  size_t received_ = 0;
};

}  // namespace sotto
