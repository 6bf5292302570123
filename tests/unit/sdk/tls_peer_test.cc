// TLS sessions against peers that are not Sotto's: other versions, suites and identities.
#include <gtest/gtest.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_ciphersuites.h>
#include <mbedtls/version.h>
#include <string>
#include <utility>
#include <vector>

#include "sotto/tls_tickets.h"
#include "unit/sdk/tls_link.h"

#if !defined(MBEDTLS_PRIVATE)  // 2.28
#define MBEDTLS_PRIVATE(member) member
#endif

namespace sotto {
namespace {

// A client made of Mbed TLS alone, which keeps to none of our rules.
class ForeignClient {
 public:
  ForeignClient(const std::string& identity, const Key& psk, int suite, LinkEnd* end)
      : io_(end->io()), suites_{suite, 0} {
    mbedtls_ssl_init(&ssl_);
    mbedtls_ssl_config_init(&config_);
    EXPECT_EQ(mbedtls_ssl_config_defaults(&config_, MBEDTLS_SSL_IS_CLIENT,
                                          MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT),
              0);
#if MBEDTLS_VERSION_MAJOR >= 3
    mbedtls_ssl_conf_max_tls_version(&config_, MBEDTLS_SSL_VERSION_TLS1_2);
#endif
    mbedtls_ssl_conf_rng(&config_, Random, &generator_);
    mbedtls_ssl_conf_ciphersuites(&config_, suites_);
    EXPECT_EQ(mbedtls_ssl_conf_psk(&config_, psk.bytes, sizeof(psk.bytes), View(identity).data(),
                                   identity.size()),
              0);
    EXPECT_EQ(mbedtls_ssl_setup(&ssl_, &config_), 0);
    mbedtls_ssl_set_bio(&ssl_, this, Send, Receive, nullptr);
  }
  ~ForeignClient() {
    mbedtls_ssl_free(&ssl_);
    mbedtls_ssl_config_free(&config_);
  }
  ForeignClient(const ForeignClient&) = delete;
  ForeignClient& operator=(const ForeignClient&) = delete;

  // Mbed TLS' result.
  int Handshake() { return mbedtls_ssl_handshake(&ssl_); }

  // The session of a completed handshake, which the caller frees; and what it resumes.
  void GetSession(mbedtls_ssl_session* session) {
    mbedtls_ssl_session_init(session);
    EXPECT_EQ(mbedtls_ssl_get_session(&ssl_, session), 0);
  }
  void Resume(const mbedtls_ssl_session& session) {
    EXPECT_EQ(mbedtls_ssl_set_session(&ssl_, &session), 0);
  }

 private:
  static int Random(void* generator, unsigned char* out, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      out[i] = static_cast<uint8_t>((*static_cast<std::mt19937*>(generator))());
    }
    return 0;
  }
  static int Send(void* self, const unsigned char* bytes, size_t size) {
    const TlsIo& io = static_cast<ForeignClient*>(self)->io_;
    const int sent = io.send(io.context, bytes, size);
    return sent == 0 ? MBEDTLS_ERR_SSL_WANT_WRITE : sent;
  }
  static int Receive(void* self, unsigned char* out, size_t size) {
    const TlsIo& io = static_cast<ForeignClient*>(self)->io_;
    const int received = io.recv(io.context, out, size);
    return received == 0 ? MBEDTLS_ERR_SSL_WANT_READ : received;
  }

  TlsIo io_;
  int suites_[2];
  std::mt19937 generator_{20240608};
  mbedtls_ssl_context ssl_;
  mbedtls_ssl_config config_;
};

// A Sotto server for peers of any kind.
struct LonelyServer {
  TestEntropy entropy;
  TestKeys keys;
  Link link;
  TlsContext context;
  TlsSession session;

  explicit LonelyServer(TlsTicketKeys* tickets = nullptr) {
    TlsConfig config;
    config.ticket_keys = tickets;
    EXPECT_EQ(context.InitServer(entropy.port(), keys.lookup(), config), Status::kOk);
    EXPECT_EQ(session.Start(&context, link.server.io()), Status::kOk);
  }

