// Publications of several steps: what they compute, cost and may tell.
#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "peers.h"

namespace sotto {
namespace {

constexpr double kEta = 0.25;

PeerJob HandOver(PeerJob job, uint32_t steps) {
  job.publication_steps = steps;
  return job;
}

TEST(PeerHandOver, TakesItsStepsOnTheNewestModel) {
  for (const PeerRule rule : {PeerRule::kShared, PeerRule::kAccumulate}) {
    PeerJob job = HandOver(QuietJob(rule), 3);
    job.weight_decay = 0.01f;
    Peer other(job, 9);
    Peer peer(job, 1);
    ASSERT_EQ(other.Begin(), Status::kOk);
    ASSERT_EQ(peer.Begin(), Status::kOk);
    ASSERT_EQ(other.trainer.Publish(1, 0), Status::kOk);
    const std::vector<double> g = Doubles(other.local);
    ASSERT_EQ(peer.trainer.LearnAlone(), Status::kOk);
    const std::vector<double> w = Doubles(peer.local);
    Reads(peer);
    ASSERT_EQ(peer.trainer.SetHead(other.trainer.publication()), Status::kOk);
    ASSERT_EQ(peer.trainer.Publish(2, 1), Status::kOk);
    EXPECT_EQ(peer.trainer.publication_step(), 1u);
    EXPECT_EQ(peer.trainer.step(), 4u);
    const std::vector<uint32_t> reads = Reads(peer);
    ASSERT_EQ(reads.size(), 12u);
    std::vector<double> expected = g;
    if (rule == PeerRule::kAccumulate) {
      for (size_t i = 0; i < w.size(); ++i) expected[i] += w[i];
    }
    for (auto at = reads.begin(); at != reads.end(); at += 4) {
      expected = Step(peer.samples, {at, at + 4}, expected, kEta, 0.01);
    }
    EXPECT_LT(Distance(expected, Doubles(peer.local)), 1e-5) << static_cast<int>(rule);
  }
}

// 42 samples: ten steps and two samples that are dropped.
TEST(PeerHandOver, EndsWithThePassSoThatEachSampleIsInOnePublication) {
  PeerJob job = HandOver(SampleJob(PeerRule::kShared), 4);
  job.passes = 2;
  Peer peer(job, 1, 42);
  ASSERT_EQ(peer.Begin(), Status::kOk);
  uint64_t rho = 0;
  ASSERT_EQ(PeerReleaseRhoQ40(kOva, job, &rho), Status::kOk);
  for (uint32_t pass = 0; pass < 2; ++pass) {
    std::set<uint32_t> seen;
    for (const uint32_t steps : {4u, 4u, 2u}) {
      Reads(peer);
      ASSERT_EQ(peer.trainer.Publish(peer.trainer.ledger().releases + 1, 0), Status::kOk);
      ASSERT_EQ(peer.trainer.Adopt(true), Status::kOk);
      const std::vector<uint32_t> reads = Reads(peer);
      EXPECT_EQ(reads.size(), 4u * steps);
      for (const uint32_t sample : reads) EXPECT_TRUE(seen.insert(sample).second);
      EXPECT_EQ(peer.trainer.ledger().sample_rho_q40, (pass + 1) * rho);
    }
    EXPECT_EQ(peer.trainer.step(), 10u * (pass + 1));
  }
  EXPECT_TRUE(peer.trainer.is_done());
  EXPECT_EQ(peer.trainer.ledger().releases, 6u);
}

// After a reset the charged pass is still known, and the pending publication's first step.
TEST(PeerHandOver, AResetKeepsTheChargedPassAndTheFirstStep) {
  PeerJob job = HandOver(SampleJob(PeerRule::kShared), 4);
  job.passes = 2;
  MemoryStore kept;
  uint64_t rho = 0;
  ASSERT_EQ(PeerReleaseRhoQ40(kOva, job, &rho), Status::kOk);
  for (const uint32_t first : {0u, 4u, 8u, 10u, 14u, 18u}) {
    Peer peer(job, 3);
    peer.ram = kept;
    ASSERT_EQ(peer.Begin(), Status::kOk);
    if (peer.trainer.has_pending()) {
      ASSERT_EQ(peer.trainer.Adopt(false), Status::kOk);
    }
    ASSERT_EQ(peer.trainer.Publish(first + 1, 0), Status::kOk);
    EXPECT_EQ(peer.trainer.publication_step(), first);
    EXPECT_EQ(peer.trainer.ledger().sample_rho_q40, first < 10 ? rho : 2 * rho);
    Peer again(job, 3);
    again.ram = peer.ram;
    ASSERT_EQ(again.Begin(), Status::kOk);
    ASSERT_TRUE(again.trainer.has_pending());
    EXPECT_EQ(again.trainer.publication_step(), first);
    EXPECT_EQ(again.Publication(), peer.Publication());
    kept = peer.ram;
  }
}

// The noise is the same in both runs, so the publications differ by u - u' alone.
TEST(PeerHandOver, OneSampleNeverMovesAPublicationByMoreThanTheSensitivity) {
  constexpr uint32_t kSteps = 6;
  double most = 0;
  for (const PeerRule rule : {PeerRule::kShared, PeerRule::kAccumulate}) {
    PeerJob job = HandOver(SampleJob(rule), kSteps);
    job.noise_q20 = 15;  // no coarse steps
    job.learning_rate = LargestPeerRate(kOva, job);
    double sensitivity = 0;
    ASSERT_EQ(PeerSensitivityQ20(kOva, job, 0, &sensitivity), Status::kOk);
    for (uint32_t at = 0; at < 4 * kSteps; ++at) {
      for (const float x : {-1.0f, 1e30f}) {
        std::vector<double> published[2];
        for (uint32_t i = 0; i < 2; ++i) {
          Peer peer(job, 1, 4 * kSteps);
          if (i == 1) {
            peer.samples.features[at] = std::vector<float>(6, x);
            peer.samples.labels[at] = 2;
          }
          ASSERT_EQ(peer.Begin(), Status::kOk);
          ASSERT_EQ(peer.trainer.Publish(1, 0), Status::kOk);
          published[i] = Doubles(peer.local);
        }
        const double moved = Distance(published[0], published[1]) * 0x1p20;
        EXPECT_LE(moved, sensitivity);
        most = std::max(most, moved / sensitivity);
      }
    }
  }
  EXPECT_GT(most, 0.3);  // the bound is not far from what these samples reach
}

// Each further step adds its rounding errors, and nothing else.
TEST(PeerHandOver, TheSensitivityGrowsByRoundingAlone) {
  const PeerJob one = SampleJob(PeerRule::kShared);
  double of_one = 0;
  double of_many = 0;
  ASSERT_EQ(PeerSensitivityQ20(kOva, one, 0, &of_one), Status::kOk);
  ASSERT_EQ(PeerSensitivityQ20(kOva, HandOver(one, 101), 0, &of_many), Status::kOk);
  const double errors = std::sqrt(3.0) * 2 * 100 * PeerStepError(kOva, one, kEta) * 0x1p20;
  EXPECT_NEAR(of_many - of_one, errors, 1e-6 * errors);
  EXPECT_LT(of_many, 1.1 * of_one);
}

TEST(PeerHandOver, UnitDeviceClipsAllStepsTogether) {
  PeerJob job = HandOver(DeviceJob(PeerRule::kShared), 8);
  job.noise_q20 = 15;
  job.learning_rate = 4.0f;
  std::vector<std::vector<double>> models;
  for (const float sign : {1.0f, -1.0f}) {
    Peer peer(job, 1);
    for (auto& features : peer.samples.features) {
      for (float& x : features) x *= sign;
    }
    ASSERT_EQ(peer.Begin(), Status::kOk);
    ASSERT_EQ(peer.trainer.Publish(1, 0), Status::kOk);
    EXPECT_EQ(peer.trainer.step(), 8u);
    models.push_back(Doubles(peer.local));
  }
  EXPECT_GT(Distance(models[0], models[1]), 0.25);
  EXPECT_LE(Distance(models[0], models[1]), 0.5);
}

TEST(PeerHandOver, IsNotForTheRuleAverage) {
  EXPECT_EQ(HandOver(SampleJob(PeerRule::kAverage), 2).Validate(), Status::kInvalidArgument);
  EXPECT_EQ(HandOver(SampleJob(PeerRule::kAverage), 1).Validate(), Status::kOk);
  EXPECT_EQ(HandOver(SampleJob(PeerRule::kShared), 0).Validate(), Status::kInvalidArgument);
  EXPECT_EQ(HandOver(SampleJob(PeerRule::kShared), 65535).Validate(), Status::kOk);
  EXPECT_EQ(HandOver(SampleJob(PeerRule::kShared), 65536).Validate(), Status::kInvalidArgument);
}

}  // namespace
}  // namespace sotto
