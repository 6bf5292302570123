// A directory over TCP on this machine, asked by a plain client: SecureLink, no node.
#include "net/directory_server.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "unit/server/directory_fixture.h"
#include "unit/server/peer_client.h"

namespace sotto::server {
namespace {

using Kind = PeerReply::Kind;

Device DeviceOf(const std::string& id) {
  Device device{id, {}};
  device.secret.bytes[0] = static_cast<uint8_t>(id[0]);
  return device;
}

class DirectoryNetwork : public testing::Test {
 protected:
  DirectoryNetwork() {
    for (const char* id : {"a", "b", "outside"}) devices_.Register(DeviceOf(id));
    DirectoryState state;
    ContinueState(PeerModel(), TestPeerJob(), true, {"a", "b"}, &state);
    job_.assign(std::begin(state.job_id), std::end(state.job_id));
    DirectoryOptions options;
    options.model = &PeerModel();
    options.job = TestPeerJob();
    directory_ = std::make_unique<Directory>(options, state, Key(), std::vector<uint8_t>(),
                                             std::vector<uint8_t>(), &log_);
    DirectoryServerOptions server;
    server.port = 0;
    server.limits = {16384, 3000, 60000};
    server.must_stop = [this] { return stop_.load(); };
    server_ = std::make_unique<DirectoryServer>(server, devices_, directory_.get(),
                                                [](const std::string&, bool) {});
    thread_ = std::thread([this] { finished_ = server_->Run(); });
  }
  ~DirectoryNetwork() override { Stop(); }

  // Whether all nodes had finished.
  bool Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return finished_;
  }

  ByteSpan job() const { return {job_.data(), job_.size()}; }