  // Our status, after `client` has gone as far as it can.
  Status HandshakeWith(ForeignClient* client) {
    Status status = Status::kWouldBlock;
    for (int i = 0; i < 10 && status == Status::kWouldBlock; ++i) {
      (void)client->Handshake();
      status = session.Handshake();
    }
    return status;
  }
};

Status ServerStatusForSuite(int suite, std::string* name) {
  LonelyServer server;
  ForeignClient client("pump-7", TestKey(7), suite, &server.link.client);
  const Status status = server.HandshakeWith(&client);
  if (status == Status::kOk) *name = server.session.cipher_suite();
  return status;
}

TEST(TlsPeer, EverySuiteOfTheListWorks) {
  for (const int suite :
       {MBEDTLS_TLS_ECDHE_PSK_WITH_CHACHA20_POLY1305_SHA256,
        MBEDTLS_TLS_PSK_WITH_CHACHA20_POLY1305_SHA256, MBEDTLS_TLS_PSK_WITH_AES_128_GCM_SHA256,
        MBEDTLS_TLS_PSK_WITH_AES_128_CCM}) {
    std::string name;
    EXPECT_EQ(ServerStatusForSuite(suite, &name), Status::kOk) << suite;
    EXPECT_EQ(name, mbedtls_ssl_get_ciphersuite_name(suite));
  }
}

TEST(TlsPeer, ServerRefusesOtherSuites) {
  for (const int suite :
       {MBEDTLS_TLS_PSK_WITH_AES_128_CBC_SHA, MBEDTLS_TLS_PSK_WITH_AES_256_GCM_SHA384,
        MBEDTLS_TLS_PSK_WITH_AES_128_CCM_8, MBEDTLS_TLS_DHE_PSK_WITH_AES_128_GCM_SHA256}) {
    ASSERT_NE(mbedtls_ssl_ciphersuite_from_id(suite), nullptr) << "the peer lacks it, too";
    std::string name;
    EXPECT_EQ(ServerStatusForSuite(suite, &name), Status::kMalformed) << suite;
  }
}

// A suite of CBC and a MAC is refused, with encrypt-then-MAC and without.
TEST(TlsPeer, ServerRefusesEverySuiteWithoutAuthenticatedEncryption) {
  int refused = 0;
  for (const int* suite = mbedtls_ssl_list_ciphersuites(); *suite != 0; ++suite) {
    const std::string name = mbedtls_ssl_get_ciphersuite_name(*suite);
    const bool is_aead = name.find("GCM") != std::string::npos ||
                         name.find("CCM") != std::string::npos ||
                         name.find("POLY1305") != std::string::npos;
    if (is_aead || name.find("-PSK-") == std::string::npos) continue;
    std::string taken;
    EXPECT_EQ(ServerStatusForSuite(*suite, &taken), Status::kMalformed) << name;
    ++refused;
  }
  EXPECT_GE(refused, 2);
}

// A session of a client that may change it.
struct ForeignSession {
  TlsTicketKeys keys;
  mbedtls_ssl_session session;
  std::vector<uint8_t> ticket;

  explicit ForeignSession(int suite) {
    LonelyServer server(&keys);
    ForeignClient client("pump-7", TestKey(7), suite, &server.link.client);
    EXPECT_EQ(server.HandshakeWith(&client), Status::kOk);
    EXPECT_EQ(client.Handshake(), 0);
    client.GetSession(&session);
    const unsigned char* const begin = session.MBEDTLS_PRIVATE(ticket);
    ticket.assign(begin, begin + session.MBEDTLS_PRIVATE(ticket_len));
  }
  ~ForeignSession() { mbedtls_ssl_session_free(&session); }

