// A node that serves its publication to neighbours over TCP on this machine: what they get, and
// that strangers, nonsense and requests out of place get nothing and keep nobody out.
#include "neighbour_server.h"

#include <arpa/inet.h>
#include <atomic>
#include <filesystem>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "sotto/peer_job.h"
#include "sotto/posix/acceptor.h"
#include "unit/mutation.h"
#include "unit/server/directory_fixture.h"
#include "unit/server/peer_client.h"

namespace sotto::server {
namespace {

using posix::NeighbourServer;

constexpr uint32_t kServerFrame = 4096;

Key PairOf(const char* other) {
  Key key;
  key.bytes[0] = static_cast<uint8_t>(other[0]);
  return key;
}

class Neighbours : public testing::Test {
 protected:
  Neighbours() {
    EXPECT_EQ(PeerJobId(PeerModel(), TestPeerJob(), job_), Status::kOk);
    published_ = PublicationOf(job_, 3, 1, 0.5f);
    server_ =
        std::make_unique<NeighbourServer>(posix::HostPort{"127.0.0.1", 0}, job_, kServerFrame);
    server_->SetRoster(1, 3, {{"a", PairOf("a")}, {"c", PairOf("c")}});
    server_->SetPublication(published_.name, published_.view());
  }

  PeerClient Connect(const char* id) { return {server_->port(), {id, PairOf(id)}}; }
  PeerRequest Greet() const {
    PeerRequest request = Ask(PeerRequest::Kind::kGreet);
    request.job_id = job_;
    request.max_frame = kClientFrame;
    return request;
  }
  PeerRequest Get(uint32_t offset = 0) const {
    PeerRequest request = Ask(PeerRequest::Kind::kGetPublication);
    request.publication = published_.name;
    request.offset = offset;
    return request;
  }
  static void ExpectRefused(const PeerReply& reply, ErrorCode code) {
    EXPECT_EQ(reply.kind, PeerReply::Kind::kError);
    EXPECT_EQ(reply.code, code);
    EXPECT_TRUE(reply.final);
  }
  void ExpectServes(const char* id) {
    PeerClient client = Connect(id);
    const PeerReply welcome = client.Ask(Greet());
    EXPECT_EQ(welcome.kind, PeerReply::Kind::kWelcome);
    EXPECT_EQ(welcome.node, 1u);
    std::vector<uint8_t> fetched;
    while (fetched.size() < published_.bytes.size()) {
      const PeerReply chunk = client.Ask(Get(static_cast<uint32_t>(fetched.size())));
      ASSERT_EQ(chunk.kind, PeerReply::Kind::kChunk);
      fetched.insert(fetched.end(), chunk.bytes.begin(), chunk.bytes.end());
    }
    EXPECT_EQ(fetched, published_.bytes);
  }