  DeviceRegistry devices_;
  MemoryLog log_;
  std::vector<uint8_t> job_;
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<DirectoryServer> server_;
  std::atomic<bool> stop_{false};
  bool finished_ = false;
  std::thread thread_;
};

TEST_F(DirectoryNetwork, ANodePublishesAnotherFetchesAndBothFinish) {
  auto a = std::make_unique<PeerClient>(server_->port(), DeviceOf("a"));
  auto b = std::make_unique<PeerClient>(server_->port(), DeviceOf("b"));
  EXPECT_EQ(a->Join(job()).node, 0u);
  EXPECT_EQ(b->Join(job()).node, 1u);
  const PeerReply lease = a->Ask(Ask(PeerRequest::Kind::kLease));
  ASSERT_EQ(lease.kind, Kind::kGranted);
  EXPECT_EQ(b->Ask(Ask(PeerRequest::Kind::kLease)).kind, Kind::kWait);
  uint8_t id[kJobIdSize];
  std::copy(job_.begin(), job_.end(), id);
  const Published published = PublicationOf(id, 1, 0, 0.5f);
  PeerRequest stage = Ask(PeerRequest::Kind::kStage);
  stage.publication = published.name;
  while (stage.offset < published.name.size) {
    const size_t rest = published.name.size - stage.offset;
    stage.bytes =
        published.view().subspan(stage.offset, std::min<size_t>(rest, MaxStageBytes(kClientFrame)));
    const PeerReply staged = a->Ask(stage);
    ASSERT_EQ(staged.kind, Kind::kStaged);
    ASSERT_GT(staged.offset, stage.offset);
    stage.offset = staged.offset;
  }
  PeerRequest commit = Ask(PeerRequest::Kind::kCommit);
  commit.publication = published.name;
  commit.fence = lease.fence;
  commit.previous = lease.head.digest;
  EXPECT_TRUE(a->Ask(commit).accepted);
  EXPECT_TRUE(a->Ask(commit).accepted) << "repeated";

  PeerRequest get = Ask(PeerRequest::Kind::kGetPublication);
  get.publication = b->Ask(Ask(PeerRequest::Kind::kLease)).head;
  std::vector<uint8_t> fetched;
  while (fetched.size() < published.name.size) {
    get.offset = static_cast<uint32_t>(fetched.size());
    const PeerReply chunk = b->Ask(get);
    ASSERT_EQ(chunk.kind, Kind::kChunk);
    fetched.insert(fetched.end(), chunk.bytes.begin(), chunk.bytes.end());
  }
  EXPECT_EQ(fetched, published.bytes);
  EXPECT_EQ(a->Ask(Ask(PeerRequest::Kind::kFinished)).kind, Kind::kDone);
  EXPECT_EQ(b->Ask(Ask(PeerRequest::Kind::kFinished)).kind, Kind::kDone);
  a.reset();
  b.reset();
  thread_.join();
  EXPECT_TRUE(finished_);
  EXPECT_EQ(log_.state().head.version, 1u);
}

TEST_F(DirectoryNetwork, WhoeverHasNoKeyOfTheRosterReachesNothing) {
  Device wrong = DeviceOf("a");
  wrong.secret.bytes[31] = 1;
  for (const Device& device : {wrong, DeviceOf("outside"), DeviceOf("unknown")}) {
    PeerClient client(server_->port(), device);
    PeerReply reply;
    EXPECT_NE(client.Exchange(Ask(PeerRequest::Kind::kLease), &reply), Status::kOk) << device.id;
  }
  EXPECT_FALSE(Stop());
  EXPECT_EQ(directory_->counts().leases, 0u);
}

TEST_F(DirectoryNetwork, ANodesNewConnectionReplacesItsFormerOne) {
  PeerClient first(server_->port(), DeviceOf("a"));
  first.Join(job());
  const PeerReply lease = first.Ask(Ask(PeerRequest::Kind::kLease));
  PeerClient second(server_->port(), DeviceOf("a"));
  second.Join(job());
  EXPECT_EQ(second.Ask(Ask(PeerRequest::Kind::kLease)).fence, lease.fence);
  PeerReply reply;
  EXPECT_NE(first.Exchange(Ask(PeerRequest::Kind::kLease), &reply), Status::kOk);
}

TEST_F(DirectoryNetwork, AFrameThatIsNoRequestIsRefusedAndTheLinkStays) {
  PeerClient client(server_->port(), DeviceOf("b"));
  const uint8_t garbage[] = {3, 0, 0xff, 0xff, 0xff};
  ByteSpan body;
  ASSERT_EQ(client.ExchangeFrame(garbage, &body), Status::kOk);
  PeerReply reply;
  ASSERT_EQ(DecodePeerReply(body, &reply), Status::kOk);
  EXPECT_EQ(reply.kind, Kind::kError);
  EXPECT_EQ(reply.code, ErrorCode::kMalformed);
  EXPECT_TRUE(reply.final);
  EXPECT_EQ(client.Join(job()).kind, Kind::kWelcome);
}

// More silent strangers than there are places for them, and some that say nonsense.
TEST_F(DirectoryNetwork, StrangersDoNotKeepANodeOut) {
  std::vector<std::unique_ptr<posix::TcpStream>> strangers;
  for (size_t i = 0; i < 2 * DirectoryServer::kMostStrangers; ++i) {
    strangers.push_back(std::make_unique<posix::TcpStream>());
    ASSERT_EQ(strangers.back()->Connect("127.0.0.1", server_->port(), kClientPatienceMs),
              Status::kOk);
    const uint8_t nonsense[] = "GET / HTTP/1.1";
    if (i % 3 == 0) strangers.back()->Send(nonsense);
  }
  PeerClient client(server_->port(), DeviceOf("a"));
  EXPECT_EQ(client.Join(job()).kind, Kind::kWelcome);
}

TEST_F(DirectoryNetwork, ADiskThatFailsEndsTheServerBeforeAnythingIsAnswered) {
  PeerClient client(server_->port(), DeviceOf("a"));
  client.Join(job());
  Stop();
  log_.fails_before = true;
  stop_ = false;
  std::string failure;
  thread_ = std::thread([&] {
    try {
      server_->Run();
    } catch (const std::runtime_error& error) {
      failure = error.what();
    }
  });
  PeerRequest commit = Ask(PeerRequest::Kind::kFinished);
  PeerReply reply;
  std::thread asking([&] { EXPECT_NE(client.Exchange(commit, &reply), Status::kOk); });
  thread_.join();
  EXPECT_EQ(failure, "the disk is full");
  server_.reset();
  asking.join();
}

}  // namespace
}  // namespace sotto::server
