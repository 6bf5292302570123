// Nodes without a server as processes: with a directory and a relay, or from node to node; killed
// and started again at any moment.
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sys/stat.h>
#include <thread>

#include <nlohmann/json.hpp>

#include "e2e/peer_site.h"

namespace sotto::live {
namespace {

using Json = nlohmann::json;

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

TEST_P(LivePeers, NodesThatAreKilledAtRandomReachTheSameModel) {
  PeerSite peers(GetParam());
  // A node may be killed when the directory knows already that all have finished.
  peers.StartDirectory({"--stay"});
  peers.StartNodes();
  KillAtRandom(12, 1, [&](uint32_t random) {
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
  KillAtRandom(6, 2, [&](uint32_t) {
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
