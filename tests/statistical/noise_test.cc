// Statistical tests: the noise of a released model is the noise of the plan. They run whole
// simulations with training switched off, so the release is noise alone.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "data/synthetic.h"
#include "sim/simulation_request.h"

namespace sotto::server {
namespace {

const TrainTest& Data() {
  static const TrainTest* const kData = new TrainTest(MakeSynthetic({2000, 10, 1}));
  return *kData;
}

// One round of 40 devices; each has 50 samples.
SimulationRequest OneRound(uint64_t seed) {
  SimulationRequest options;
  options.fleet.devices = 40;
  options.job.plan.sampling = privacy::Sampling::kUniform;
  options.job.plan.cohort = 10;
  options.job.plan.rounds = 1;
  options.job.training.local_epochs = 1;
  options.job.training.learning_rate = 0;
  options.noise_multiplier = 2.0;
  options.seed = seed;
  options.job.process.threads = 2;
  options.job.aggregation.grid = 0;  // the noise alone is measured
  return options;
}

// The noise of the model in units of the plan's deviation, sqrt(planned) sigma / cohort.
std::vector<double> StandardisedNoise(const SimulationRequest& options) {
  const SimulationConfig config = MakeSimulation(options);
  const SimulationResult result = Simulate(config, Data(), [](const RoundReport&) {});
  const privacy::Plan& plan = config.job.plan;
  const double device_sigma = std::hypot(plan.noise_sigma, plan.PrivateNoiseSigma());
  const double deviation = device_sigma * std::sqrt(static_cast<double>(plan.planned_reports)) /
                           static_cast<double>(plan.cohort);
  std::vector<double> noise;
  for (const float value : result.parameters) noise.push_back(value / deviation);
  return noise;
}

double GaussianCdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

double KolmogorovSmirnov(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto n = static_cast<double>(samples.size());
  double distance = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double cdf = GaussianCdf(samples[i]);
    distance = std::max({distance, std::fabs(cdf - static_cast<double>(i) / n),
                         std::fabs(static_cast<double>(i + 1) / n - cdf)});
  }
  return std::sqrt(n) * distance;
}

// Of six fixed seeds, n = 47,100 coordinates.
std::vector<double> PooledNoise(const SimulationRequest& base) {
  std::vector<double> pooled;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SimulationRequest options = base;
    options.seed = seed;
    const auto noise = StandardisedNoise(options);
    pooled.insert(pooled.end(), noise.begin(), noise.end());
  }
  return pooled;
}

double Deviation(const std::vector<double>& noise) {
  double square = 0;
  for (const double value : noise) square += value * value;
  return std::sqrt(square / static_cast<double>(noise.size()));
}

// The estimate of the deviation has a relative deviation of 1/sqrt(2n) = 0.0033. A tolerance of 2 %
// is six of these: false failures have probability 2e-9. sqrt(n) D is above 3.1 with a probability
// below 1e-8. If the noise is off by 3 %, either check fails almost surely.
void ExpectPlannedNoise(const SimulationRequest& base) {
  const std::vector<double> pooled = PooledNoise(base);
  EXPECT_NEAR(Deviation(pooled), 1.0, 0.02);
  EXPECT_LT(KolmogorovSmirnov(pooled), 3.1);
}

TEST(ReleasedNoise, IsThePlansGaussian) { ExpectPlannedNoise(OneRound(1)); }

// Without the top-up the variance would be lower by the share of missing devices: here by half.
TEST(ReleasedNoise, DoesNotShrinkWhenDevicesDropOut) {
  SimulationRequest options = OneRound(1);
  options.fleet.dropout = 0.5;
  ExpectPlannedNoise(options);
}

TEST(ReleasedNoise, DoesNotFollowTheSizeOfAPoissonCohort) {
  SimulationRequest options = OneRound(1);
  options.job.plan.sampling = privacy::Sampling::kPoisson;
  ExpectPlannedNoise(options);
}

// The devices' private noise adds a factor of 1.18 here. If half of the devices were missing and
// the top-up left their private noise out, the deviation would be 0.93.
TEST(ReleasedNoise, WithPrivateNoiseIsConstantWhoeverReports) {
  SimulationRequest options = OneRound(1);
  options.trust_mode = privacy::TrustMode::kPrivateNoise;
  options.private_noise_multiplier = 0.4;
  ExpectPlannedNoise(options);
  options.fleet.dropout = 0.5;
  ExpectPlannedNoise(options);
  options.job.plan.sampling = privacy::Sampling::kPoisson;
  ExpectPlannedNoise(options);
}

