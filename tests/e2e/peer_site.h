// Nodes of one job without a server, and their directory, as processes on this machine: with a
// relay, or from node to node. And what the nodes' trainers do in this process, without messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "e2e/live.h"

namespace sotto::live {

constexpr uint32_t kNodes = 3;

class PeerSite {
 public:
  // What the nodes' trainers do if they are driven in turns, without messages.
  struct Expected {
    std::vector<float> head;
    uint32_t version = 0;
    std::vector<std::vector<float>> local;
  };

  explicit PeerSite(bool has_relay, std::string share = "always");

  // Again on the same port, once it has one.
  void StartDirectory(const Arguments& more = {});

  Process Node(uint32_t i, const Arguments& more = {}) const;
  void StartNodes();

  std::string NodePath(uint32_t i, const std::string& name) const;
  std::string HeadPath() const { return site.Path("head"); }

  Expected Drive() const;

  void ExpectEndsOfNodes();
  void ExpectEnds();
  void ExpectTheModelOf(const Expected& expected) const;

  uint16_t port() const { return port_; }
  uint16_t node_port(uint32_t i) const { return ports_[i]; }

  Arguments job = {"--batch-size", "2", "--noise", "0.015625", "--passes", "2"};

  Site site;
  Process directory;
  std::vector<Process> nodes;

 private:
  bool has_relay_;
  std::string share_;
  uint16_t port_ = 0;
  std::vector<uint16_t> ports_;
};

}  // namespace sotto::live
