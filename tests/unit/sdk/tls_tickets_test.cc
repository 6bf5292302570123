// Sessions that resume, and what ends them. tls_peer_test.cc has clients that lie.
#include "sotto/tls_tickets.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "unit/sdk/tls_link.h"

namespace sotto {
namespace {

constexpr uint64_t kHourMs = 3600 * 1000;
constexpr uint8_t kSessionTicket = 35;  // RFC 5077, section 3.2

// One connection, and how its handshake ended.
struct Meeting {
  Link link;
  TlsSession client;
  TlsSession server;
  Status client_status = Status::kWouldBlock;
  Status server_status = Status::kWouldBlock;
  int turns = 0;  // flights of both sides

  bool is_open() const { return client_status == Status::kOk && server_status == Status::kOk; }
  bool is_resumed() const { return client.is_resumed() && server.is_resumed(); }
  std::string name() const {
    return {server.peer_identity().begin(), server.peer_identity().end()};
  }

  void Run() {
    for (int i = 0; i < 20; ++i) {
      const size_t up = link.up.history.size();
      TlsPair::Step(&client, &client_status);
      const size_t down = link.down.history.size();
      TlsPair::Step(&server, &server_status);
      turns += (link.up.history.size() > up ? 1 : 0) + (link.down.history.size() > down ? 1 : 0);
    }
  }
};

// A device that connects again and again, and its server.
class TlsTickets : public testing::Test {
 protected:
  TlsTickets() { InitServer(&ticket_keys_); }

  void InitServer(TlsTicketKeys* keys) {
    TlsConfig config;
    config.ticket_keys = keys;
    ASSERT_EQ(server_.InitServer(entropy_.port(), keys_.lookup(), config), Status::kOk);
  }

  // change: of the connection before its handshake; kept: not ticket_
  std::unique_ptr<Meeting> Connect(const std::function<void(Meeting&)>& change = {},
                                   TlsTicket* kept = nullptr) {
    TlsConfig config;
    if (asks_) config.ticket = kept != nullptr ? kept : &ticket_;
    config.max_fragment = 512;
    auto meeting = std::make_unique<Meeting>();
    EXPECT_EQ(client_.InitClient(client_entropy_.port(), View(id_), key_, config), Status::kOk);
    EXPECT_EQ(meeting->client.Start(&client_, meeting->link.client.io()), Status::kOk);
    EXPECT_EQ(meeting->server.Start(&server_, meeting->link.server.io()), Status::kOk);
    if (change) change(*meeting);
    meeting->Run();
    return meeting;
  }

  bool ConnectsInFull() {
    const auto meeting = Connect();
    return meeting->is_open() && !meeting->client.is_resumed() && !meeting->server.is_resumed() &&
           meeting->name() == id_;
  }
  bool Resumes() {
    const auto meeting = Connect();
    return meeting->is_open() && meeting->is_resumed() && meeting->name() == id_;
  }

