// TLS sessions between two ends of Sotto, over pipes in memory.
#include "sotto/tls.h"

#include <gtest/gtest.h>
#include <mbedtls/version.h>
#include <memory>
#include <string>
#include <vector>

#include "unit/sdk/tls_link.h"
#include "unit/trials.h"

namespace sotto {
namespace {

std::vector<uint8_t> SomeBytes(size_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(generator());
  return bytes;
}

// Moves `data` as far as it goes without waiting: writes, and reads on the other side.
struct Transfer {
  TlsSession* from;
  TlsSession* to;
  std::vector<uint8_t> data;
  size_t sent = 0;
  std::vector<uint8_t> received = {};

  void Step() {
    size_t count = 0;
    if (sent < data.size()) {
      const Status s = from->Write(View(data).subspan(sent), &count);
      EXPECT_TRUE(s == Status::kOk || s == Status::kWouldBlock) << StatusName(s);
      if (s == Status::kOk) sent += count;
    }
    uint8_t buffer[300];
    if (to->Read(buffer, &count) == Status::kOk) {
      received.insert(received.end(), buffer, buffer + count);
    }
  }
  bool complete() const { return received.size() == data.size(); }
};

void ExpectBothDirectionsCarry(TlsPair* pair, size_t size) {
  Transfer up{&pair->client, &pair->server, SomeBytes(size, 1)};
  Transfer down{&pair->server, &pair->client, SomeBytes(size, 2)};
  for (size_t i = 0; i < 20 * size + 1000 && !(up.complete() && down.complete()); ++i) {
    up.Step();
    down.Step();
  }
  EXPECT_TRUE(up.received == up.data);
  EXPECT_TRUE(down.received == down.data);
}

class TlsOverPipe : public testing::TestWithParam<size_t> {};

TEST_P(TlsOverPipe, CarriesDataBothWaysAndCloses) {
  TlsPair pair(GetParam());
  ASSERT_TRUE(pair.Connected());
  ExpectBothDirectionsCarry(&pair, 100000);
  Status closing = Status::kWouldBlock;
  uint8_t byte;
  size_t count = 99;
  Status reading = Status::kWouldBlock;
  for (int i = 0; i < 1000 && reading == Status::kWouldBlock; ++i) {
    if (closing == Status::kWouldBlock) closing = pair.client.Close();
    reading = pair.server.Read({&byte, 1}, &count);
  }
  EXPECT_EQ(closing, Status::kOk);
  EXPECT_EQ(reading, Status::kOk);
  EXPECT_EQ(count, 0u);
}

TEST_P(TlsOverPipe, WrongKeyAndUnknownIdentityLookAlikeToTheClient) {
  TlsPair wrong(GetParam(), "pump-7", TestKey(8));
  TlsPair unknown(GetParam(), "pump-8", TestKey(7));
  for (TlsPair* pair : {&wrong, &unknown}) {
    pair->Handshake();
    EXPECT_EQ(pair->server_status, Status::kMismatch);
    EXPECT_EQ(pair->client_status, Status::kPeerRefused);
    EXPECT_TRUE(pair->server.peer_identity().empty());
    EXPECT_EQ(AlertIn(pair->link.down), kAlertBadRecordMac);
  }
  EXPECT_EQ(wrong.link.down.RecordEnds(), unknown.link.down.RecordEnds());
  EXPECT_EQ(wrong.keys.asked, std::vector<std::string>{"pump-7"});
  EXPECT_EQ(unknown.keys.asked, std::vector<std::string>{"pump-8"});
}

INSTANTIATE_TEST_SUITE_P(Capacities, TlsOverPipe, testing::Values(1, 7, 1000));

TEST(Tls, ServerKnowsWhoAuthenticatedOnlyAfterTheHandshake) {
  TlsPair pair;
  while (pair.server_status == Status::kWouldBlock) {
    EXPECT_TRUE(pair.server.peer_identity().empty());
    EXPECT_EQ(pair.server.cipher_suite(), nullptr);
    TlsPair::Step(&pair.client, &pair.client_status);
    TlsPair::Step(&pair.server, &pair.server_status);
  }
  ASSERT_TRUE(pair.Connected());
  const ByteSpan identity = pair.server.peer_identity();
  EXPECT_EQ(std::string(identity.begin(), identity.end()), "pump-7");
  EXPECT_TRUE(pair.client.peer_identity().empty());
  EXPECT_STREQ(pair.server.cipher_suite(), "TLS-ECDHE-PSK-WITH-CHACHA20-POLY1305-SHA256");
  EXPECT_STREQ(pair.client.cipher_suite(), pair.server.cipher_suite());
}

TEST(Tls, OneContextServesManySessions) {
  TestEntropy entropy;
  TestKeys keys;
  TlsContext server_context;
  TlsContext client_context;
  ASSERT_EQ(server_context.InitServer(entropy.port(), keys.lookup()), Status::kOk);
  ASSERT_EQ(client_context.InitClient(entropy.port(), View(std::string("pump-7")), TestKey(7)),
            Status::kOk);
  struct Connection {
    Link link;
    TlsSession client;
    TlsSession server;
  };
  std::vector<std::unique_ptr<Connection>> connections;
  for (int i = 0; i < 20; ++i) {
    connections.push_back(std::make_unique<Connection>());
    Connection& c = *connections.back();
    ASSERT_EQ(c.client.Start(&client_context, c.link.client.io()), Status::kOk);
    ASSERT_EQ(c.server.Start(&server_context, c.link.server.io()), Status::kOk);
  }
  for (int step = 0; step < 10; ++step) {
    for (auto& c : connections) {
      (void)c->client.Handshake();
      (void)c->server.Handshake();
    }
  }
  for (auto& c : connections) {
    EXPECT_EQ(c->client.Handshake(), Status::kOk);
    EXPECT_EQ(c->server.Handshake(), Status::kOk);
  }
}

TEST(Tls, SessionCanBeStartedAnew) {
  TlsPair pair;
  ASSERT_TRUE(pair.Connected());
  pair.link.up = pair.link.down = Pipe();
  pair.Start();
  EXPECT_TRUE(pair.server.peer_identity().empty());
  ASSERT_TRUE(pair.Connected());
  ExpectBothDirectionsCarry(&pair, 10);
}

TEST(Tls, ServerKeepsToTheFragmentSizeItsClientAsksFor) {
  for (const uint16_t size : {uint16_t{512}, uint16_t{1024}, uint16_t{2048}, uint16_t{4096}}) {
    TlsConfig config;
    config.max_fragment = size;
    TlsPair pair(100000, "pump-7", TestKey(7), config);
    ASSERT_TRUE(pair.Connected());
    const std::vector<uint8_t> data = SomeBytes(20000, 3);
    size_t written = 0;
    ASSERT_EQ(pair.server.Write(View(data), &written), Status::kOk);
    EXPECT_EQ(written, size);
    ASSERT_EQ(pair.client.Write(View(data), &written), Status::kOk);
    EXPECT_EQ(written, size);
  }
}

// The version in the header of the first record is all that TLS does not authenticate: bytes 1, 2.
TEST(Tls, AlteredHandshakeIsNeverCompleted) {
  TlsPair honest;
  ASSERT_TRUE(honest.Connected());
  const size_t up_size = honest.link.up.history.size();
  const size_t size = up_size + honest.link.down.history.size();
  for (size_t i = 3; i < size; i += 3 * kEveryTrial) {
    TlsPair pair;
    if (i < up_size) {
      pair.link.up.corrupt_at = i;
    } else {
      pair.link.down.corrupt_at = i - up_size;
    }
    pair.Handshake();
    const auto is_expected = [](Status s) {
      // kOk: only the other side can see it. kWouldBlock: a length has grown, and the rest never
      // comes.
      return s == Status::kOk || s == Status::kWouldBlock || s == Status::kMismatch ||
             s == Status::kMalformed || s == Status::kPeerRefused;
    };
    EXPECT_TRUE(is_expected(pair.client_status) && is_expected(pair.server_status) &&
                !(pair.client_status == Status::kOk && pair.server_status == Status::kOk))
        << "byte " << i << " of " << size << ": client " << StatusName(pair.client_status)
        << ", server " << StatusName(pair.server_status);
  }
}

TEST(Tls, AlteredDataEndsTheSession) {
  TlsPair pair;
  ASSERT_TRUE(pair.Connected());
  pair.link.up.corrupt_at = pair.link.up.history.size() + 10;
  size_t count = 0;
  ASSERT_EQ(pair.client.Write(View(std::string("a reading")), &count), Status::kOk);
  uint8_t out[20] = {};
  EXPECT_EQ(pair.server.Read(out, &count), Status::kMalformed);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(pair.server.Read(out, &count), Status::kMalformed);
  EXPECT_EQ(pair.server.Write(View(std::string("x")), &count), Status::kMalformed);
  EXPECT_EQ(pair.server.Close(), Status::kOk);
  EXPECT_EQ(pair.client.Read(out, &count), Status::kPeerRefused);
}

// Cuts one direction within and after each message of the handshake; the other dies with it.
TEST(Tls, LostLinkIsReportedAtEveryMessage) {
  TlsPair honest;
  ASSERT_TRUE(honest.Connected());
  for (const bool up : {true, false}) {
    const Pipe& model = up ? honest.link.up : honest.link.down;
    const std::vector<size_t> ends = model.RecordEnds();
    ASSERT_GE(ends.size(), 3u);
    ASSERT_EQ(ends.back(), model.history.size());
    for (const size_t end : ends) {
      for (const size_t cut : {end - 1, end}) {
        TlsPair pair;
        Pipe& pipe = up ? pair.link.up : pair.link.down;
        Pipe& back = up ? pair.link.down : pair.link.up;
        pipe.cut_after = cut;
        for (int i = 0; i < 10; ++i) {
          TlsPair::Step(&pair.client, &pair.client_status);
          TlsPair::Step(&pair.server, &pair.server_status);
          if (pipe.cut()) back.cut_after = back.history.size();
        }
        EXPECT_TRUE(pipe.cut());
        if (cut < model.history.size()) {
          EXPECT_FALSE(pair.client_status == Status::kOk && pair.server_status == Status::kOk);
        }
        for (const Status s : {pair.client_status, pair.server_status}) {
          EXPECT_TRUE(s == Status::kOk || s == Status::kLinkLost) << StatusName(s) << " " << cut;
        }
      }
    }
  }
}

TEST(Tls, LinkThatEndsWithoutCloseIsNotTheEndOfTheData) {
  TlsPair pair;
  ASSERT_TRUE(pair.Connected());
  size_t count = 0;
  ASSERT_EQ(pair.client.Write(View(std::string("half a mess")), &count), Status::kOk);
  pair.link.up.cut_after = pair.link.up.history.size();
  uint8_t out[20];
  ASSERT_EQ(pair.server.Read(out, &count), Status::kOk);
  EXPECT_EQ(count, 11u);
  EXPECT_EQ(pair.server.Read(out, &count), Status::kLinkLost);
  EXPECT_EQ(pair.server.Close(), Status::kLinkLost);
  EXPECT_EQ(pair.client.Write(View(std::string("age")), &count), Status::kLinkLost);
}

TEST(Tls, BlockedWriteIsRepeatedWithTheSameBytesOrMore) {
  TlsPair pair(7);
  ASSERT_TRUE(pair.Connected());
  const std::string text = "twenty bytes of text, and what was appended meanwhile";
  size_t count = 0;
  ASSERT_EQ(pair.client.Write(View(text).first(20), &count), Status::kWouldBlock);
  EXPECT_TRUE(pair.client.wants_write());
  EXPECT_EQ(pair.client.Write(View(text).first(19), &count), Status::kInvalidArgument);
  std::string received;
  for (int i = 0; i < 20 && received.size() < 20; ++i) {
    uint8_t out[50];
    size_t got = 0;
    if (pair.client.wants_write() && pair.client.Write(View(text), &count) == Status::kOk) {
      EXPECT_EQ(count, 20u);
    }
    if (pair.server.Read(out, &got) == Status::kOk) received.append(out, out + got);
  }
  EXPECT_EQ(received, text.substr(0, 20));
  EXPECT_FALSE(pair.client.wants_write());
}

TEST(Tls, CloseSendsABlockedWriteFirst) {
  TlsPair pair(7);
  ASSERT_TRUE(pair.Connected());
  size_t count = 0;
  ASSERT_EQ(pair.client.Write(View(std::string("last words")), &count), Status::kWouldBlock);
  Status closing = Status::kWouldBlock;
  std::string received;
  for (int i = 0; i < 100; ++i) {
    uint8_t out[50];
    if (closing == Status::kWouldBlock) closing = pair.client.Close();
    const Status s = pair.server.Read(out, &count);
    if (s == Status::kOk && count == 0) break;
    if (s == Status::kOk) received.append(out, out + count);
  }
  EXPECT_EQ(closing, Status::kOk);
  EXPECT_EQ(received, "last words");
  EXPECT_EQ(pair.client.Write(View(received), &count), Status::kWrongState);
  // One close_notify, not two: the server's end of file is where the client's bytes end.
  EXPECT_TRUE(pair.link.up.on_the_way.empty());
}

TEST(Tls, OtherSideCanStillSendAfterClose) {
  TlsPair pair;
  ASSERT_TRUE(pair.Connected());
  ASSERT_EQ(pair.client.Close(), Status::kOk);
  uint8_t out[8];
  size_t count = 9;
  ASSERT_EQ(pair.server.Read(out, &count), Status::kOk);
  EXPECT_EQ(count, 0u);
  ASSERT_EQ(pair.server.Read(out, &count), Status::kOk);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(pair.server.Write(View(std::string("x")), &count), Status::kOk);
  EXPECT_EQ(pair.server.Close(), Status::kOk);
}

TEST(Tls, WithoutEntropyThereIsNoContext) {
  TestEntropy entropy;
  entropy.fails = true;
  TestKeys keys;
  TlsContext context;
  EXPECT_EQ(context.InitServer(entropy.port(), keys.lookup()), Status::kEntropyFailed);
  EXPECT_EQ(context.InitClient(entropy.port(), View(std::string("pump-7")), TestKey(7)),
            Status::kEntropyFailed);
  Link link;
  TlsSession session;
  EXPECT_EQ(session.Start(&context, link.client.io()), Status::kWrongState);
}

// The generator asks for fresh entropy after 10,000 requests; each session makes at least one.
TEST(Tls, EntropyThatFailsLaterEndsTheHandshake) {
  TestEntropy entropy;
  TlsContext context;
  ASSERT_EQ(context.InitClient(entropy.port(), View(std::string("pump-7")), TestKey(7)),
            Status::kOk);
  entropy.fails = true;
  Status status = Status::kWouldBlock;
  for (int i = 0; i < 10001 && status == Status::kWouldBlock; ++i) {
    Link link;
    TlsSession session;
    ASSERT_EQ(session.Start(&context, link.client.io()), Status::kOk);
    status = session.Handshake();
  }
  EXPECT_EQ(status, Status::kEntropyFailed);
}

TEST(Tls, RefusesWhatIsOutOfRange) {
  TestEntropy entropy;
  TlsContext context;
  const Port port = entropy.port();
  const Key key = TestKey(7);
  const auto init = [&](const std::string& name) {
    return context.InitClient(port, View(name), key);
  };
  EXPECT_EQ(init(std::string(64, 'x')), Status::kOk);
  EXPECT_EQ(init(std::string(65, 'x')), Status::kInvalidArgument);
  EXPECT_EQ(init(""), Status::kInvalidArgument);
  EXPECT_EQ(init("pump 7"), Status::kInvalidArgument);
  EXPECT_EQ(context.InitClient(Port(), View(std::string("a")), key), Status::kInvalidArgument);
  EXPECT_EQ(context.InitServer(port, PskLookup()), Status::kInvalidArgument);
  TlsConfig config;
  config.max_fragment = 1000;
  EXPECT_EQ(context.InitClient(port, View(std::string("a")), key, config),
            Status::kInvalidArgument);
  ASSERT_EQ(init("a"), Status::kOk);
  TlsSession session;
  EXPECT_EQ(session.Start(&context, TlsIo()), Status::kInvalidArgument);
}

TEST(Tls, CallsOutOfTurnAreRefused) {
  TlsSession idle;
  uint8_t byte = 0;
  size_t count = 0;
  EXPECT_EQ(idle.Handshake(), Status::kWrongState);
  EXPECT_EQ(idle.Read({&byte, 1}, &count), Status::kWrongState);
  EXPECT_EQ(idle.Write({&byte, 1}, &count), Status::kWrongState);
  EXPECT_EQ(idle.Close(), Status::kOk);
  TlsPair pair;
  EXPECT_EQ(pair.client.Read({&byte, 1}, &count), Status::kWrongState);
  EXPECT_EQ(pair.client.Write({&byte, 1}, &count), Status::kWrongState);
  ASSERT_TRUE(pair.Connected());
  EXPECT_EQ(pair.client.Handshake(), Status::kOk);
  EXPECT_EQ(pair.client.Read({}, &count), Status::kInvalidArgument);
  EXPECT_EQ(pair.client.Write({}, &count), Status::kInvalidArgument);
}

// The library that this program runs with is the one that its name promises.
TEST(Tls, MbedTlsIsTheOneExpected) {
  char version[32];
  mbedtls_version_get_string(version);
#if defined(SOTTO_EXPECT_MBEDTLS_3)
  EXPECT_EQ(version[0], '3') << version;
#endif
  EXPECT_EQ(mbedtls_version_get_number(), static_cast<unsigned>(MBEDTLS_VERSION_NUMBER));
}

}  // namespace
}  // namespace sotto
