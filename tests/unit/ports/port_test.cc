// The ports keep the rules that ports/PORTING.md asks for, and a port that breaks one is found out.
#include "sotto/posix/port.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <optional>
#include <vector>

#include "ports/template/src/vendor.h"
#include "sotto/conformance/check.h"
#include "sotto/conformance/check_frames.h"
#include "sotto/conformance/check_model_flash.h"
#include "sotto/posix/acceptor.h"
#include "sotto/posix/record_store.h"
#include "sotto/posix/sockets.h"
#include "sotto/posix/tcp.h"
#include "sotto/template/port.h"
#include "unit/ports/echo_server.h"
#include "unit/test_folder.h"

namespace sotto {
namespace {

using conformance::CheckArithmetic;
using conformance::CheckClock;
using conformance::CheckEntropy;
using conformance::CheckFrames;
using conformance::CheckLink;
using conformance::CheckModelFlash;
using conformance::CheckStore;

constexpr uint32_t kPatienceMs = 60000;

// The board that the template is compiled for: a counter, a generator, a wire from TX to RX.
struct FakeBoard {
  uint32_t tick_ms = 0;
  uint32_t runs_ms = 0;  // by which the clock goes on with each reading
  uint32_t words = 0;
  uint32_t generator_stops_after = ~0u;
  int uart = 1;       // what vendor_uart_put() returns
  bool busy = false;  // every second byte finds the FIFO full
  uint32_t bytes = 0;
  uint32_t loses_every = ~0u;  // so many bytes the line loses one
  std::vector<uint8_t> flash =
      std::vector<uint8_t>(kStorePages * board::kStorePageSize + board::kModelFlashSize, 0xff);
  bool flash_works = true;
};

FakeBoard g_board;

void SleepOnBoard(uint32_t ms) { g_board.tick_ms += ms; }

class TemplatePortTest : public testing::Test {
 protected:
  void SetUp() override {
    const uint32_t tick_ms = g_board.tick_ms;  // the port's clock goes on from here
    g_board = FakeBoard{};
    g_board.tick_ms = tick_ms;
    board::RestartLink();
  }
};

TEST(PortArithmetic, ThisBuildComputesTheBitsOfEveryOther) {
  EXPECT_STREQ(CheckArithmetic(), nullptr);
}

TEST_F(TemplatePortTest, ItKeepsEveryRule) {
  const Port port = board::SystemPort();
  EXPECT_STREQ(CheckClock(port, SleepOnBoard), nullptr);
  EXPECT_STREQ(CheckEntropy(port), nullptr);
  EXPECT_STREQ(CheckLink(port, board::Link(), kPatienceMs), nullptr);
}

TEST_F(TemplatePortTest, ItsFramesKeepEveryRuleOnAUartThatLosesBytes) {
  g_board.runs_ms = 1;
  for (const uint32_t loses_every : {~0u, 300u}) {
    g_board.loses_every = loses_every;
    EXPECT_STREQ(CheckFrames(board::SystemPort(), board::Frames(), 20, 600'000), nullptr);
  }
  g_board.uart = -1;
  EXPECT_STREQ(CheckFrames(board::SystemPort(), board::Frames(), 20, 600'000),
               "frames: sending fails");
}

// The template keeps its store in a static object, which tests cannot reset: this is the first.
TEST_F(TemplatePortTest, ItsStoreKeepsEveryRule) {
  EXPECT_STREQ(CheckStore(board::Store), nullptr);
  g_board.flash_works = false;
  const PersistentStore store = board::Store();
  EXPECT_EQ(store.save(store.context, StoreSlot::kClient, {}), Status::kStoreFailed);
}

TEST_F(TemplatePortTest, ItsFlashOfAModelKeepsEveryRule) {
  EXPECT_STREQ(CheckModelFlash(board::FlashOfModel, board::kModelParameters), nullptr);
  const auto store = g_board.flash.begin();
  EXPECT_TRUE(std::all_of(store, store + kStorePages * board::kStorePageSize, [](uint8_t byte) {
    return byte == 0xff;
  })) << "the store's pages stay";
  g_board.flash_works = false;
  EXPECT_STREQ(CheckModelFlash(board::FlashOfModel, board::kModelParameters),
               "model flash: erasing fails");
}

TEST_F(TemplatePortTest, ItsClockSurvivesTheHardwaresWrapAround) {
  const Port port = board::SystemPort();
  const uint64_t begin_ms = port.now_ms(nullptr);
  for (int step = 0; step < 5; ++step) {
    g_board.tick_ms += 0x7fffffff;
    (void)port.now_ms(nullptr);
  }
  EXPECT_EQ(port.now_ms(nullptr) - begin_ms, uint64_t{5} * 0x7fffffff);
}

TEST_F(TemplatePortTest, AGeneratorThatStopsIsAnErrorAndNeverBytes) {
  const Port port = board::SystemPort();
  uint8_t buffer[32];
  const MutableByteSpan bytes = buffer;
  ASSERT_EQ(port.entropy(nullptr, bytes), Status::kOk);
  g_board.generator_stops_after = g_board.words + 3;
  EXPECT_EQ(port.entropy(nullptr, bytes), Status::kEntropyFailed);
  EXPECT_STREQ(CheckEntropy(port), "entropy: it fails");
}

TEST_F(TemplatePortTest, AFullFifoTakesTheRestLater) {
  g_board.busy = true;
  EXPECT_STREQ(CheckLink(board::SystemPort(), board::Link(), kPatienceMs), nullptr);
}

TEST_F(TemplatePortTest, BytesThatFindNoRoomAreALostLinkUntilItIsRestarted) {
  const TlsIo link = board::Link();
  uint8_t byte = 0;
  for (uint32_t i = 0; i < board::kReceiveBufferSize; ++i) board::OnByteReceived(1);
  EXPECT_EQ(link.recv(nullptr, &byte, 1), 1);
  board::OnByteReceived(2);
  board::OnByteReceived(3);
  EXPECT_EQ(link.recv(nullptr, &byte, 1), -1);
  board::RestartLink();
  EXPECT_EQ(link.recv(nullptr, &byte, 1), 0);
  EXPECT_STREQ(CheckLink(board::SystemPort(), link, kPatienceMs), nullptr);
}

TEST_F(TemplatePortTest, WhatTheHardwareDroppedIsALostLinkUntilItIsRestarted) {
  const TlsIo link = board::Link();
  uint8_t byte = 0;
  board::OnByteReceived(1);
  board::OnBytesLost();
  EXPECT_EQ(link.recv(nullptr, &byte, 1), -1);
  board::RestartLink();
  EXPECT_EQ(link.recv(nullptr, &byte, 1), 0);
}

TEST_F(TemplatePortTest, ADeadUartIsALostLink) {
  g_board.uart = -1;
  EXPECT_STREQ(CheckLink(board::SystemPort(), board::Link(), kPatienceMs), "link: sending fails");
}

TEST(PosixPortTest, ItKeepsEveryRule) {
  const Port port = posix::SystemPort();
  EXPECT_STREQ(CheckClock(port, posix::SleepMs), nullptr);
  EXPECT_STREQ(CheckEntropy(port), nullptr);
  const EchoServer server;
  posix::TcpStream stream;
  ASSERT_EQ(stream.Connect("127.0.0.1", server.port(), kPatienceMs), Status::kOk);
  const TlsIo io = {[](void* context, const uint8_t* bytes, size_t size) {
                      return static_cast<posix::TcpStream*>(context)->Send({bytes, size});
                    },
                    [](void* context, uint8_t* out, size_t size) {
                      return static_cast<posix::TcpStream*>(context)->Receive({out, size});
                    },
                    &stream};
  EXPECT_STREQ(CheckLink(port, io, kPatienceMs), nullptr);
}

PersistentStore OpenFiles() {
  static std::optional<posix::RecordStore> store;
  return store.emplace(TestFile("record")).store();
}

TEST(PosixPortTest, ItsSystemLooksWhetherThePeerIsThere) {
  const EchoServer server;
  posix::TcpStream stream;
  ASSERT_EQ(stream.Connect("127.0.0.1", server.port(), 5000), Status::kOk);
  const auto option = [&](int level, int name) {
    int value = 0;
    socklen_t size = sizeof(value);
    EXPECT_EQ(getsockopt(stream.descriptor(), level, name, &value, &size), 0);
    return value;
  };
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE) +
                option(IPPROTO_TCP, TCP_KEEPINTVL) * option(IPPROTO_TCP, TCP_KEEPCNT),
            posix::kPeerLostMs / 1000);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), posix::kPeerLostMs);
}

// What tells a machine that is alive from the bytes of one that has gone, which come late.
TEST(PosixPortTest, ItKnowsWhetherThePeerHasTakenAll) {
  posix::Acceptor acceptor("127.0.0.1", 0);
  posix::TcpStream client;
  ASSERT_EQ(client.Connect("127.0.0.1", acceptor.port(), 5000), Status::kOk);
  int accepted = -1;
  while (accepted < 0) {
    acceptor.Accept(1, [&](int socket, const posix::IpAddress&) {
      accepted = socket;
      return true;
    });
  }
  EXPECT_TRUE(posix::HasTakenAll(accepted));
  const std::vector<uint8_t> bytes(1 << 16);
  while (posix::SendNow(accepted, {bytes.data(), bytes.size()}) > 0) continue;
  EXPECT_FALSE(posix::HasTakenAll(accepted)) << "its room is full";
  std::vector<uint8_t> taken(1 << 16);
  for (int i = 0; i < 5000 && !posix::HasTakenAll(accepted); ++i) {
    while (client.Receive({taken.data(), taken.size()}) > 0) continue;
    posix::SleepMs(1);
  }
  EXPECT_TRUE(posix::HasTakenAll(accepted));
  posix::CloseSocket(accepted);
}

TEST(PosixPortTest, ItsStoreKeepsEveryRule) { EXPECT_STREQ(CheckStore(OpenFiles), nullptr); }

// What is wrong with a port's clock, entropy or link: one function replaced.
Port WithClock(uint64_t (*now_ms)(void*)) {
  Port port = posix::SystemPort();
  port.now_ms = now_ms;
  return port;
}

Port WithEntropy(Status (*entropy)(void*, MutableByteSpan)) {
  Port port = posix::SystemPort();
  port.entropy = entropy;
  return port;
}

// A clock that gains ms_a_call at every look.
template <int64_t ms_a_call>
uint64_t FakeClock(void*) {
  static uint64_t now_ms = uint64_t{1} << 40;
  now_ms += static_cast<uint64_t>(ms_a_call);
  return now_ms;
}

TEST(ConformanceTest, ABrokenClockIsNamed) {
  const auto no_sleep = [](uint32_t) {};
  EXPECT_STREQ(CheckClock(WithClock(nullptr), no_sleep), "clock: there is none");
  EXPECT_STREQ(CheckClock(WithClock(FakeClock<-1>), no_sleep), "clock: it goes back");
  EXPECT_STREQ(CheckClock(WithClock(FakeClock<0>), no_sleep),
               "clock: it is slower than milliseconds");
  EXPECT_STREQ(CheckClock(WithClock(FakeClock<20000>), no_sleep),
               "clock: it is faster than milliseconds");
}

TEST(ConformanceTest, BrokenEntropyIsNamed) {
  const auto constant = [](void*, MutableByteSpan out) {
    std::memset(out.data(), 0x5a, out.size());
    return Status::kOk;
  };
  const auto stuck_bit = [](void*, MutableByteSpan out) {
    const Status status = posix::Entropy(out);
    for (uint8_t& byte : out) byte = static_cast<uint8_t>(byte & 0x7f);
    return status;
  };
  const auto whole_words = [](void*, MutableByteSpan out) {
    return posix::Entropy({out.data(), (out.size() + 3) / 4 * 4});
  };
  const auto failing = [](void*, MutableByteSpan) { return Status::kEntropyFailed; };
  const char* const kStuck = "entropy: a bit is the same in 64 requests in a row";
  EXPECT_STREQ(CheckEntropy(WithEntropy(nullptr)), "entropy: there is none");
  EXPECT_STREQ(CheckEntropy(WithEntropy(constant)), kStuck);
  EXPECT_STREQ(CheckEntropy(WithEntropy(stuck_bit)), kStuck);
  EXPECT_STREQ(CheckEntropy(WithEntropy(whole_words)),
               "entropy: it writes beyond what was asked for");
  EXPECT_STREQ(CheckEntropy(WithEntropy(failing)), "entropy: it fails");
}

// A pipe that returns what it is given, but for one fault.
struct FaultyPipe {
  enum class Fault { kNone, kLoss, kChange, kNoise, kSilence, kTooMuch, kDeath };
  Fault fault = Fault::kNone;
  std::deque<uint8_t> bytes;
  size_t total = 0;

