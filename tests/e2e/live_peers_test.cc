// Nodes without a server as processes: with a directory and a relay, or from node to node; killed
// and started again at any moment.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <optional>
#include <poll.h>
#include <random>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>

#include <nlohmann/json.hpp>

#include "e2e/attack.h"
#include "e2e/live.h"
#include "sotto/data/device_share.h"
#include "sotto/data/partitions.h"
#include "sotto/data/source.h"
#include "sotto/key_labels.h"
#include "sotto/models.h"
#include "sotto/peer_node.h"
#include "sotto/peer_trainer.h"
#include "sotto/policy/policies.h"
#include "sotto/posix/acceptor.h"
#include "sotto/posix/record_store.h"
#include "sotto/posix/run_key.h"

namespace sotto::live {
namespace {

using Json = nlohmann::json;
using Model = std::vector<float>;

constexpr uint32_t kNodes = 3;
constexpr uint32_t kBatch = 2;

PeerJob Job() {
  PeerJob job;
  job.batch_size = kBatch;
  job.noise_q20 = 1 << 14;
  job.passes = 2;
  return job;
}

const Arguments kJob = {"--batch-size", "2", "--noise", "0.015625", "--passes", "2"};

Model ReadModel(const std::string& path) {
  const std::string bytes = ReadFile(path);
  Model model(bytes.size() / sizeof(float));
  std::memcpy(model.data(), bytes.data(), model.size() * sizeof(float));
  return model;
}

// The ports of nodes that listen. Nobody else uses this host.
uint16_t FreePort() { return posix::Acceptor(Host(), 0).port(); }

// What the nodes' trainers do if they are driven in turns, without messages.
struct Expected {
  Model head;
  uint32_t version = 0;
  std::vector<Model> local;
};

// A trainer with the memory, the samples and the ledger of a node.
class Driven {
 public:
  Driven(const Site& site, const Dataset& data, const Partition& partition, uint32_t number,
         const std::string& share)
      : store_(site.Path("driven-" + std::to_string(number))),
        samples_(data, partition.DeviceSamples(number)),
        entropy_(site.key(number).secret, &trainer_) {
    const ModelInfo& model = *FindModel("softmax-784-10");
    const std::string& id = site.key(number).device_id;
    for (Model& vector : vectors_) vector.resize(model.parameters);
    scratch_.resize(model.training_floats(model, kBatch));
    publication_.resize(MaxPublicationBytes(model.parameters));
    PeerConfig config;
    config.model = &model;
    config.job = Job();
    config.device_id = {reinterpret_cast<const uint8_t*>(id.data()), id.size()};
    config.secret = site.key(number).secret;
    config.samples = samples_.source();
    config.port.entropy = SeededPeerEntropy::Fill;
    config.port.context = &entropy_;
    config.store = store_.store();
    const auto span = [](Model& v) { return Span<float>(v.data(), v.size()); };
    EXPECT_EQ(trainer_.Begin(config, {span(vectors_[0]),
                                      span(vectors_[1]),
                                      span(vectors_[2]),
                                      span(vectors_[3]),
                                      span(scratch_),
                                      {indices_, kBatch},
                                      {publication_.data(), publication_.size()}}),
              Status::kOk);
    SharePolicyContext context;
    context.secret = config.secret;
    context.job_id = trainer_.job_id();
    context.parameters = model.parameters;
    policy_ = MakeSharePolicy(share, context);
  }

  PeerTrainer& trainer() { return trainer_; }
  SharePolicy policy() { return policy_->policy(); }
  const Model& head() const { return vectors_[2]; }

 private:
  posix::RecordStore store_;
  DeviceShare samples_;
  Model vectors_[4];
  Model scratch_;
  uint32_t indices_[kBatch] = {};
  std::vector<uint8_t> publication_;
  PeerTrainer trainer_;
  SeededPeerEntropy entropy_;
  std::unique_ptr<OwnedSharePolicy> policy_;
};

// Nodes of one job, and their directory.
class PeerSite {
 public:
  explicit PeerSite(bool has_relay, std::string share = "always")
      : site(kNodes, {"--seed", "7", "--insecure-seed"}),
        has_relay_(has_relay),
        share_(std::move(share)) {
    for (uint32_t i = 0; i < kNodes; ++i) ports_.push_back(has_relay ? uint16_t{0} : FreePort());
  }

