// Devices that lack something that the job needs: they are answered as if they had not been drawn,
// never train, and are counted for the operator.
#include "round/needs.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "sotto/wire.h"
#include "unit/server/requests.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

constexpr Abilities kOld = {};  // of a device that knows no abilities
constexpr Abilities kMomentum = {0, kFeatureMomentum};
constexpr uint32_t kBatch = 3;  // of SmallConfig()

JobConfig WithMomentum(JobConfig config = SmallConfig()) {
  config.training.momentum = 0.5F;
  return config;
}

Request HelloOf(const Job& job, const Abilities& abilities) {
  Request hello = Hello(job);
  hello.abilities = abilities;
  return hello;
}

// The reply as it crosses the network.
std::vector<uint8_t> FrameOf(const Reply& reply) {
  std::vector<uint8_t> frame(kFrameHeaderSize + kMaxMaxFrame);
  size_t size = 0;
  EXPECT_EQ(EncodeReply(reply, kMaxMaxFrame, {frame.data(), frame.size()}, &size), Status::kOk);
  frame.resize(size);
  return frame;
}

struct OpenJob : SmallJob {
  explicit OpenJob(const JobConfig& config) : SmallJob(config) {
    EXPECT_TRUE(job.OpenRound());
    drawn = job.cohort()[0];
    while (IsDrawn(undrawn)) ++undrawn;
  }

  bool IsDrawn(uint32_t device) const {
    return std::binary_search(job.cohort().begin(), job.cohort().end(), device);
  }
  Reply::Kind KindFor(uint32_t device, const Abilities& abilities) {
    return job.Answer(device, HelloOf(job, abilities)).kind;
  }
  // One device of the fleet runs until it waits. Returns whether it trained.
  bool Trains(uint32_t index, bool has_momentum) {
    SmallDevice device(registry[index], index, *job.config().model, 0, 50, has_momentum);
    EXPECT_EQ(device.Run(job, index), Status::kOk);
    return device.requests > 1;
  }

  uint32_t drawn = 0;
  uint32_t undrawn = 0;
};

TEST(Needs, ABatchMustFitAndADeviceThatDoesNotSayCounts) {
  OpenJob open(SmallConfig());
  EXPECT_EQ(open.KindFor(open.drawn, kOld), Reply::Kind::kTrain);
  EXPECT_EQ(open.KindFor(open.drawn, {kBatch - 1, 0}), Reply::Kind::kWait);
  EXPECT_EQ(open.KindFor(open.drawn, {kBatch, 0}), Reply::Kind::kTrain);
  EXPECT_EQ(open.KindFor(open.drawn, {0xffffffff, 0xffffffff}), Reply::Kind::kTrain);
  EXPECT_EQ(open.KindFor(open.undrawn, {kBatch, 0}), Reply::Kind::kWait);
}

TEST(Needs, ATaskWithMomentumIsForDevicesThatHaveIt) {
  OpenJob open(WithMomentum());
  constexpr uint32_t kLater = ~kFeatureMomentum;  // features that this server does not know
  EXPECT_EQ(open.KindFor(open.drawn, kOld), Reply::Kind::kWait);
  EXPECT_EQ(open.KindFor(open.drawn, {0, kLater}), Reply::Kind::kWait);
  const Reply reply = open.job.Answer(open.drawn, HelloOf(open.job, {0, kLater | 1}));
  ASSERT_EQ(reply.kind, Reply::Kind::kTrain);
  EXPECT_EQ(reply.task.training.momentum, 0.5F);
}

TEST(Needs, AClippingBoundBeyondTheBoxIsForDevicesThatClamp) {
  JobConfig config = SmallConfig();
  config.plan.noise_sigma = config.plan.clip_l2 * 0x1p-20;  // every coordinate is clamped
  OpenJob open(config);
  EXPECT_EQ(open.KindFor(open.drawn, {0, ~kFeatureClamping}), Reply::Kind::kWait);
  EXPECT_EQ(open.job.Lacking().devices, 1U);
  EXPECT_EQ(open.KindFor(open.drawn, {0, kFeatureClamping}), Reply::Kind::kTrain);
  EXPECT_EQ(open.job.Lacking().devices, 0U);
  EXPECT_TRUE(open.Trains(open.drawn, false));
  EXPECT_EQ(open.job.CloseRound().reported, 1U);
}

