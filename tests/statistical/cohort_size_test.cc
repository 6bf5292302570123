// A statistical test: the variance of a released sum does not reveal the size of a Poisson cohort,
// because the sum is topped up. Without the top-up it would.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "aggregate/dither_engine.h"
#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"
#include "unit/server/requests.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

constexpr int kRounds = 20;

// An estimate of a variance from n = 7,850 normal values has deviation sqrt(2 / n) = 1.6 %. That
// any of all 40 estimates is off by more than 7 deviations has a probability below 1e-9. Keys are
// fixed. The cohort sizes differ by far more than this tolerance, so a variance that followed them
// would be detected.
constexpr double kTolerance = 0.112;

JobConfig PoissonConfig() {
  JobConfig config = SmallConfig();
  config.model = FindModel("softmax-784-10");
  config.plan.sampling = privacy::Sampling::kPoisson;
  config.plan.planned_reports = kSmallDevices;
  config.plan.rounds = kRounds;
  config.plan.dimension = config.model->parameters;
  config.padding = 0;
  config.min_devices = 0;
  return config;
}

// A drawn device reports an update of zeros, so the sum holds noise alone.
void ReportZeros(Job& job, uint32_t device) {
  Upload upload;
  upload.task = AskForWork(job, device).task;
  upload.nonce.assign(kNonceSize, static_cast<uint8_t>(device));
  upload.bytes = {0};
  ASSERT_EQ(job.Answer(device, upload.Begin()).kind, Reply::Kind::kAck);
  ASSERT_TRUE(job.Answer(device, upload.Chunk(0, 1)).complete);
}

// The zero update that the server adds for missing device number `index`, in noise deviations.
std::vector<double> ToppedUpNoise(const Job& job, const RoundOutcome& outcome, uint32_t index) {
  const Key key = posix::DeriveKey(Key(), key_label::kZero, outcome.round, outcome.attempt, index);
  std::vector<int32_t> noise(job.config().model->parameters);
  const uint8_t zeros[1] = {0};
  EXPECT_EQ(DecodeUpdate(key, {Coding::kRange, DitherKind::kGaussian, 0}, zeros,
                         {noise.data(), noise.size()}, FastEngine()),
            Status::kOk);
  std::vector<double> values;
  for (const int32_t value : noise) values.push_back(value * 0x1p-20);
  return values;
}

double Variance(const std::vector<double>& values) {
  double square = 0;
  for (const double value : values) square += value * value;
  return square / static_cast<double>(values.size());
}

TEST(CohortSize, CannotBeReadOffTheReleasedVarianceThatTheTopUpKeepsConstant) {
  const JobConfig config = PoissonConfig();
  SmallJob small(config);
  std::vector<size_t> sizes;
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(small.job.OpenRound());
    const std::vector<uint32_t> cohort = small.job.cohort();
    for (const uint32_t device : cohort) ReportZeros(small.job, device);
    const std::vector<float> before = small.Model();
    const RoundOutcome outcome = small.job.CloseRound();
    ASSERT_TRUE(outcome.released);
    ASSERT_EQ(outcome.reported, cohort.size());
    // The released sum in deviations of one device's noise: the model moves by it over q N = 4.
    std::vector<double> sum;
    for (size_t j = 0; j < before.size(); ++j) {
      sum.push_back((static_cast<double>(small.Model()[j]) - static_cast<double>(before[j])) * 4 /
                    config.plan.noise_sigma);
    }
    EXPECT_NEAR(Variance(sum) / kSmallDevices, 1, kTolerance) << "cohort of " << cohort.size();

    for (uint32_t i = 0; i < outcome.topped_up; ++i) {
      const std::vector<double> noise = ToppedUpNoise(small.job, outcome, i);
      for (size_t j = 0; j < sum.size(); ++j) sum[j] -= noise[j];
    }
    const auto size = static_cast<double>(cohort.size());
    EXPECT_NEAR(Variance(sum), size, kTolerance * size + 1e-6) << "it would tell the size";
    sizes.push_back(cohort.size());
  }
  const auto [smallest, largest] = std::minmax_element(sizes.begin(), sizes.end());
  EXPECT_LE(2 * *smallest, *largest) << "the cohorts are too much alike to show anything";
}

}  // namespace
}  // namespace sotto::server
