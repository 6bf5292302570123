// Tests of what a job says before its first round (views/before_start.h).
#include "views/before_start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plans/turns.h"
#include "sotto/certificate.h"
#include "unit/server/small_job.h"
#include "views/claims_output.h"

namespace sotto::server {
namespace {

std::string TextOf(const JobConfig& config) {
  privacy::Statement planned = privacy::Account(config.plan, config.plan.rounds);
  privacy::AddPairs(config.plan, config.plan.rounds, config.plan.rounds, {}, &planned);
  const std::vector<std::string> lines = DescribeBeforeStart(config, planned);
  EXPECT_LE(lines.size(), 10u);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

void ExpectWords(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << word << "\nin\n" << text;
  }
}

// 1,000 devices, cohorts of 100, four turns: z = 1.527 is epsilon 6 at delta 1e-5.
JobConfig DefaultLike() {
  JobConfig config = SmallPassesConfig(4, 40);
  config.model = FindModel("softmax-784-10");
  privacy::Plan& plan = config.plan;
  plan.devices = 1000;
  plan.cohort = plan.planned_reports = 100;
  plan.dimension = config.model->parameters;
  plan.delta = 1e-5;
  plan.colluders = 0;
  plan.certificate = {kDitherEta, kDitherTau, kDitherRange};
  plan.noise_sigma = 2 * plan.clip_l2 * 1.526 / 10;
  plan = RoundToDevice(plan);
  return config;
}

TEST(BeforeStart, PassesAnswerWhomHowOftenWhatASecondJobCostsAndWhetherItIsOfUse) {
  const std::string text = TextOf(DefaultLike());
  ExpectWords(
      text, {"40 rounds of 100 of 1000 devices, passes sampling", "epsilon 6.0", "at delta 1e-05",
             "the released models, and the uploads too",
             "each device takes part in at most 4 rounds", "the best attacker is right at most 74.",
             "had added nothing wherever it was asked", "the server is trusted",
             "when a device is connected does not depend on its own data (--order connected)",
             "two devices of one owner in the same cohorts have epsilon 14.0",
             "a second job like this one: epsilon 9.1", "R 2.3: the model can learn"});
  EXPECT_EQ(text.find("left out"), std::string::npos);
}

// What another job costs is said without the store's limit, which hides it.
TEST(BeforeStart, OneMoreJobIsAddedToAllThatWereBefore) {
  JobConfig config = DefaultLike();
  const privacy::Plan plan = config.plan;
  config.spent_before = {{plan, 40, 40}};
  config.plan.life_mu_squared = 2.1 * privacy::LimitOf(plan).mu_squared;
  config.plan.life_coordinates = 1e12;
  ExpectWords(TextOf(config), {"one more job like this one: epsilon 11.7", "all jobs together"});
}

TEST(BeforeStart, RoundsForWhichDevicesHaveNoTurnsAreNamedAndTeachNothing) {
  JobConfig config = DefaultLike();
  config.plan.rounds = 400;
  ExpectWords(TextOf(config), {"400 rounds of 100 of 1000 devices",
                               "turns are used after 40 unless", "R 2.3: the model can learn"});
}

// The options that a device needs so that the figure against the server holds whatever the server
// records. A task of the job meets them.
TEST(BeforeStart, UnderPrivateNoiseTheDevicesOwnLimitsAreNamed) {
  for (const double z : {0.5, 0.3, 1.7}) {
    JobConfig config = DefaultLike();
    config.plan.private_noise_multiplier = z;
    config.plan = RoundToDevice(config.plan);
    ExpectWords(TextOf(config),
                {"against the server for all updates of one device",
                 fmt::format("no device sends more than 4 updates, which it can see to itself: "
                             "sotto-client --min-private-noise {} --max-private-updates 4",
                             z)});
    const float clip_l2 = config.training.clip_l2;
    EXPECT_TRUE(config.TaskFor(0, clip_l2).HasPrivateNoise(PrivateNoiseLimitQ20(z))) << z;
    config.spent_before = {{config.plan, 40, 4}};
    const auto planned = privacy::Account(config.plan, config.plan.rounds, config.spent_before);
    const std::vector<std::string> lines = DescribeBeforeStart(config, planned);
    EXPECT_LE(lines.size(), 10u);
    ExpectWords(fmt::format("{}", fmt::join(lines, "\n")),
                {"no device sends more updates than the store records"});
  }
}

TEST(BeforeStart, UniformNamesBothFiguresOfTheNetworkWithHowStrongTheyAre) {
  JobConfig config = SmallConfig();
  config.plan.rounds = 16;
  const std::string text = TextOf(config);
  ExpectWords(text,
              {"against a person who",
               "against an observer of uploads who can make rounds fail: attacker right",
               "against an observer who only watches the uploads: attacker right",
               " at delta 1e-05, ", "who takes part stays secret", "a second job like this one"});
}

TEST(BeforeStart, WithoutAnAccountNothingIsSaid) {
  JobConfig config = SmallConfig();
  config.codec = FindCodec("none");
  EXPECT_TRUE(DescribeBeforeStart(config, privacy::Account(config.plan, 3)).empty());
}

TEST(BeforeStart, AnInfiniteEpsilonBesideAFiniteFigureHasItsReason) {
  JobConfig config = DefaultLike();
  config.plan.cohort = config.plan.planned_reports = 4;
  config.plan.noise_sigma = 2 * config.plan.clip_l2 * 0.1 / 2;
  config.plan = RoundToDevice(config.plan);
  const std::string text = TextOf(config);
  ExpectWords(text, {"epsilon infinite at delta 1e-05", "no epsilon is proved at this delta",
                     "the best attacker is right at most"});
  EXPECT_EQ(text.find("infinite against the same fleet"), std::string::npos) << text;
}

TEST(BeforeStart, ANumberOfTurnsThatNobodyKnowsIsSaidInWords) {
  privacy::Claim claim;
  claim.participations = privacy::kUnknownTurns;
  const std::string text = DescribeStrength(claim, 3);
  ExpectWords(text, {"is unknown", "recovered from an older copy"});
  EXPECT_EQ(text.find_first_of("0123456789"), std::string::npos) << text;
  EXPECT_FALSE(ClaimsToJson({claim})[0].contains("participations"));
  privacy::SpentRounds lost;
  lost.rounds = privacy::kUnknownTurns;
  EXPECT_EQ(privacy::CountRounds({lost, lost}), privacy::kUnknownTurns);
}

}  // namespace
}  // namespace sotto::server