TEST(Needs, AJobThatRequiresTheSaltIsForDevicesThatMixItIn) {
  JobConfig config = SmallConfig();
  config.requires_salt = true;
  OpenJob open(config);
  EXPECT_EQ(open.KindFor(open.drawn, {0, ~kFeatureSalt}), Reply::Kind::kWait);
  const Reply reply = open.job.Answer(open.drawn, HelloOf(open.job, {0, kFeatureSalt}));
  ASSERT_EQ(reply.kind, Reply::Kind::kTrain);
  EXPECT_TRUE(open.Trains(open.drawn, false));
  // One that says no Hello does not say that it takes no salt.
  Upload upload;
  upload.task = reply.task;
  EXPECT_EQ(open.job.Answer(open.job.cohort()[1], upload.Begin()).code, ErrorCode::kMalformed);
  EXPECT_EQ(open.job.CloseRound().reported, 1U);
}

// A device that skipped the edges would send an update of a training in their place.
TEST(Needs, AJobThatMeasuresErrorsIsForDevicesThatCanFromItsFirstRoundOn) {
  using Net = nn::Sequential<nn::Dense<25, 25>, nn::MeanSquaredError<nn::TargetKind::kInput>>;
  static constexpr ModelInfo kDetector = MakeModelInfo<Net>("detector");
  JobConfig config = SmallConfig();
  config.model = &kDetector;
  config.plan.dimension = kDetector.parameters;
  config.plan.rounds = 2;
  config.error_edges = {1.0F};
  OpenJob open(config);
  EXPECT_EQ(open.KindFor(open.drawn, {0, ~kFeatureErrors}), Reply::Kind::kWait);
  EXPECT_EQ(open.job.Lacking().devices, 1U);
  const Reply reply = open.job.Answer(open.drawn, HelloOf(open.job, {0, kFeatureErrors}));
  ASSERT_EQ(reply.kind, Reply::Kind::kTrain);
  EXPECT_EQ(reply.task.error_edges.count(), 0U) << "the last round alone measures";
  EXPECT_EQ(config.TaskFor(1, config.training.clip_l2).error_edges.count(), 1U);
}

// In every kind of request, to the last byte.
// SECURITY.md S19.
TEST(Needs, WhoLacksSomethingIsAnsweredAsWhoeverIsNotDrawn) {
  OpenJob open(WithMomentum());
  const Reply task = open.job.Answer(open.drawn, HelloOf(open.job, kMomentum));
  ASSERT_EQ(task.kind, Reply::Kind::kTrain);
  Upload upload;
  upload.task = task.task;
  upload.bytes = {1, 2, 3};
  Request model;
  model.kind = Request::Kind::kGetModel;
  for (const Request& request :
       {HelloOf(open.job, kOld), model, upload.Begin(), upload.Chunk(0, 3)}) {
    const Reply to_drawn = open.job.Answer(open.drawn, request);
    EXPECT_EQ(FrameOf(to_drawn), FrameOf(open.job.Answer(open.undrawn, request)));
  }
}

TEST(Needs, ADeviceThatGetsWhatItLackedTakesPart) {
  OpenJob open(WithMomentum());
  EXPECT_FALSE(open.Trains(open.drawn, false));
  EXPECT_EQ(open.job.Lacking().devices, 1U);
  EXPECT_TRUE(open.Trains(open.drawn, true));
  EXPECT_EQ(open.job.Lacking().devices, 0U);
  const RoundOutcome outcome = open.job.CloseRound();
  EXPECT_EQ(outcome.reported, 1U);
  EXPECT_EQ(outcome.checked_in, 1U);
}