  static int Send(void* context, const uint8_t* data, size_t size) {
    auto* self = static_cast<FaultyPipe*>(context);
    for (size_t i = 0; i < size; ++i) {
      const bool now = ++self->total == 1000;
      if (now && self->fault == Fault::kLoss) continue;
      self->bytes.push_back(static_cast<uint8_t>(data[i] + (now && self->fault == Fault::kChange)));
    }
    return static_cast<int>(size);
  }

  static int Receive(void* context, uint8_t* out, size_t size) {
    auto* self = static_cast<FaultyPipe*>(context);
    if (self->fault == Fault::kDeath && self->total > 1000) return -1;
    if (self->fault == Fault::kSilence) return 0;
    if (self->fault == Fault::kNoise && self->total == 0) self->bytes.push_back(0);
    size_t limit = size + (self->fault == Fault::kTooMuch ? 1 : 0);
    limit = std::min(limit, self->bytes.size());
    std::copy_n(self->bytes.begin(), limit, out);
    self->bytes.erase(self->bytes.begin(),
                      self->bytes.begin() + static_cast<std::ptrdiff_t>(limit));
    return static_cast<int>(limit);
  }
};

const char* RuleBrokenBy(FaultyPipe::Fault fault) {
  FaultyPipe pipe;
  pipe.fault = fault;
  return CheckLink(WithClock(FakeClock<1>), {FaultyPipe::Send, FaultyPipe::Receive, &pipe},
                   kPatienceMs);
}

TEST(ConformanceTest, ABrokenLinkIsNamed) {
  using Fault = FaultyPipe::Fault;
  EXPECT_STREQ(RuleBrokenBy(Fault::kNone), nullptr);
  EXPECT_STREQ(RuleBrokenBy(Fault::kLoss), "link: a byte is changed, missing or twice there");
  EXPECT_STREQ(RuleBrokenBy(Fault::kChange), "link: a byte is changed, missing or twice there");
  EXPECT_STREQ(RuleBrokenBy(Fault::kNoise), "link: bytes come that nobody sent");
  EXPECT_STREQ(RuleBrokenBy(Fault::kSilence), "link: bytes do not come back");
  EXPECT_STREQ(RuleBrokenBy(Fault::kTooMuch), "link: more is received than was asked for");
  EXPECT_STREQ(RuleBrokenBy(Fault::kDeath), "link: receiving fails");
  EXPECT_STREQ(CheckLink(posix::SystemPort(), {}, kPatienceMs), "link: there is none");
}

// A store in memory with one fault.
struct FaultyStore {
  enum class Fault {
    kNone,
    kNoSave,
    kNoLoad,
    kLastPart,
    kTail,
    kOneSlot,
    kOffset,
    kTooMuch,
    kForgets
  };
  Fault fault = Fault::kNone;
  std::vector<uint8_t> records[2];

