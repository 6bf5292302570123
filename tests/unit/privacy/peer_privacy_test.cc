// Nodes without a server: what publications cost, the claims, and the noise for a wanted epsilon.
#include "plans/peer_privacy.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "accounting/gdp.h"
#include "plans/calibration.h"
#include "sotto/nn.h"
#include "unit/sdk/peers.h"

namespace sotto::privacy {
namespace {

constexpr ModelInfo kTen = MakeModelInfo<nn::Sequential<nn::Dense<50, 10>, nn::OneVsAll>>("ten");
constexpr ModelInfo kOne = MakeModelInfo<nn::Sequential<nn::Dense<50, 1>, nn::OneVsAll>>("one");
constexpr ModelInfo kSoftmax =
    MakeModelInfo<nn::Sequential<nn::Dense<50, 10>, nn::SoftmaxCrossEntropy>>("softmax");
constexpr ModelInfo kDeep =
    MakeModelInfo<nn::Sequential<nn::Dense<50, 8>, nn::Relu, nn::Dense<8, 10>, nn::OneVsAll>>(
        "deep");

constexpr double kPeerDelta = 1e-6;

PeerTraining SampleTraining(const ModelInfo& model = kTen) {
  PeerTraining training;
  training.model = &model;
  training.job.noise_q20 = 40000;
  training.delta = kPeerDelta;
  return training;
}

PeerTraining DeviceTraining(const ModelInfo& model = kDeep) {
  PeerTraining training = SampleTraining(model);
  training.job.unit = PeerUnit::kDevice;
  training.job.clip_l2 = 0.25f;
  training.job.noise_q20 = 1 << 20;
  training.job.passes = 2;
  training.job.most_releases = 5;
  return training;
}

// The improved conversion of rho * order, by trying orders.
double EpsilonByGrid(double rho, double delta) {
  double best = HUGE_VAL;
  for (double t = -8; t < 8; t += 1e-4) {
    const double order = 1 + std::exp(t);
    const double epsilon =
        rho * order + std::log(1 - 1 / order) - (std::log(delta) + std::log(order)) / (order - 1);
    best = std::min(best, epsilon);
  }
  return std::max(best, 0.0);
}

std::string MessageOf(const PeerTraining& training) {
  try {
    StatePeers(training, {PlannedPeer(training.job)});
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(PeerPrivacyTest, OnePublicationCostsHalfTheSquareOfSensitivityOverNoise) {
  PeerTraining training = SampleTraining();
  training.job.most_local_steps = 0;
  const PeerStatement statement = StatePeers(training, {{1, 1}});
  // eta = 0.1, b = 50, |(x, 1)| <= sqrt(2), 10 outputs: sqrt(10) * 2 * 0.1 * sqrt(2) / 50.
  const double moved = 0.017888543819998;
  // Rounding 510 parameters to integers adds sqrt(510) = 22.6 units of 2^-20; float32 adds less.
  EXPECT_GT(statement.sensitivity_q20, moved * 0x1p20 + 22.58);
  EXPECT_LT(statement.sensitivity_q20, (moved * 0x1p20 + 22.59) * 1.02);
  const double ratio = statement.sensitivity_q20 / 40000;  // about 0.47
  EXPECT_NEAR(statement.release_rho, ratio * ratio / 2, 1e-8);
  EXPECT_GE(statement.release_rho, ratio * ratio / 2);
  EXPECT_EQ(statement.rho, statement.release_rho);
  const double epsilon = statement.claims.front().epsilon;
  EXPECT_NEAR(epsilon, EpsilonByGrid(statement.rho, kPeerDelta), 1e-7);
}

TEST(PeerPrivacyTest, TheConversionIsTheBestOrderOfTheFormula) {
  for (const double rho : {1e-4, 0.01, 0.11, 1.0, 7.5}) {
    for (const double delta : {1e-3, 1e-6, 1.0 / 3.6e9}) {
      const double epsilon = ZcdpEpsilon(rho, delta);
      const double grid = EpsilonByGrid(rho, delta);
      EXPECT_LE(epsilon, grid * (1 + 1e-9));
      EXPECT_GE(epsilon, grid * (1 - 1e-6));
    }
  }
  EXPECT_EQ(ZcdpEpsilon(0, kPeerDelta), 0);
  EXPECT_TRUE(std::isinf(ZcdpEpsilon(HUGE_VAL, kPeerDelta)));
}

TEST(PeerPrivacyTest, ManyOutputsCostTheirNumber) {
  const double of_one = StatePeers(SampleTraining(kOne), {{1, 1}}).rho;
  const double of_ten = StatePeers(SampleTraining(kTen), {{1, 1}}).rho;
  EXPECT_NEAR(of_ten / of_one, 10, 1e-6);
}

TEST(PeerPrivacyTest, ASampleCostsOnePublicationAPass) {
  PeerTraining training = SampleTraining();
  training.job.passes = 3;
  const double once = StatePeers(training, {{1, 1}}).rho;
  EXPECT_DOUBLE_EQ(StatePeers(training, {{3, 3}}).rho, 3 * once);
  EXPECT_DOUBLE_EQ(StatePeers(training, {{1, 900}}).rho, once);
  EXPECT_EQ(StatePeers(training, {{0, 0}}).claims.front().epsilon, 0);
}

TEST(PeerPrivacyTest, ASampleOnSeveralNodesLiesOnThoseThatPublishedMost) {
  PeerTraining training = SampleTraining();
  training.job.passes = 3;
  const std::vector<PeerNode> nodes = {{1, 5}, {3, 3}, {2, 9}};
  const double once = StatePeers(training, {{1, 1}}).rho;
  EXPECT_DOUBLE_EQ(StatePeers(training, nodes).rho, 3 * once);
  training.copies = 2;
  EXPECT_DOUBLE_EQ(StatePeers(training, nodes).rho, 5 * once);
  training.copies = 7;  // no more than there are nodes
  EXPECT_DOUBLE_EQ(StatePeers(training, nodes).rho, 6 * once);
}

TEST(PeerPrivacyTest, ADeviceAddsUpItsPublications) {
  const PeerTraining training = DeviceTraining();
  const PeerStatement statement = StatePeers(training, {{1, 2}, {2, 5}, {0, 0}});
  // S = 2 * 0.25, noise 1: rho = 0.5^2 / 2.
  EXPECT_NEAR(statement.release_rho, 0.125, 1e-9);
  EXPECT_NEAR(statement.rho, 5 * 0.125, 1e-8);
  ASSERT_EQ(statement.claims.size(), 2u);
  EXPECT_EQ(statement.claims[0].unit, Unit::kDevice);
  EXPECT_NEAR(statement.claims[0].epsilon, EpsilonByGrid(0.625, kPeerDelta), 1e-6);
  // A sample is in one publication of each of the two passes.
  EXPECT_EQ(statement.claims[1].unit, Unit::kSample);
  EXPECT_NEAR(statement.claims[1].epsilon, EpsilonByGrid(0.25, kPeerDelta), 1e-6);
}

TEST(PeerPrivacyTest, CopiesCountForTheSampleOfADeviceJobAndNotForTheDevice) {
  PeerTraining training = DeviceTraining();
  training.copies = 2;
  const PeerStatement statement = StatePeers(training, {{2, 5}, {1, 5}});
  EXPECT_NEAR(statement.claims[0].epsilon, EpsilonByGrid(0.625, kPeerDelta), 1e-6);
  EXPECT_NEAR(statement.claims[1].epsilon, EpsilonByGrid(3 * 0.125, kPeerDelta), 1e-6);
}

TEST(PeerPrivacyTest, ASampleJobHasNoClaimAboutADevice) {
  const PeerStatement statement = StatePeers(SampleTraining(), {{1, 9}});
  ASSERT_EQ(statement.claims.size(), 1u);
  EXPECT_EQ(statement.claims.front().unit, Unit::kSample);
}

TEST(PeerPrivacyTest, AClaimSaysAgainstWhomAndOnWhatItRests) {
  PeerTraining training = SampleTraining();
  training.copies = 3;
  const std::vector<PeerNode> nodes(10, PlannedPeer(training.job));
  const Claim claim = StatePeers(training, nodes).claims.front();
  EXPECT_EQ(claim.adversary, Adversary::kPublic);
  EXPECT_EQ(claim.view, View::kPublications);
  EXPECT_EQ(claim.adjacency, Adjacency::kReplaceOne);
  EXPECT_EQ(claim.trust_mode, TrustMode::kPrivateNoise);
  EXPECT_EQ(claim.colluders, 7);  // all nodes without that sample
  EXPECT_EQ(claim.delta, kPeerDelta);
  EXPECT_EQ(claim.accountant, "rdp");
  EXPECT_EQ(claim.assumptions, PeerKind(Unit::kSample).assumptions);
}

TEST(PeerPrivacyTest, AFigureForLessThanThePlanAssumesThatTheStopWasFixed) {
  PeerTraining training = SampleTraining();
  training.job.passes = 2;
  const auto assumes_stop = [](const Claim& claim) {
    return std::count(claim.assumptions.begin(), claim.assumptions.end(),
                      Assumption::kStopFixedBeforehand) == 1;
  };
  EXPECT_TRUE(assumes_stop(StatePeers(training, {{1, 4}}).claims.front()));
  EXPECT_FALSE(assumes_stop(StatePeers(training, {{2, 4}}).claims.front()));
  const PeerStatement device = StatePeers(DeviceTraining(), {{2, 4}});
  EXPECT_TRUE(assumes_stop(device.claims[0]));
  EXPECT_FALSE(assumes_stop(device.claims[1]));
}

// A node that runs counts in its own ledger what the statement says.
TEST(PeerPrivacyTest, TheNodesOwnLedgerHasTheSameRho) {
  for (PeerJob job : {SampleJob(), DeviceJob(PeerRule::kAverage)}) {
    job.passes = 2;
    job.most_releases = job.unit == PeerUnit::kDevice ? 5 : 0;
    Peer peer(job, 1);  // 40 samples in batches of 4: 10 steps a pass
    ASSERT_EQ(peer.Begin(), Status::kOk);
    PeriodPolicy policy(4);  // publishes in steps 3, 7, 11, 15 and 19
    PeerNode node;
    uint32_t last_pass = 2;
    while (!peer.trainer.is_done()) {
      const uint32_t pass = peer.trainer.step() / 10;
      bool share = false;
      ASSERT_EQ(peer.trainer.Decide(policy.policy(), &share), Status::kOk);
      if (!share) {
        ASSERT_EQ(peer.trainer.LearnAlone(), Status::kOk);
        continue;
      }
      ASSERT_EQ(peer.trainer.Publish(peer.trainer.head_version() + 1, 0), Status::kOk);
      ASSERT_EQ(peer.trainer.Adopt(true), Status::kOk);
      node.passes += pass != last_pass ? 1 : 0;
      last_pass = pass;
      ++node.releases;
    }
    EXPECT_EQ(node.releases, 5);
    PeerTraining training;
    training.model = &kOva;
    training.job = job;
    const PeerStatement statement = StatePeers(training, {node});
    const PeerLedger& ledger = peer.trainer.ledger();
    const bool is_device = job.unit == PeerUnit::kDevice;
    const uint64_t spent = is_device ? ledger.device_rho_q40 : ledger.sample_rho_q40;
    EXPECT_EQ(statement.rho, std::ldexp(static_cast<double>(spent), -40));
    EXPECT_EQ(statement.rho / statement.release_rho, is_device ? 5 : 2);
  }
}

// Continuous noise of the same deviation: its exact figure is a lower reference.
TEST(PeerPrivacyTest, AClaimIsAboveTheExactFigureOfContinuousNoiseAndNear) {
  for (const uint32_t noise : {10000u, 40000u, 200000u}) {
    PeerTraining training = SampleTraining();
    training.job.noise_q20 = noise;
    const PeerStatement statement = StatePeers(training, {{1, 1}});
    const double exact =
        GdpEpsilon(statement.sensitivity_q20 / static_cast<double>(noise), kPeerDelta);
    EXPECT_GE(statement.claims.front().epsilon, exact);
    EXPECT_LT(statement.claims.front().epsilon, 1.15 * exact);
    EXPECT_NEAR(statement.continuous_epsilon, exact, 1e-6);
  }
}

// The probabilities of the discrete Gaussian, summed: what the claim promises holds of them. That
// is also why the exact curve of continuous noise is not used: with coarse noise it is too small.
double DiscreteDelta(double n, int shift, double epsilon) {
  const auto mass = [n](int x) { return std::exp(-0.5 * x * x / (n * n)); };
  double total = 0;
  double excess = 0;
  const int most = static_cast<int>(40 * n) + 40;
  for (int x = -most; x <= most; ++x) {
    total += mass(x);
    excess += std::max(0.0, mass(x) - std::exp(epsilon) * mass(x - shift));
  }
  return excess / total;
}

TEST(PeerPrivacyTest, DiscreteNoiseKeepsTheClaimAndNotTheContinuousCurve) {
  bool beats_the_curve = false;
  for (const double n : {0.6, 1.0, 3.0, 20.0}) {
    for (const int shift : {1, 2, 7}) {
      for (const double delta : {1e-2, 1e-4, 1e-6}) {
        const double rho = shift * shift / (2 * n * n);
        EXPECT_LE(DiscreteDelta(n, shift, ZcdpEpsilon(rho, delta)), delta);
        const double curve = GdpEpsilon(shift / n, delta);
        beats_the_curve = beats_the_curve || DiscreteDelta(n, shift, curve) > delta * 1.0001;
      }
    }
  }
  EXPECT_TRUE(beats_the_curve);
}

TEST(PeerPrivacyTest, TheFoundNoiseIsEnoughAndOneUnitLessIsNot) {
  std::vector<PeerTraining> trainings = {SampleTraining(), SampleTraining(kOne), DeviceTraining()};
  trainings[1].copies = 2;
  trainings[1].job.passes = 4;
  for (PeerTraining training : trainings) {
    const std::vector<PeerNode> nodes(3, PlannedPeer(training.job));
    for (const double target : {0.5, 1.0, 8.0}) {
      training.job.noise_q20 = CalibratePeerNoise(training, nodes, target);
      EXPECT_LE(StatePeers(training, nodes).claims.front().epsilon, target);
      ASSERT_GT(training.job.noise_q20, 1u);
      --training.job.noise_q20;
      EXPECT_GT(StatePeers(training, nodes).claims.front().epsilon, target);
    }
  }
}

TEST(PeerPrivacyTest, CalibrationStartsWithoutNoise) {
  PeerTraining training = SampleTraining();
  const uint32_t noise = CalibratePeerNoise(training, {{1, 1}}, 1.0);
  training.job.noise_q20 = 0;
  EXPECT_EQ(CalibratePeerNoise(training, {{1, 1}}, 1.0), noise);
}

TEST(PeerPrivacyTest, NoiseAboveTheLargestIsUnattainable) {
  PeerTraining training = DeviceTraining();
  training.job.clip_l2 = 100.0f;
  const std::vector<PeerNode> nodes = {PlannedPeer(training.job)};
  try {
    CalibratePeerNoise(training, nodes, 0.1);
    FAIL();
  } catch (const UnattainableEpsilon& error) {
    training.job.noise_q20 = 1u << 26;
    EXPECT_EQ(error.smallest(), StatePeers(training, nodes).claims.front().epsilon);
  }
  EXPECT_THROW(CalibratePeerNoise(training, nodes, 0), std::invalid_argument);
}

TEST(PeerPrivacyTest, APolicyWithPrivateInputsHasNoClaimWhateverTheNoise) {
  for (PeerTraining training : {SampleTraining(), DeviceTraining()}) {
    training.policy_inputs_are_public = false;
    training.job.noise_q20 = 1u << 26;
    const PeerStatement statement = StatePeers(training, {{1, 1}});
    EXPECT_TRUE(statement.claims.empty());
    EXPECT_NE(statement.refusal.find("depends on its private data"), std::string::npos);
    EXPECT_THROW(CalibratePeerNoise(training, {{1, 1}}, 1.0), std::invalid_argument);
  }
}

TEST(PeerPrivacyTest, AJobWithoutNoiseHasNoClaim) {
  PeerTraining training = SampleTraining();
  training.job.unit = PeerUnit::kNone;
  training.job.noise_q20 = 0;
  const PeerStatement statement = StatePeers(training, {{1, 1}});
  EXPECT_TRUE(statement.claims.empty());
  EXPECT_NE(statement.refusal.find("no noise"), std::string::npos);
  EXPECT_THROW(CalibratePeerNoise(training, {{1, 1}}, 1.0), std::invalid_argument);
}

TEST(PeerPrivacyTest, WhatTheUnitSampleDoesNotSuitIsRefusedWithTheReason) {
  EXPECT_NE(MessageOf(SampleTraining(kDeep)).find("model deep is not convex"), std::string::npos);
  PeerTraining fast = SampleTraining();
  fast.job.learning_rate = 1.5f;  // the rule average: 2 eta (1 + 1) / 4 <= 1, so eta <= 1
  const std::string message = MessageOf(fast);
  EXPECT_NE(message.find("learning rate is 1.5"), std::string::npos) << message;
  EXPECT_NE(message.find("at most 0.99999"), std::string::npos) << message;
  PeerTraining clipped = SampleTraining(kSoftmax);
  EXPECT_EQ(MessageOf(clipped), "");
  clipped.job.error_clip = 0.5f;
  EXPECT_NE(MessageOf(clipped).find("softmax"), std::string::npos);
}

TEST(PeerPrivacyTest, NumbersOutOfRangeAreRefused) {
  const PeerTraining training = SampleTraining();
  EXPECT_THROW(StatePeers(training, {}), std::invalid_argument);
  EXPECT_THROW(StatePeers(training, {{2, 2}}), std::invalid_argument);  // the job has one pass
  EXPECT_THROW(StatePeers(training, {{1, 0}}), std::invalid_argument);
  EXPECT_THROW(StatePeers(DeviceTraining(), {{2, 6}}), std::invalid_argument);
  PeerTraining bad = training;
  bad.copies = 0;
  EXPECT_THROW(StatePeers(bad, {{1, 1}}), std::invalid_argument);
  bad = training;
  bad.delta = 1;
  EXPECT_THROW(StatePeers(bad, {{1, 1}}), std::invalid_argument);
  bad = training;
  bad.job.noise_q20 = 0;
  EXPECT_THROW(StatePeers(bad, {{1, 1}}), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::privacy
