// Evaluation on devices in a job: the devices' numbers become an estimate, and only honest ones.
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>

#include "sotto/held_out.h"
#include "unit/server/requests.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

// Noise of this deviation, in devices, on the sum of the accuracies.
JobConfig EvaluatingConfig(double deviation = 0.05, bool adaptive = false) {
  JobConfig config = adaptive ? SmallAdaptiveConfig() : SmallConfig();
  config.evaluates_on_devices = true;
  config.plan.dimension += 1;
  config.plan.accuracy_scale = 2 * config.plan.noise_sigma / deviation;  // four noises in the sum
  config.plan = RoundToDevice(config.plan);
  config.Validate();
  return config;
}

// The first round's model is all zeros and names class 0 for each sample.
struct Labels {
  uint32_t count;
  uint32_t of_class_0;

  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
    const auto* self = static_cast<const Labels*>(context);
    for (float& feature : features) feature = 1;
    *label = index < self->of_class_0 ? 0 : 3;
    return Status::kOk;
  }
};

void Report(SmallJob& small, uint32_t index, Labels labels) {
  SmallDevice device(small.registry[index], index, *small.job.config().model, small.job.round());
  const HeldOut held_out = MakeHeldOut({labels.count, Labels::Read, &labels});
  device.config.held_out = &held_out;
  EXPECT_EQ(device.Run(small.job, index), Status::kOk);
}

constexpr double kEstimateTolerance = 6 * 0.05 / 4;

TEST(DeviceAccuracyJob, TheEstimateIsTheMeanOfTheDevicesAccuracies) {
  for (const bool adaptive : {false, true}) {
    SmallJob small(EvaluatingConfig(0.05, adaptive));
    ASSERT_TRUE(small.job.OpenRound());
    const std::vector<uint32_t> cohort = small.job.cohort();
    Report(small, cohort[0], {4, 4});     // 1
    Report(small, cohort[1], {200, 20});  // 0.1, counts as much
    Report(small, cohort[2], {3, 0});     // 0
    Report(small, cohort[3], {0, 0});     // 1/2
    const RoundOutcome outcome = small.job.CloseRound();
    ASSERT_TRUE(outcome.released && outcome.device_accuracy);
    EXPECT_NEAR(outcome.device_accuracy->accuracy, 1.6 / 4, kEstimateTolerance);
    EXPECT_NEAR(outcome.device_accuracy->noise_deviation, 0.05 / 4, 1e-6);
    EXPECT_EQ(outcome.unclipped_fraction.has_value(), adaptive);
  }
}

TEST(DeviceAccuracyJob, ADropOutCountsHalf) {
  SmallJob small(EvaluatingConfig());
  ASSERT_TRUE(small.job.OpenRound());
  Report(small, small.job.cohort()[0], {5, 5});
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_NEAR(outcome.device_accuracy->accuracy, (1 + 3 * 0.5) / 4, kEstimateTolerance);
}

TEST(DeviceAccuracyJob, ADeviceWithoutEvaluationIsToldToWait) {
  SmallJob small(EvaluatingConfig());
  ASSERT_TRUE(small.job.OpenRound());
  const uint32_t index = small.job.cohort()[0];
  SmallDevice device(small.registry[index], index, *small.job.config().model);
  EXPECT_EQ(device.Run(small.job, index), Status::kOk);
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_EQ(outcome.reported, 0u);
  EXPECT_EQ(outcome.lacking.drawn, 1u);
}

TEST(DeviceAccuracyJob, AnUpdateMustRepeatTheTasksField) {
  SmallJob small(EvaluatingConfig());
  ASSERT_TRUE(small.job.OpenRound());
  const uint32_t device = small.job.cohort()[0];
  Upload upload;
  Request hello = Hello(small.job);
  hello.abilities.features = kFeatureAccuracy;
  upload.task = small.job.Answer(device, hello).task;
  ASSERT_NE(upload.task.accuracy_q20, 0u);
  Request begin = upload.Begin();
  for (const uint32_t value : {uint32_t{0}, upload.task.accuracy_q20 - 1}) {
    begin.accuracy_q20 = value;
    EXPECT_EQ(small.job.Answer(device, begin).code, ErrorCode::kMalformed);
  }
  begin.accuracy_q20 = upload.task.accuracy_q20;
  EXPECT_EQ(small.job.Answer(device, begin).kind, Reply::Kind::kAck);
}

TEST(DeviceAccuracyJob, WhatCannotBeEvaluatedIsRefused) {
  const auto refuses = [](const auto& change) {
    JobConfig config = EvaluatingConfig();
    change(config);
    EXPECT_THROW(config.Validate(), std::invalid_argument);
  };
  refuses([](JobConfig& c) { c.plan.accuracy_scale = 0; });
  refuses([](JobConfig& c) { c.evaluates_on_devices = false; });
  refuses([](JobConfig& c) { c.plan.dimension -= 1; });
  refuses([](JobConfig& c) { c.plan.accuracy_scale = 3000 * c.plan.noise_sigma; });
  refuses([](JobConfig& c) { c.plan.private_noise_multiplier = 1; });
}

}  // namespace
}  // namespace sotto::server