  // Again on the same port, once it has one.
  void StartDirectory(const Arguments& more = {}) {
    std::remove(site.Path("port").c_str());
    Arguments arguments = {"peers",
                           "directory",
                           "--store",
                           site.Path("store"),
                           "--state",
                           site.Path("state"),
                           "--listen",
                           Address(port_),
                           "--port-file",
                           site.Path("port"),
                           "--peers",
                           std::to_string(kNodes),
                           "--order",
                           "turns",
                           "--seed",
                           "7",
                           "--insecure-seed",
                           "--json",
                           site.Path("directory.json"),
                           "-v"};
    arguments.insert(arguments.end(), job.begin(), job.end());
    if (has_relay_) arguments.insert(arguments.end(), {"--relay", "--model-out", HeadPath()});
    arguments.insert(arguments.end(), more.begin(), more.end());
    directory = site.Sotto(arguments, "directory.log");
    ASSERT_TRUE(Eventually([&] {
      std::ifstream file(site.Path("port"));
      return static_cast<bool>(file >> port_) || directory.Wait(0) != -1;
    }));
    ASSERT_NE(port_, 0) << ReadFile(site.Path("directory.log"));
  }

  Process Node(uint32_t i, const Arguments& more = {}) const {
    Arguments arguments = {"--peer",
                           "--share",
                           share_,
                           "--device",
                           std::to_string(i),
                           "--devices",
                           std::to_string(kNodes),
                           "--samples-per-device",
                           std::to_string(Site::kSamples),
                           "--partition-seed",
                           "7",
                           "--seed",
                           "7",
                           "--insecure-seed",
                           "--json",
                           NodePath(i, "json"),
                           "--model-out",
                           NodePath(i, "local"),
                           "--head-out",
                           NodePath(i, "head"),
                           "--serve-after",
                           "20"};
    arguments.insert(arguments.end(), job.begin(), job.end());
    if (!has_relay_) arguments.insert(arguments.end(), {"--listen", Address(ports_[i])});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return site.Client(i, port_, arguments);
  }
  void StartNodes() {
    for (uint32_t i = 0; i < kNodes; ++i) nodes.push_back(Node(i));
  }

  std::string NodePath(uint32_t i, const std::string& name) const {
    return site.Path("node-" + std::to_string(i) + "." + name);
  }
  std::string HeadPath() const { return site.Path("head"); }

  Expected Drive() const {
    DataSource source = ParseDataSource(site.Path("data/train-images-idx3-ubyte"));
    source.options = {{"labels", site.Path("data/train-labels-idx1-ubyte")}, {"format", "idx"}};
    const SharedDataset data = ReadDataset(source, FindModel("softmax-784-10"));
    const Partition partition =
        MakePartition(kDefaultPartition, *data, kNodes, Site::kSamples,
                      posix::DeriveKey(posix::RunKey(7), key_label::kPartition));
    std::vector<std::unique_ptr<Driven>> driven;
    for (uint32_t i = 0; i < kNodes; ++i) {
      driven.push_back(std::make_unique<Driven>(site, *data, partition, i, share_));
    }
    Expected expected;
    std::vector<uint8_t> head;
    for (uint32_t step = 0; step < driven[0]->trainer().steps(); ++step) {
      for (uint32_t i = 0; i < kNodes; ++i) {
        PeerTrainer& trainer = driven[i]->trainer();
        bool share = false;
        EXPECT_EQ(trainer.Decide(driven[i]->policy(), &share), Status::kOk);
        if (!share) {
          EXPECT_EQ(trainer.LearnAlone(), Status::kOk);
          continue;
        }
        EXPECT_EQ(trainer.SetHead({head.data(), head.size()}), Status::kOk);
        EXPECT_EQ(trainer.Publish(++expected.version, i), Status::kOk);
        head.assign(trainer.publication().begin(), trainer.publication().end());
        EXPECT_EQ(trainer.Adopt(true), Status::kOk);
        expected.head = driven[i]->head();
      }
    }
    for (auto& node : driven) {
      expected.local.emplace_back(node->trainer().local().begin(), node->trainer().local().end());
    }
    return expected;
  }

