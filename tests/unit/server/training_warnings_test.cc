// Tests of the warnings about trainings that teach nothing (views/training_warnings.h).
#include "views/training_warnings.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

bool Says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

JobConfig WithNoise(double sigma, int64_t rounds) {
  JobConfig config = SmallConfig();
  config.plan.noise_sigma = sigma;
  config.plan.rounds = rounds;
  config.plan = RoundToDevice(config.plan);
  return config;
}

// The mean of 4 updates has noise of deviation sigma / 2 in each of 650 parameters, C is 0.4: over
// T rounds the noise moves the model 31.9 sigma / sqrt(T) times as far as updates can.
TEST(TrainingWarnings, NoiseThatDrownsTheUpdatesIsNamedWithBothNumbersAndOptions) {
  const std::string warning = NoiseWarning(WithNoise(1.0, 4));
  EXPECT_TRUE(Says(warning, "a norm of about 12.7 and an update one of at most C = 0.4"))
      << warning;
  EXPECT_TRUE(Says(warning, "Over 4 rounds the noise moves the 650 parameters 16 times as far"));
  for (const char* option : {"--cohort", "--epsilon", "--noise-multiplier", "--model"}) {
    EXPECT_TRUE(Says(warning, option)) << option;
  }
  EXPECT_FALSE(Says(warning, "--private-noise-multiplier"));
}

TEST(TrainingWarnings, NoiseIsMeasuredAgainstTheUpdatesOfAllRounds) {
  EXPECT_NE(NoiseWarning(WithNoise(1.0, 4)), "");
  EXPECT_EQ(NoiseWarning(WithNoise(1.0, 16)), "");
  EXPECT_EQ(NoiseWarning(WithNoise(0.5, 4)), "");
}

TEST(TrainingWarnings, ALargerCohortIsEnough) {
  JobConfig config = WithNoise(1.0, 4);
  config.plan.cohort = config.plan.planned_reports = 12;
  EXPECT_EQ(NoiseWarning(config), "");
}

TEST(TrainingWarnings, ADevicesOwnNoiseCounts) {
  JobConfig config = WithNoise(0.5, 4);
  config.plan.private_noise_multiplier = 2.0;
  EXPECT_TRUE(Says(NoiseWarning(config), "--private-noise-multiplier"));
}

TEST(TrainingWarnings, NoiseThatDecaysCountsRoundByRound) {
  JobConfig config = WithNoise(1.5, 16);
  EXPECT_NE(NoiseWarning(config), "");
  config.plan.schedule.noise_decay = 0.5;
  EXPECT_EQ(NoiseWarning(config), "");
}

// The job's R is sqrt(16) / 31.9.
TEST(TrainingWarnings, TheSignalToNoiseIsSaidOnceAndWithWhatWouldRaiseIt) {
  const std::string notice = SignalNotice(WithNoise(1.0, 16));
  EXPECT_TRUE(Says(notice, "R 0.13: the noise costs much of what it learns; what helps is"))
      << notice;
  EXPECT_EQ(SignalNotice(WithNoise(1.0, 4)), "") << "the warning says it";
  EXPECT_TRUE(Says(NoiseWarning(WithNoise(1.0, 4)), "(R 0.063)"));
  EXPECT_TRUE(Says(SignalNotice(WithNoise(0.1, 16)), "R 1.3: the model can learn"));
  JobConfig passes = SmallPassesConfig();
  passes.plan.noise_sigma = 1.0;
  passes.plan = RoundToDevice(passes.plan);
  EXPECT_TRUE(
      Says(NoiseWarning(passes), "R near 1 asks for devices x cohort of about 8100 (here 48)"))
      << NoiseWarning(passes);
}

TEST(TrainingWarnings, WithoutNoiseNothingDrowns) {
  JobConfig config = WithNoise(1.0, 4);
  config.codec = FindCodec("none");
  EXPECT_EQ(NoiseWarning(config), "");
}

// Of two classes, half of the samples each.
Evaluation Classified(uint64_t samples, uint64_t correct, double loss) {
  return {samples, loss, {{correct, samples / 2}, {0, samples - samples / 2}}};
}

Evaluation Regressed(double error) { return {100, error, {}}; }

TEST(TrainingWarnings, AHigherErrorIsWorse) {
  EXPECT_TRUE(IsWorse(Regressed(1.316), Regressed(1.845)));
  EXPECT_FALSE(IsWorse(Regressed(1.316), Regressed(0.115)));
  EXPECT_FALSE(IsWorse(Regressed(1.316), Regressed(1.316)));
  EXPECT_TRUE(IsWorse(Regressed(1.316), Regressed(std::nan(""))));
  EXPECT_TRUE(IsWorse(Regressed(1.316), Regressed(std::numeric_limits<double>::infinity())));
}

TEST(TrainingWarnings, AnAccuracyIsLowerOnlyIfTheTestSetCanTell) {
  EXPECT_TRUE(IsWorse(Classified(10000, 8000, 1), Classified(10000, 7000, 0.9)));
  EXPECT_FALSE(IsWorse(Classified(10, 8, 1), Classified(10, 7, 0.9)));
  EXPECT_FALSE(IsWorse(Classified(10000, 8000, 1), Classified(10000, 7950, 0.9)));
}

// At chance before and after; the loss of confident wrong answers is high.
TEST(TrainingWarnings, AnEqualAccuracyWithAHigherLossIsWorse) {
  EXPECT_TRUE(IsWorse(Classified(10000, 5000, 0.69), Classified(10000, 5050, 57)));
  EXPECT_FALSE(IsWorse(Classified(10000, 5000, 0.69), Classified(10000, 6000, 57)));
}

TEST(TrainingWarnings, AWorseModelIsNamedWithBothValuesAndWhatToChange) {
  const std::string warning = WorseWarning(SmallConfig(), Regressed(1.316), Regressed(1.845));
  EXPECT_TRUE(
      Says(warning, "mean squared error 1.845 after it, mean squared error 1.316 before it"))
      << warning;
  EXPECT_TRUE(Says(warning, "100 test samples"));
  EXPECT_TRUE(Says(warning, "at most C = 0.4"));
  for (const char* option : {"--clip", "--server-learning-rate", "--cohort", "--epsilon"}) {
    EXPECT_TRUE(Says(warning, option)) << option;
  }
  EXPECT_EQ(WorseWarning(SmallConfig(), Regressed(1.316), Regressed(0.115)), "");
}

TEST(TrainingWarnings, AWorseModelWithoutNoiseHasOtherAdvice) {
  JobConfig config = SmallConfig();
  config.codec = FindCodec("none");
  const std::string warning = WorseWarning(config, Regressed(1), Regressed(2));
  EXPECT_TRUE(Says(warning, "--learning-rate")) << warning;
  EXPECT_FALSE(Says(warning, "noise"));
}

}  // namespace
}  // namespace sotto::server
