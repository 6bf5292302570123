// What a server reads of a ClientHello before it begins a handshake.
#include "net/client_hello.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "net/hello_tokens.h"
#include "sotto/hello_token.h"
#include "sotto/keys.h"
#include "sotto/posix/port.h"
#include "sotto/tls.h"
#include "unit/sdk/hex.h"

namespace sotto::server {
namespace {

std::vector<uint8_t> Hello(size_t size) {
  std::vector<uint8_t> record(size);
  const size_t length = size - 5;
  const size_t message = length - 4;
  const uint8_t head[] = {22,
                          3,
                          1,
                          static_cast<uint8_t>(length >> 8),
                          static_cast<uint8_t>(length),
                          1,
                          0,
                          static_cast<uint8_t>(message >> 8),
                          static_cast<uint8_t>(message)};
  std::copy(std::begin(head), std::end(head), record.begin());
  return record;
}

TEST(ClientHelloTest, IsPartialUpToItsLastByte) {
  for (const size_t size : {size_t{50}, size_t{200}, kMaxClientHello}) {
    const std::vector<uint8_t> record = Hello(size);
    for (size_t have = 0; have < size; ++have) {
      ASSERT_EQ(CheckClientHello(View(record).first(have)), ClientHello::kPartial) << have;
    }
    EXPECT_EQ(CheckClientHello(View(record)), ClientHello::kWhole);
  }
}

TEST(ClientHelloTest, WhatFollowsDoesNotMatter) {
  std::vector<uint8_t> record = Hello(60);
  record.resize(100, 0xff);
  EXPECT_EQ(CheckClientHello(View(record)), ClientHello::kWhole);
}

TEST(ClientHelloTest, TooLongOrTooShortIsImpossible) {
  EXPECT_EQ(CheckClientHello(View(Hello(kMaxClientHello + 1)).first(5)), ClientHello::kImpossible);
  EXPECT_EQ(CheckClientHello(View(Hello(49)).first(5)), ClientHello::kImpossible);
}

// Type, version, length, type and length.
TEST(ClientHelloTest, OneWrongByteOfTheHeadMakesItImpossible) {
  const std::vector<uint8_t> whole = Hello(200);
  for (const size_t at : {0, 1, 3, 5, 6, 7, 8}) {
    std::vector<uint8_t> record = whole;
    record[at] = static_cast<uint8_t>(record[at] + 9);
    EXPECT_EQ(CheckClientHello(View(record)), ClientHello::kImpossible) << at;
  }
}

Device DeviceOf(const std::string& id, uint8_t fill) {
  Device device;
  device.id = id;
  std::fill(std::begin(device.secret.bytes), std::end(device.secret.bytes), fill);
  return device;
}

// What a client with that key says first.
std::vector<uint8_t> HelloOf(const Device& device) {
  std::vector<uint8_t> sent;
  TlsIo io;
  io.context = &sent;
  io.send = [](void* to, const uint8_t* bytes, size_t size) {
    static_cast<std::vector<uint8_t>*>(to)->insert(static_cast<std::vector<uint8_t>*>(to)->end(),
                                                   bytes, bytes + size);
    return static_cast<int>(size);
  };
  io.recv = [](void*, uint8_t*, size_t) { return 0; };
  Key psk;
  EXPECT_EQ(DeriveTlsKey(device.secret, &psk), Status::kOk);
  TlsContext context;
  TlsSession session;
  EXPECT_EQ(context.InitClient(posix::SystemPort(), View(device.id), psk), Status::kOk);
  EXPECT_EQ(session.Start(&context, io), Status::kOk);
  EXPECT_EQ(session.Handshake(), Status::kWouldBlock);
  EXPECT_EQ(CheckClientHello(View(sent)), ClientHello::kWhole);
  return sent;
}

// RFC 7627 and RFC 5077: what a server that gives tickets looks for, and what no device sends that
// was not told to.
TEST(ClientHelloTest, TellsWhichExtensionsThereAre) {
  const std::vector<uint8_t> hello = HelloOf(DeviceOf("pump-7", 1));
  EXPECT_TRUE(HasExtension(View(hello), kExtendedMasterSecret));
  EXPECT_FALSE(HasExtension(View(hello), 35));
  for (const size_t size : {50, 100, 200}) {
    EXPECT_FALSE(HasExtension(View(Hello(size)), kExtendedMasterSecret)) << size;
  }
}

class HelloTokensTest : public testing::Test {
 protected:
  HelloTokensTest() {
    for (const Device& device : {DeviceOf("pump-7", 1), DeviceOf("pump-8", 2)}) {
      devices_.Register(device);
    }
  }

