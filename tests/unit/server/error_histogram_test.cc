// A fleet's histogram of prediction errors: the threshold that is found from it, and the round of a
// simulation that measures it.
#include "evaluation/error_histogram.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "export/predictor.h"
#include "plans/statement.h"
#include "sim/simulation.h"
#include "sotto/nn.h"
#include "sotto/train_task.h"
#include "unit/server/server_start.h"

namespace sotto::server {
namespace {

// As a device has it.
uint32_t BinOf(float error, const std::vector<float>& edges) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(edges.data());
  return ErrorEdges({bytes, sizeof(float) * edges.size()}).BinOf(error);
}

TEST(ErrorEdges, AnErrorIsInTheFirstBinWhoseEdgeItDoesNotExceed) {
  const std::vector<float> edges = {0.5F, 1, 2};
  EXPECT_EQ(BinOf(0, edges), 0u);
  EXPECT_EQ(BinOf(0.5F, edges), 0u);
  EXPECT_EQ(BinOf(0.6F, edges), 1u);
  EXPECT_EQ(BinOf(2, edges), 2u);
  EXPECT_EQ(BinOf(2.1F, edges), 3u);
  EXPECT_EQ(BinOf(std::numeric_limits<float>::quiet_NaN(), edges), 3u);
}

TEST(ThresholdOf, IsTheSmallestEdgeThatFewEnoughErrorsExceed) {
  const ErrorHistogram histogram = {{1, 2, 3}, {50, 30, 15, 5}, 0};
  EXPECT_EQ(ThresholdOf(histogram, 0.5)->threshold, 1);
  EXPECT_EQ(ThresholdOf(histogram, 0.8)->threshold, 2);
  EXPECT_DOUBLE_EQ(ThresholdOf(histogram, 0.8)->share_above, 0.2);
  EXPECT_EQ(ThresholdOf(histogram, 0.95)->threshold, 3);
  EXPECT_EQ(ThresholdOf(histogram, 0.95)->bar, 0);
}

TEST(ThresholdOf, ThereIsNoneIfTooManyErrorsExceedEveryEdgeOrAllIsNoise) {
  EXPECT_FALSE(ThresholdOf({{1, 2, 3}, {50, 30, 15, 5}, 0}, 0.96));
  EXPECT_FALSE(ThresholdOf({{1, 2}, {-3, 1, 1}, 2}, 0.9));
}

TEST(ThresholdOf, AnEdgeBelowOneThatTooManyExceedDoesNotCount) {
  // Noise makes the share above the first edge smaller than that above the second.
  EXPECT_EQ(ThresholdOf({{1, 2, 3}, {95, -8, 12, 1}, 4}, 0.94)->threshold, 3);
}

TEST(ThresholdOf, TheBarIsOfTheNoiseOfTheBinsAbove) {
  const auto found = ThresholdOf({{1, 2, 3}, {70, 30, 0, 0}, 2}, 0.9);
  EXPECT_EQ(found->threshold, 2);
  EXPECT_NEAR(found->bar, 1.96 * 2 * std::sqrt(2) / 100, 1e-12);
}

using Detector = nn::Sequential<nn::Input<6>, nn::Dense<6, 3>, nn::Tanh, nn::Dense<3, 6>,
                                nn::MeanSquaredError<nn::TargetKind::kInput>>;
constexpr ModelInfo kDetector = MakeModelInfo<Detector>("detector");
constexpr uint32_t kDevices = 30;
constexpr uint32_t kEach = 8;

TrainTest Samples() {
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0, 1);
  SampleInfo info;
  info.shape = nn::ShapeOf(6);
  StoredSamples samples;
  for (uint32_t i = 0; i < 6 * kDevices * kEach; ++i) samples.numbers.push_back(normal(random));
  const auto data = std::make_shared<const StoredDataset>("made", info, std::move(samples));
  return {data, data};
}

