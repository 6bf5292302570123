// Statistical tests of adaptive clipping: the noise on the bits, and the value that the bound
// reaches.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "round/job_config.h"
#include "sotto/random.h"
#include "unit/sdk/extra_coordinates.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

// Noise of this deviation, in devices, on the sum of the bits of a cohort.
JobConfig AdaptiveConfig(uint32_t cohort, double bit_sum_deviation) {
  JobConfig config = SmallConfig();
  config.plan.devices = std::max<int64_t>(config.plan.devices, cohort);
  config.plan.cohort = config.plan.planned_reports = cohort;
  config.plan.dimension += 1;
  config.plan.clip_bit_scale = std::sqrt(cohort) * config.plan.noise_sigma / bit_sum_deviation;
  config.clip_schedule = privacy::ClipSchedule{0.5, 0.2};
  return config;
}

// No device reports, so each sum holds only the server's zero updates, which are noise alone. Over
// 1,000 rounds the mean of squares is outside [0.74, 1.31] with a probability below 4e-9, by the
// Chernoff bound of the chi-square distribution, exp(-500 (x - 1 - ln x)). The mean is off by six
// of its deviations with a probability of 2e-9. Noise of 0.85 or 1.2 times the right deviation is
// detected. Seed: the key of zeros.
TEST(AdaptiveClip, TheNoiseOnTheFractionIsWhatTheBudgetPaidFor) {
  constexpr int kRounds = 1000;
  constexpr double kDeviation = 0.2;  // 0.05 of the cohort: far from where the fraction is cut off
  JobConfig config = AdaptiveConfig(4, kDeviation);
  config.plan.rounds = kRounds;
  config.plan.accountant = privacy::Accountant("rdp");  // the cheapest: the noise is what is tested
  config.min_devices = 0;
  SmallJob small(config);
  double sum = 0;
  double squares = 0;
  while (small.job.OpenRound()) {
    const double error = (*small.job.CloseRound().unclipped_fraction - 0.5) * 4 / kDeviation;
    sum += error;
    squares += error * error;
  }
  EXPECT_EQ(small.job.round(), static_cast<uint32_t>(kRounds));
  EXPECT_LT(std::fabs(sum / std::sqrt(kRounds)), 6);
  EXPECT_GT(squares / kRounds, 0.74);
  EXPECT_LT(squares / kRounds, 1.31);
}

// Noisy sum of the cohort's bits, each encoded and decoded as on a device and on the server.
int64_t NoisyBitSum(const std::vector<double>& norms, const TrainTask& task, RandomStream& random) {
  const std::vector<float> update(1);
  int64_t sum = 0;
  for (const double norm : norms) {
    Key key;
    random.Fill(key.bytes);
    const auto bit = static_cast<int32_t>(task.clip_bit_q20);
    UpdateEncoder encoder;
    EXPECT_EQ(encoder.Begin(
                  key, task.format, {update.data(), 1}, task.training.clip_l2, task.quantizer_scale,
                  WithClipBit(norm <= static_cast<double>(task.training.clip_l2) ? bit : -bit)),
              Status::kOk);
    uint8_t bytes[128];
    int32_t noisy[2];
    size_t size = 0;
    EXPECT_EQ(encoder.Read(bytes, &size), Status::kOk);
    EXPECT_EQ(DecodeUpdate(key, task.format, ByteSpan(bytes).first(size), noisy), Status::kOk);
    sum += noisy[1];
  }
  return sum;
}

// The norms of 100 devices are e^x for x evenly in [-1, 1]; all devices take part in every round.
// Linearised, ln C is an autoregression with a step of 0.2 * 0.05 and a pull of 0.2 * 0.5 toward
// the quantile. Its stationary deviation is 0.023, and the deviation of its mean over 100 rounds is
// at most 0.011. From a start that is off by a factor of 20, the pull of a full error, at least 0.2
// * 0.2, needs 75 rounds. The test tolerates eight deviations of the mean: a false failure has
// probability 2e-15. A bias of 0.08 of a quantile is detected. Seed 0.
TEST(AdaptiveClip, TheBoundGoesToTheQuantileOfTheNorms) {
  constexpr int kDevices = 100;
  std::vector<double> norms;
  for (int i = 0; i < kDevices; ++i) norms.push_back(std::exp(2 * (i + 0.5) / kDevices - 1));
  RandomStream random(Key(), 0);
  for (const double quantile : {0.2, 0.5, 0.8}) {
    for (const double start : {0.05, 20.0}) {
      JobConfig config = AdaptiveConfig(kDevices, kDevices / 20.0);
      config.clip_schedule->quantile = quantile;
      float clip = static_cast<float>(std::exp(2 * quantile - 1) * start);
      double mean = 0;
      for (int round = 0; round < 200; ++round) {
        double fraction = 0;
        clip = config.NextClip(clip, NoisyBitSum(norms, config.TaskFor(0, clip), random),
                               config.plan.ExpectedCohort(), &fraction);
        if (round >= 100) mean += std::log(clip) / 100;
      }
      EXPECT_NEAR(mean, 2 * quantile - 1, 0.09) << "quantile " << quantile << " from " << start;
    }
  }
}

}  // namespace
}  // namespace sotto::server