  TestEntropy entropy_;         // of the server, with its clock
  TestEntropy client_entropy_;  // whose clock stands still unless a test moves it
  TestKeys keys_;
  TlsTicketKeys ticket_keys_;
  TlsTicket ticket_;
  TlsContext server_;
  TlsContext client_;
  std::string id_ = "pump-7";
  Key key_ = TestKey(7);
  bool asks_ = true;
};

TEST_F(TlsTickets, ASessionResumesAndTheServerKnowsWhoseItIs) {
  ASSERT_TRUE(ConnectsInFull());
  ASSERT_TRUE(ticket_.is_there());
  const auto again = Connect();
  ASSERT_TRUE(again->is_open());
  EXPECT_TRUE(again->is_resumed());
  EXPECT_EQ(again->name(), "pump-7");
  EXPECT_STREQ(again->server.cipher_suite(), "TLS-ECDHE-PSK-WITH-CHACHA20-POLY1305-SHA256");
  EXPECT_EQ(keys_.asked, std::vector<std::string>{"pump-7"}) << "no second key exchange";
  size_t count = 0;
  uint8_t out[20];
  ASSERT_EQ(again->client.Write(View(std::string("a reading")), &count), Status::kOk);
  ASSERT_EQ(again->server.Read(out, &count), Status::kOk);
  EXPECT_EQ(std::string(out, out + count), "a reading");
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Resumes()) << i;
}

TEST_F(TlsTickets, ASessionThatIsNotCompleteNamesNobody) {
  ASSERT_TRUE(ConnectsInFull());
  const auto again = Connect([](Meeting& m) {
    EXPECT_EQ(m.client.Handshake(), Status::kWouldBlock);
    EXPECT_EQ(m.server.Handshake(), Status::kWouldBlock);
    EXPECT_TRUE(m.server.peer_identity().empty());
    EXPECT_FALSE(m.server.is_resumed());
  });
  EXPECT_TRUE(again->is_resumed());
}

// sdk/FOOTPRINT.md has a board's bytes.
TEST_F(TlsTickets, AResumedHandshakeTakesFewerTurnsAndBytesThanAFullOne) {
  const auto full = Connect();
  const auto again = Connect();
  ASSERT_TRUE(full->is_open() && again->is_resumed());
  EXPECT_EQ(full->turns, 4);
  EXPECT_EQ(again->turns, 3);
  EXPECT_LT(again->link.up.history.size() + again->link.down.history.size(),
            full->link.up.history.size() + full->link.down.history.size());
}

// A board's buffers hold records of 512 bytes (examples/cortex_m/mbedtls_config.h).
TEST_F(TlsTickets, EveryRecordOfTheLongestNameFitsTheBuffersOfABoard) {
  id_ = std::string(kMaxDeviceIdSize, 'x');
  keys_.devices[id_] = key_;
  for (int i = 0; i < 2; ++i) {
    const auto meeting = Connect();
    ASSERT_TRUE(meeting->is_open());
    EXPECT_EQ(meeting->is_resumed(), i == 1);
    for (const Pipe* pipe : {&meeting->link.up, &meeting->link.down}) {
      size_t begin = 0;
      for (const size_t end : pipe->RecordEnds()) {
        EXPECT_LE(end - begin, 5u + 512u);
        begin = end;
      }
    }
  }
}

// Whether these bytes, a ClientHello or a ServerHello, have the extension's number.
bool HasExtension(const Pipe& pipe, uint8_t type) {
  const std::vector<uint8_t>& hello = pipe.history;
  const std::vector<uint8_t> empty = {0, type, 0, 0};
  const size_t end = pipe.RecordEnds().front();
  const auto last = hello.begin() + static_cast<std::ptrdiff_t>(end);
  return std::search(hello.begin(), last, empty.begin(), empty.end()) != last;
}

TEST_F(TlsTickets, AClientThatDoesNotAskGetsNone) {
  asks_ = false;
  for (int i = 0; i < 2; ++i) {
    const auto meeting = Connect();
    ASSERT_TRUE(meeting->is_open());
    EXPECT_FALSE(meeting->client.is_resumed() || meeting->server.is_resumed());
    EXPECT_FALSE(HasExtension(meeting->link.up, kSessionTicket));
    EXPECT_FALSE(HasExtension(meeting->link.down, kSessionTicket));
  }
  asks_ = true;
  const auto asking = Connect();
  EXPECT_TRUE(HasExtension(asking->link.up, kSessionTicket));
  EXPECT_TRUE(HasExtension(asking->link.down, kSessionTicket));
}

TEST_F(TlsTickets, AServerWithoutTicketsServesAClientThatAsks) {
  InitServer(nullptr);
  EXPECT_TRUE(ConnectsInFull());
  EXPECT_FALSE(ticket_.is_there());
  EXPECT_TRUE(ConnectsInFull());
  InitServer(&ticket_keys_);
  EXPECT_TRUE(ConnectsInFull());
  EXPECT_TRUE(ticket_.is_there());
  InitServer(nullptr);  // and what it had given opens nothing
  EXPECT_TRUE(ConnectsInFull());
  EXPECT_FALSE(ticket_.is_there());
}

TEST_F(TlsTickets, ARefusedSessionHasNoPartOfTickets) {
  const auto refuse = [](Meeting& m) { m.server.RefuseTickets(); };
  EXPECT_TRUE(Connect(refuse)->is_open());
  EXPECT_FALSE(ticket_.is_there());
  ASSERT_TRUE(ConnectsInFull());
  ASSERT_TRUE(ticket_.is_there());
  const auto again = Connect(refuse);
  EXPECT_TRUE(again->is_open());
  EXPECT_FALSE(again->client.is_resumed() || again->server.is_resumed());
}

// SECURITY.md S3. The full handshake to which it falls back is refused as any other.
TEST_F(TlsTickets, ARevokedDevicesTicketOpensNothing) {
  ASSERT_TRUE(ConnectsInFull());
  keys_.devices.clear();
  const auto again = Connect();
  EXPECT_EQ(again->server_status, Status::kMismatch);
  EXPECT_EQ(again->client_status, Status::kPeerRefused);
  EXPECT_EQ(keys_.asked, (std::vector<std::string>{"pump-7", "pump-7"}));
  EXPECT_FALSE(ticket_.is_there());
}

// SECURITY.md S4.
TEST_F(TlsTickets, ATicketOfAnExchangedKeyOpensNothing) {
  ASSERT_TRUE(ConnectsInFull());
  keys_.devices["pump-7"] = TestKey(8);
  EXPECT_EQ(Connect()->server_status, Status::kMismatch);
  key_ = TestKey(8);
  EXPECT_TRUE(ConnectsInFull());
  EXPECT_TRUE(Resumes());
  keys_.devices["pump-7"] = key_ = TestKey(7);
  EXPECT_TRUE(ConnectsInFull()) << "not even when the key comes back";
}

// The server still completes handshakes under the old key, to say so: see find_current.
TEST_F(TlsTickets, AKeyThatOpensNothingAnyMoreGetsNoTicket) {
  PskLookup lookup = keys_.lookup();
  lookup.find_current = [](void*, ByteSpan, Key* psk) {
    *psk = TestKey(8);
    return Status::kOk;
  };
  TlsConfig config;
  config.ticket_keys = &ticket_keys_;
  ASSERT_EQ(server_.InitServer(entropy_.port(), lookup, config), Status::kOk);
  EXPECT_TRUE(ConnectsInFull());
  EXPECT_FALSE(ticket_.is_there());
}

TEST_F(TlsTickets, ATicketLivesADayFromItsFullHandshakeOn) {
  ASSERT_TRUE(ConnectsInFull());
  for (int hour = 1; hour <= 24; ++hour) {
    entropy_.now_ms += kHourMs;
    EXPECT_TRUE(Resumes()) << hour;
  }
  entropy_.now_ms += 1;
  EXPECT_TRUE(ConnectsInFull()) << "a resumed session gets no new ticket";
  EXPECT_TRUE(Resumes());
}

TEST_F(TlsTickets, AClientWipesItsSessionAfterADayWhateverTheServerSays) {
  ASSERT_TRUE(ConnectsInFull());
  client_entropy_.now_ms += 24 * kHourMs;
  EXPECT_TRUE(Resumes());
  ticket_.Retire(client_entropy_.now_ms);
  EXPECT_TRUE(ticket_.is_there());
  client_entropy_.now_ms += 1;
  EXPECT_TRUE(ConnectsInFull()) << "it does not offer it any more";
  client_entropy_.now_ms += 24 * kHourMs + 1;
  ticket_.Retire(client_entropy_.now_ms);
  EXPECT_FALSE(ticket_.is_there());
}

TEST_F(TlsTickets, TheKeyBeforeOpensTicketsUntilTheyAreTooOld) {
  ASSERT_TRUE(ConnectsInFull());
  entropy_.now_ms += 20 * kHourMs;
  TlsTicket late;
  ASSERT_TRUE(Connect({}, &late)->is_open());
  entropy_.now_ms += 5 * kHourMs;
  EXPECT_TRUE(ConnectsInFull()) << "too old; its new ticket is one of the second key";
  EXPECT_TRUE(Resumes());
  EXPECT_TRUE(Connect({}, &late)->is_resumed()) << "under the first key";
  entropy_.now_ms += 20 * kHourMs;
  EXPECT_FALSE(Connect({}, &late)->is_resumed());
}

TEST_F(TlsTickets, AServerThatStartsAnewKnowsNoTicket) {
  ASSERT_TRUE(ConnectsInFull());
  TlsTicketKeys others;
  InitServer(&others);
  EXPECT_TRUE(ConnectsInFull());
  EXPECT_TRUE(Resumes());
}

TEST_F(TlsTickets, WithoutEntropyTheHandshakeGoesOnWithoutATicket) {
  ASSERT_TRUE(ConnectsInFull());
  TlsTicketKeys others;
  InitServer(&others);
  const auto fail = [this](Meeting&) { entropy_.fails = true; };
  const auto again = Connect(fail);
  EXPECT_TRUE(again->is_open());
  EXPECT_FALSE(again->client.is_resumed());
  EXPECT_FALSE(ticket_.is_there()) << "the old ticket does not open the new session";
  entropy_.fails = false;
  EXPECT_TRUE(ConnectsInFull());
  EXPECT_TRUE(Resumes());
}

TEST_F(TlsTickets, AResumptionThatFailsIsFollowedByAFullHandshake) {
  ASSERT_TRUE(ConnectsInFull());
  size_t refused = 0;
  const auto whole = Connect();
  ASSERT_TRUE(whole->is_resumed());
  for (size_t at = 5; at < whole->link.down.history.size(); at += 7) {
    const auto broken = Connect([&](Meeting& m) { m.link.down.corrupt_at = at; });
    if (broken->is_open()) continue;
    const bool is_over = broken->client_status != Status::kWouldBlock;
    EXPECT_FALSE(is_over && ticket_.is_there()) << at;
    refused += is_over ? 1 : 0;
    while (!ticket_.is_there() || !Connect()->is_open()) ASSERT_TRUE(ConnectsInFull());
  }
  EXPECT_GT(refused, 10u);
}

TEST_F(TlsTickets, ALinkThatIsLostCostsNoTicketBeforeTheThirdTime) {
  ASSERT_TRUE(ConnectsInFull());
  const auto lose = [](Meeting& m) { m.link.down.cut_after = 3; };
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(Connect(lose)->is_open());
  EXPECT_TRUE(Resumes());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Connect(lose)->is_open());
  EXPECT_TRUE(ConnectsInFull());
}

