// A node without a server whose replies the test writes by hand.
#pragma once

#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "peer_town.h"

namespace sotto {

class ByHand : public testing::Test {
 protected:
  void Begin(bool has_relay = true) {
    town_ = std::make_unique<Town>(2, has_relay);
    node().Start();
  }
  TownNode& node() { return *town_->nodes[0]; }
  PeerNode& peer() { return node().node(); }

  // Steps until the node sends or waits.
  PeerNode::Progress Next() {
    PeerNode::Progress progress = PeerNode::Progress::kAgain;
    for (int i = 0; i < 100 && progress == PeerNode::Progress::kAgain; ++i) {
      EXPECT_EQ(peer().Step(&progress), Status::kOk);
    }
    return progress;
  }
  void ExpectRequest(PeerRequest::Kind kind) {
    ASSERT_EQ(Next(), PeerNode::Progress::kSend);
    ASSERT_EQ(peer().request().kind, kind);
  }

  void Join(bool has_relay = true) {
    ExpectRequest(PeerRequest::Kind::kJoin);
    PeerReply reply;
    reply.kind = PeerReply::Kind::kWelcome;
    reply.nodes = 3;
    reply.has_relay = has_relay;
    ASSERT_EQ(peer().OnReply(reply), Status::kOk);
  }
  void Grant(const PeerHead& head, const PeerHead& parent, uint32_t fence = 1) {
    ExpectRequest(PeerRequest::Kind::kLease);
    ASSERT_EQ(peer().OnReply(Granted(head, parent, fence)), Status::kOk);
  }
  static PeerReply Granted(const PeerHead& head, const PeerHead& parent, uint32_t fence) {
    PeerReply reply;
    reply.kind = PeerReply::Kind::kGranted;
    reply.fence = fence;
    reply.wait_ms = 1000;
    reply.head = head;
    reply.parent = parent;
    return reply;
  }
  static PeerReply Chunk(ByteSpan bytes) {
    PeerReply reply;
    reply.kind = PeerReply::Kind::kChunk;
    reply.bytes = bytes;
    return reply;
  }

  // A publication of node 1 as this version.
  Bytes Publication(uint32_t version, PeerHead* head) {
    std::vector<float> parameters(TownNet::kParameters, 0.25f * static_cast<float>(version));
    PublicationHeader header;
    std::memcpy(header.job_id, node().trainer().job_id().data(), kJobIdSize);
    header.version = version;
    header.node = 1;
    Bytes bytes(MaxPublicationBytes(parameters.size()));
    size_t size = 0;
    EXPECT_EQ(EncodePublication(header, {parameters.data(), parameters.size()},
                                {bytes.data(), bytes.size()}, &size),
              Status::kOk);
    bytes.resize(size);
    *head = HeadOf(bytes, version);
    return bytes;
  }
  static PeerHead HeadOf(const Bytes& bytes, uint32_t version) {
    PeerHead head;
    head.version = version;
    head.publisher = 1;
    head.size = static_cast<uint32_t>(bytes.size());
    Sha256 hash;
    EXPECT_EQ(hash.Update(View(bytes)), Status::kOk);
    EXPECT_EQ(hash.Finish(head.digest), Status::kOk);
    return head;
  }
  void ExpectPublishes(uint32_t version, uint32_t on_version) {
    ExpectRequest(PeerRequest::Kind::kStage);
    EXPECT_EQ(node().trainer().publication_version(), version);
    EXPECT_EQ(node().trainer().head_version(), on_version);
    EXPECT_EQ(peer().fallbacks(), version == on_version + 1 ? 0u : 1u);
  }

  std::unique_ptr<Town> town_;
};

}  // namespace sotto
