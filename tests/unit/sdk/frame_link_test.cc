// Every byte arrives once and in order over a link that loses, repeats and delays frames, and
// frames of another connection are refused.
#include "sotto/frame_link.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <tuple>

#include "unit/frame_radio.h"

namespace sotto {
namespace {

FrameLinkConfig Config(int max_frame, int window) {
  FrameLinkConfig config;
  config.max_frame = static_cast<uint8_t>(max_frame);
  config.window = static_cast<uint8_t>(window);
  return config;
}

// Moves both streams to their ends, in pieces of many sizes. False after `most_ms`.
bool MoveAll(Pair& pair, Stream& up, Stream& down, uint64_t most_ms) {
  const uint64_t end_ms = pair.radio().now_ms() + most_ms;
  while (pair.radio().now_ms() < end_ms && !(up.is_done() && down.is_done())) {
    Radio& radio = pair.radio();
    const bool is_open = pair.connections() > 0;
    const bool is_right = (!is_open || (down.SendSome(pair.gateway(), 1 + radio.UpTo(300)) &&
                                        up.ReceiveSome(pair.gateway(), 1 + radio.UpTo(70)))) &&
                          up.SendSome(pair.device(), 1 + radio.UpTo(300)) &&
                          down.ReceiveSome(pair.device(), 1 + radio.UpTo(70));
    if (!is_right) return false;
    pair.Step();
  }
  return up.is_done() && down.is_done();
}

// A pair that is open and has moved bytes both ways.
class OpenPair : public Pair {
 public:
  explicit OpenPair(const RadioConfig& radio = {}, uint32_t seed = 1)
      : Pair(Config(20, 8), Config(20, 8), radio, seed) {
    EXPECT_TRUE(is_started());
    Again(seed);
  }

