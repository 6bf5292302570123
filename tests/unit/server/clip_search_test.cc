// The search of a clip by short simulations.
#include "sim/clip_search.h"

#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>

#include "sotto/models.h"

namespace sotto::server {
namespace {

Evaluation EvaluationOf(uint64_t correct, double loss) {
  Evaluation evaluation;
  evaluation.samples = 10;
  evaluation.loss = loss;
  evaluation.classes = {{correct, 10}};
  return evaluation;
}

SimulationRequest SmallPlan() {
  SimulationRequest request;
  request.data = "synthetic";
  request.seed = 1;
  request.job.model = FindModel("softmax-64-10");
  request.job.plan.sampling = privacy::Sampling::kPasses;
  request.fleet.devices = 40;
  request.fleet.samples_per_device = 20;
  request.job.plan.cohort = 10;
  request.participations = 1;
  request.given = {"cohort"};
  return request;
}

TEST(ClipSearchTest, TheBetterModelHasTheHigherAccuracyThenTheLowerLoss) {
  EXPECT_TRUE(IsBetter(EvaluationOf(6, 2), EvaluationOf(5, 1)));
  EXPECT_TRUE(IsBetter(EvaluationOf(6, 1), EvaluationOf(6, 2)));
  EXPECT_FALSE(IsBetter(EvaluationOf(6, 1), EvaluationOf(6, 1)));
  const double diverged = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(IsBetter(EvaluationOf(1, 9), EvaluationOf(9, diverged)));
  EXPECT_FALSE(IsBetter(EvaluationOf(9, diverged), EvaluationOf(1, 9)));
}

TEST(ClipSearchTest, FindsTheSameBoundWhateverTheFirstOneIs) {
  SimulationRequest request = SmallPlan();
  const TrainTest data = OpenDataOf(request);
  ClipSearchOptions options;
  options.most_runs = 4;
  size_t done = 0;
  options.on_round = [&](size_t rounds, float, const SimulationConfig& config, const RoundReport&) {
    EXPECT_EQ(rounds, ++done);
    EXPECT_EQ(config.job.plan.rounds, 4);
  };
  const ClipSearch found = SearchClip(request, data, options);
  EXPECT_GT(found.norm, 0);
  ASSERT_GE(found.runs.size(), 2U);
  EXPECT_LE(found.runs.size(), 4U);
  EXPECT_EQ(done, 4 * found.runs.size());
  for (const ClipRun& run : found.runs) {
    EXPECT_FALSE(IsBetter(run.last, found.runs[found.best].last)) << run.clip;
  }
  request.job.training.clip_l2 = 100;
  options.on_round = nullptr;
  EXPECT_EQ(SearchClip(request, data, options).runs[found.best].clip, found.runs[found.best].clip);
}

TEST(ClipSearchTest, StopsAndRefusesASingleRun) {
  const SimulationRequest request = SmallPlan();
  const TrainTest data = OpenDataOf(request);
  ClipSearchOptions options;
  options.stop = [] { return true; };
  const ClipSearch found = SearchClip(request, data, options);
  EXPECT_TRUE(found.stopped);
  EXPECT_TRUE(found.runs.empty());
  options.most_runs = 1;
  EXPECT_THROW(SearchClip(request, data, options), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::server
