// Nodes that listen for one another among strangers, behind a link that is cut, and one that nobody
// can reach.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <poll.h>
#include <random>
#include <sys/socket.h>
#include <thread>

#include <nlohmann/json.hpp>

#include "e2e/attack.h"
#include "e2e/peer_site.h"
#include "sotto/peer_node.h"
#include "sotto/posix/acceptor.h"

namespace sotto::live {
namespace {

using Json = nlohmann::json;

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

TEST(LiveListeningPeersTest, StrangersKeepNoNodeFromItsJob) {
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
      acceptor_.Accept(1, [&](int client, const posix::IpAddress&) {
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
TEST(LiveListeningPeersTest, ANodeWhoseRepliesAreCutHoldsUpNobody) {
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

TEST(LiveListeningPeersTest, ANodeThatNobodyCanReachIsToldSo) {
  PeerSite peers(false);
  peers.StartDirectory();
  Process node = peers.site.Client(
      0, peers.port(),
      {"--peer", "--share", "always", "--batch-size", "2", "--noise", "0.015625", "--passes", "2"});
  EXPECT_EQ(node.Wait(), 3);
  EXPECT_NE(ReadFile(peers.site.ClientLog(0)).find("the directory has no relay"),
            std::string::npos);
}

}  // namespace
}  // namespace sotto::live
