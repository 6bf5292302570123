// The noise of the paper on decentralised DP-SGD, and what it is worth.
#include "published/peer_noise.h"

#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>

#include "plans/peer_privacy.h"
#include "sotto/nn.h"

namespace sotto::privacy {
namespace {

constexpr ModelInfo kPaperModel =
    MakeModelInfo<nn::Sequential<nn::Dense<50, 10>, nn::OneVsAll>>("ten");
constexpr double kSamples = 60000;
constexpr double kPaperDelta = 1 / (kSamples * kSamples);

PublishedPeerNoise PaperNoise(double epsilon = 1, double delta = kPaperDelta) {
  return PublishedNoiseOf(kPaperModel, PeerJob(), epsilon, delta);
}

TEST(PeerNoiseTest, ItIsTheirFormula) {
  const PublishedPeerNoise noise = PaperNoise();
  EXPECT_FLOAT_EQ(static_cast<float>(noise.sensitivity), 0.004f);  // 2 * 0.1 / 50
  // sqrt(2 ln(1.25 * 3.6e9)) = sqrt(2 * 22.2274) = 6.66744
  EXPECT_NEAR(noise.deviation, 0.004 * 6.66744, 1e-7);
  EXPECT_EQ(noise.noise_q20, std::round(noise.deviation * 1048576));
  EXPECT_EQ(noise.models, 10);
  EXPECT_NEAR(PaperNoise(0.5).deviation, 2 * noise.deviation, 1e-12);
}

TEST(PeerNoiseTest, OneModelIsBetterThanPublished) {
  // Theorem 1 is loose. MNIST, then Covertype with 464,810 samples; delta = 1 / n^2 in both.
  EXPECT_NEAR(FiguresAt(PaperNoise(), 1, 1).one_model, 0.850, 0.001);
  EXPECT_NEAR(FiguresAt(PaperNoise(1, 1 / (464810.0 * 464810.0)), 1, 1).one_model, 0.87, 0.01);
}

TEST(PeerNoiseTest, WhatItLeavesOutCostsMore) {
  const PublishedPeerFigures figures = FiguresAt(PaperNoise(), 1, 1);
  EXPECT_NEAR(figures.all_models, 2.85, 0.01);
  EXPECT_NEAR(figures.with_bias, 4.13, 0.01);
  EXPECT_EQ(figures.on_copies, figures.all_models);
  EXPECT_EQ(figures.together, figures.with_bias);
  EXPECT_NEAR(FiguresAt(PaperNoise(), 3, 1).on_copies, 5.15, 0.01);
  EXPECT_NEAR(FiguresAt(PaperNoise(), 10, 1).on_copies, 10.03, 0.01);
  EXPECT_NEAR(FiguresAt(PaperNoise(), 20, 1).on_copies, 14.94, 0.01);
}

// The claim at that noise: rounding errors and the conversion come on top of the exact figures.
TEST(PeerNoiseTest, TheClaimIsAboveTheExactFigureOfAllThatIsLeftOut) {
  for (const int64_t copies : {1, 3, 10, 20}) {
    PeerTraining training;
    training.model = &kPaperModel;
    training.job.noise_q20 = PaperNoise().noise_q20;
    training.delta = kPaperDelta;
    training.copies = copies;
    const std::vector<PeerNode> nodes(20, PlannedPeer(training.job));
    const double claim = StatePeers(training, nodes).claims.front().epsilon;
    const double exact = FiguresAt(PaperNoise(), copies, 1).together;
    EXPECT_GT(claim, exact);
    EXPECT_LT(claim, 1.2 * exact);
  }
}

TEST(PeerNoiseTest, NumbersOutOfRangeAreRefused) {
  EXPECT_THROW(PaperNoise(0), std::invalid_argument);
  EXPECT_THROW(PaperNoise(1, 0), std::invalid_argument);
  EXPECT_THROW(PaperNoise(1e-9), std::invalid_argument);  // above 2^26 units
  EXPECT_THROW(FiguresAt(PaperNoise(), 0, 1), std::invalid_argument);
  EXPECT_THROW(FiguresAt(PaperNoise(), 1, 0), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::privacy