TEST_F(TlsTickets, AClientForgetsTheSessionOfAnotherKeyOrName) {
  ASSERT_TRUE(ConnectsInFull());
  keys_.devices["pump-8"] = TestKey(7);
  id_ = "pump-8";
  EXPECT_TRUE(ConnectsInFull());
  EXPECT_TRUE(Resumes());
  ticket_.Forget();
  EXPECT_TRUE(ConnectsInFull());
}

template <class T>
bool IsWipedAtItsEnd(const std::function<void(T*)>& use) {
  alignas(T) uint8_t memory[sizeof(T)];
  std::memset(memory, 0x5a, sizeof(memory));
  T* object = ::new (static_cast<void*>(memory)) T();
  use(object);
  object->~T();
  size_t zeros = 0;
  for (volatile const uint8_t& byte : memory) zeros += byte == 0 ? 1 : 0;
  // Beside the secrets there are some flags, times and padding.
  return zeros + 40 >= sizeof(memory);
}

TEST_F(TlsTickets, WhatAClientKeepsAndAServersKeysAreWiped) {
  EXPECT_TRUE(IsWipedAtItsEnd<TlsTicket>([this](TlsTicket* kept) {
    ASSERT_TRUE(Connect({}, kept)->is_open());
    ASSERT_TRUE(kept->is_there());
  }));
  EXPECT_TRUE(IsWipedAtItsEnd<TlsTicketKeys>([this](TlsTicketKeys* keys) {
    uint8_t out[kMaxTicketSize];
    size_t size = 0;
    ASSERT_EQ(keys->Seal(entropy_.port(), View(std::string("x")), out, &size), Status::kOk);
  }));
}

