// Tests of adaptive clipping in a job: the bits of the devices move the bound, and the noise moves
// with the bound.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <stdexcept>

#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"
#include "unit/server/requests.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

// Lets a device report; true if its training was not clipped.
bool ReportsUnclipped(SmallJob& small, uint32_t index) {
  SmallDevice device(small.registry[index], index, *small.job.config().model, small.job.round());
  EXPECT_EQ(device.Run(small.job, index), Status::kOk);
  return !device.client().clipped();
}

int ReportAll(SmallJob& small) {
  int unclipped = 0;
  for (const uint32_t index : small.job.cohort()) unclipped += ReportsUnclipped(small, index);
  return unclipped;
}

// Six deviations of the noise, as a share of the cohort: 2e-9.
constexpr double kTolerance = 6 * 0.05 / 4;

TEST(AdaptiveClipJob, TheFractionIsTheShareOfUnclippedDevices) {
  std::map<int, int> seen;
  for (const double clip : {0.01, 0.6, 0.7, 0.75, 0.8, 0.9, 100.0}) {
    SmallJob small(SmallAdaptiveConfig(clip));
    ASSERT_TRUE(small.job.OpenRound());
    const int unclipped = ReportAll(small);
    ++seen[unclipped];
    const RoundOutcome outcome = small.job.CloseRound();
    ASSERT_TRUE(outcome.released && outcome.unclipped_fraction);
    EXPECT_NEAR(*outcome.unclipped_fraction, unclipped / 4.0, kTolerance) << clip;
    EXPECT_GE(*outcome.unclipped_fraction, 0);
    EXPECT_LE(*outcome.unclipped_fraction, 1);
  }
  EXPECT_TRUE(seen.count(0) && seen.count(4) && seen.size() > 2) << "not only all or none";
}

TEST(AdaptiveClipJob, ADeviceThatDoesNotReportCountsHalf) {
  SmallJob small(SmallAdaptiveConfig(100));
  ASSERT_TRUE(small.job.OpenRound());
  EXPECT_TRUE(ReportsUnclipped(small, small.job.cohort()[0]));
  EXPECT_NEAR(*small.job.CloseRound().unclipped_fraction, (1 + 3 * 0.5) / 4, kTolerance);
}

TEST(AdaptiveClipJob, APoissonCohortIsDividedByItsExpectedSize) {
  JobConfig config = SmallAdaptiveConfig(100);
  config.plan.sampling = privacy::Sampling::kPoisson;
  config.plan.planned_reports = kSmallDevices;
  config.min_devices = 0;
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  ASSERT_NE(small.job.cohort().size(), 4u);
  for (size_t i = 0; i < 2; ++i) ReportsUnclipped(small, small.job.cohort()[i]);
  // Twelve noises in the sum, not four.
  EXPECT_NEAR(*small.job.CloseRound().unclipped_fraction, 0.5 + 2 * 0.5 / 4,
              kTolerance * std::sqrt(3));
}

TEST(AdaptiveClipJob, BoundAndNoiseMoveTogetherFromRoundToRound) {
  SmallJob small(SmallAdaptiveConfig(0.1));
  const JobConfig& config = small.job.config();
  float clip = 0.1F;
  while (small.job.OpenRound()) {
    const TrainTask task = AskForWork(small.job, small.job.cohort()[0]).task;
    EXPECT_EQ(task.training.clip_l2, clip);
    EXPECT_EQ(task.clip_bit_q20, config.ClipBitQ20());
    EXPECT_GE(static_cast<double>(task.quantizer_scale) * config.plan.clip_l2,
              config.plan.noise_sigma * static_cast<double>(clip));
    ReportAll(small);
    const RoundOutcome outcome = small.job.CloseRound();
    EXPECT_EQ(outcome.clip_l2, static_cast<double>(clip));
    EXPECT_EQ(outcome.noise_sigma, static_cast<double>(task.quantizer_scale));
    const double factor = std::exp(-0.2 * (*outcome.unclipped_fraction - 0.5));
    EXPECT_NEAR(outcome.next_clip_l2, outcome.clip_l2 * factor, 1e-6 * outcome.clip_l2);
    EXPECT_EQ(small.store.releases.back().clip_l2, outcome.clip_l2);
    EXPECT_EQ(small.store.releases.back().next_clip_l2, outcome.next_clip_l2);
    EXPECT_EQ(small.store.releases.back().noise_sigma, outcome.noise_sigma);
    EXPECT_EQ(outcome.spent.noise_multiplier, config.plan.NoiseMultiplier());
    clip = static_cast<float>(outcome.next_clip_l2);
    EXPECT_EQ(small.job.clip_l2(), clip);
  }
  EXPECT_GT(clip, 0.1F);
}

TEST(AdaptiveClipJob, AResumedJobGoesOnWithTheBoundOfItsLastRelease) {
  const JobConfig config = SmallAdaptiveConfig(0.1);
  SmallJob whole(config);
  SmallJob begun(config);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(whole.job.OpenRound());
    ReportAll(whole);
    ASSERT_TRUE(whole.job.CloseRound().released);
  }
  ASSERT_TRUE(begun.job.OpenRound());
  ReportAll(begun);
  ASSERT_TRUE(begun.job.CloseRound().released);
  JobState state;
  const Key id = posix::DeriveKey(Key(), key_label::kJob);
  std::copy_n(id.bytes, kJobIdSize, state.job_id);
  state.next_round = state.attempts = 1;
  state.parameters = begun.Model();
  state.clip_l2 = begun.store.releases.back().next_clip_l2;
  Job resumed(config, begun.registry, begun.store, Key(), state);
  while (resumed.OpenRound()) {
    for (const uint32_t index : resumed.cohort()) {
      SmallDevice device(begun.registry[index], index, *config.model, resumed.round());
      ASSERT_EQ(device.Run(resumed, index), Status::kOk);
    }
    ASSERT_TRUE(resumed.CloseRound().released);
  }
  EXPECT_EQ(resumed.clip_l2(), whole.job.clip_l2());
  EXPECT_EQ(std::vector<float>(resumed.parameters().begin(), resumed.parameters().end()),
            whole.Model());
}