SimulationConfig Training(int64_t rounds) {
  SimulationConfig config;
  config.job.model = &kDetector;
  config.job.plan.devices = config.fleet.devices = kDevices;
  config.job.plan.cohort = config.job.plan.planned_reports = 15;
  config.job.plan.rounds = rounds;
  config.job.plan.dimension = kDetector.parameters;
  config.job.plan.clip_l2 = 0.5;
  config.job.training.clip_l2 = 0.5F;
  config.job.training.learning_rate = 0.05F;
  config.job.training.local_epochs = 2;
  config.job.training.batch_size = 3;
  config.job.plan.noise_sigma = 0.25;
  config.job.plan.delta = 1e-3;
  config.fleet.samples_per_device = kEach;
  config.seed = 5;
  return config;
}

SimulationConfig Measuring(int64_t rounds) {
  SimulationConfig config = Training(rounds);
  config.job.error_edges = {0.4F, 0.8F, 1.2F, 1.6F};
  return config;
}

SimulationResult Simulated(const SimulationConfig& config) {
  return Simulate(config, Samples(), [](const RoundReport&) {});
}

// What the noise is added to: the sum over all devices, of which all are in the cohort.
std::vector<double> HistogramOfAll(const std::vector<float>& parameters,
                                   const std::vector<float>& edges) {
  const TrainTest data = Samples();
  const Predictor predictor(kDetector, {parameters.data(), parameters.size()});
  const PredictionErrors all = ErrorsOfAll(predictor, *data.train, 1);
  std::vector<double> counts(edges.size() + 1);
  for (const float error : all.errors) counts[BinOf(error, edges)] += 1.0 / kEach;
  return counts;
}

void WithoutNoise(SimulationConfig* config) {
  config->job.codec = &RequireCodec("none");
  config->job.plan.cohort = config->job.plan.planned_reports = kDevices;
}

TEST(MeasuringRound, WithoutNoiseItIsTheFleetsHistogramOfTheModelBeforeIt) {
  SimulationConfig config = Measuring(3);
  WithoutNoise(&config);
  const SimulationResult result = Simulated(config);
  const ErrorHistogram errors = *result.rounds.back().outcome.errors;
  const std::vector<double> expected = HistogramOfAll(result.parameters, errors.edges);
  ASSERT_EQ(errors.counts.size(), expected.size());
  for (size_t bin = 0; bin < expected.size(); ++bin) {
    EXPECT_NEAR(errors.counts[bin], expected[bin], 1e-3);
  }
  EXPECT_GT(errors.counts.front(), 0);
  EXPECT_GT(errors.counts.back(), 0);
  EXPECT_EQ(errors.noise_deviation, 0);
}

TEST(MeasuringRound, LeavesTheModelOfTheRoundBefore) {
  const SimulationResult measured = Simulated(Measuring(3));
  EXPECT_EQ(measured.parameters, Simulated(Training(2)).parameters);
  EXPECT_FALSE(measured.rounds[1].outcome.errors);
  EXPECT_EQ(measured.rounds.size(), 3u);
}

// The same claims, so the measurement is within them: an update of the job's bound in the same
// coordinates, with the same noise.
TEST(MeasuringRound, CostsWhatARoundThatTrainsCosts) {
  for (const auto sampling : {privacy::Sampling::kUniform, privacy::Sampling::kPasses}) {
    SimulationConfig training = Training(4);
    SimulationConfig measuring = Measuring(4);
    for (SimulationConfig* config : {&training, &measuring}) {
      config->job.plan.sampling = sampling;
      if (sampling == privacy::Sampling::kPasses) config->job.plan.participations = 2;
      config->job.process.hears_all = true;
    }
    const SimulationResult trained = Simulated(training);
    const SimulationResult measured = Simulated(measuring);
    ASSERT_TRUE(measured.rounds.back().outcome.errors);
    ASSERT_EQ(measured.spent.claims.size(), trained.spent.claims.size());
    for (size_t i = 0; i < trained.spent.claims.size(); ++i) {
      EXPECT_EQ(measured.spent.claims[i].epsilon, trained.spent.claims[i].epsilon);
    }
    EXPECT_GT(measured.spent.epsilon(), measured.rounds[2].outcome.spent.epsilon() - 1e-12);
    EXPECT_TRUE(std::isfinite(measured.spent.epsilon()));
    EXPECT_EQ(measured.rounds.back().outcome.noise_sigma,
              trained.rounds.back().outcome.noise_sigma);
  }
}