  // What the server says when the client resumes it and offers that suite.
  Status Resume(int suite, bool* is_resumed) {
    LonelyServer server(&keys);
    ForeignClient client("pump-7", TestKey(7), suite, &server.link.client);
    client.Resume(session);
    const Status status = server.HandshakeWith(&client);
    *is_resumed = server.session.is_resumed();
    return status;
  }
};

TEST(TlsPeer, AForeignClientResumes) {
  ForeignSession kept(MBEDTLS_TLS_PSK_WITH_AES_128_GCM_SHA256);
  bool is_resumed = false;
  EXPECT_EQ(kept.Resume(MBEDTLS_TLS_PSK_WITH_AES_128_GCM_SHA256, &is_resumed), Status::kOk);
  EXPECT_TRUE(is_resumed);
}

// SECURITY.md S32. Mbed TLS chooses the suite anew; this client would not mind.
TEST(TlsPeer, ASessionWithoutForwardSecrecyDoesNotResumeUnderTheNameOfASuiteThatHasIt) {
  const int weak = MBEDTLS_TLS_PSK_WITH_AES_128_GCM_SHA256;
  const int strong = MBEDTLS_TLS_ECDHE_PSK_WITH_CHACHA20_POLY1305_SHA256;
  for (const auto& [before, after] : {std::pair(weak, strong), std::pair(strong, weak)}) {
    ForeignSession kept(before);
    kept.session.MBEDTLS_PRIVATE(ciphersuite) = after;
    bool is_resumed = false;
    EXPECT_EQ(kept.Resume(after, &is_resumed), Status::kMalformed);
    EXPECT_FALSE(is_resumed);
  }
}

// SECURITY.md S32: anybody on the way can read a ticket and say it.
TEST(TlsPeer, ATicketOpensNothingWithoutTheSessionsSecret) {
  const int suite = MBEDTLS_TLS_PSK_WITH_CHACHA20_POLY1305_SHA256;
  ForeignSession kept(suite);
  kept.session.MBEDTLS_PRIVATE(master)[0] ^= 1;
  bool is_resumed = false;
  EXPECT_NE(kept.Resume(suite, &is_resumed), Status::kOk);
  EXPECT_FALSE(is_resumed);
}

TEST(TlsPeer, AForgedTicketIsFollowedByAFullHandshake) {
  const int suite = MBEDTLS_TLS_PSK_WITH_CHACHA20_POLY1305_SHA256;
  ForeignSession kept(suite);
  for (size_t at = 0; at < kept.ticket.size(); ++at) {
    kept.session.MBEDTLS_PRIVATE(ticket)[at] ^= 1;
    bool is_resumed = true;
    EXPECT_EQ(kept.Resume(suite, &is_resumed), Status::kOk) << at;
    EXPECT_FALSE(is_resumed) << at;
    kept.session.MBEDTLS_PRIVATE(ticket)[at] ^= 1;
  }
  kept.session.MBEDTLS_PRIVATE(ticket_len) -= 1;
  bool is_resumed = true;
  EXPECT_EQ(kept.Resume(suite, &is_resumed), Status::kOk);
  EXPECT_FALSE(is_resumed);
}

// Only a server seals tickets, so this is what a mistake of a server could open. Each content has
// one part that is wrong: its size, the suite, the fingerprint or the id.
TEST(TlsPeer, ASealedTicketOfAnyOtherContentIsFollowedByAFullHandshake) {
  const int suite = MBEDTLS_TLS_PSK_WITH_CHACHA20_POLY1305_SHA256;
  ForeignSession kept(suite);
  TestEntropy entropy;
  uint8_t content[kMaxTicketContent] = {};
  size_t size = 0;
  ASSERT_EQ(kept.keys.Open(entropy.port(), View(kept.ticket), content, &size), Status::kOk);
  const std::vector<uint8_t> whole(content, content + size);
  for (size_t at = 0; at < 2 * kMaxTicketContent; ++at) {
    std::vector<uint8_t> changed = whole;
    if (at <= kMaxTicketContent) {
      changed.resize(at);
    } else if (at - kMaxTicketContent >= kTlsMasterSize && at - kMaxTicketContent < size) {
      changed[at - kMaxTicketContent] ^= 0x20;
    }
    if (changed == whole) continue;
    uint8_t ticket[kMaxTicketSize];
    size_t sealed = 0;
    ASSERT_EQ(kept.keys.Seal(entropy.port(), View(changed), ticket, &sealed), Status::kOk);
    unsigned char* const own = kept.session.MBEDTLS_PRIVATE(ticket);
    const size_t own_size = kept.session.MBEDTLS_PRIVATE(ticket_len);
    kept.session.MBEDTLS_PRIVATE(ticket) = ticket;
    kept.session.MBEDTLS_PRIVATE(ticket_len) = sealed;
    bool is_resumed = true;
    EXPECT_EQ(kept.Resume(suite, &is_resumed), Status::kOk) << at;
    EXPECT_FALSE(is_resumed) << at;
    kept.session.MBEDTLS_PRIVATE(ticket) = own;
    kept.session.MBEDTLS_PRIVATE(ticket_len) = own_size;
  }
}

// What is no valid device id never reaches the key table, and is refused like a wrong key.
TEST(TlsPeer, InvalidIdentitiesAreRefusedWithoutALookup) {
  for (const std::string& identity :
       {std::string(65, 'x'), std::string(1000, 'x'), std::string("pump 7"), std::string("p\0", 2),
        std::string("../pump-7")}) {
    LonelyServer server;
    ForeignClient client(identity, TestKey(7), MBEDTLS_TLS_PSK_WITH_AES_128_GCM_SHA256,
                         &server.link.client);
    EXPECT_EQ(server.HandshakeWith(&client), Status::kMismatch) << identity;
    EXPECT_EQ(client.Handshake(), MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE);
    EXPECT_EQ(AlertIn(server.link.down), kAlertBadRecordMac);
    EXPECT_TRUE(server.keys.asked.empty());
    EXPECT_TRUE(server.session.peer_identity().empty());
  }
}

void Append(std::vector<uint8_t>* bytes, const std::string& hex) {
  const std::vector<uint8_t> more = FromHex(hex);
  bytes->insert(bytes->end(), more.begin(), more.end());
}

// A handshake message in a separate record.
std::vector<uint8_t> HandshakeRecord(uint8_t version, uint8_t type,
                                     const std::vector<uint8_t>& body) {
  const auto size = static_cast<uint8_t>(body.size());
  std::vector<uint8_t> record = {22, 3, version, 0, static_cast<uint8_t>(size + 4), type, 0, 0};
  record.push_back(size);
  record.insert(record.end(), body.begin(), body.end());
  return record;
}

// A ClientHello that offers PSK-AES128-CBC-SHA, PSK-AES128-GCM-SHA256 and TLS_AES_128_GCM_SHA256.
std::vector<uint8_t> ClientHello(uint8_t version, const std::string& extensions) {
  std::vector<uint8_t> body = {3, version};
  body.insert(body.end(), 32, 0x5a);
  Append(&body,
         "00"
         "0006008c00a81301"
         "0100" +
             extensions);
  return HandshakeRecord(1, 1, body);
}

// Mbed TLS takes the extension of tickets twice. A new ticket for a resumed session would live for
// another day.
TEST(TlsPeer, ARepeatedExtensionBringsAResumedSessionNoNewTicket) {
  ForeignSession kept(MBEDTLS_TLS_PSK_WITH_AES_128_GCM_SHA256);
  const auto size = static_cast<uint8_t>(kept.ticket.size());
  std::vector<uint8_t> body = {3, 3};
  body.insert(body.end(), 32, 0x5a);
  Append(&body,
         "01ff"
         "000200a8"
         "0100");
  for (const uint8_t byte :
       {uint8_t{0}, static_cast<uint8_t>(size + 8), uint8_t{0}, uint8_t{35}, uint8_t{0}, size}) {
    body.push_back(byte);
  }
  body.insert(body.end(), kept.ticket.begin(), kept.ticket.end());
  Append(&body, "00230000");
  const std::vector<uint8_t> hello = HandshakeRecord(1, 1, body);
  LonelyServer server(&kept.keys);
  server.link.up.Send(hello.data(), hello.size());
  EXPECT_EQ(server.session.Handshake(), Status::kWouldBlock);
  // The second message is the NewSessionTicket: its life and its size are zero.
  const std::vector<uint8_t>& said = server.link.down.history;
  const size_t at = server.link.down.RecordEnds().front();
  ASSERT_GE(said.size(), at + 15);
  EXPECT_EQ(std::vector<uint8_t>(said.begin() + static_cast<std::ptrdiff_t>(at),
                                 said.begin() + static_cast<std::ptrdiff_t>(at + 15)),
            FromHex("160303000a04000006000000000000"));
}

Status ServerStatusFor(const std::vector<uint8_t>& hello, int* alert) {
  LonelyServer server;
  EXPECT_EQ(server.link.up.Send(hello.data(), hello.size()), static_cast<int>(hello.size()));
  const Status status = server.session.Handshake();
  *alert = AlertIn(server.link.down);
  return status;
}

TEST(TlsPeer, ServerSpeaksNothingOlderThanTls12) {
  int alert = kNoAlert;
  EXPECT_EQ(ServerStatusFor(ClientHello(3, ""), &alert), Status::kWouldBlock);  // TLS 1.2 goes on
  EXPECT_EQ(alert, kNoAlert);
  for (const uint8_t version : FromHex("000102")) {  // SSL 3.0, TLS 1.0, TLS 1.1
    EXPECT_EQ(ServerStatusFor(ClientHello(version, ""), &alert), Status::kMalformed) << +version;
    EXPECT_EQ(alert, kAlertProtocolVersion) << +version;
  }
}

// Supported versions: TLS 1.3. Only its own suite is offered, as by a client without TLS 1.2.
TEST(TlsPeer, ServerRefusesClientsOfTls13Only) {
  std::vector<uint8_t> body = {3, 3};
  body.insert(body.end(), 32, 0x5a);
  Append(&body,
         "00"
         "00021301"
         "0100"
         "0007002b0003020304");
  int alert = kNoAlert;
  EXPECT_EQ(ServerStatusFor(HandshakeRecord(1, 1, body), &alert), Status::kMalformed);
  EXPECT_TRUE(alert == kAlertHandshakeFailure || alert == kAlertProtocolVersion) << alert;
}

TEST(TlsPeer, ClientRefusesServersOfOlderVersions) {
  for (const uint8_t version : FromHex("0102")) {  // TLS 1.0, TLS 1.1
    TlsPair pair;
    ASSERT_EQ(pair.client.Handshake(), Status::kWouldBlock);
    std::vector<uint8_t> body = {3, version};
    body.insert(body.end(), 32, 0x5a);
    Append(&body,
           "00"
           "00a8"
           "00");
    const std::vector<uint8_t> hello = HandshakeRecord(version, 2, body);
    pair.link.down.Send(hello.data(), hello.size());
    EXPECT_EQ(pair.client.Handshake(), Status::kMalformed) << +version;
    EXPECT_NE(AlertIn(pair.link.up), kNoAlert) << +version;
  }
}

// The ServerHello of a server that takes ECDHE-PSK-AES128-CBC-SHA256, PSK-AES128-CBC-SHA256 or
// PSK-AES128-CBC-SHA although the client did not offer it.
TEST(TlsPeer, ClientRefusesServersWithoutAuthenticatedEncryption) {
  for (const char* suite : {"c037", "00ae", "008c"}) {
    TlsPair pair;
    ASSERT_EQ(pair.client.Handshake(), Status::kWouldBlock);
    std::vector<uint8_t> body = {3, 3};
    body.insert(body.end(), 32, 0x5a);
    Append(&body, std::string("00") + suite + "00");
    const std::vector<uint8_t> hello = HandshakeRecord(3, 2, body);
    pair.link.down.Send(hello.data(), hello.size());
    EXPECT_EQ(pair.client.Handshake(), Status::kMalformed) << suite;
    EXPECT_NE(AlertIn(pair.link.up), kNoAlert) << suite;
  }
}

// Any host that reaches the link can send alerts before anybody is authenticated, and TLS has to
// ignore a warning.
TEST(TlsPeer, AHandshakeOfEndlessWarningsIsEndedOnBothSides) {
  constexpr size_t kCapacity = 100 * kMaxHandshakeBytes;
  std::vector<uint8_t> warnings;
  while (warnings.size() < kCapacity / 2) Append(&warnings, "1503030002015a");
  TlsPair pair(kCapacity);
  ASSERT_EQ(pair.client.Handshake(), Status::kWouldBlock);
  ASSERT_EQ(pair.server.Handshake(), Status::kWouldBlock);
  pair.link.down.on_the_way.clear();  // the ServerHello
  for (const auto& [session, pipe] :
       {std::pair(&pair.client, &pair.link.down), std::pair(&pair.server, &pair.link.up)}) {
    pipe->Send(warnings.data(), warnings.size());
    EXPECT_EQ(session->Handshake(), Status::kMalformed);
    EXPECT_GE(pipe->on_the_way.size() + kMaxHandshakeBytes + 7, warnings.size());
  }
}

TEST(TlsPeer, AnHonestHandshakeIsFarBelowTheLimitAndDataDoNotCount) {
  TlsPair pair;
  ASSERT_TRUE(pair.Connected());
  EXPECT_LT(8 * pair.link.up.history.size(), kMaxHandshakeBytes);
  EXPECT_LT(8 * pair.link.down.history.size(), kMaxHandshakeBytes);
  const std::vector<uint8_t> data(500);
  for (size_t total = 0; total < 2 * kMaxHandshakeBytes;) {
    size_t count = 0;
    ASSERT_EQ(pair.client.Write(View(data), &count), Status::kOk);
    total += count;
    uint8_t out[500];
    ASSERT_EQ(pair.server.Read(out, &count), Status::kOk);
  }
}

TEST(TlsPeer, BytesThatAreNoTlsAreRefused) {
  const std::string text = "GET / HTTP/1.1\r\nHost: pump-7\r\n\r\n";
  int alert = kNoAlert;
  EXPECT_EQ(ServerStatusFor({text.begin(), text.end()}, &alert), Status::kMalformed);
}

}  // namespace
}  // namespace sotto