TEST(AdaptiveClipJob, ADeviceThatDoesNotKnowTheBitIsRefused) {
  SmallJob small(SmallAdaptiveConfig());
  ASSERT_TRUE(small.job.OpenRound());
  const uint32_t device = small.job.cohort()[0];
  Upload upload;
  upload.task = AskForWork(small.job, device).task;
  const TrainTask& task = upload.task;
  Request begin = upload.Begin();
  for (const uint32_t bit : {uint32_t{0}, task.clip_bit_q20 - 1}) {
    begin.clip_bit_q20 = bit;
    EXPECT_EQ(small.job.Answer(device, begin).code, ErrorCode::kMalformed);
  }
  begin.clip_bit_q20 = task.clip_bit_q20;
  EXPECT_EQ(small.job.Answer(device, begin).kind, Reply::Kind::kAck);
}

TEST(AdaptiveClipJob, ADeviceRefusesABitThatNoUpdateHasRoomFor) {
  SmallJob small(SmallAdaptiveConfig());
  ASSERT_TRUE(small.job.OpenRound());
  const uint32_t index = small.job.cohort()[0];
  SmallDevice device(small.registry[index], index, *small.job.config().model);
  device.config.allow_training_without_privacy = true;
  for (const bool exact : {false, true}) {
    Client::Progress progress = Client::Progress::kAgain;
    while (progress != Client::Progress::kSend) {
      ASSERT_EQ(device.client().Step(&progress), Status::kOk);
    }
    Reply reply = AskForWork(small.job, index);
    reply.task.clip_bit_q20 = exact ? 1 : (1U << 30) + 1;
    if (exact) reply.task.format.coding = Coding::kFloat32;
    EXPECT_EQ(device.client().OnReply(reply), Status::kMalformed);
  }
}

// The accountant's figures of the first round bound every round, in exact arithmetic. The integers
// of an update have a sum of squares of at most (C 2^20 / sigma)^2, and the bit's square is B^2.
TEST(AdaptiveClipConfig, NoBoundGivesAnUpdateMoreThanItsShareOfTheNoise) {
  for (const double scale : {0.3, 1.7, 40.0}) {
    JobConfig config = SmallAdaptiveConfig(0.37, scale / 50);
    const long double most = std::ldexp(
        static_cast<long double>(config.plan.ClipWithExtras()) / config.plan.noise_sigma, 20);
    const auto bit = static_cast<long double>(config.ClipBitQ20());
    EXPECT_GT(bit,
              0.999999L * std::ldexp(config.plan.clip_bit_scale / 2, 20) / config.plan.noise_sigma);
    for (float clip = 1e-6F; clip < 1e6F; clip *= 1.0371F) {
      const float sigma = config.NoiseSigmaFor(clip);
      const auto norm = std::ldexp(static_cast<long double>(clip) / sigma, 20);
      EXPECT_LE(std::sqrt(norm * norm + bit * bit), most * (1 + 1e-18L)) << clip;
      EXPECT_LT(sigma, clip * config.plan.noise_sigma / config.plan.clip_l2 * (1 + 2e-7));
    }
    EXPECT_EQ(static_cast<double>(config.NoiseSigmaFor(0.37F)), config.plan.noise_sigma);
  }
}

TEST(AdaptiveClipConfig, TheBoundStaysWhereFloatsCanHoldIt) {
  const JobConfig config = SmallAdaptiveConfig();
  const int64_t all = 4 * static_cast<int64_t>(config.ClipBitQ20());
  double fraction = 0;
  EXPECT_EQ(config.NextClip(1e-6F, all, config.plan.ExpectedCohort(), &fraction), 1e-6F);
  EXPECT_EQ(fraction, 1);
  EXPECT_EQ(config.NextClip(1e6F, -all, config.plan.ExpectedCohort(), &fraction), 1e6F);
  EXPECT_EQ(fraction, 0);
  EXPECT_EQ(config.NextClip(0.4F, 0, config.plan.ExpectedCohort(), &fraction), 0.4F)
      << "half of them, as it should be";
}

TEST(AdaptiveClipConfig, RefusesWhatCannotBe) {
  const auto refuses = [](auto change) {
    JobConfig config = SmallAdaptiveConfig();
    change(config);
    EXPECT_THROW(config.Validate(), std::invalid_argument);
  };
  refuses([](JobConfig& c) { c.clip_schedule.reset(); });
  refuses([](JobConfig& c) { c.plan.clip_bit_scale = 0; });
  refuses([](JobConfig& c) { c.plan.clip_bit_scale = -1; });
  refuses([](JobConfig& c) { c.plan.clip_bit_scale = NAN; });
  refuses([](JobConfig& c) { c.plan.clip_bit_scale = 1e-9; });
  refuses([](JobConfig& c) { c.plan.clip_bit_scale = 1e9; });
  refuses([](JobConfig& c) { c.plan.dimension -= 1; });
  refuses([](JobConfig& c) { c.clip_schedule->quantile = 1.5; });
  refuses([](JobConfig& c) { c.clip_schedule->learning_rate = NAN; });
  refuses([](JobConfig& c) { c.plan.private_noise_multiplier = 0.5; });
  for (const char* codec : {"none", "uniform-dither", "qg"}) {
    refuses([&](JobConfig& c) { c.codec = FindCodec(codec); });
  }
}

}  // namespace
}  // namespace sotto::server