  uint8_t job_[kJobIdSize] = {};
  Published published_;
  std::unique_ptr<NeighbourServer> server_;
};

TEST_F(Neighbours, EachOfThemGetsTheSameBytes) {
  ExpectServes("a");
  ExpectServes("c");
  EXPECT_EQ(server_->served(), 2u);
}

TEST_F(Neighbours, WhoeverHasNoPairKeyReachesNothing) {
  Device wrong = {"a", PairOf("a")};
  wrong.secret.bytes[31] = 1;
  for (const Device& device : {wrong, Device{"b", PairOf("b")}, Device{"A", PairOf("a")}}) {
    PeerClient client(server_->port(), device);
    PeerReply reply;
    EXPECT_NE(client.Exchange(Greet(), &reply), Status::kOk) << device.id;
  }
  EXPECT_EQ(server_->served(), 0u);
  ExpectServes("a");
}

TEST_F(Neighbours, ARequestOutOfPlaceIsRefused) {
  PeerClient client = Connect("a");
  ExpectRefused(client.Ask(Get()), ErrorCode::kMalformed);  // before a greeting
  PeerRequest other_version = Greet();
  other_version.version += 1;
  ExpectRefused(client.Ask(other_version), ErrorCode::kVersion);
  PeerRequest other_job = Greet();
  const uint8_t other[kJobIdSize] = {1};
  other_job.job_id = other;
  ExpectRefused(client.Ask(other_job), ErrorCode::kWrongAttempt);
  ExpectRefused(client.Ask(Get()), ErrorCode::kMalformed);
  EXPECT_EQ(client.Ask(Greet()).kind, PeerReply::Kind::kWelcome);
  for (const auto kind :
       {PeerRequest::Kind::kLease, PeerRequest::Kind::kFinished, PeerRequest::Kind::kRosterEntry}) {
    ExpectRefused(client.Ask(Ask(kind)), ErrorCode::kMalformed);
  }
  PeerRequest behind_its_end = Get(published_.name.size);
  behind_its_end.publication.size += 1;
  ExpectRefused(client.Ask(behind_its_end), ErrorCode::kMalformed);
  PeerRequest older = Get();
  older.publication.version = 2;
  ExpectRefused(client.Ask(older), ErrorCode::kWrongAttempt);
  PeerRequest forged = Get();
  forged.publication.digest[0] ^= 1;
  ExpectRefused(client.Ask(forged), ErrorCode::kWrongAttempt);
  EXPECT_EQ(client.Ask(Get()).kind, PeerReply::Kind::kChunk);
}

// A publication that was replaced while it was fetched is never mixed with the next one.
TEST_F(Neighbours, AFetchAcrossTwoPublicationsIsRefused) {
  PeerClient client = Connect("a");
  client.Ask(Greet());
  const PeerReply chunk = client.Ask(Get());
  ASSERT_EQ(chunk.kind, PeerReply::Kind::kChunk);
  const auto got = static_cast<uint32_t>(chunk.bytes.size());
  const Published next = PublicationOf(job_, 4, 1, 0.25f);
  server_->SetPublication(next.name, next.view());
  ExpectRefused(client.Ask(Get(got)), ErrorCode::kWrongAttempt);
}

TEST_F(Neighbours, AFrameThatIsNoRequestEndsTheLinkAndNoOther) {
  PeerClient honest = Connect("c");
  EXPECT_EQ(honest.Ask(Greet()).kind, PeerReply::Kind::kWelcome);
  const std::vector<std::vector<uint8_t>> frames = {
      {3, 0, 0xff, 0xff, 0xff},        // no message
      {0xff, 0xff, 0x0a, 0x0b, 0x0c},  // longer than any frame
      {0, 0},                          // empty
      {6, 0, 0x92, 0x03, 0x02, 0x08, 1, 0}};
  for (const std::vector<uint8_t>& frame : frames) {
    PeerClient client = Connect("a");
    client.Ask(Greet());
    ByteSpan body;
    EXPECT_NE(client.ExchangeFrame({frame.data(), frame.size()}, &body), Status::kOk);
  }
  EXPECT_EQ(honest.Ask(Get()).kind, PeerReply::Kind::kChunk);
}

TEST_F(Neighbours, ANewConnectionReplacesTheFormerOneOfTheSameNeighbour) {
  std::vector<std::unique_ptr<PeerClient>> hoard;
  for (size_t i = 0; i < NeighbourServer::kMostConnections + 1; ++i) {
    hoard.push_back(std::make_unique<PeerClient>(server_->port(), Device{"a", PairOf("a")}));
    EXPECT_EQ(hoard.back()->Ask(Greet()).kind, PeerReply::Kind::kWelcome);
  }
  PeerReply reply;
  EXPECT_NE(hoard.front()->Exchange(Get(), &reply), Status::kOk);
  ExpectServes("c");
  EXPECT_EQ(hoard.back()->Ask(Get()).kind, PeerReply::Kind::kChunk);
}

// A plain connection from this address.
class Stranger {
 public:
  Stranger(const char* address, uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in from{};
    from.sin_family = AF_INET;
    inet_pton(AF_INET, address, &from.sin_addr);
    sockaddr_in to = from;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&from), sizeof(from)), 0);
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  }
  ~Stranger() { close(socket_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  // The server may have hung up.
  void Send(const std::string& bytes) const {
    (void)send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // Waits until the server hangs up.
  void AwaitEnd() const {
    char bytes[512];
    while (recv(socket_, bytes, sizeof(bytes), 0) > 0) {
    }
  }

 private:
  int socket_;
};

constexpr char kElsewhere[] = "127.0.0.2";

std::vector<std::unique_ptr<Stranger>> Crowd(size_t count, uint16_t port) {
  std::vector<std::unique_ptr<Stranger>> crowd;
  while (crowd.size() < count) crowd.push_back(std::make_unique<Stranger>(kElsewhere, port));
  return crowd;
}

size_t OpenFiles() {
  const std::filesystem::directory_iterator begin("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin, {}));
}

// More silent strangers than there are places for them come while a neighbour's link is slow.
TEST_F(Neighbours, AFloodFromOneAddressClosesItsOwnConnections) {
  const size_t before = OpenFiles();
  PeerClient slow = Connect("a");
  {
    const auto crowd = Crowd(3 * NeighbourServer::kMostConnections, server_->port());
    crowd.front()->AwaitEnd();
    EXPECT_LE(OpenFiles(), before + 2 + crowd.size() + NeighbourServer::kMostConnections);
    EXPECT_EQ(slow.Ask(Greet()).kind, PeerReply::Kind::kWelcome);
    ExpectServes("c");
  }
  for (int i = 0; i < 100 && OpenFiles() > before + 2; ++i) usleep(50000);
  EXPECT_LE(OpenFiles(), before + 2) << "of those who left";
}

// What a neighbour says first, as it is, cut off or spoilt.
std::string ClientHello(const Device& device) {
  const posix::Acceptor acceptor("127.0.0.1", 0);
  PeerClient client(acceptor.port(), device);
  std::thread talk([&] {
    const uint8_t job[kJobIdSize] = {};
    PeerRequest greet = Ask(PeerRequest::Kind::kGreet);
    greet.job_id = job;
    greet.max_frame = kClientFrame;
    PeerReply reply;
    EXPECT_NE(client.Exchange(greet, &reply), Status::kOk);
  });
  const int socket = accept(acceptor.socket(), nullptr, nullptr);
  char bytes[2048];
  const ssize_t size = recv(socket, bytes, sizeof(bytes), 0);
  close(socket);
  talk.join();
  return {bytes, static_cast<size_t>(std::max<ssize_t>(0, size))};
}

TEST_F(Neighbours, HalfAndSpoiltHandshakesKeepNobodyOut) {
  const std::string hello = ClientHello({"a", PairOf("a")});
  ASSERT_GT(hello.size(), 50u);
  MutationRandom random(1);
  for (uint64_t i = 0; i < 300; ++i) {
    const Stranger stranger(kElsewhere, server_->port());
    stranger.Send(i < hello.size() ? hello.substr(0, i) : MutatedBytes(random, hello));
    if (i % 100 == 0) ExpectServes("c");
  }
  const auto crowd = Crowd(NeighbourServer::kMostConnections, server_->port());
  for (const auto& stranger : crowd) stranger->Send(hello + hello);
  ExpectServes("a");
}

TEST_F(Neighbours, SpoiltRequestsEndTheirLinkAlone) {
  PeerClient honest = Connect("c");
  EXPECT_EQ(honest.Ask(Greet()).kind, PeerReply::Kind::kWelcome);
  uint8_t frame[256];
  for (const PeerRequest& request : {Greet(), Get(), Get(200)}) {
    size_t size = 0;
    ASSERT_EQ(EncodePeerRequest(request, sizeof(frame), frame, &size), Status::kOk);
    const std::string good(frame, frame + size);
    MutationRandom random(size);
    for (int i = 0; i < 20; ++i) {
      // A frame whose length is right, so that its reader gets it.
      std::string spoilt = MutatedBytes(random, good.substr(kFrameHeaderSize)).substr(0, 300);
      spoilt.insert(0, {static_cast<char>(spoilt.size()), static_cast<char>(spoilt.size() >> 8)});
      PeerClient client = Connect("a");
      client.Ask(Greet());
      ByteSpan body;
      PeerReply reply;
      const ByteSpan bytes(reinterpret_cast<const uint8_t*>(spoilt.data()), spoilt.size());
      if (client.ExchangeFrame(bytes, &body) != Status::kOk) continue;
      EXPECT_EQ(DecodePeerReply(body, &reply), Status::kOk);
    }
  }
  EXPECT_EQ(honest.Ask(Get()).kind, PeerReply::Kind::kChunk);
}

// A neighbour that sends greetings as fast as its link takes them, and takes every answer.
class Flood {
 public:
  Flood(uint16_t port, const Device& device, const PeerRequest& request) {
    EXPECT_EQ(stream_.Connect("127.0.0.1", port, kClientPatienceMs), Status::kOk);
    Key psk;
    EXPECT_EQ(DeriveTlsKey(device.secret, &psk), Status::kOk);
    const auto* id = reinterpret_cast<const uint8_t*>(device.id.data());
    EXPECT_EQ(context_.InitClient(posix::SystemPort(), {id, device.id.size()}, psk), Status::kOk);
    EXPECT_EQ(session_.Start(&context_, {Send, Receive, &stream_}), Status::kOk);
    uint8_t frame[256];
    size_t size = 0;
    EXPECT_EQ(EncodePeerRequest(request, sizeof(frame), frame, &size), Status::kOk);
    while (batch_.size() < 16000) batch_.insert(batch_.end(), frame, frame + size);
    thread_ = std::thread([this] { Run(); });
  }
  ~Flood() {
    is_over_ = true;
    thread_.join();
    EXPECT_GT(answered_, 0u);
  }

 private:
  static int Send(void* stream, const uint8_t* bytes, size_t size) {
    return static_cast<posix::TcpStream*>(stream)->Send({bytes, size});
  }
  static int Receive(void* stream, uint8_t* bytes, size_t size) {
    return static_cast<posix::TcpStream*>(stream)->Receive({bytes, size});
  }

  void Run() {
    while (!is_over_ && session_.Handshake() != Status::kOk) stream_.Wait(false, 10);
    size_t sent = 0;
    while (!is_over_) {
      size_t some = 0;
      if (session_.Write({batch_.data() + sent, batch_.size() - sent}, &some) == Status::kOk) {
        sent = (sent + some) % batch_.size();
      }
      uint8_t answers[4096];
      while (session_.Read(answers, &some) == Status::kOk && some > 0) answered_ += some;
    }
  }

  posix::TcpStream stream_;
  TlsContext context_;
  TlsSession session_;
  std::vector<uint8_t> batch_;
  size_t answered_ = 0;
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

TEST_F(Neighbours, OneThatFloodsIsAnsweredInTurn) {
  const Flood flood(server_->port(), {"a", PairOf("a")}, Greet());
  usleep(100000);
  const uint64_t begin_ms = posix::NowMs();
  ExpectServes("c");
  EXPECT_LT(posix::NowMs() - begin_ms, 5000u);
}

// Each of many nodes keeps its link open behind its fetch.
TEST_F(Neighbours, TheOneThatIsIdleLongestMakesRoom) {
  std::map<std::string, Key> keys;
  std::vector<std::string> names;
  for (size_t i = 0; i <= NeighbourServer::kMostConnections; ++i) {
    names.push_back("node-" + std::to_string(i));
    keys[names.back()] = PairOf("n");
  }
  server_->SetRoster(1, 40, keys);
  std::vector<std::unique_ptr<PeerClient>> nodes;
  for (const std::string& name : names) {
    if (&name == &names.back()) usleep(1200000);
    nodes.push_back(std::make_unique<PeerClient>(server_->port(), Device{name, PairOf("n")}));
    EXPECT_EQ(nodes.back()->Ask(Greet()).kind, PeerReply::Kind::kWelcome) << name;
  }
  PeerReply reply;
  EXPECT_NE(nodes[0]->Exchange(Get(), &reply), Status::kOk);
  EXPECT_EQ(nodes[1]->Ask(Get()).kind, PeerReply::Kind::kChunk);
}

// More silent strangers than there are places for them, and some that say nonsense.
TEST_F(Neighbours, StrangersDoNotKeepANeighbourOut) {
  std::vector<std::unique_ptr<posix::TcpStream>> strangers;
  for (size_t i = 0; i < 2 * NeighbourServer::kMostConnections; ++i) {
    strangers.push_back(std::make_unique<posix::TcpStream>());
    ASSERT_EQ(strangers.back()->Connect("127.0.0.1", server_->port(), kClientPatienceMs),
              Status::kOk);
    const uint8_t nonsense[] = "GET / HTTP/1.1";
    if (i % 3 == 0) strangers.back()->Send(nonsense);
  }
  ExpectServes("a");
}

}  // namespace
}  // namespace sotto::server