  std::vector<uint8_t>& RecordOf(StoreSlot slot) {
    return records[fault == Fault::kOneSlot || slot == StoreSlot::kClient ? 0 : 1];
  }

  static Status Load(void* context, StoreSlot slot, size_t offset, MutableByteSpan out,
                     size_t* size) {
    auto* self = static_cast<FaultyStore*>(context);
    if (self->fault == Fault::kNoLoad) return Status::kStoreFailed;
    const std::vector<uint8_t>& record = self->RecordOf(slot);
    if (self->fault == Fault::kOffset) offset = 0;
    *size = offset < record.size() ? std::min(out.size(), record.size() - offset) : 0;
    std::copy_n(record.begin() + static_cast<std::ptrdiff_t>(std::min(offset, record.size())),
                *size, out.begin());
    if (self->fault == Fault::kTooMuch) out.data()[out.size()] = 0;
    return Status::kOk;
  }

  static Status Save(void* context, StoreSlot slot, Span<const ByteSpan> parts) {
    auto* self = static_cast<FaultyStore*>(context);
    if (self->fault == Fault::kNoSave) return Status::kStoreFailed;
    std::vector<uint8_t> record;
    for (const ByteSpan& part : parts) {
      if (self->fault == Fault::kLastPart) record.clear();
      record.insert(record.end(), part.begin(), part.end());
    }
    std::vector<uint8_t>& old = self->RecordOf(slot);
    if (self->fault == Fault::kTail && record.size() < old.size()) {
      record.insert(record.end(), old.begin() + static_cast<std::ptrdiff_t>(record.size()),
                    old.end());
    }
    old = record;
    return Status::kOk;
  }
};

FaultyStore g_store;

PersistentStore OpenFaulty() {
  if (g_store.fault == FaultyStore::Fault::kForgets) g_store.records[1].clear();
  return {FaultyStore::Load, FaultyStore::Save, &g_store};
}

const char* RuleBrokenBy(FaultyStore::Fault fault) {
  g_store = {};
  g_store.fault = fault;
  return CheckStore(OpenFaulty);
}

TEST(ConformanceTest, ABrokenStoreIsNamed) {
  using Fault = FaultyStore::Fault;
  const char* const kNumber = "store: the number of bytes is wrong";
  EXPECT_STREQ(RuleBrokenBy(Fault::kNone), nullptr);
  EXPECT_STREQ(RuleBrokenBy(Fault::kNoSave), "store: saving fails");
  EXPECT_STREQ(RuleBrokenBy(Fault::kNoLoad), "store: loading fails");
  EXPECT_STREQ(RuleBrokenBy(Fault::kLastPart), kNumber);
  EXPECT_STREQ(RuleBrokenBy(Fault::kTail), kNumber);
  EXPECT_STREQ(RuleBrokenBy(Fault::kOneSlot), "store: a byte is not the one that was saved");
  EXPECT_STREQ(RuleBrokenBy(Fault::kForgets), kNumber);
  EXPECT_STREQ(RuleBrokenBy(Fault::kOffset), kNumber);
  EXPECT_STREQ(RuleBrokenBy(Fault::kTooMuch), "store: it writes beyond what was asked for");
  EXPECT_STREQ(CheckStore([] { return PersistentStore(); }), "store: there is none");
}

}  // namespace
}  // namespace sotto

