#include "sotto/peer_node.h"

#include <gtest/gtest.h>

#include "peer_by_hand.h"
#include "peer_town.h"

namespace sotto {
namespace {

constexpr uint32_t kHalf = 1u << 31;

struct Expected {
  Bytes head;
  std::vector<std::vector<float>> local;
};

void SetCoin(Town& town, uint32_t coin_q32) {
  for (auto& node : town.nodes) node->coin_q32 = coin_q32;
}

Expected DirectDrive(uint32_t nodes, uint32_t coin_q32) {
  Town town(nodes, true);
  SetCoin(town, coin_q32);
  Expected expected;
  expected.head = Town::ExpectedHead(town, &expected.local);
  return expected;
}

void ExpectSame(Town& town, const Expected& expected) {
  EXPECT_EQ(town.HeadBytes(), expected.head);
  for (size_t i = 0; i < town.nodes.size(); ++i) {
    const Span<const float> local = town.nodes[i]->trainer().local();
    EXPECT_EQ(std::vector<float>(local.begin(), local.end()), expected.local[i]) << "node " << i;
  }
  town.ExpectOneReleaseAStep();
}

TEST(PeerNode, ThreeNodesEqualTrainersDrivenInTurns) {
  for (const bool has_relay : {true, false}) {
    for (const uint32_t coin : {UINT32_MAX, kHalf}) {
      Town town(3, has_relay);
      SetCoin(town, coin);
      town.Start();
      town.Run();
      const Expected expected = DirectDrive(3, coin);
      EXPECT_GT(town.directory.head().version, 2u);
      ExpectSame(town, expected);
    }
  }
}

// Every event of the run, once with each trouble.
void KillEverywhere(bool has_relay, uint32_t coin) {
  const Expected expected = DirectDrive(2, coin);
  Town calm(2, has_relay);
  SetCoin(calm, coin);
  calm.Start();
  calm.Run();
  ASSERT_GT(calm.events, 50u);
  for (uint32_t at = 0; at < calm.events; ++at) {
    for (const Trouble trouble : kTroubles) {
      SCOPED_TRACE(testing::Message() << "event " << at << ", trouble " << int(trouble));
      Town town(2, has_relay);
      SetCoin(town, coin);
      town.Start();
      town.Run(trouble, at);
      ExpectSame(town, expected);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(PeerNode, KilledOrCutAtAnyEventWithARelayEndsWithTheSameModels) {
  KillEverywhere(true, UINT32_MAX);
}
TEST(PeerNode, KilledOrCutAtAnyEventWithoutARelayEndsWithTheSameModels) {
  KillEverywhere(false, UINT32_MAX);
}
TEST(PeerNode, KilledOrCutAtAnyEventOfACoinEndsWithTheSameModels) { KillEverywhere(true, kHalf); }

TEST(PeerNode, ADirectoryThatForgetsItsLeasesLosesNoPublication) {
  const Expected expected = DirectDrive(2, UINT32_MAX);
  for (uint32_t at = 0; at < 120; ++at) {
    SCOPED_TRACE(at);
    Town town(2, true);
    town.Start();
    for (uint32_t i = 0; i < at; ++i) town.RunOne(i % 2);
    town.directory.Restart();
    town.Run();
    ExpectSame(town, expected);
  }
}

// With noise that differs at each draw, a step that is taken twice shows.
TEST(PeerNode, NoStepIsReleasedTwiceWhateverIsKilled) {
  for (uint32_t at = 0; at < 120; ++at) {
    for (const Trouble trouble : kTroubles) {
      SCOPED_TRACE(testing::Message() << "event " << at << ", trouble " << int(trouble));
      Town town(2, at % 2 == 0);
      for (auto& node : town.nodes) node->noise_is_fresh = true;
      town.Start();
      town.Run(trouble, at);
      EXPECT_EQ(town.released.size(), 2 * kTownSteps);
      EXPECT_EQ(town.directory.head().version, 2 * kTownSteps) << "a version was lost";
      town.ExpectOneReleaseAStep();
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST_F(ByHand, APublicationTooLateIsNotMadeAndTheLeaseAskedForAgain) {
  Begin();
  PeerHead head;
  const Bytes bytes = Publication(5, &head);
  Join();
  Grant(head, {});
  ExpectRequest(PeerRequest::Kind::kGetPublication);
  town_->now_ms += 1000;
  ASSERT_EQ(peer().OnReply(Chunk(View(bytes))), Status::kOk);
  ExpectRequest(PeerRequest::Kind::kLease);
  EXPECT_FALSE(node().trainer().has_pending());
  // The head is held by now.
  ASSERT_EQ(peer().OnReply(Granted(head, {}, 2)), Status::kOk);
  ExpectPublishes(6, 5);
}

TEST_F(ByHand, APublicationThatTookTooLongWaitsForAnotherLease) {
  Begin();
  node().ms_per_sample = 1000;
  Join();
  Grant({}, {});
  ExpectRequest(PeerRequest::Kind::kLease);
  ASSERT_TRUE(node().trainer().has_pending());
  EXPECT_EQ(peer().request().step, 0u);
  const Bytes bytes = BytesOf(node().trainer().publication());
  ASSERT_EQ(peer().OnReply(Granted({}, {}, 2)), Status::kOk);
  ExpectPublishes(1, 0);
  EXPECT_EQ(BytesOf(node().trainer().publication()), bytes);
}

TEST_F(ByHand, RepliesThatDoNotFitAreMalformedAndTheRequestIsRepeated) {
  Begin();
  PeerHead head;
  Bytes bytes = Publication(5, &head);
  PeerHead other;
  (void)Publication(6, &other);
  other.version = 5;
  Join();
  ExpectRequest(PeerRequest::Kind::kLease);
  std::vector<PeerReply> replies(6, Granted(head, {}, 1));
  replies[0].kind = PeerReply::Kind::kChunk;
  replies[1].kind = PeerReply::Kind::kDone;
  replies[2].fence = 0;
  replies[3].parent = head;
  replies[4].head.version = UINT32_MAX;
  replies[5].kind = PeerReply::Kind::kWelcome;
  for (const PeerReply& reply : replies) {
    ASSERT_EQ(peer().OnReply(reply), Status::kMalformed);
    Join();
    ExpectRequest(PeerRequest::Kind::kLease);
  }
  ASSERT_EQ(peer().OnReply(Granted(head, {}, 7)), Status::kOk);
  ASSERT_EQ(peer().OnReply(Granted(head, {}, 7)), Status::kWrongState) << "nothing was asked";
  // Chunks: empty, too long.
  bytes.push_back(0);
  for (const ByteSpan chunk : {View(bytes).first(0), View(bytes)}) {
    ExpectRequest(PeerRequest::Kind::kGetPublication);
    ASSERT_EQ(peer().OnReply(Chunk(chunk)), Status::kMalformed);
    ExpectRequest(PeerRequest::Kind::kJoin);
    PeerReply welcome;
    welcome.kind = PeerReply::Kind::kWelcome;
    welcome.nodes = 3;
    welcome.has_relay = true;
    welcome.head = head;
    welcome.head.version = 4;
    ASSERT_EQ(peer().OnReply(welcome), Status::kMalformed) << "the head went back";
    ExpectRequest(PeerRequest::Kind::kJoin);
    welcome.head = other;
    ASSERT_EQ(peer().OnReply(welcome), Status::kMalformed) << "version 5 has two digests";
    ExpectRequest(PeerRequest::Kind::kJoin);
    welcome.head = head;
    ASSERT_EQ(peer().OnReply(welcome), Status::kOk);
  }
}

TEST_F(ByHand, ACommitThatIsNotAcceptedIsAdoptedAllTheSame) {
  Begin();
  Join();
  Grant({}, {});
  ExpectRequest(PeerRequest::Kind::kStage);
  const Bytes own = BytesOf(node().trainer().publication());
  PeerReply staged;
  staged.kind = PeerReply::Kind::kStaged;
  staged.offset = static_cast<uint32_t>(own.size()) + 1;
  ASSERT_EQ(peer().OnReply(staged), Status::kMalformed);
  Join();
  ExpectRequest(PeerRequest::Kind::kStage);
  staged.offset = static_cast<uint32_t>(own.size());
  ASSERT_EQ(peer().OnReply(staged), Status::kOk);
  ExpectRequest(PeerRequest::Kind::kCommit);
  PeerReply done;
  done.kind = PeerReply::Kind::kDone;
  done.accepted = true;
  (void)Publication(1, &done.head);
  ASSERT_EQ(peer().OnReply(done), Status::kMalformed) << "accepted, and another one is the head";
  Join();
  ExpectRequest(PeerRequest::Kind::kCommit);
  done.accepted = false;
  ASSERT_EQ(peer().OnReply(done), Status::kOk);
  ExpectRequest(PeerRequest::Kind::kRelease);
  EXPECT_FALSE(node().trainer().has_pending());
  EXPECT_EQ(node().trainer().head_version(), 0u);
  // w_L is what was published: version 1 of the same parameters.
  std::vector<float> sent(TownNet::kParameters);
  PublicationHeader header;
  ASSERT_EQ(DecodePublication(View(own), 8.0f, &header, {sent.data(), sent.size()}), Status::kOk);
  const Span<const float> local = node().trainer().local();
  EXPECT_EQ(std::vector<float>(local.begin(), local.end()), sent);
}

TEST_F(ByHand, ADirectoryThatNeverAcceptsIsAskedThreeTimes) {
  Begin();
  Join();
  Grant({}, {});
  for (uint32_t fence = 2; fence < 5; ++fence) {
    ExpectRequest(PeerRequest::Kind::kStage);
    PeerReply reply;
    reply.kind = PeerReply::Kind::kStaged;
    reply.offset = static_cast<uint32_t>(node().trainer().publication().size());
    ASSERT_EQ(peer().OnReply(reply), Status::kOk);
    ExpectRequest(PeerRequest::Kind::kCommit);
    reply.kind = PeerReply::Kind::kDone;
    ASSERT_EQ(peer().OnReply(reply), Status::kOk);
    if (fence < 4) Grant({}, {}, fence);
  }
  ExpectRequest(PeerRequest::Kind::kRelease);
}

TEST_F(ByHand, WhatIsNotPaidForEndsTheNodesPart) {
  Begin();
  node().Kill();
  node().most_rho_q40 = 1;
  node().Start();
  Join();
  Grant({}, {});
  ExpectRequest(PeerRequest::Kind::kRelease);
  PeerReply done;
  done.kind = PeerReply::Kind::kDone;
  ASSERT_EQ(peer().OnReply(done), Status::kOk);
  ExpectRequest(PeerRequest::Kind::kFinished);
  ASSERT_EQ(peer().OnReply(done), Status::kOk);
  EXPECT_EQ(Next(), PeerNode::Progress::kDone);
  EXPECT_EQ(peer().refusal(), PeerNode::Refusal::kNotPaidFor);
  EXPECT_TRUE(node().store.records[StoreSlot::kPeer].empty());
}

TEST_F(ByHand, ANodeThatNobodyCanReachDoesNotPublish) {
  Begin(true);  // it does not listen
  Join(false);
  EXPECT_EQ(Next(), PeerNode::Progress::kDone);
  EXPECT_EQ(peer().refusal(), PeerNode::Refusal::kUnreachable);
}

TEST_F(ByHand, AFinalErrorOfTheDirectoryEndsTheNodesPart) {
  Begin();
  ExpectRequest(PeerRequest::Kind::kJoin);
  PeerReply error;
  error.code = ErrorCode::kBusy;
  error.wait_ms = 17;
  ASSERT_EQ(peer().OnReply(error), Status::kOk);
  ASSERT_EQ(Next(), PeerNode::Progress::kWait);
  EXPECT_EQ(peer().wait_ms(), 17u);
  ExpectRequest(PeerRequest::Kind::kJoin);
  error.code = ErrorCode::kModelMismatch;
  error.final = true;
  ASSERT_EQ(peer().OnReply(error), Status::kOk);
  EXPECT_EQ(Next(), PeerNode::Progress::kDone);
  EXPECT_EQ(peer().refusal(), PeerNode::Refusal::kByDirectory);
  EXPECT_EQ(peer().error_code(), ErrorCode::kModelMismatch);
}

TEST_F(ByHand, ADirectoryThatSaysAtOnceDoesNotMakeItSpin) {
  Begin();
  Join();
  for (const uint32_t expected : {1000u, 2000u, 4000u, 8000u}) {
    ExpectRequest(PeerRequest::Kind::kLease);
    PeerReply again;
    again.kind = expected % 4000 == 0 ? PeerReply::Kind::kError : PeerReply::Kind::kWait;
    again.code = ErrorCode::kBusy;
    again.wait_ms = expected == 2000 ? 1 : 0;
    ASSERT_EQ(peer().OnReply(again), Status::kOk);
    ASSERT_EQ(Next(), PeerNode::Progress::kWait);
    EXPECT_EQ(peer().wait_ms(), expected);
  }
}

TEST_F(ByHand, WithoutAStoreNothingLeaves) {
  Begin();
  node().store.fail_save = node().store.saves;
  Join();
  ExpectRequest(PeerRequest::Kind::kLease);
  ASSERT_EQ(peer().OnReply(Granted({}, {}, 1)), Status::kOk);
  PeerNode::Progress progress = PeerNode::Progress::kAgain;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(peer().Step(&progress), Status::kStoreFailed);
  EXPECT_EQ(progress, PeerNode::Progress::kAgain);
}

TEST(PeerNode, AWrongConfigurationIsRefused) {
  uint64_t now_ms = 0;
  TownNode node(0, true, &now_ms);
  node.Start();
  Bytes fetched(MaxPublicationBytes(TownNet::kParameters));
  PeerNodeConfig config;
  config.port.now_ms = [](void*) { return uint64_t{1}; };
  config.fetched = {fetched.data(), fetched.size()};
  const auto step = [&](const PeerNodeConfig& c) {
    PeerNode::Progress progress = PeerNode::Progress::kAgain;
    return PeerNode(&node.trainer(), AlwaysShare(), c).Step(&progress);
  };
  EXPECT_EQ(step(config), Status::kOk);
  PeerNodeConfig bad = config;
  bad.port.now_ms = nullptr;
  EXPECT_EQ(step(bad), Status::kInvalidArgument);
  bad = config;
  bad.max_frame = kMinMaxFrame - 1;
  EXPECT_EQ(step(bad), Status::kInvalidArgument);
  bad = config;
  bad.fetched = bad.fetched.first(fetched.size() - 1);
  EXPECT_EQ(step(bad), Status::kBufferTooSmall);
}

}  // namespace
}  // namespace sotto