  void ExpectEndsOfNodes() {
    for (uint32_t i = 0; i < kNodes; ++i) {
      EXPECT_EQ(nodes[i].Wait(), 0) << ReadFile(site.ClientLog(i));
    }
  }
  void ExpectEnds() {
    ExpectEndsOfNodes();
    EXPECT_EQ(directory.Wait(), 0) << ReadFile(site.Path("directory.log"));
  }

  void ExpectTheModelOf(const Expected& expected) const {
    if (has_relay_) {
      EXPECT_EQ(ReadModel(HeadPath()), expected.head);
    }
    const Json results = Json::parse(ReadFile(site.Path("directory.json")));
    EXPECT_EQ(results["version"], expected.version);
    const uint32_t last = results["publisher"];
    EXPECT_EQ(ReadModel(NodePath(last, "head")), expected.head);
    for (uint32_t i = 0; i < kNodes; ++i) {
      EXPECT_EQ(ReadModel(NodePath(i, "local")), expected.local[i]) << "node " << i;
    }
  }

  // Kills a process at random moments and starts it again, while the nodes are at work.
  template <typename Restart>
  void KillAtRandom(int times, uint32_t seed, const Restart& restart) {
    std::mt19937 random(seed);
    for (int i = 0; i < times; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 120));
      restart(static_cast<uint32_t>(random()));
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  uint16_t port() const { return port_; }
  uint16_t node_port(uint32_t i) const { return ports_[i]; }

  Arguments job = kJob;

  Site site;
  Process directory;
  std::vector<Process> nodes;

