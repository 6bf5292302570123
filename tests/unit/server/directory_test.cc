// Leases, commits, restarts and turns of the directory. directory_relay_test.cc has the relay.
#include "peers/directory.h"

#include <set>
#include <stdexcept>

#include "sotto/key_labels.h"
#include "unit/sdk/hex.h"
#include "unit/server/directory_fixture.h"

namespace sotto::server {
namespace {

using Kind = PeerReply::Kind;

class DirectoryWithoutRelay : public DirectoryTest {
 protected:
  DirectoryWithoutRelay() : DirectoryTest(false) {}
};

class DirectoryInTurns : public DirectoryTest {
 protected:
  DirectoryInTurns() : DirectoryTest(true, LeaseOrder::kTurns) {}
};

TEST_F(DirectoryTest, AJoinTellsNumberRosterRelayAndHead) {
  const PeerReply first = Join(1);
  EXPECT_EQ(first.node, 1u);
  EXPECT_EQ(first.nodes, kNodes);
  EXPECT_TRUE(first.has_relay);
  EXPECT_EQ(first.head.version, 0u);
  const Published published = Publish(0, 0);
  EXPECT_TRUE(IsSamePublication(Join(1).head, published.name));
}

TEST_F(DirectoryTest, AnotherVersionAnotherJobAndAskingBeforeAJoinAreRefused) {
  PeerRequest request = Ask(PeerRequest::Kind::kJoin);
  request.job_id = log_.state().job_id;
  request.version = kPeerProtocolVersion + 1;
  ExpectRefused(Answer(0, request), ErrorCode::kVersion);
  request.version = kPeerProtocolVersion;
  const uint8_t other[kJobIdSize] = {1};
  request.job_id = other;
  ExpectRefused(Answer(0, request), ErrorCode::kModelMismatch);
  sessions_[2].joined = false;
  for (const auto kind : {PeerRequest::Kind::kLease, PeerRequest::Kind::kFinished,
                          PeerRequest::Kind::kNone, PeerRequest::Kind::kGreet}) {
    ExpectRefused(Answer(2, Ask(kind)), ErrorCode::kMalformed);
  }
  ExpectRefused(Answer(1, Ask(PeerRequest::Kind::kGreet)), ErrorCode::kMalformed);
  EXPECT_FALSE(directory_->state().nodes[2].is_finished);
}

TEST_F(DirectoryTest, OneNodeAtATimeHasALease) {
  const uint32_t fence = FenceOf(0);
  for (const uint32_t other : {1u, 2u}) {
    const PeerReply reply = Lease(other);
    EXPECT_EQ(reply.kind, Kind::kWait);
    EXPECT_GT(reply.wait_ms, 0u);
    EXPECT_LE(reply.wait_ms, kLeaseMs);
  }
  EXPECT_EQ(directory_->lease_holder(now_ms_), 0u);
  EXPECT_EQ(Release(0, fence).kind, Kind::kDone);
  EXPECT_EQ(directory_->lease_holder(now_ms_), std::nullopt);
  EXPECT_EQ(Lease(1).kind, Kind::kGranted);
}

TEST_F(DirectoryTest, ARepeatedLeaseIsTheSameOneAndItsTimeRunsOn) {
  const PeerReply first = Lease(0, 4);
  EXPECT_EQ(first.wait_ms, kLeaseMs);
  now_ms_ += 300;
  const PeerReply again = Lease(0, 4);
  EXPECT_EQ(again.fence, first.fence);
  EXPECT_EQ(again.wait_ms, kLeaseMs - 300);
  const PeerReply next_step = Lease(0, 5);
  EXPECT_GT(next_step.fence, first.fence);
}

TEST_F(DirectoryTest, ALeaseEndsAfterItsTimeAndFencesRise) {
  std::set<uint32_t> fences;
  uint32_t last = 0;
  for (int i = 0; i < 200; ++i) {
    const uint32_t fence = FenceOf(static_cast<uint32_t>(i) % 2);
    EXPECT_GT(fence, last);
    last = fence;
    now_ms_ += kLeaseMs - 1;
    EXPECT_EQ(Lease(2).kind, Kind::kWait);
    now_ms_ += 1;
  }
  EXPECT_EQ(directory_->counts().expired, 199u);
}

TEST_F(DirectoryTest, ReleasingAnotherLeaseChangesNothing) {
  const uint32_t fence = FenceOf(0);
  Release(0, fence - 1);
  Release(1, fence);
  EXPECT_EQ(directory_->lease_holder(now_ms_), 0u);
  Release(0, fence);
  Release(0, fence);
  EXPECT_EQ(directory_->lease_holder(now_ms_), std::nullopt);
}

TEST_F(DirectoryWithoutRelay, ACommitIsACompareAndSwap) {
  const PeerHead first = head();
  const uint32_t fence = FenceOf(0);
  Published published = Next(0);
  PeerHead wrong;
  wrong.digest[0] = 1;
  EXPECT_FALSE(Commit(0, published, wrong, fence).accepted) << "another head";
  Published skipping = published;
  skipping.name.version = 2;
  EXPECT_FALSE(Commit(0, skipping, first, fence).accepted) << "a version left out";
  EXPECT_EQ(head().version, 0u);
  const PeerReply reply = Commit(0, published, first, fence);
  EXPECT_TRUE(reply.accepted);
  EXPECT_TRUE(IsSamePublication(reply.head, published.name));
  EXPECT_TRUE(IsSamePublication(head(), published.name));
  EXPECT_EQ(directory_->lease_holder(now_ms_), std::nullopt) << "a publication ends its lease";
}

TEST_F(DirectoryWithoutRelay, ARepeatedCommitIsAnsweredTheSameForAsLongAsTheNodeHasNoOther) {
  const PeerHead first = head();
  const Published published = Publish(0, 0);
  for (int version = 2; version < 6; ++version) Publish(1, static_cast<uint32_t>(version));
  const int saves = log_.saves;
  const PeerReply again = Commit(0, published, first, 1);
  EXPECT_TRUE(again.accepted);
  EXPECT_EQ(again.head.version, 5u);
  EXPECT_EQ(head().version, 5u) << "the head does not go back";
  EXPECT_EQ(log_.saves, saves) << "it changes nothing";
  EXPECT_EQ(directory_->state().nodes[0].publications, 1u);
}

TEST_F(DirectoryWithoutRelay, AStaleCommitIsNotAccepted) {
  const uint32_t fence = FenceOf(0);
  const PeerHead first = head();
  const Published late = Next(0);
  now_ms_ += kLeaseMs;
  Publish(1, 0);
  const PeerHead before = head();
  const PeerReply reply = Commit(0, late, first, fence);
  EXPECT_EQ(reply.kind, Kind::kDone);
  EXPECT_FALSE(reply.accepted);
  EXPECT_TRUE(IsSamePublication(reply.head, before));
  EXPECT_TRUE(IsSamePublication(head(), before));
}

TEST_F(DirectoryWithoutRelay, AnotherLeaseInForceShutsACommitOut) {
  const uint32_t fence = FenceOf(0);
  const Published published = Next(0);
  now_ms_ += kLeaseMs;
  const uint32_t other = FenceOf(1);
  EXPECT_FALSE(Commit(0, published, head(), fence).accepted);
  EXPECT_FALSE(Commit(0, published, head(), other).accepted) << "another node's fence";
  Release(1, other);
  const uint32_t newer = FenceOf(0);
  EXPECT_FALSE(Commit(0, published, head(), fence).accepted) << "the node's older fence";
  EXPECT_TRUE(Commit(0, published, head(), newer).accepted);
}

TEST_F(DirectoryWithoutRelay, ALeaseThatEndedWithoutASuccessorDoesNotStopACommit) {
  const uint32_t fence = FenceOf(0);
  now_ms_ += 10 * kLeaseMs;
  EXPECT_TRUE(Commit(0, Next(0), head(), fence).accepted);
}

TEST_F(DirectoryWithoutRelay, APublicationOfAnotherNodeOrTooManyBytesIsRefused) {
  const uint32_t fence = FenceOf(0);
  ExpectRefused(Commit(0, Next(1), head(), fence), ErrorCode::kMalformed);
  Published large = Next(0);
  large.name.size = static_cast<uint32_t>(MaxPublicationBytes(PeerModel().parameters)) + 1;
  ExpectRefused(Commit(0, large, head(), fence), ErrorCode::kTooLarge);
  EXPECT_EQ(head().version, 0u);
  EXPECT_EQ(directory_->counts().refused, 2u);
}

TEST_F(DirectoryWithoutRelay, NothingIsAnsweredBeforeItIsDurable) {
  const uint32_t fence = FenceOf(0);
  const Published published = Next(0);
  log_.fails_before = true;
  EXPECT_THROW(Commit(0, published, head(), fence), std::runtime_error);
  EXPECT_EQ(head().version, 0u);
  EXPECT_THROW(Finish(0), std::runtime_error);
  EXPECT_FALSE(directory_->state().nodes[0].is_finished);
  log_.fails_before = false;
  EXPECT_TRUE(Commit(0, published, head(), fence).accepted);
}

TEST_F(DirectoryWithoutRelay, ACommitWhoseAnswerWasLostWithTheDirectoryIsAcceptedAgain) {
  const PeerHead first = head();
  const uint32_t fence = FenceOf(0);
  const Published published = Next(0);
  log_.fails_after = true;
  EXPECT_THROW(Commit(0, published, first, fence), std::runtime_error);
  log_.fails_after = false;
  Start();
  EXPECT_TRUE(IsSamePublication(head(), published.name));
  EXPECT_TRUE(Commit(0, published, first, fence).accepted);
  EXPECT_EQ(directory_->state().nodes[0].publications, 1u);
}

TEST_F(DirectoryWithoutRelay, AfterARestartFencesAreLargerAndAnOldOneIsShutOut) {
  const uint32_t fence = FenceOf(0);
  const Published published = Next(0);
  Start();
  const uint32_t newer = FenceOf(1);
  EXPECT_GT(newer, fence);
  EXPECT_FALSE(Commit(0, published, head(), fence).accepted);
  EXPECT_TRUE(Commit(1, Next(1), head(), newer).accepted);
}

TEST_F(DirectoryTest, AddressesSurviveARestartAndAnEntryHasThePairsKey) {
  PeerRequest join = Ask(PeerRequest::Kind::kJoin);
  join.job_id = log_.state().job_id;
  const std::string address = "10.0.0.7:7179";
  join.address = View(address);
  EXPECT_EQ(Answer(1, join).kind, Kind::kWelcome);
  EXPECT_EQ(last_line_, "b: joined as node 1, listens at " + address);
  DirectoryState state = log_.state();
  EXPECT_EQ(state.nodes[1].address, address);
  PeerRequest ask = Ask(PeerRequest::Kind::kRosterEntry);
  ask.node = 1;
  const PeerReply entry = Answer(0, ask);
  ASSERT_EQ(entry.kind, Kind::kEntry);
  EXPECT_EQ(std::string(entry.address.begin(), entry.address.end()), address);
  EXPECT_EQ(std::string(entry.device_id.begin(), entry.device_id.end()), "b");
  ask.node = 0;
  const PeerReply mirrored = Answer(1, ask);
  ASSERT_EQ(mirrored.kind, Kind::kEntry);
  EXPECT_TRUE(mirrored.address.empty());
  EXPECT_EQ(std::memcmp(entry.pair_key.bytes, mirrored.pair_key.bytes, kKeySize), 0);
  ask.node = 2;
  EXPECT_NE(std::memcmp(Answer(0, ask).pair_key.bytes, entry.pair_key.bytes, kKeySize), 0);
  ask.node = kNodes;
  ExpectRefused(Answer(0, ask), ErrorCode::kMalformed);
  ask.node = 0;
  ExpectRefused(Answer(0, ask), ErrorCode::kMalformed);
}

TEST(DirectoryPairKey, IsHkdfOfBothNamesInOrderAndDependsOnWhereOneEnds) {
  Key directory;
  directory.bytes[5] = 1;
  const std::string info = std::string(key_label::kPair) + "ab" + '\0' + "c";
  Key expected;
  ASSERT_EQ(HkdfSha256(directory.bytes, {}, View(info), &expected), Status::kOk);
  EXPECT_EQ(std::memcmp(PairKey(directory, "c", "ab").bytes, expected.bytes, kKeySize), 0);
  EXPECT_NE(std::memcmp(PairKey(directory, "a", "bc").bytes, expected.bytes, kKeySize), 0);
}

TEST_F(DirectoryTest, ItIsFinishedOnceAllNodesAreAndStaysSoAfterARestart) {
  Finish(0);
  Finish(2);
  Finish(2);
  EXPECT_FALSE(directory_->is_finished());
  Start();
  EXPECT_FALSE(directory_->is_finished());
  EXPECT_FALSE(directory_->has_told_all());
  Finish(1);
  EXPECT_TRUE(directory_->is_finished());
  EXPECT_FALSE(directory_->has_told_all()) << "since this start";
  Finish(0);
  Finish(2);
  EXPECT_TRUE(directory_->has_told_all());
  Start();
  EXPECT_TRUE(directory_->is_finished());
  EXPECT_FALSE(directory_->has_told_all());
  ExpectRefused(Lease(1), ErrorCode::kConflict);
}

TEST_F(DirectoryTest, NobodyWaitsForAnExcludedNode) {
  directory_->Exclude(1);
  Finish(0);
  Finish(2);
  EXPECT_TRUE(directory_->is_finished());
  EXPECT_TRUE(directory_->has_told_all());
}

TEST_F(DirectoryTest, AFinishedNodesLeaseIsFree) {
  FenceOf(0);
  Finish(0);
  EXPECT_EQ(Lease(1).kind, Kind::kGranted);
}

TEST_F(DirectoryInTurns, NobodyIsFirstBeforeAllHaveAsked) {
  EXPECT_EQ(Lease(0, 3).kind, Kind::kWait);
  EXPECT_EQ(Lease(1, 2).kind, Kind::kWait);
  EXPECT_EQ(Lease(0, 3).kind, Kind::kWait);
  EXPECT_EQ(Lease(2, 2).kind, Kind::kWait) << "node 1 is before it";
  EXPECT_EQ(Lease(1, 2).kind, Kind::kGranted);
}

TEST_F(DirectoryInTurns, TheSmallestStepAndThenTheSmallestNumberIsNext) {
  // Steps at which the nodes publish; then they finish.
  std::vector<uint32_t> plans[kNodes] = {{0, 2, 5}, {0, 1, 5, 6}, {1, 2, 7}};
  std::vector<std::pair<uint32_t, uint32_t>> order;
  size_t done[kNodes] = {};
  for (int turn = 0; turn < 200 && !directory_->is_finished(); ++turn) {
    const auto node = static_cast<uint32_t>(turn * 7 % kNodes);
    if (done[node] == plans[node].size()) {
      Finish(node);
      continue;
    }
    const uint32_t step = plans[node][done[node]];
    if (Lease(node, step).kind == Kind::kWait) continue;
    Publish(node, step);
    order.emplace_back(step, node);
    ++done[node];
  }
  EXPECT_TRUE(directory_->is_finished());
  EXPECT_EQ(order.size(), 10u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(DirectoryInTurns, ALostLeaseIsNobodyElsesTurn) {
  Lease(0, 1);
  Lease(1, 1);
  Lease(2, 1);
  FenceOf(0, 1);
  now_ms_ += 100 * kLeaseMs;
  EXPECT_EQ(Lease(1, 1).kind, Kind::kWait);
  Publish(0, 1);
  EXPECT_EQ(Lease(1, 1).kind, Kind::kGranted);
}

TEST_F(DirectoryInTurns, AfterARestartTheOrderGoesOnOnceAllHaveAskedAgain) {
  Lease(0, 1);
  Lease(1, 4);
  Lease(2, 3);
  Publish(0, 1);
  Start();
  EXPECT_EQ(Lease(1, 4).kind, Kind::kWait);
  EXPECT_EQ(Lease(2, 3).kind, Kind::kWait);
  EXPECT_EQ(Lease(0, 3).kind, Kind::kGranted);
}

TEST_F(DirectoryTest, AStateOfAnotherJobRosterOrRelayIsRefused) {
  const auto expect_refused = [](DirectoryState state, const PeerJob& job, bool has_relay,
                                 const std::vector<std::string>& ids) {
    EXPECT_THROW(ContinueState(PeerModel(), job, has_relay, ids, &state), std::runtime_error);
  };
  const DirectoryState& state = log_.state();
  PeerJob other = options_.job;
  other.salt[0] ^= 1;
  expect_refused(state, other, true, {"a", "b", "c"});
  expect_refused(state, options_.job, false, {"a", "b", "c"});
  expect_refused(state, options_.job, true, {"a", "b"});
  expect_refused(state, options_.job, true, {"a", "c", "b"});
  DirectoryState grown = state;
  ContinueState(PeerModel(), options_.job, true, {"a", "b", "c", "d"}, &grown);
  EXPECT_EQ(grown.nodes.size(), 4u);
  EXPECT_EQ(grown.nodes[3].id, "d");
}

}  // namespace
}  // namespace sotto::server
