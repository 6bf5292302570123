// Tests of attempts that several processes share: their parts merge to the release of one process.
#include "round/attempt.h"

#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

#include "aggregate/methods.h"
#include "round/release.h"
#include "unit/server/requests.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

// Two jobs with the same keys, as two processes hold them. Each serves half of the devices.
class SplitAttempt : public testing::Test {
 protected:
  SplitAttempt() {
    EXPECT_TRUE(whole_.job.OpenRound());
    EXPECT_TRUE(first_.job.OpenRound());
    EXPECT_TRUE(second_.job.OpenRound());
    EXPECT_EQ(first_.job.cohort(), whole_.job.cohort());
  }

  void Report(uint32_t device) {
    whole_.Report(device);
    (device % 2 == 0 ? first_ : second_).Report(device);
  }

  SmallJob whole_;
  SmallJob first_;
  SmallJob second_;
};

TEST_F(SplitAttempt, ReleasesTheSameBytes) {
  for (const uint32_t device : whole_.job.cohort()) Report(device);
  PartialSum total = first_.job.CloseUploads();
  const PartialSum part = second_.job.CloseUploads();
  EXPECT_NE(total.sums, part.sums);
  total.Merge(part);
  const RoundOutcome merged = first_.job.FinishRound(std::move(total));
  const RoundOutcome alone = whole_.job.CloseRound();
  EXPECT_TRUE(merged.released);
  EXPECT_EQ(merged.reported, alone.reported);
  EXPECT_EQ(merged.checked_in, alone.checked_in);
  EXPECT_EQ(merged.update_bytes, alone.update_bytes);
  EXPECT_EQ(first_.Model(), whole_.Model());
}

TEST_F(SplitAttempt, IsToppedUpForWhoeverReportedToNoProcess) {
  Report(whole_.job.cohort()[0]);
  Report(whole_.job.cohort()[1]);
  PartialSum total = second_.job.CloseUploads();
  total.Merge(first_.job.CloseUploads());
  EXPECT_EQ(second_.job.FinishRound(std::move(total)).topped_up, 2U);
  EXPECT_TRUE(whole_.job.CloseRound().released);
  EXPECT_EQ(second_.Model(), whole_.Model());
}

TEST_F(SplitAttempt, ASumThatCountsADeviceTwiceIsRefused) {
  for (const uint32_t device : whole_.job.cohort()) Report(device);
  PartialSum total = whole_.job.CloseUploads();
  total.Merge(first_.job.CloseUploads());
  total.Merge(second_.job.CloseUploads());
  EXPECT_THROW(whole_.job.FinishRound(std::move(total)), std::invalid_argument);
}

TEST_F(SplitAttempt, ASumOfAnotherModelIsRefused) {
  AskForWork(whole_.job, 0);
  PartialSum total(std::vector<int64_t>(3));
  total.counts = whole_.job.CloseUploads().counts;
  EXPECT_THROW(whole_.job.FinishRound(std::move(total)), std::invalid_argument);
}

TEST(Attempt, ARoundFinishesOnlyOnceItsUploadsAreClosed) {
  SmallJob small;
  ASSERT_TRUE(small.job.OpenRound());
  EXPECT_THROW(small.job.FinishRound(PartialSum({})), std::logic_error);
  small.job.CloseUploads();
  EXPECT_THROW(small.job.CloseUploads(), std::logic_error);
}

TEST(Attempt, OnceClosedItTellsDevicesToWaitAndTakesNothing) {
  SmallJob small;
  ASSERT_TRUE(small.job.OpenRound());
  const uint32_t device = small.job.cohort()[0];
  EXPECT_EQ(AskForWork(small.job, device).kind, Reply::Kind::kTrain);
  const PartialSum part = small.job.CloseUploads();
  EXPECT_EQ(part.counts.checked_in, 1U);
  EXPECT_EQ(AskForWork(small.job, device).kind, Reply::Kind::kWait);
  Request begin;
  begin.kind = Request::Kind::kUpdateBegin;
  EXPECT_EQ(small.job.Answer(device, begin).code, ErrorCode::kNotSelected);
}

// An attempt needs no job: a task and the drawn devices are enough.
TEST(Attempt, NeedsNoJob) {
  const JobConfig config = SmallConfig();
  const DeviceRegistry devices = SmallRegistry();
  ModelCodes codes({std::shared_ptr<void>(), config.model}, std::nullopt);
  codes.Prepare(std::make_shared<const std::vector<float>>(config.model->parameters));
  codes.Publish();
  Attempt attempt(config, Unowned(devices), config.TaskFor(0, 0.4F), {2, 5}, codes);
  Request hello;
  hello.kind = Request::Kind::kHello;
  EXPECT_EQ(attempt.Answer(1, hello).kind, Reply::Kind::kWait);
  EXPECT_EQ(attempt.Answer(2, hello).kind, Reply::Kind::kTrain);
  EXPECT_FALSE(attempt.IsComplete());
  EXPECT_EQ(attempt.Close().counts.checked_in, 2U);
}

// Four reports of deviation 0.2, divided by a cohort of four.
TEST(Release, TheMeansNoiseIsThatOfThePlannedReports) {
  const JobConfig config = SmallConfig();
  EXPECT_NEAR(MeanNoiseSigma(config, config.TaskFor(0, 0.4F), 4), 0.1, 1e-7);
  JobConfig exact = config;
  exact.codec = &RequireCodec("none");
  EXPECT_EQ(MeanNoiseSigma(exact, exact.TaskFor(0, 0.4F), 4), 0.0);
  TrainTask task = config.TaskFor(0, 0.4F);
  task.private_noise_q20 = 3 << 19;  // 1.5 times as much
  EXPECT_NEAR(MeanNoiseSigma(config, task, 4), 0.1 * std::sqrt(1 + 1.5 * 1.5), 1e-7);
}

}  // namespace
}  // namespace sotto::server