// The vendor's side of the template.
extern "C" {

uint32_t vendor_tick_ms() { return sotto::g_board.tick_ms += sotto::g_board.runs_ms; }

int vendor_random(uint32_t* word) {
  if (sotto::g_board.words < sotto::g_board.generator_stops_after) ++sotto::g_board.words;
  // A bijection: words differ, and every bit moves.
  uint32_t mixed = sotto::g_board.words * 2654435761u;
  mixed = (mixed ^ mixed >> 15) * 2246822519u;
  *word = mixed ^ mixed >> 13;
  return 0;
}

int vendor_uart_put(uint8_t byte) {
  static bool full = false;
  full = sotto::g_board.busy && !full;
  if (full || sotto::g_board.uart <= 0) return full ? 0 : sotto::g_board.uart;
  if (++sotto::g_board.bytes % sotto::g_board.loses_every == 0) {
    sotto::board::OnBytesLost();
  } else {
    sotto::board::OnByteReceived(byte);
  }
  return 1;
}

const void* vendor_flash_memory() { return sotto::g_board.flash.data(); }

int vendor_flash_read(uint32_t address, void* bytes, uint32_t size) {
  std::memcpy(bytes, sotto::g_board.flash.data() + address, size);
  return 0;
}

int vendor_flash_erase(uint32_t address) {
  if (!sotto::g_board.flash_works) return 1;
  EXPECT_EQ(address % sotto::board::kFlashPageSize, 0u);
  std::memset(sotto::g_board.flash.data() + address, 0xff, sotto::board::kFlashPageSize);
  return 0;
}

// Fails for bytes that are not erased.
int vendor_flash_program(uint32_t address, const void* bytes, uint32_t size) {
  uint8_t* const flash = sotto::g_board.flash.data() + address;
  const bool is_erased = std::all_of(flash, flash + size, [](uint8_t b) { return b == 0xff; });
  if (!is_erased || !sotto::g_board.flash_works || address % 32 != 0 || size % 32 != 0) return 1;
  std::memcpy(flash, bytes, size);
  return 0;
}

}  // extern "C"