// Tickets as bytes: what a server opens.
struct Sealed {
  TestEntropy entropy;
  TlsTicketKeys keys;
  std::vector<uint8_t> ticket = std::vector<uint8_t>(kMaxTicketSize);

  explicit Sealed(const std::string& content = "what a ticket holds") {
    size_t size = 0;
    EXPECT_EQ(keys.Seal(entropy.port(), View(content), {ticket.data(), ticket.size()}, &size),
              Status::kOk);
    EXPECT_EQ(size, content.size() + kTicketOverhead);
    ticket.resize(size);
  }

  Status Open(const std::vector<uint8_t>& bytes, std::string* content = nullptr) {
    uint8_t out[kMaxTicketContent] = {};
    size_t size = 0;
    const Status status = keys.Open(entropy.port(), View(bytes), out, &size);
    if (status == Status::kOk && content != nullptr) content->assign(out, out + size);
    const bool is_untouched = std::count(out, out + sizeof(out), 0) == sizeof(out);
    EXPECT_TRUE(status == Status::kOk || is_untouched);
    return status;
  }
};

TEST(TlsTicketKeys, OpensWhatItSealedAndNothingElse) {
  Sealed sealed;
  std::string content;
  ASSERT_EQ(sealed.Open(sealed.ticket, &content), Status::kOk);
  EXPECT_EQ(content, "what a ticket holds");
  for (size_t at = 0; at < 8 * sealed.ticket.size(); ++at) {
    std::vector<uint8_t> forged = sealed.ticket;
    forged[at / 8] = static_cast<uint8_t>(forged[at / 8] ^ 1 << at % 8);
    EXPECT_EQ(sealed.Open(forged), Status::kMismatch) << at;
  }
  for (size_t size = 0; size < 2 * kMaxTicketSize; ++size) {
    std::vector<uint8_t> other = sealed.ticket;
    other.resize(size);
    if (size == sealed.ticket.size()) continue;
    EXPECT_EQ(sealed.Open(other), Status::kMismatch) << size;
  }
  EXPECT_EQ(Sealed().Open(sealed.ticket), Status::kOk) << "the same seed";
  TlsTicketKeys others;
  uint8_t out[kMaxTicketContent];
  size_t size = 0;
  EXPECT_EQ(others.Open(sealed.entropy.port(), View(sealed.ticket), out, &size), Status::kMismatch);
}