 private:
  bool has_relay_;
  std::string share_;
  uint16_t port_ = 0;
  std::vector<uint16_t> ports_;
};

class LivePeers : public testing::TestWithParam<bool> {};

std::string RelayName(const testing::TestParamInfo<bool>& info) {
  return info.param ? "WithARelay" : "FromNodeToNode";
}

TEST_P(LivePeers, ReachTheModelOfTrainersDrivenInTurns) {
  for (const char* share : {"always", "coin:0.5"}) {
    SCOPED_TRACE(share);
    PeerSite peers(GetParam(), share);
    peers.StartDirectory();
    peers.StartNodes();
    peers.ExpectEnds();
    peers.ExpectTheModelOf(peers.Drive());
  }
}

TEST_P(LivePeers, NodesThatAreKilledAtRandomReachTheSameModel) {
  PeerSite peers(GetParam());
  // A node may be killed when the directory knows already that all have finished.
  peers.StartDirectory({"--stay"});
  peers.StartNodes();
  peers.KillAtRandom(12, 1, [&](uint32_t random) {
    const uint32_t i = random % kNodes;
    if (peers.nodes[i].Wait(0) != -1) return;  // it is done
    peers.nodes[i].Signal(SIGKILL);
    if (peers.nodes[i].Wait() == 0) return;  // it was done before the signal came
    peers.nodes[i] = peers.Node(i);
  });
  peers.ExpectEndsOfNodes();
  peers.directory.Signal(SIGTERM);
  EXPECT_EQ(peers.directory.Wait(), 128 + SIGTERM) << ReadFile(peers.site.Path("directory.log"));
  peers.ExpectTheModelOf(peers.Drive());
}

TEST_P(LivePeers, ADirectoryThatIsKilledAtRandomLosesNoVersion) {
  PeerSite peers(GetParam());
  peers.StartDirectory();
  peers.StartNodes();
  peers.KillAtRandom(6, 2, [&](uint32_t) {
    if (peers.directory.Wait(0) != -1) return;
    peers.directory.Signal(SIGKILL);
    if (peers.directory.Wait() == 0) return;  // it was done before the signal came
    peers.StartDirectory();
  });
  peers.ExpectEnds();
  peers.ExpectTheModelOf(peers.Drive());
}

INSTANTIATE_TEST_SUITE_P(Live, LivePeers, testing::Bool(), RelayName);

struct Simulated {
  const char* share;
  const char* rule;
  const char* publication_steps;
};

// Of a node's four steps a pass, a publication of three leaves one.
TEST(LivePeersTest, ReachTheSimulatorsModel) {
  for (const Simulated& job : {Simulated{"always", "average", "1"},
                               {"coin:0.5", "average", "1"},
                               {"always", "shared", "3"},
                               {"coin:0.5", "accumulate", "2"}}) {
    SCOPED_TRACE(std::string(job.share) + " " + job.rule);
    PeerSite peers(true, job.share);
    const Site& site = peers.site;
    Process simulation = site.Sotto({"peers",
                                     "simulate",
                                     "--peers",
                                     std::to_string(kNodes),
                                     "--share",
                                     job.share,
                                     "--rule",
                                     job.rule,
                                     "--publication-steps",
                                     job.publication_steps,
                                     "--samples-per-device",
                                     std::to_string(Site::kSamples),
                                     "--seed",
                                     "7",
                                     "--model",
                                     "softmax-784-10",
                                     "--data",
                                     site.Path("data"),
                                     "--batch-size",
                                     "2",
                                     "--epsilon",
                                     "50",
                                     "--passes",
                                     "2",
                                     "--model-out",
                                     site.Path("simulated"),
                                     "--job-out",
                                     site.Path("job.toml")},
                                    "simulate.log");
    ASSERT_EQ(simulation.Wait(), 0) << ReadFile(site.Path("simulate.log"));
    peers.job = {"--job", site.Path("job.toml")};
    peers.StartDirectory();
    peers.StartNodes();
    peers.ExpectEnds();
    EXPECT_FALSE(ReadFile(peers.HeadPath()).empty());
    EXPECT_EQ(ReadFile(peers.HeadPath()), ReadFile(site.Path("simulated")));
  }
}

// Strangers at the ports of nodes, as many as connect while the object lives: silent ones, ones
// that send a part of a handshake, and ones that send anything else.
class Strangers {
 public:
  explicit Strangers(const PeerSite& peers) {
    for (uint32_t i = 0; i < kNodes; ++i) ports_.push_back(peers.node_port(i));
    for (const Process& node : peers.nodes) nodes_.push_back(node.pid());
    thread_ = std::thread([this] { Run(); });
  }
  ~Strangers() { Leave(); }

  void Leave() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // Of any node at any moment. Strangers have left.
  size_t most_files() const { return most_files_; }
  size_t most_memory() const { return most_memory_; }
  size_t count() const { return count_; }