// The whole fleet asks; every third device has no memory for a velocity.
TEST(Needs, AFleetOfBothKindsReleasesAndOnlyThoseWithMomentumTrain) {
  OpenJob open(WithMomentum());
  uint32_t able_and_drawn = 0;
  for (uint32_t device = 0; device < kSmallDevices; ++device) {
    const bool has_momentum = device % 3 != 0;
    const bool trains = open.Trains(device, has_momentum);
    EXPECT_EQ(trains, has_momentum && open.IsDrawn(device)) << device;
    able_and_drawn += trains ? 1 : 0;
  }
  const RoundOutcome outcome = open.job.CloseRound();
  EXPECT_TRUE(outcome.released);
  EXPECT_EQ(outcome.cohort, 4U);
  EXPECT_EQ(outcome.reported, able_and_drawn);
  EXPECT_EQ(outcome.topped_up, 4 - able_and_drawn) << "the plan's noise";
  EXPECT_EQ(outcome.checked_in, 8U);
  EXPECT_EQ(outcome.lacking.devices, 4U);
  EXPECT_EQ(outcome.lacking.drawn, 4 - able_and_drawn);
  EXPECT_EQ(outcome.lacking.by_need[1].devices, 4U);
  EXPECT_EQ(outcome.lacking.by_need[0].devices, 0U);
  EXPECT_GT(able_and_drawn, 0U);
  EXPECT_LT(able_and_drawn, 4U);
}

// Nothing is released or charged for a fleet none of which can train.
TEST(Needs, IfAllDevicesLackItTheAttemptIsGivenUpAndTheJobSaysWhy) {
  JobConfig config = WithMomentum();
  config.process.max_attempts = 2;
  OpenJob open(config);
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (uint32_t device = 0; device < kSmallDevices; ++device) {
      EXPECT_FALSE(open.Trains(device, false));
    }
    const RoundOutcome outcome = open.job.CloseRound();
    EXPECT_FALSE(outcome.released);
    EXPECT_EQ(outcome.checked_in, 0U);
    EXPECT_EQ(outcome.lacking.devices, kSmallDevices);
    EXPECT_EQ(outcome.lacking.drawn, 4U);
  }
  EXPECT_TRUE(open.job.gave_up());
  EXPECT_TRUE(open.store.releases.empty());
  EXPECT_NE(open.job.finish_reason().find("12 devices without momentum (4 drawn; a job without "
                                          "--momentum suits them)"),
            std::string::npos)
      << open.job.finish_reason();
}

TEST(Needs, ARoundThatMayCloseEarlyDoesNotWaitForThem) {
  OpenJob open(ClosingEarly(WithMomentum()));
  const std::vector<uint32_t> cohort = open.job.cohort();
  EXPECT_FALSE(open.Trains(cohort[0], false));
  for (size_t i = 1; i < cohort.size(); ++i) {
    EXPECT_FALSE(open.job.IsComplete());
    EXPECT_TRUE(open.Trains(cohort[i], true));
  }
  EXPECT_TRUE(open.job.IsComplete());
  EXPECT_FALSE(open.Trains(cohort[1], false)) << "it has reported, and lost its memory";
  EXPECT_TRUE(open.job.IsComplete());
}

// A device that is in one attempt and polls in the next is checked in to both; not one that lacks
// something.
TEST(Needs, WhoLacksSomethingIsNotCheckedInToTheNextAttempt) {
  JobConfig config = SmallConfig();
  config.min_devices = 2;
  OpenJob open(config);
  EXPECT_EQ(open.KindFor(0, {1, 0}), Reply::Kind::kWait);
  EXPECT_NE(open.KindFor(1, kOld), Reply::Kind::kError);
  EXPECT_EQ(open.job.CloseRound().checked_in, 1U);
  EXPECT_EQ(open.job.CloseRound().checked_in, 1U);
  EXPECT_EQ(open.job.CloseRound().checked_in, 0U);
}

