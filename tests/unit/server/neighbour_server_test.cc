// A node that serves its publication to neighbours over TCP on this machine: what they get, and
// that strangers, nonsense and requests out of place get nothing and keep nobody out.
#include "neighbour_server.h"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "sotto/peer_job.h"
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