 private:
  void Run() {
    std::mt19937 random(1);
    std::vector<RawSocket> sockets(200);
    while (!is_over_) {
      for (const uint16_t port : ports_) Come(port, random, &sockets);
      for (const pid_t node : nodes_) Look(node);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void Come(uint16_t port, std::mt19937& random, std::vector<RawSocket>* sockets) {
    RawSocket socket(kAttackerAddress, port);
    if (!socket.is_open()) return;  // the node has not begun, or has ended
    const std::vector<uint8_t>& hello = ClientHelloRecord();
    std::vector<uint8_t> bytes(hello.begin(), hello.end());
    bytes.resize(random() % bytes.size());
    if (random() % 3 == 0) {
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    }
    if (random() % 3 != 0) socket.Send({bytes.data(), bytes.size()});
    (*sockets)[count_++ % sockets->size()] = std::move(socket);
  }

  void Look(pid_t node) {
    const std::string process = "/proc/" + std::to_string(node);
    std::error_code ended;
    const std::filesystem::directory_iterator files(process + "/fd", ended);
    if (!ended) most_files_ = std::max(most_files_, static_cast<size_t>(std::distance(files, {})));
    std::ifstream pages(process + "/statm");
    size_t all = 0;
    size_t resident = 0;
    if (pages >> all >> resident) most_memory_ = std::max(most_memory_, resident * 4096);
  }

  std::vector<uint16_t> ports_;
  std::vector<pid_t> nodes_;
  std::atomic<bool> is_over_{false};
  size_t count_ = 0;
  size_t most_files_ = 0;
  size_t most_memory_ = 0;
  std::thread thread_;
};

TEST(LivePeersTest, StrangersKeepNoNodeFromItsJob) {
#ifdef SOTTO_SANITIZED
  constexpr size_t kMemory = size_t{1} << 30;
#else
  constexpr size_t kMemory = 32 << 20;
#endif
  PeerSite peers(false);
  peers.StartDirectory();
  peers.StartNodes();
  Strangers strangers(peers);
  peers.ExpectEnds();
  strangers.Leave();
  EXPECT_GT(strangers.count(), 100u);
  EXPECT_LE(strangers.most_files(), 32u + 24u);
  EXPECT_LE(strangers.most_memory(), kMemory);
  peers.ExpectTheModelOf(peers.Drive());
}

// Forwards connections to a port, and ends each one when so many bytes have come from there.
class CuttingRelay {
 public:
  CuttingRelay(uint16_t port, size_t most)
      : acceptor_(Host(), 0), thread_([this, port, most] { Run(port, most); }) {}
  ~CuttingRelay() {
    is_over_ = true;
    thread_.join();
  }

  uint16_t port() const { return acceptor_.port(); }
  size_t cut() const { return cut_; }

 private:
  void Run(uint16_t port, size_t most) {
    while (!is_over_) {
      acceptor_.Accept(1, [&](int client, const posix::NetworkAddress&) {
        const RawSocket node(Host(), port);
        if (node.is_open()) Forward(client, node, most);
        posix::CloseSocket(client);
        return true;
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  void Forward(int client, const RawSocket& node, size_t left) {
    uint8_t bytes[1024];
    while (!is_over_) {
      pollfd wait = {client, POLLIN, 0};
      (void)poll(&wait, 1, 2);
      const ssize_t asked = recv(client, bytes, sizeof(bytes), MSG_DONTWAIT);
      if (asked == 0) return;
      if (asked > 0) node.Send({bytes, static_cast<size_t>(asked)});
      const int told = node.Receive({bytes, std::min(left, sizeof(bytes))});
      if (told < 0) return;
      send(client, bytes, static_cast<size_t>(told), MSG_NOSIGNAL);
      left -= static_cast<size_t>(told);
      if (left > 0) continue;
      ++cut_;
      return;
    }
  }

  std::atomic<bool> is_over_{false};
  std::atomic<size_t> cut_{0};
  posix::Acceptor acceptor_;
  std::thread thread_;  // the last one: it uses all of them
};

// The others build on the publication before.
TEST(LivePeersTest, ANodeWhoseRepliesAreCutHoldsUpNobody) {
  PeerSite peers(false);
  peers.job = {"--batch-size", "2", "--noise", "0.015625", "--passes", "1"};
  const CuttingRelay relay(peers.node_port(0), 3000);
  peers.StartDirectory();
  peers.nodes.push_back(peers.Node(0, {"--address", Address(relay.port())}));
  for (uint32_t i = 1; i < kNodes; ++i) peers.nodes.push_back(peers.Node(i));
  peers.ExpectEnds();
  EXPECT_GE(relay.cut(), PeerNode::kFetchTries);
  uint32_t fallbacks = 0;
  for (uint32_t i = 0; i < kNodes; ++i) {
    const Json results = Json::parse(ReadFile(peers.NodePath(i, "json")));
    EXPECT_EQ(results["releases"], 4) << i;
    fallbacks += results["fallbacks"].get<uint32_t>();
  }
  EXPECT_GE(fallbacks, 1u);
}

TEST(LivePeersTest, ANodeWhoseLedgerDoesNotPayEndsAsRefused) {
  PeerSite peers(true);
  peers.StartDirectory();
  Process node = peers.Node(0, {"--most-rho", "0.000001"});
  for (uint32_t i = 1; i < kNodes; ++i) peers.nodes.push_back(peers.Node(i));
  EXPECT_EQ(node.Wait(), 3) << ReadFile(peers.site.ClientLog(0));
  EXPECT_NE(ReadFile(peers.site.ClientLog(0)).find("does not pay for another publication"),
            std::string::npos);
  const Json results = Json::parse(ReadFile(peers.NodePath(0, "json")));
  EXPECT_EQ(results["releases"], 0);
  EXPECT_EQ(results["rho"], 0.0);
  // The others go on without it.
  for (Process& other : peers.nodes) EXPECT_EQ(other.Wait(), 0);
}

TEST(LivePeersTest, ANodeThatNobodyCanReachIsToldSo) {
  PeerSite peers(false);
  peers.StartDirectory();
  Process node = peers.site.Client(
      0, peers.port(),
      {"--peer", "--share", "always", "--batch-size", "2", "--noise", "0.015625", "--passes", "2"});
  EXPECT_EQ(node.Wait(), 3);
  EXPECT_NE(ReadFile(peers.site.ClientLog(0)).find("the directory has no relay"),
            std::string::npos);
}

TEST(LivePeersTest, ALedgerThatIsDamagedOrInUseIsRefused) {
  PeerSite peers(true);
  peers.StartDirectory();
  const std::string ledger = peers.site.Path("keys/" + peers.site.key(0).device_id + ".key.peer");
  Process first = peers.Node(0);  // waits for the others' turns
  ASSERT_TRUE(
      Eventually([&] { return Count(ReadFile(peers.site.ClientLog(0)), "is node 0 of 3") > 0; }));
  Process second = peers.Node(0);
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_NE(ReadFile(peers.site.ClientLog(0)).find("holds it"), std::string::npos);
  first.Signal(SIGTERM);
  EXPECT_EQ(first.Wait(), 143);
  std::ofstream(ledger) << "no ledger";
  ASSERT_EQ(chmod(ledger.c_str(), 0600), 0);
  Process third = peers.Node(0);
  EXPECT_EQ(third.Wait(), 2);
  EXPECT_NE(ReadFile(peers.site.ClientLog(0)).find("the ledger is damaged"), std::string::npos);
}

TEST(LivePeersTest, APolicyThatDecidesByPrivateLossesStatesNoFigure) {
  PeerSite peers(true, "deep-q");
  peers.StartDirectory();
  peers.StartNodes();
  peers.ExpectEnds();
  for (uint32_t i = 0; i < kNodes; ++i) {
    const Json results = Json::parse(ReadFile(peers.NodePath(i, "json")));
    EXPECT_TRUE(results["rho"].is_null());
    EXPECT_NE(results["statement"].get<std::string>().find("no epsilon is stated"),
              std::string::npos);
    EXPECT_EQ(ReadFile(peers.site.ClientLog(i)).find("rho ="), std::string::npos);
  }
}

TEST(LivePeersTest, APolicyThatDecidesByPublicLossesKeepsItsFigure) {
  PeerSite peers(true, "deep-q-public");
  peers.StartDirectory();
  Process without = peers.Node(0);
  const std::string data = peers.site.Path("data/train-images-idx3-ubyte") +
                           ":labels=" + peers.site.Path("data/train-labels-idx1-ubyte") +
                           ",format=idx";
  EXPECT_EQ(without.Wait(), 2);
  EXPECT_NE(ReadFile(peers.site.ClientLog(0)).find("--public-data"), std::string::npos);
  for (uint32_t i = 0; i < kNodes; ++i) {
    peers.nodes.push_back(peers.Node(i, {"--public-data", data}));
  }
  peers.ExpectEnds();
  for (uint32_t i = 0; i < kNodes; ++i) {
    const Json results = Json::parse(ReadFile(peers.NodePath(i, "json")));
    EXPECT_TRUE(results["rho"].is_number());
    EXPECT_NE(results["statement"].get<std::string>().find("costs zCDP rho"), std::string::npos);
  }
}

}  // namespace
}  // namespace sotto::live
