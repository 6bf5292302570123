// Tests of a job's configuration: the values that it refuses, and the rounding to float32.
#include "round/job_config.h"

#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>

#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

TEST(JobConfig, RefusesWhatCannotBe) {
  const auto refuses = [](auto change) {
    JobConfig config = SmallConfig();
    config.Validate();
    change(config);
    EXPECT_THROW(config.Validate(), std::invalid_argument);
  };
  refuses([](JobConfig& c) { c.model = nullptr; });
  refuses([](JobConfig& c) { c.training.batch_size = 0; });
  // The model has one layer.
  refuses([](JobConfig& c) { c.training.clip_by_layer = ClipByLayer::kEqual; });
  refuses([](JobConfig& c) { c.training.momentum = 1; });
  refuses([](JobConfig& c) { c.training.clip_l2 = 0.5f; });
  refuses([](JobConfig& c) { c.learning_rate_decay = 0; });
  refuses([](JobConfig& c) { c.learning_rate_decay = NAN; });
  refuses([](JobConfig& c) { c.aggregation.server_learning_rate = -1; });
  refuses([](JobConfig& c) { c.aggregation.smoothing = NAN; });
  refuses([](JobConfig& c) { c.min_devices = kSmallDevices + 1; });
  refuses([](JobConfig& c) { c.process.max_attempts = 0; });
  refuses([](JobConfig& c) { c.plan.noise_sigma = 0.1; });  // not a float32 value
  refuses([](JobConfig& c) { c.plan.dimension = 7; });
  refuses([](JobConfig& c) { c.plan.delta = 0; });
  refuses([](JobConfig& c) { c.epsilon_budget = 0; });
}

TEST(JobConfig, MomentumIsForModelsThatHaveIt) {
  JobConfig config = SmallConfig();
  config.training.momentum = 0.9F;
  EXPECT_NO_THROW(config.Validate());
  config.model = FindModel("softmax-64-10-q");
  try {
    config.Validate();
    ADD_FAILURE() << "fixed point has no momentum";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("model softmax-64-10-q trains without momentum"),
              std::string::npos);
  }
  config.training.momentum = 0;
  EXPECT_NO_THROW(config.Validate());
}

TEST(JobConfig, GradientClipsAndProximalTermsAreForModelsThatHaveThem) {
  for (const bool is_proximal : {false, true}) {
    JobConfig config = SmallConfig();
    (is_proximal ? config.training.proximal : config.training.gradient_clip) = 0.5F;
    EXPECT_NO_THROW(config.Validate());
    config.model = FindModel("softmax-64-10-q");
    EXPECT_THROW(config.Validate(), std::invalid_argument);
  }
}

TEST(JobConfig, RatesThatCountAllStepsNeedTheirNumber) {
  JobConfig config = SmallConfig();
  config.learning_rate_schedule = privacy::LearningRateSchedule::kInverseSqrtAllSteps;
  EXPECT_THROW(config.Validate(), std::invalid_argument);
  config.training.local_steps = 65535;
  EXPECT_NO_THROW(config.Validate());
  config.plan.rounds = 40000;
  EXPECT_THROW(config.Validate(), std::invalid_argument);
}

// In every round and step the device's rate is the server's, rounded to float32.
TEST(JobConfig, DevicesTrainWithTheRatesOfTheSchedule) {
  JobConfig config = SmallConfig();
  config.training.local_steps = 50;
  config.learning_rate_decay = 0.9;
  for (int s = 0; s <= static_cast<int>(privacy::LearningRateSchedule::kInverseSqrtAllSteps); ++s) {
    config.learning_rate_schedule = static_cast<privacy::LearningRateSchedule>(s);
    for (const uint32_t round : {0U, 1U, 7U, 2999U}) {
      const TrainTask task = config.TaskFor(round, config.training.clip_l2);
      EXPECT_EQ(task.training.Validate(), Status::kOk);
      for (const uint32_t step : {0U, 1U, 2U, 49U}) {
        const double exact = config.LearningRates().Rate(round, step, 50);
        const double rate = static_cast<double>(task.training.Rate(step));
        EXPECT_NEAR(rate, exact, exact * 4e-7 + 1e-44)
            << Name(config.learning_rate_schedule) << ' ' << round << ' ' << step;
      }
    }
  }
}

TEST(RoundToDevice, NeverLowersTheNoise) {
  for (double sigma = 1e-3; sigma < 100; sigma *= 1.37) {
    privacy::Plan plan;
    plan.noise_sigma = sigma;
    const double rounded = RoundToDevice(plan).noise_sigma;
    EXPECT_GE(rounded, sigma);
    EXPECT_LE(rounded, sigma * (1 + 2e-7));
    EXPECT_EQ(static_cast<double>(static_cast<float>(rounded)), rounded);
  }
}

TEST(JobConfig, PrivatePoissonSamplingMustReleaseEveryRound) {
  JobConfig config = SmallConfig();
  config.plan.sampling = privacy::Sampling::kPoisson;
  config.min_devices = 1;
  EXPECT_THROW(config.Validate(), std::invalid_argument);
}

TEST(JobConfig, EveryCodecWithNoiseIsRefusedTooLittleOfIt) {
  for (const CodecInfo& codec : Codecs()) {
    if (!codec.noise) continue;
    JobConfig config = SmallConfig();
    config.codec = &codec;
    config.Validate();
    config.plan.noise_sigma = config.plan.clip_l2 * 0x1p-20;
    EXPECT_NO_THROW(config.Validate()) << codec.name;
    // Baselines hand over float32: no device clamps for them.
    EXPECT_EQ(config.TaskFor(0, config.training.clip_l2).NeedsClamping(), codec.servable);
    config.plan.noise_sigma = config.plan.clip_l2 * 0x1p-21;
    EXPECT_THROW(config.Validate(), std::invalid_argument) << codec.name;
  }
}

}  // namespace
}  // namespace sotto::server