  // The device was reset, or begins anew.
  void Again(uint32_t nonce) {
    EXPECT_EQ(device().Open(nonce, radio().now_ms()), Status::kOk);
    Stream up(200, nonce);
    Stream down(200, nonce + 1);
    const int before = connections();
    while (connections() == before && device().status() == Status::kOk) {
      EXPECT_TRUE(up.SendSome(device(), 200));
      Step();
    }
    EXPECT_TRUE(MoveAll(*this, up, down, 60'000));
  }

  void StepFor(uint64_t ms) {
    for (const uint64_t end_ms = radio().now_ms() + ms; radio().now_ms() < end_ms;) Step();
  }
};

class FrameLinkTest : public testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(FrameLinkTest, EveryByteArrivesOnceAndInOrder) {
  const auto [max_frame, window, loss] = GetParam();
  RadioConfig radio;
  radio.loss = loss / 100.0;
  radio.repetition = 0.1;
  radio.more_delay_ms = 25;
  radio.late_copy_ms = 2000;
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    FrameLinkConfig config = Config(max_frame, window);
    config.tries = 60;  // what may fail by chance is tested elsewhere
    Pair pair(config, config, radio, seed);
    ASSERT_TRUE(pair.is_started());
    ASSERT_EQ(pair.device().Open(seed * 77, 0), Status::kOk);
    Stream up(2000, seed);
    Stream down(3000, seed + 1000);
    ASSERT_TRUE(MoveAll(pair, up, down, 3600'000)) << "at " << pair.radio().now_ms() << " ms";
    EXPECT_EQ(pair.connections(), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, FrameLinkTest,
                         testing::Combine(testing::Values(20, 64, 250), testing::Values(1, 4, 32),
                                          testing::Values(0, 5, 30)));

TEST(FrameLink, BothSidesTakeTheSmallerFrame) {
  for (const bool is_device_small : {false, true}) {
    Pair pair(Config(is_device_small ? 20 : 250, 4), Config(is_device_small ? 250 : 20, 4), {}, 1);
    ASSERT_EQ(pair.device().Open(1, 0), Status::kOk);
    Stream up(500, 1);
    Stream down(500, 2);
    EXPECT_TRUE(MoveAll(pair, up, down, 60'000));
    EXPECT_GE(pair.device().counts().sent, 500u / 16);
  }
}

TEST(FrameLink, AllBytesOfATurnTravelTogether) {
  OpenPair pair;
  const uint32_t turns = pair.device().counts().turns;
  const Bytes bytes(8 * 16);
  for (const size_t size : {1, 2, 100, 25}) {  // as TLS writes several records
    ASSERT_EQ(pair.device().Send(bytes.data(), size), static_cast<int>(size));
  }
  pair.StepFor(1000);
  EXPECT_EQ(pair.device().counts().turns, turns + 1);
}

TEST(FrameLink, ACloseDeliversAllBytesFirst) {
  RadioConfig radio;
  radio.loss = 0.3;
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    OpenPair pair(radio, seed);
    Stream up(100, seed);
    while (!up.is_sent()) {
      ASSERT_TRUE(up.SendSome(pair.device(), 100));
      pair.Step();
    }
    pair.device().Close();
    while (pair.device().state() == FrameLink::State::kClosing) pair.Step();
    EXPECT_EQ(pair.device().state(), FrameLink::State::kClosed);
    EXPECT_EQ(pair.gateway().state(), FrameLink::State::kEnded);
    ASSERT_TRUE(up.ReceiveSome(pair.gateway(), 1000));
    EXPECT_TRUE(up.is_done());
    uint8_t byte = 0;
    EXPECT_EQ(pair.gateway().Receive(&byte, 1), -1);
    EXPECT_EQ(pair.gateway().Send(&byte, 1), -1);
    EXPECT_EQ(pair.device().Receive(&byte, 1), -1);
  }
}

TEST(FrameLink, WithoutAnAnswerItIsLostAfterAllTries) {
  FrameLinkConfig config = Config(20, 4);
  config.tries = 3;
  LinkEnd end(config);
  ASSERT_EQ(end.link.Open(1, 0), Status::kOk);
  uint8_t frame[20];
  uint64_t now_ms = 0;
  int sent = 0;
  while (end.link.status() == Status::kOk) {
    if (end.link.NextFrame(now_ms, frame) > 0) {
      ++sent;
    } else if (end.link.status() == Status::kOk) {
      now_ms += end.link.WaitMs(now_ms);
    }
    ASSERT_LT(now_ms, 60'000u);
  }
  EXPECT_EQ(sent, 4);
  EXPECT_EQ(end.link.state(), FrameLink::State::kLost);
  EXPECT_GE(now_ms, 1000u + 1500 + 2250 + 3375);  // half as long again each time
  EXPECT_LE(now_ms, (1000u + 1500 + 2250 + 3375) * 5 / 4 + 4);
  EXPECT_EQ(end.link.WaitMs(now_ms), FrameLink::kNever);
}

TEST(FrameLink, AReaderThatRestsStopsTheSenderAndLosesNothing) {
  RadioConfig radio;
  radio.loss = 0.1;
  OpenPair pair(radio);
  Stream down(1000, 9);
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(down.SendSome(pair.gateway(), 100));
    pair.Step();
  }
  EXPECT_FALSE(down.is_sent());
  pair.StepFor(600'000);  // ten minutes: the device answers, so nothing is lost
  EXPECT_EQ(pair.gateway().status(), Status::kOk);
  Stream none(0, 1);
  EXPECT_TRUE(MoveAll(pair, none, down, 60'000));
}

// A sender that does not keep to the room overwrites nothing that waits to be read.
TEST(FrameLink, SegmentsBeyondTheRoomAreDropped) {
  OpenPair pair;
  Stream up(8 * 16, 3);
  pair.radio().Record();
  ASSERT_TRUE(up.SendSome(pair.device(), 8 * 16));
  pair.StepFor(1000);
  ASSERT_TRUE(up.is_sent());
  Bytes frame = pair.radio().recorded().front().second;  // the first of eight, a full window
  ASSERT_EQ(frame.size(), 20u);
  frame[0] = static_cast<uint8_t>(frame[0] + 8);
  for (size_t i = 4; i < frame.size(); ++i) frame[i] = 0;
  pair.Arrive(1, frame);
  ASSERT_TRUE(up.ReceiveSome(pair.gateway(), 1000));
  EXPECT_TRUE(up.is_done());
}

TEST(FrameLink, ADeviceThatWasResetGetsANewConnection) {
  OpenPair pair;
  pair.Again(2);
  EXPECT_EQ(pair.connections(), 2);
}

TEST(FrameLink, AResetOfTheGatewayEndsTheDevicesConnectionWithItsNextFrame) {
  OpenPair pair;
  LinkEnd fresh(Config(20, 8));
  FrameListener listener(&fresh.link, 4711);
  ASSERT_EQ(listener.Start(), Status::kOk);
  const uint8_t byte = 1;
  ASSERT_EQ(pair.device().Send(&byte, 1), 1);
  uint8_t frame[20];
  const size_t size = pair.device().NextFrame(1, frame);
  ASSERT_GT(size, 0u);
  EXPECT_FALSE(listener.OnFrame({frame, size}, 1));
  const size_t answer = listener.NextFrame(1, frame);
  ASSERT_GT(answer, 0u);
  pair.device().OnFrame({frame, answer}, 2);
  EXPECT_EQ(pair.device().status(), Status::kLinkLost);
  EXPECT_EQ(listener.NextFrame(2, frame), 0u);
}

TEST(FrameLink, ALateOpeningEndsNothing) {
  OpenPair pair;
  LinkEnd earlier(Config(20, 8));
  ASSERT_EQ(earlier.link.Open(99, 0), Status::kOk);
  uint8_t frame[20];
  const size_t size = earlier.link.NextFrame(0, frame);
  pair.Arrive(1, Bytes(frame, frame + size));
  Stream up(500, 1);
  Stream down(500, 2);
  EXPECT_TRUE(MoveAll(pair, up, down, 60'000));
  EXPECT_EQ(pair.connections(), 1);
}

// All frames of an earlier connection come again, at any time, in any order.
TEST(FrameLink, FramesOfAnEarlierConnectionAreRefused) {
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    RadioConfig radio;
    radio.loss = 0.05;
    OpenPair pair(radio, seed);
    pair.radio().Record();
    Stream first_up(700, seed);
    Stream first_down(700, seed + 1);
    ASSERT_TRUE(MoveAll(pair, first_up, first_down, 60'000));
    const std::vector<std::pair<int, Bytes>> earlier = pair.radio().recorded();
    ASSERT_GT(earlier.size(), 80u);
    pair.Again(seed + 1000);
    Stream up(700, seed + 2);
    Stream down(700, seed + 3);
    std::mt19937 random(seed);
    while (!(up.is_done() && down.is_done())) {
      const auto& [to, frame] = earlier[random() % earlier.size()];
      pair.Arrive(to, frame);
      (void)MoveAll(pair, up, down, 1);
      ASSERT_EQ(pair.device().status(), Status::kOk);
      ASSERT_EQ(pair.gateway().status(), Status::kOk);
      ASSERT_LT(pair.radio().now_ms(), 600'000u);
    }
    EXPECT_EQ(pair.connections(), 2);
  }
}

TEST(FrameLink, AnEchoOfItsOwnFramesIsDropped) {
  OpenPair pair;
  const uint8_t byte = 1;
  ASSERT_EQ(pair.device().Send(&byte, 1), 1);
  uint8_t frame[20];
  const size_t size = pair.device().NextFrame(pair.radio().now_ms(), frame);
  pair.device().OnFrame({frame, size}, pair.radio().now_ms());
  EXPECT_FALSE(pair.device().can_receive());
  EXPECT_EQ(pair.device().NextFrame(pair.radio().now_ms(), frame), 0u);
}

// Whatever the bytes are: they may end the connection, and never more.
TEST(FrameLink, NoFrameWritesBesideItsMemory) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    OpenPair pair({}, static_cast<uint32_t>(trial + 1));
    uint8_t head[20];
    const uint8_t byte = 1;
    (void)pair.device().Send(&byte, 1);
    (void)pair.device().NextFrame(pair.radio().now_ms(), head);
    for (int i = 0; i < 100; ++i) {
      Bytes frame(random() % 260);
      for (uint8_t& b : frame) b = static_cast<uint8_t>(random());
      if (frame.size() >= 4 && random() % 4 != 0) {  // of this connection
        frame[2] = head[2];
        frame[3] = static_cast<uint8_t>((head[3] & 0x1f) | (frame[3] & 0xe0));
      }
      pair.Arrive(static_cast<int>(random() % 2), frame);
      pair.SendDue();
      uint8_t out[50];
      (void)pair.device().Receive(out, sizeof(out));
      (void)pair.gateway().Receive(out, sizeof(out));
      (void)pair.gateway().Send(out, random() % 50);
    }
  }
}

TEST(FrameLink, ItRefusesSizesThatItDoesNotHave) {
  const auto open = [](int max_frame, int window, size_t lacks) {
    Bytes memory(FrameLinkBytes(static_cast<size_t>(max_frame), static_cast<size_t>(window)) -
                 lacks);
    FrameLink link(Config(max_frame, window), {memory.data(), memory.size()});
    return link.Open(1, 0);
  };
  EXPECT_EQ(open(20, 16, 0), Status::kOk);
  EXPECT_EQ(open(20, 16, 1), Status::kBufferTooSmall);
  EXPECT_EQ(open(19, 16, 0), Status::kInvalidArgument);
  EXPECT_EQ(open(251, 16, 0), Status::kInvalidArgument);
  EXPECT_EQ(open(20, 12, 0), Status::kInvalidArgument);
  EXPECT_EQ(open(20, 64, 0), Status::kInvalidArgument);
  FrameLinkConfig config;
  config.first_pause_ms = config.shortest_pause_ms - 1;
  EXPECT_EQ(config.Validate(), Status::kInvalidArgument);
  config = {};
  config.longest_pause_ms = 600'001;
  EXPECT_EQ(config.Validate(), Status::kInvalidArgument);
  config = {};
  config.tries = 0;
  EXPECT_EQ(config.Validate(), Status::kInvalidArgument);
}

// server/PROTOCOL.md: "Links of small frames".
std::vector<std::pair<std::string, Bytes>> ExampleOfThePage() {
  std::ifstream file(SOTTO_SOURCE_DIR "/server/PROTOCOL.md");
  std::string line;
  while (std::getline(file, line) && line != "| from | frame |") {
  }
  std::getline(file, line);
  std::vector<std::pair<std::string, Bytes>> frames;
  while (std::getline(file, line) && !line.empty()) {
    const size_t hex = line.find('`') + 1;
    Bytes bytes;
    for (size_t i = hex; i + 1 < line.rfind('`'); i += 3) {
      bytes.push_back(static_cast<uint8_t>(std::stoi(line.substr(i, 2), nullptr, 16)));
    }
    frames.emplace_back(line.substr(2, line.find(" |") - 2), bytes);
  }
  return frames;
}

TEST(FrameLink, TheExampleOfThePageIsWhatIsSentAndUnderstood) {
  LinkEnd device(Config(20, 16));
  LinkEnd gateway(Config(250, 16));
  FrameListener listener(&gateway.link, 0x1233);
  ASSERT_EQ(listener.Start(), Status::kOk);
  ASSERT_EQ(device.link.Open(0x04030201, 0), Status::kOk);
  const std::string text = "Hello, here are 40 bytes of a TLS record";
  const auto bytes = reinterpret_cast<const uint8_t*>(text.data());
  const std::vector<std::pair<std::string, Bytes>> frames = ExampleOfThePage();
  ASSERT_EQ(frames.size(), 12u);
  for (size_t i = 0; i < frames.size(); ++i) {
    if (i == 2) {
      ASSERT_EQ(device.link.Send(bytes, text.size()), 40);
    }
    if (i == 8) {
      Bytes received(text.size() + 1);
      ASSERT_EQ(gateway.link.Receive(received.data(), received.size()), 40);
      EXPECT_EQ(std::string(received.begin(), received.end() - 1), text);
      ASSERT_EQ(gateway.link.Send(reinterpret_cast<const uint8_t*>("ok"), 2), 2);
    }
    if (i == 10) device.link.Close();
    const auto& [from, expected] = frames[i];
    uint8_t frame[kLargestFrame];
    const bool is_up = from[0] == 'd';
    const size_t size = is_up ? device.link.NextFrame(1, frame) : listener.NextFrame(1, frame);
    EXPECT_EQ(Bytes(frame, frame + size), expected) << "row " << i;
    if (from == "device -") continue;
    if (is_up) {
      (void)listener.OnFrame({frame, size}, 1);
    } else {
      device.link.OnFrame({frame, size}, 1);
    }
  }
  EXPECT_EQ(device.link.state(), FrameLink::State::kClosed);
  EXPECT_EQ(gateway.link.state(), FrameLink::State::kEnded);
}

// What a thousand bytes to the device take, means over 20 radios: "67, 4".
std::string FramesAndTurns(int max_frame, int window, double loss) {
  constexpr int kRadios = 20;
  constexpr size_t kBytes = 10'000;
  double frames = 0;
  double turns = 0;
  for (uint32_t seed = 1; seed <= kRadios; ++seed) {
    RadioConfig radio;
    radio.loss = loss;
    radio.delay_ms = 50;
    const FrameLinkConfig config = Config(max_frame, window);
    Pair pair(config, config, radio, seed);
    EXPECT_EQ(pair.device().Open(5 * seed, 0), Status::kOk);
    Stream up(1, 1);
    Stream down(kBytes, 2);
    while (!down.is_done() && pair.gateway().status() == Status::kOk) {
      EXPECT_TRUE(up.SendSome(pair.device(), 1));
      EXPECT_TRUE(pair.connections() == 0 || down.SendSome(pair.gateway(), kBytes));
      EXPECT_TRUE(down.ReceiveSome(pair.device(), kBytes));
      pair.Step();
    }
    frames += pair.gateway().counts().sent + pair.device().counts().sent;
    turns += pair.gateway().counts().turns;
  }
  const double thousands = kRadios * kBytes / 1000.0;
  char text[40];
  std::snprintf(text, sizeof(text), "%.0f, %.0f", frames / thousands, turns / thousands);
  return text;
}

TEST(FrameLink, TheFiguresOfThePageAreTheLinks) {
  std::ifstream file(SOTTO_SOURCE_DIR "/sdk/LINKS.md");
  std::string line;
  while (std::getline(file, line) && line != "| frame | window | memory | no loss | 5 % | 20 % |") {
  }
  std::getline(file, line);
  int rows = 0;
  for (; std::getline(file, line) && !line.empty(); ++rows) {
    int frame = 0;
    int window = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "| %d | %d |", &frame, &window), 2) << line;
    const auto text = [](size_t number) { return " | " + std::to_string(number); };
    std::string expected =
        "| " + std::to_string(frame) + text(static_cast<size_t>(window)) +
        text(FrameLinkBytes(static_cast<size_t>(frame), static_cast<size_t>(window)));
    for (const double loss : {0.0, 0.05, 0.2}) {
      expected += " | " + FramesAndTurns(frame, window, loss);
    }
    EXPECT_EQ(line, expected + " |");
  }
  EXPECT_EQ(rows, 6);
}

}  // namespace
}  // namespace sotto