// Missing devices are topped up with the baseline's own noise.
TEST(ReleasedNoise, OfTheFloat32BaselineIsThePlansGaussian) {
  SimulationRequest options = OneRound(1);
  options.job.codec = FindCodec("float32");
  options.fleet.dropout = 0.5;
  ExpectPlannedNoise(options);
}

// These codecs have lattices, so only the deviation is compared. If the noise of half the devices
// were missing, it would be 0.8 at most.
// - bq: the estimate is as precise as for ExpectPlannedNoise(), because the kurtosis is below 3.
// - qg: an update whose largest coordinate is above 3.53 has levels 1.01 or more apart, which adds
//   0.17 to the variance. One update in 26 is below 3.53 and adds 0.92. That 20 of 60 updates are
//   below has a probability under 1e-12.
TEST(ReleasedNoise, OfTheOtherBaselinesIsThePlansWhoeverDropsOut) {
  SimulationRequest options = OneRound(1);
  options.fleet.dropout = 0.5;
  options.job.codec = FindCodec("bq");
  EXPECT_NEAR(Deviation(PooledNoise(options)), 1.0, 0.02);
  options.job.codec = FindCodec("qg");
  const double deviation = Deviation(PooledNoise(options));
  EXPECT_GT(deviation, 1.06);
  EXPECT_LT(deviation, 1.25);
}

// Smoothing damps noise and leaves its mean: it must reach the release, and only then.
TEST(ReleasedNoise, IsDampedBySmoothing) {
  SimulationRequest options = OneRound(1);
  options.job.aggregation.smoothing = 1.0;
  double square = 0;
  const auto noise = StandardisedNoise(options);
  for (const double value : noise) square += value * value;
  // For factor 1 the mean of (1 + 2(1 - cos x))^-2 over x is (1 + 2)/(1 + 4)^1.5 = 0.268.
  EXPECT_NEAR(square / static_cast<double>(noise.size()), 0.268, 0.04);
}

std::vector<float> ModelOf(const SimulationRequest& options) {
  return Simulate(MakeSimulation(options), Data(), [](const RoundReport&) {}).parameters;
}

TEST(Seed, RepeatsARunBitForBitUnderAnyNumberOfThreads) {
  for (const char* mechanism : {"gau-lrq", "float32", "qg", "bq"}) {
    for (const auto sampling : {privacy::Sampling::kUniform, privacy::Sampling::kPoisson}) {
      SimulationRequest options = OneRound(7);
      options.job.codec = FindCodec(mechanism);
      options.job.training.learning_rate = 0.1f;
      options.job.plan.rounds = 3;
      options.fleet.dropout = 0.3;
      options.job.plan.sampling = sampling;
      const auto reference = ModelOf(options);
      for (const int threads : {1, 2, 5}) {
        options.job.process.threads = threads;
        EXPECT_EQ(ModelOf(options), reference)
            << mechanism << ", " << privacy::Name(sampling) << ", threads = " << threads;
      }
      options.seed = 8;
      EXPECT_NE(ModelOf(options), reference);
    }
  }
}

TEST(Seed, RepeatsPrivateNoiseToo) {
  SimulationRequest options = OneRound(7);
  options.job.training.learning_rate = 0.1f;
  options.job.plan.rounds = 2;
  options.fleet.dropout = 0.3;
  const auto trusted = ModelOf(options);
  options.trust_mode = privacy::TrustMode::kPrivateNoise;
  options.private_noise_multiplier = 0.4;
  const auto reference = ModelOf(options);
  EXPECT_NE(reference, trusted);
  options.job.process.threads = 5;
  EXPECT_EQ(ModelOf(options), reference);
}

TEST(Seed, WithoutOneEveryRunDiffers) {
  SimulationRequest options = OneRound(1);
  options.seed.reset();
  EXPECT_NE(ModelOf(options), ModelOf(options));
}

// Fine dither and exact updates differ by quantization of a 4096th of the clipping bound.
TEST(UniformDither, TrainsLikeExactUpdates) {
  SimulationRequest options = OneRound(3);
  options.noise_multiplier.reset();
  options.job.training.learning_rate = 0.1f;
  options.epsilon = std::numeric_limits<double>::infinity();
  const auto dithered = ModelOf(options);
  options.job.codec = FindCodec("none");
  const auto exact = ModelOf(options);
  double error = 0;
  double norm = 0;
  for (size_t j = 0; j < exact.size(); ++j) {
    error += std::pow(dithered[j] - exact[j], 2);
    norm += std::pow(exact[j], 2);
    EXPECT_NEAR(dithered[j], exact[j], 0.4 / 4096);
  }
  EXPECT_GT(norm, 0.01);
  EXPECT_GT(error, 0) << "the dither must be real";
}

}  // namespace
}  // namespace sotto::server
