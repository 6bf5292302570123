// How a node without a server gets the model that it builds on: what it checks, and what it does if
// publisher or relay are invalid, gone, silent or slow.
#include <algorithm>
#include <gtest/gtest.h>

#include "peer_by_hand.h"

namespace sotto {
namespace {

TEST_F(ByHand, AFetchedHeadIsTheBase) {
  Begin();
  PeerHead head;
  const Bytes bytes = Publication(5, &head);
  Join();
  Grant(head, {});
  for (size_t at = 0; at < bytes.size(); at += 20) {
    ExpectRequest(PeerRequest::Kind::kGetPublication);
    EXPECT_EQ(peer().request().offset, at);
    const size_t some = std::min<size_t>(20, bytes.size() - at);
    ASSERT_EQ(peer().OnReply(Chunk(View(bytes).subspan(at, some))), Status::kOk);
  }
  ExpectPublishes(6, 5);
}

// What a malicious publisher could have staged: each time the parent is taken instead.
TEST_F(ByHand, AnInvalidHeadIsReplacedByItsParent) {
  enum { kWrongDigest, kWrongVersion, kWrongNode, kWrongJob, kCut, kTooSmall, kTooLarge, kEnd };
  for (int what = 0; what < kEnd; ++what) {
    SCOPED_TRACE(what);
    Begin();
    PeerHead head;
    PeerHead parent;
    const Bytes good = Publication(4, &parent);
    Bytes bad = Publication(5, &head);
    if (what == kWrongDigest) bad.back() ^= 1;
    if (what == kWrongVersion) bad = Publication(7, &head);
    if (what == kWrongNode) bad[24] ^= 2;
    if (what == kWrongJob) bad[4] ^= 1;
    if (what == kCut) bad.resize(kPublicationHeaderSize + 1);
    if (what != kWrongDigest) head = HeadOf(bad, 5);
    if (what == kTooSmall) head.size = 64;
    if (what == kTooLarge) head.size = 1u << 30;
    Join();
    Grant(head, parent);
    ExpectRequest(PeerRequest::Kind::kGetPublication);
    if (what != kTooSmall && what != kTooLarge) {
      ASSERT_EQ(peer().request().publication.version, 5u);
      ASSERT_EQ(peer().OnReply(Chunk(View(bad))), Status::kOk);
      ExpectRequest(PeerRequest::Kind::kGetPublication);
    }
    ASSERT_EQ(peer().request().publication.version, 4u);
    ASSERT_EQ(peer().OnReply(Chunk(View(good))), Status::kOk);
    ExpectPublishes(6, 4);
  }
}

TEST_F(ByHand, WithoutHeadAndParentTheNewestPublicationHeldIsTheBase) {
  Begin();
  PeerHead head;
  PeerHead parent;
  (void)Publication(5, &head);
  (void)Publication(4, &parent);
  Join();
  Grant(head, parent);
  PeerReply error;
  error.final = true;
  for (int i = 0; i < 2; ++i) {
    ExpectRequest(PeerRequest::Kind::kGetPublication);
    ASSERT_EQ(peer().OnReply(error), Status::kOk);
  }
  ExpectPublishes(6, 0);
}

TEST_F(ByHand, ANeighbourThatDoesNotAnswerIsTriedThreeTimes) {
  Begin(false);
  PeerHead head;
  (void)Publication(5, &head);
  Join(false);
  Grant(head, {});
  ExpectRequest(PeerRequest::Kind::kRosterEntry);
  PeerReply entry;
  entry.kind = PeerReply::Kind::kEntry;
  const Bytes name = {'n', '1'};
  const Bytes address = {'h', ':', '1'};
  entry.device_id = View(name);
  entry.address = View(address);
  ASSERT_EQ(peer().OnReply(entry), Status::kOk);
  for (uint32_t i = 0; i < PeerNode::kFetchTries; ++i) {
    ExpectRequest(PeerRequest::Kind::kGreet);
    EXPECT_FALSE(peer().where().is_directory);
    EXPECT_EQ(peer().where().node, 1u);
    EXPECT_EQ(BytesOf(peer().where().address), address);
    peer().OnLinkLost();
    if (i + 1 < PeerNode::kFetchTries) {
      ASSERT_EQ(Next(), PeerNode::Progress::kWait);
    }
  }
  ExpectRequest(PeerRequest::Kind::kCommit);
  EXPECT_TRUE(peer().where().is_directory);
  EXPECT_EQ(peer().fallbacks(), 1u);
}

// A publisher that cannot be reached until the lease has ended, as one whose address drops packets.
TEST_F(ByHand, AHeadThatCouldNotBeHadIsNotAskedForUnderTheNextLease) {
  Begin(false);
  PeerHead head;
  (void)Publication(5, &head);
  Join(false);
  Grant(head, {});
  ExpectRequest(PeerRequest::Kind::kRosterEntry);
  PeerReply entry;
  entry.kind = PeerReply::Kind::kEntry;
  const Bytes name = {'n', '1'};
  const Bytes address = {'h', ':', '1'};
  entry.device_id = View(name);
  entry.address = View(address);
  ASSERT_EQ(peer().OnReply(entry), Status::kOk);
  for (uint32_t i = 0; i < PeerNode::kFetchTries; ++i) {
    ExpectRequest(PeerRequest::Kind::kGreet);
    town_->now_ms += 1000;
    peer().OnLinkLost();
    if (i + 1 < PeerNode::kFetchTries) {
      ASSERT_EQ(Next(), PeerNode::Progress::kWait);
    }
  }
  ExpectRequest(PeerRequest::Kind::kLease);
  ASSERT_EQ(peer().OnReply(Granted(head, {}, 2)), Status::kOk);
  ExpectRequest(PeerRequest::Kind::kCommit);
  EXPECT_EQ(node().trainer().publication_version(), 6u);
  EXPECT_EQ(peer().fallbacks(), 1u);
}

// A publisher that gives byte after byte, each just in time.
TEST_F(ByHand, AFetchHasAnEnd) {
  Begin();
  PeerHead head;
  PeerHead parent;
  const Bytes bytes = Publication(5, &head);
  const Bytes older = Publication(4, &parent);
  Join();
  Grant(head, parent);
  uint32_t chunks = 0;
  for (ExpectRequest(PeerRequest::Kind::kGetPublication);
       peer().request().publication.version == 5 && chunks < 100; ++chunks) {
    town_->now_ms += 300;
    ASSERT_EQ(peer().OnReply(Chunk(View(bytes).subspan(chunks, 1))), Status::kOk);
    ExpectRequest(PeerRequest::Kind::kGetPublication);
  }
  EXPECT_EQ(chunks, 7u);  // two leases of a second
  ASSERT_EQ(peer().OnReply(Chunk(View(older))), Status::kOk);
  ExpectRequest(PeerRequest::Kind::kLease);
  ASSERT_EQ(peer().OnReply(Granted(head, parent, 2)), Status::kOk);
  ExpectPublishes(6, 4);
}

// A link that is slow but honest: the lease ends, and the head is held then.
TEST_F(ByHand, AFetchMayTakeLongerThanTheLease) {
  Begin();
  PeerHead head;
  const Bytes bytes = Publication(5, &head);
  Join();
  Grant(head, {});
  ExpectRequest(PeerRequest::Kind::kGetPublication);
  town_->now_ms += 1500;
  ASSERT_EQ(peer().OnReply(Chunk(View(bytes).first(10))), Status::kOk);
  ExpectRequest(PeerRequest::Kind::kGetPublication);
  ASSERT_EQ(peer().OnReply(Chunk(View(bytes).subspan(10))), Status::kOk);
  ExpectRequest(PeerRequest::Kind::kLease);
  ASSERT_EQ(peer().OnReply(Granted(head, {}, 2)), Status::kOk);
  ExpectPublishes(6, 5);
}

}  // namespace
}  // namespace sotto
