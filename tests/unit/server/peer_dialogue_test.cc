// Nodes of the SDK with the server's directory, in one process: cut, killed and restarted at every
// event.
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "unit/sdk/peer_town.h"
#include "unit/server/directory_fixture.h"

namespace sotto::server {
namespace {

constexpr uint32_t kTownNodes = 2;

// A town whose directory is the server's, in turns.
class ServedTown {
 public:
  explicit ServedTown(bool has_relay) : town(kTownNodes, has_relay), has_relay_(has_relay) {
    options_.model = &kTownModel;
    options_.job = TownJob();
    options_.order = LeaseOrder::kTurns;
    options_.lease_ms = kLeaseMs;
    key_.bytes[0] = 9;
    town.answer = [this](uint32_t node, const PeerRequest& request) {
      return directory_->Answer(&sessions_[node], request, town.now_ms);
    };
    town.head = [this] { return directory_->state().head; };
    town.head_bytes = [this] { return sotto::BytesOf(directory_->head_bytes()); };
    Restart();
    town.Start();
  }

  // From what was durable. All links are cut.
  void Restart() {
    DirectoryState state = log_.state();
    ContinueState(kTownModel, options_.job, has_relay_, {"node-0", "node-1"}, &state);
    log_.Save(state, {});
    directory_ = std::make_unique<Directory>(options_, state, key_, log_.BytesOf(state.head),
                                             log_.BytesOf(state.parent), &log_);
    for (uint32_t i = 0; i < kTownNodes; ++i) {
      sessions_[i] = {};
      sessions_[i].node = i;
      if (town.nodes[i]->is_alive()) town.nodes[i]->node().OnDirectoryLinkClosed();
    }
  }

  const DirectoryCounts& counts() const { return directory_->counts(); }

  Town town;

 private:
  bool has_relay_;
  DirectoryOptions options_;
  Key key_;
  MemoryLog log_;
  DirectorySession sessions_[kTownNodes];
  std::unique_ptr<Directory> directory_;
};

struct Expected {
  Bytes head;
  std::vector<std::vector<float>> local;
};

Expected DirectDrive() {
  Town town(kTownNodes, true);
  Expected expected;
  expected.head = Town::ExpectedHead(town, &expected.local);
  return expected;
}

void ExpectSame(Town& town, const Expected& expected) {
  EXPECT_EQ(town.HeadBytes(), expected.head);
  EXPECT_EQ(town.head().version, kTownNodes * kTownSteps);
  for (size_t i = 0; i < town.nodes.size(); ++i) {
    const Span<const float> local = town.nodes[i]->trainer().local();
    EXPECT_EQ(std::vector<float>(local.begin(), local.end()), expected.local[i]) << "node " << i;
  }
  town.ExpectOneReleaseAStep();
}

class PeerDialogue : public testing::TestWithParam<bool> {};

TEST_P(PeerDialogue, NodesAndDirectoryReachTheModelOfTrainersDrivenInTurns) {
  ServedTown served(GetParam());
  served.town.Run();
  ExpectSame(served.town, DirectDrive());
  EXPECT_EQ(served.counts().refused, 0u);
  EXPECT_EQ(served.counts().stale, 0u);
}

TEST_P(PeerDialogue, NodesCutOrKilledAtAnyEventReachTheSameModel) {
  const Expected expected = DirectDrive();
  ServedTown calm(GetParam());
  calm.town.Run();
  for (uint32_t at = 0; at < calm.town.events; ++at) {
    for (const Trouble trouble : kTroubles) {
      SCOPED_TRACE(testing::Message() << "event " << at << ", trouble " << int(trouble));
      ServedTown served(GetParam());
      served.town.Run(trouble, at);
      ExpectSame(served.town, expected);
      if (HasFailure()) return;
    }
  }
}

TEST_P(PeerDialogue, ADirectoryRestartedAtAnyEventLosesNoVersion) {
  const Expected expected = DirectDrive();
  for (uint32_t at = 0; at < 150; ++at) {
    SCOPED_TRACE(at);
    ServedTown served(GetParam());
    for (uint32_t i = 0; i < at; ++i) served.town.RunOne(i % kTownNodes);
    served.Restart();
    served.town.Run();
    ExpectSame(served.town, expected);
    if (HasFailure()) return;
  }
}

TEST_P(PeerDialogue, WithFreshNoiseNoStepIsReleasedTwice) {
  for (uint32_t at = 0; at < 120; ++at) {
    for (const Trouble trouble : kTroubles) {
      SCOPED_TRACE(testing::Message() << "event " << at << ", trouble " << int(trouble));
      ServedTown served(GetParam());
      for (auto& node : served.town.nodes) node->noise_is_fresh = true;
      served.town.Run(trouble, at);
      EXPECT_EQ(served.town.head().version, kTownNodes * kTownSteps) << "a version was lost";
      served.town.ExpectOneReleaseAStep();
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Relay, PeerDialogue, testing::Bool());

}  // namespace
}  // namespace sotto::server
