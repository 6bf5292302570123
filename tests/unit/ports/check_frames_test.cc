// A radio whose functions do what the frame link needs passes the check, and one that breaks a rule
// is found out.
#include "sotto/conformance/check_frames.h"

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace sotto {
namespace {

using Bytes = std::vector<uint8_t>;

// A radio with an echo at its other end, and a clock that it drives.
struct EchoRadio {
  uint64_t now_ms = 0;
  double loss = 0;
  uint32_t delay_ms = 5;
  std::mt19937 random{1};
  std::deque<std::pair<uint64_t, Bytes>> under_way;
  // Faults.
  int fails_after = -1;   // calls of either function; negative: never
  size_t longest = 1000;  // longer frames are cut
  bool changes = false;
  bool joins = false;
  bool writes_beside = false;
  bool ignores_size = false;
  bool babbles = false;
  uint32_t waits_longer_ms = 0;

  bool Fails() { return fails_after == 0 || (fails_after > 0 && --fails_after == 0); }

  int Send(const uint8_t* frame, size_t size) {
    if (Fails()) return -1;
    Bytes bytes(frame, frame + std::min(size, longest));
    if (changes) bytes[bytes.size() / 2] ^= 1;
    const bool is_lost = static_cast<double>(random()) < loss * 4294967296.0;
    if (is_lost) return 0;
    if (joins && !under_way.empty()) {
      Bytes& last = under_way.back().second;
      last.insert(last.end(), bytes.begin(), bytes.end());
    } else {
      under_way.emplace_back(now_ms + delay_ms, bytes);
    }
    return 0;
  }

  int Receive(uint8_t* out, size_t size, uint32_t timeout_ms) {
    if (Fails()) return -1;
    if (babbles) return 4;
    const uint64_t until_ms = now_ms + timeout_ms + waits_longer_ms;
    if (under_way.empty() || under_way.front().first > until_ms) {
      now_ms = until_ms;
      return 0;
    }
    now_ms = std::max(now_ms, under_way.front().first);
    const Bytes frame = under_way.front().second;
    under_way.pop_front();
    if (frame.size() > size && !ignores_size) return 0;
    std::copy(frame.begin(), frame.end(), out);
    if (writes_beside) out[size] = 0;
    return static_cast<int>(frame.size());
  }
};

const char* Check(EchoRadio& radio, uint8_t max_frame = 20, uint32_t timeout_ms = 60'000) {
  Port port;
  port.context = &radio;
  port.now_ms = [](void* context) { return static_cast<EchoRadio*>(context)->now_ms; };
  const FrameIo io = {[](void* context, const uint8_t* frame, size_t size) {
                        return static_cast<EchoRadio*>(context)->Send(frame, size);
                      },
                      [](void* context, uint8_t* out, size_t size, uint32_t timeout) {
                        return static_cast<EchoRadio*>(context)->Receive(out, size, timeout);
                      },
                      &radio};
  return conformance::CheckFrames(port, io, max_frame, timeout_ms);
}

TEST(CheckFrames, ARadioThatKeepsTheRulesPasses) {
  for (const int size : {20, 64, 250}) {
    for (const double loss : {0.0, 0.1, 0.4}) {
      EchoRadio radio;
      radio.loss = loss;
      EXPECT_STREQ(Check(radio, static_cast<uint8_t>(size), 600'000), nullptr)
          << size << " " << loss;
    }
  }
  EchoRadio slow;
  slow.delay_ms = 400;
  EXPECT_STREQ(Check(slow, 20, 600'000), nullptr);
}

TEST(CheckFrames, EveryBrokenRuleIsFound) {
  const auto broken = [](auto spoil) {
    EchoRadio radio;
    spoil(radio);
    const char* const rule = Check(radio);
    return std::string(rule == nullptr ? "passed" : rule);
  };
  const std::string changed = "frames: a frame is changed, cut or joined to another one";
  EXPECT_EQ(broken([](EchoRadio& radio) { radio.changes = true; }), changed);
  EXPECT_EQ(broken([](EchoRadio& radio) { radio.longest = 19; }), changed);
  EXPECT_EQ(broken([](EchoRadio& radio) {
              radio.joins = true;
              radio.delay_ms = 2000;
            }),
            changed);
  const std::string beside = "frames: more is received than was asked for";
  EXPECT_EQ(broken([](EchoRadio& radio) { radio.writes_beside = true; }), beside);
  EXPECT_EQ(broken([](EchoRadio& radio) { radio.ignores_size = true; }), beside);
  EXPECT_EQ(broken([](EchoRadio& radio) { radio.loss = 0.95; }),
            "frames: three of four are lost, or more");
  EXPECT_EQ(broken([](EchoRadio& radio) { radio.waits_longer_ms = 2000; }),
            "frames: receiving waits for too long");
  EXPECT_EQ(broken([](EchoRadio& radio) { radio.fails_after = 2; }), "frames: sending fails");
  EXPECT_EQ(broken([](EchoRadio& radio) { radio.fails_after = 1; }), "frames: receiving fails");
  EXPECT_EQ(broken([](EchoRadio& radio) { radio.fails_after = 300; }),
            "frames: the radio fails under the link");
  EXPECT_EQ(broken([](EchoRadio& radio) { radio.babbles = true; }),
            "frames: frames come that nobody sent");
  EXPECT_EQ(broken([](EchoRadio&) {}), "passed");
}

TEST(CheckFrames, ARadioWithoutFunctionsOrSizesIsRefused) {
  EchoRadio radio;
  EXPECT_STREQ(Check(radio, 19), "frames: sizes of 20 to 250 bytes are needed");
  EXPECT_STREQ(Check(radio, 251), "frames: sizes of 20 to 250 bytes are needed");
  EXPECT_STREQ(conformance::CheckFrames({}, {}, 20, 1000), "frames: there are no functions");
}

}  // namespace
}  // namespace sotto