  DeviceRegistry devices_;
};

TEST_F(HelloTokensTest, AClientHelloTellsWhichDeviceItComesFrom) {
  HelloTokens tokens(Unowned(devices_));
  EXPECT_EQ(tokens.Take(View(HelloOf(devices_[0]))), 0u);
  EXPECT_EQ(tokens.Take(View(HelloOf(devices_[1]))), 1u);
  EXPECT_EQ(tokens.Take(View(HelloOf(DeviceOf("pump-7", 3)))), std::nullopt) << "wrong key";
  EXPECT_EQ(tokens.Take(View(Hello(200))), std::nullopt);
}

// SECURITY.md S7.
TEST_F(HelloTokensTest, AClientHelloIsItsDevicesOnce) {
  HelloTokens tokens(Unowned(devices_));
  const std::vector<uint8_t> first = HelloOf(devices_[0]);
  EXPECT_EQ(tokens.Take(View(first)), 0u);
  for (size_t i = 1; i < kRememberedHellos; ++i) {
    EXPECT_EQ(tokens.Take(View(HelloOf(devices_[0]))), 0u) << i;
  }
  EXPECT_EQ(tokens.Take(View(first)), std::nullopt);
  EXPECT_EQ(tokens.Take(View(HelloOf(devices_[1]))), 1u);
  EXPECT_EQ(tokens.Take(View(HelloOf(devices_[0]))), 0u);
  EXPECT_EQ(tokens.Take(View(first)), 0u) << "the oldest one is forgotten";
}

// It opens nothing: it says under which key a handshake can succeed.
TEST_F(HelloTokensTest, ATokenOfAFormerKeyIsNoDevices) {
  HelloTokens tokens(Unowned(devices_));
  const Device before = DeviceOf("pump-7", 3);
  EXPECT_EQ(tokens.FormerIn(View(HelloOf(before))), nullptr);
  const FormerKey key{"pump-7", before.secret};
  const auto former = std::make_shared<const FormerKeys>(std::vector{key});
  tokens.SetFormer(former, FindHandles({}, {}, former.get()).former);
  std::vector<uint8_t> hello = HelloOf(before);
  const auto found = tokens.FormerIn(View(hello));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->id, "pump-7");
  EXPECT_EQ(tokens.Take(View(hello)), std::nullopt);
  EXPECT_EQ(tokens.FormerIn(View(HelloOf(devices_[0]))), nullptr);
  const ByteSpan random = RandomOf(View(hello));
  hello[static_cast<size_t>(random.end() - hello.data()) - 1] ^= 1;
  EXPECT_EQ(tokens.FormerIn(View(hello)), nullptr) << "under another random";
}

TEST_F(HelloTokensTest, ARotatedDeviceAndANewOneAreKnownByTheirNewKeys) {
  HelloTokens tokens(Unowned(devices_));
  const Device before = devices_[0];
  DeviceChange rotated;
  rotated.kind = DeviceChange::Kind::kRotated;
  rotated.device = DeviceOf("pump-7", 5);
  DeviceChange added;
  added.number = 7;
  added.device = DeviceOf("pump-9", 6);
  const auto now = devices_.Changed({rotated, added});
  tokens.SetDevices(now, {0, 2}, FindHandles(*now, {0, 2}, nullptr).devices);
  EXPECT_EQ(tokens.Take(View(HelloOf(before))), std::nullopt);
  EXPECT_EQ(tokens.Take(View(HelloOf(rotated.device))), 0u);
  EXPECT_EQ(tokens.Take(View(HelloOf(added.device))), 2u);
  EXPECT_EQ(tokens.Take(View(HelloOf(devices_[1]))), 1u);
}

// A token that was read on the way is not good under another random.
// SECURITY.md S7.
TEST_F(HelloTokensTest, ATokenIsGoodInItsOwnClientHelloAlone) {
  HelloTokens tokens(Unowned(devices_));
  std::vector<uint8_t> forged = HelloOf(devices_[0]);
  const ByteSpan random = RandomOf(View(forged));
  forged[static_cast<size_t>(random.end() - forged.data()) - 1] ^= 1;
  EXPECT_EQ(tokens.Take(View(forged)), std::nullopt);
}

// Of a damaged one it tells the same device or none; the lengths in it lead nowhere.
TEST_F(HelloTokensTest, EveryDamageToAClientHelloIsHarmless) {
  const std::vector<uint8_t> whole = HelloOf(devices_[0]);
  size_t unknown = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int damage : {0x01, 0x10, 0x80, 0xff}) {
      std::vector<uint8_t> record = whole;
      record[at] = static_cast<uint8_t>(record[at] ^ damage);
      if (CheckClientHello(View(record)) != ClientHello::kWhole) continue;
      const std::optional<uint32_t> device = HelloTokens(Unowned(devices_)).Take(View(record));
      EXPECT_EQ(device.value_or(0), 0u);
      unknown += device ? 0 : 1;
    }
  }
  EXPECT_GE(unknown, 4 * (kHelloTokenDigits + kHelloRandomSize)) << "each digit counts";
}

// A record whose one extension is ALPN with these bytes.
std::vector<uint8_t> HelloWith(const std::vector<uint8_t>& names) {
  std::vector<uint8_t> record = Hello(58 + names.size());
  std::fill(record.begin() + 9, record.end(), uint8_t{0});
  const auto size = static_cast<uint8_t>(names.size());
  const std::vector<uint8_t> tail = {0, 2,   1, 2,
                                     1, 0,   0, static_cast<uint8_t>(size + 6),
                                     0, 16,  0, static_cast<uint8_t>(size + 2),
                                     0, size};
  std::copy(tail.begin(), tail.end(), record.begin() + 9 + 34 + 1);
  std::copy(names.begin(), names.end(), record.end() - size);
  return record;
}

std::string FoundIn(const std::vector<uint8_t>& names) {
  const std::vector<uint8_t> record = HelloWith(names);
  const ByteSpan found = FindProtocol(View(record), "ab/");
  return {found.begin(), found.end()};
}

TEST(FindProtocol, TakesTheFirstNameWithThePrefix) {
  EXPECT_EQ(FoundIn({2, 'h', '2', 5, 'a', 'b', '/', 'x', 'y', 4, 'a', 'b', '/', 'z'}), "xy");
  EXPECT_EQ(FoundIn({3, 'a', 'b', '/'}), "");
  EXPECT_EQ(FoundIn({2, 'h', '2', 9, 'a', 'b', '/', 'x'}), "") << "beyond the end";
  EXPECT_EQ(FoundIn({}), "");
}

}  // namespace
}  // namespace sotto::server
