// The decay of the noise comes from a training on public data alone.
#include "sim/noise_decay.h"

#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>

#include "sim/simulation_request.h"

namespace sotto::server {
namespace {

SimulationRequest Small() {
  SimulationRequest request;
  request.data = "synthetic";
  request.noise_decay_from = "synthetic";
  request.fleet.devices = 40;
  request.fleet.samples_per_device = 10;
  request.job.plan.sampling = privacy::Sampling::kUniform;
  request.job.plan.cohort = 8;
  request.job.plan.rounds = 3;
  request.seed = 5;
  request.epsilon = 50;
  return request;
}

TEST(NoiseDecay, IsTheKthRootOfTheFallOfTheLoss) {
  const NoiseDecay found = EstimateNoiseDecay(Small());
  EXPECT_EQ(found.rounds, 3);
  EXPECT_LT(found.last_loss, found.first_loss);
  EXPECT_NEAR(std::pow(found.tau, 3) * found.first_loss, found.last_loss, 1e-12);

  const SimulationConfig config = MakeSimulation(WithNoiseDecay(Small()));
  EXPECT_EQ(config.job.plan.schedule.noise_decay, found.tau);
}

// The data of the devices and the noise decide nothing.
TEST(NoiseDecay, DependsOnThePublicDataAlone) {
  const double tau = EstimateNoiseDecay(Small()).tau;
  SimulationRequest other = Small();
  other.data = "fashion-mnist";  // not even opened
  other.epsilon = 1;
  EXPECT_EQ(EstimateNoiseDecay(other).tau, tau);
  other.job.training.learning_rate = 0.01F;
  EXPECT_GT(EstimateNoiseDecay(other).tau, tau);
}

TEST(NoiseDecay, IsOneIfTheLossDoesNotFall) {
  SimulationRequest still = Small();
  still.job.training.learning_rate = 0;
  EXPECT_EQ(EstimateNoiseDecay(still).tau, 1.0);
}

// Reading options trains nothing, and nothing begins with an undecided decay.
TEST(NoiseDecay, IsDecidedBeforeASimulationIsMade) {
  EXPECT_THROW(MakeSimulation(Small()), std::logic_error);
  SimulationRequest without = Small();
  without.noise_decay_from.reset();
  EXPECT_EQ(WithNoiseDecay(without).job.plan.schedule.noise_decay, 1.0);
}

TEST(NoiseDecay, IsNotLookedForTwice) {
  SimulationRequest both = Small();
  both.job.plan.schedule.noise_decay = 0.9;
  EXPECT_THROW(EstimateNoiseDecay(both), std::invalid_argument);
  SimulationRequest resumed = Small();
  resumed.resume = "state.json";
  EXPECT_THROW(EstimateNoiseDecay(resumed), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::server