// Deviation of the sum's noise: sqrt(reports) sigma / C in each bin, in devices. Five bins, each
// within six deviations of what 30 devices have: fails with probability below 1e-8.
TEST(MeasuringRound, TheNoiseIsOfTheSizeThatItSays) {
  SimulationConfig config = Measuring(2);
  config.job.plan.cohort = config.job.plan.planned_reports = kDevices;
  const SimulationResult result = Simulated(config);
  const ErrorHistogram errors = *result.rounds.back().outcome.errors;
  EXPECT_NEAR(errors.noise_deviation, std::sqrt(double{kDevices}) * 0.25 / 0.5, 1e-3);
  const std::vector<double> expected = HistogramOfAll(result.parameters, errors.edges);
  double square = 0;
  for (size_t bin = 0; bin < expected.size(); ++bin) {
    EXPECT_NEAR(errors.counts[bin], expected[bin], 6 * errors.noise_deviation);
    square += std::pow(errors.counts[bin] - expected[bin], 2);
  }
  EXPECT_GT(square, 0.01);  // it is there
}

TEST(MeasuringRound, ReadsSamplesThatTheDeviceDidNotTrainOnIfItHoldsSomeOut) {
  SimulationConfig config = Measuring(2);
  WithoutNoise(&config);
  config.fleet.held_out = 0.5;
  const SimulationResult result = Simulated(config);
  const std::vector<double>& counts = result.rounds.back().outcome.errors->counts;
  // Halves of eight samples: all counts of a device are multiples of a quarter.
  EXPECT_NEAR(std::accumulate(counts.begin(), counts.end(), 0.0), kDevices, 1e-3);
  for (const double count : counts) EXPECT_NEAR(4 * count, std::round(4 * count), 1e-3);
}

TEST(MeasuringRound, GoesOnFromAStateThatHasIt) {
  SimulationConfig config = Measuring(3);
  const SimulationResult whole = Simulated(config);
  config.resume = whole.state;
  const SimulationResult again = Simulated(config);
  ASSERT_TRUE(again.rounds.back().outcome.errors);
  EXPECT_EQ(again.rounds.back().outcome.errors->counts, whole.rounds.back().outcome.errors->counts);
}

class MeasuringJobTest : public StoredTest {
 protected:
  std::string RefusalOfStart(const JobConfig& config) const {
    try {
      ServerStart server(path_, config);
      return "nothing was refused";
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  }
};

// All errors are below the only edge.
TEST_F(MeasuringJobTest, AttachesWhatItFindsToItsLastReleaseAndHasNoFurtherRound) {
  using Net = nn::Sequential<nn::Dense<25, 25>, nn::MeanSquaredError<nn::TargetKind::kInput>>;
  static constexpr ModelInfo kSquare = MakeModelInfo<Net>("square");
  SqlStore(path_, kCreate).AddDevices(SomeDevices(), false);
  JobConfig config = SmallPassesConfig();
  config.model = &kSquare;
  config.plan.dimension = kSquare.parameters;
  config.plan.rounds = 2;
  config.plan.noise_sigma = 0.01;
  config.plan = RoundToDevice(config.plan);
  config.error_edges = {1e9F};
  config.threshold_quantile = 0.5;
  {
    ServerStart server(path_, config);
    server.RunToItsEnd();
    EXPECT_EQ(server.job().round(), 2U);
  }
  const std::vector<ModelThreshold> found = SqlStore(path_).Thresholds();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].round, 1);
  EXPECT_EQ(found[0].threshold, 1e9F);
  EXPECT_EQ(SqlStore(path_).ReadModel(1, 1).parameters, SqlStore(path_).ReadModel(1, 0).parameters);
  config.plan.rounds = 3;
  EXPECT_TRUE(Says(RefusalOfStart(config), "has measured its threshold"));
}

}  // namespace
}  // namespace sotto::server