TEST(TlsTicketKeys, TwoTicketsOfOneContentDiffer) {
  Sealed sealed;
  std::vector<uint8_t> second(kMaxTicketSize);
  size_t size = 0;
  ASSERT_EQ(sealed.keys.Seal(sealed.entropy.port(), View(std::string("what a ticket holds")),
                             {second.data(), second.size()}, &size),
            Status::kOk);
  second.resize(size);
  EXPECT_NE(second, sealed.ticket);
  EXPECT_EQ(sealed.Open(second), Status::kOk);
}

// It renews its key with the first ticket after a day.
TEST(TlsTicketKeys, AKeyThatWasRenewedTwiceOpensNothing) {
  Sealed sealed;
  const uint64_t began = sealed.entropy.now_ms;
  const auto seal = [&] {
    uint8_t out[kMaxTicketSize];
    size_t size = 0;
    return sealed.keys.Seal(sealed.entropy.port(), View(std::string("x")), out, &size);
  };
  sealed.entropy.now_ms = began + kTicketKeyLifeMs;
  ASSERT_EQ(seal(), Status::kOk);
  EXPECT_EQ(sealed.Open(sealed.ticket), Status::kOk) << "the key before, at its last moment";
  sealed.entropy.now_ms = began + 2 * kTicketKeyLifeMs;
  ASSERT_EQ(seal(), Status::kOk);
  EXPECT_EQ(sealed.Open(sealed.ticket), Status::kMismatch);
}

TEST(TlsTicketKeys, RetiringWipesAKeyThatNobodyUses) {
  Sealed sealed;
  const uint64_t began = sealed.entropy.now_ms;
  sealed.keys.Retire(began + kTicketKeyLifeMs + kTicketLifeMs - 1);
  EXPECT_EQ(sealed.Open(sealed.ticket), Status::kOk);
  sealed.keys.Retire(began + kTicketKeyLifeMs + kTicketLifeMs);
  EXPECT_EQ(sealed.Open(sealed.ticket), Status::kMismatch);
}

TEST(TlsTicketKeys, RefusesATicketFromTheFuture) {
  Sealed sealed;
  sealed.entropy.now_ms -= 1;
  EXPECT_EQ(sealed.Open(sealed.ticket), Status::kMismatch);
}

TEST(TlsTicketKeys, ReportsWhatItCannotSeal) {
  Sealed sealed;
  uint8_t out[kMaxTicketSize + 1];
  size_t size = 99;
  const std::string longest(kMaxTicketContent, 'x');
  const Port port = sealed.entropy.port();
  EXPECT_EQ(sealed.keys.Seal(port, View(longest), out, &size), Status::kOk);
  EXPECT_EQ(size, kMaxTicketSize);
  EXPECT_EQ(sealed.keys.Seal(port, View(longest + "x"), out, &size), Status::kInvalidArgument);
  EXPECT_EQ(
      sealed.keys.Seal(port, View(longest), MutableByteSpan(out).first(kMaxTicketSize - 1), &size),
      Status::kInvalidArgument);
  sealed.entropy.fails = true;
  EXPECT_EQ(sealed.keys.Seal(port, View(longest), out, &size), Status::kEntropyFailed);
  sealed.entropy.fails = false;
  EXPECT_EQ(sealed.Open(sealed.ticket), Status::kOk) << "the key is as it was";
}

TEST(TlsTicketKeys, AServerWithTicketsNeedsAClock) {
  TestEntropy entropy;
  TestKeys keys;
  TlsTicketKeys ticket_keys;
  TlsConfig config;
  config.ticket_keys = &ticket_keys;
  Port port = entropy.port();
  port.now_ms = nullptr;
  TlsContext context;
  EXPECT_EQ(context.InitServer(port, keys.lookup(), config), Status::kInvalidArgument);
  EXPECT_EQ(context.InitServer(port, keys.lookup()), Status::kOk);
}

}  // namespace
}  // namespace sotto