TEST(Needs, CountsAreByNeedAndMerge) {
  TrainTask task;
  task.quantizer_scale = 1;
  task.training.batch_size = 10;
  task.training.momentum = 0.5F;
  LackCounts counts = CountLacks(task, {{2, {4, kFeatureMomentum}}, {3, {6, 0}}}, {3, 5});
  counts.Merge(CountLacks(task, {{4, {20, 0}}}, {}));
  counts.Merge(LackCounts());
  LackCounts merged;
  merged.Merge(counts);
  EXPECT_EQ(merged.devices, 3U);
  EXPECT_EQ(merged.drawn, 1U);
  ASSERT_EQ(merged.by_need.size(), Needs().size());
  EXPECT_EQ(merged.by_need[0].devices, 2U);
  EXPECT_EQ(merged.by_need[0].drawn, 1U);
  EXPECT_EQ(merged.by_need[0].needed, 10U);
  EXPECT_EQ(merged.by_need[0].least, 4U);
  EXPECT_EQ(merged.by_need[1].devices, 2U);
  EXPECT_EQ(DescribeLacks(merged),
            "2 devices without memory for batches of 10 samples (1 drawn; a job with --batch-size "
            "4 suits all of them), 2 devices without momentum (1 drawn; a job without --momentum "
            "suits them)");
}

// Each method of training, the feature that it needs, and what is said of a device without it.
TEST(Needs, ATaskWithATrainingMethodIsForDevicesThatHaveIt) {
  struct Case {
    void (*change)(JobConfig&);
    uint32_t feature;
    const char* option;
  };
  const Case cases[] = {
      {[](JobConfig& c) { c.training.local_steps = 3; }, kFeatureSchedule, "--local-steps"},
      {[](JobConfig& c) { c.training.batches = Batches::kWithReplacement; }, kFeatureSchedule,
       "--batches"},
      {[](JobConfig& c) { c.learning_rate_schedule = privacy::LearningRateSchedule::kInverseStep; },
       kFeatureSchedule, "--learning-rate-schedule"},
      {[](JobConfig& c) { c.training.proximal = 0.1F; }, kFeatureProximal, "--proximal"},
      {[](JobConfig& c) { c.training.gradient_clip = 1; }, kFeatureClipOfBatch, "--gradient-clip"},
      {[](JobConfig& c) {
         c.training.gradient_clip = 1;
         c.training.gradient_clip_of = GradientClipOf::kSample;
       },
       kFeatureClipOfSample, "--gradient-clip"},
      {[](JobConfig& c) {
         c.model = FindModel("mlp");  // of one layer the option is refused
         c.plan.dimension = c.model->parameters;
         c.training.clip_by_layer = ClipByLayer::kSize;
       },
       kFeatureClipByLayer, "--clip-by-layer"},
      {[](JobConfig& c) { c.update_length = 500; }, kFeatureOneLength, "--one-length"},
  };
  for (const Case& each : cases) {
    JobConfig config = SmallConfig();
    each.change(config);
    OpenJob open(config);
    EXPECT_EQ(open.KindFor(open.drawn, {0, ~each.feature}), Reply::Kind::kWait) << each.option;
    EXPECT_NE(DescribeLacks(open.job.Lacking()).find(each.option), std::string::npos);
    EXPECT_EQ(open.KindFor(open.drawn, {0, each.feature}), Reply::Kind::kTrain) << each.option;
  }
  // The server alone resolves a rate that changes from round to round.
  JobConfig config = SmallConfig();
  config.learning_rate_schedule = privacy::LearningRateSchedule::kInverseRound;
  OpenJob open(config);
  EXPECT_EQ(open.KindFor(open.drawn, kOld), Reply::Kind::kTrain);
}

TEST(Needs, AJobThatNeedsNothingOfADeviceLacksNothing) {
  TrainTask task;
  task.quantizer_scale = 1;
  EXPECT_EQ(DescribeNeeds(task), "memory for batches of 10 samples");
  task.training.momentum = 0.9F;
  EXPECT_EQ(DescribeNeeds(task), "memory for batches of 10 samples, momentum");
  task.quantizer_scale = 0x1p-20F;
  EXPECT_EQ(DescribeNeeds(task),
            "memory for batches of 10 samples, momentum, clipping bounds above 1024 deviations of "
            "the noise");
  EXPECT_EQ(DescribeLacks(LackCounts()), "");
  EXPECT_EQ(DescribeLacks(CountLacks(task, {}, {1})), "");
}

}  // namespace
}  // namespace sotto::server
