// What an operator is warned of while a job runs: each line once, and none of a healthy job.
#include "views/job_warnings.h"

#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "backends/copy_store.h"
#include "backends/open_store.h"
#include "service/metrics.h"
#include "store/store_watch.h"
#include "unit/server/small_job.h"
#include "unit/server/store_fixture.h"
#include "unit/test_folder.h"

namespace sotto::server {
namespace {

JobTurns TurnsLeft(int64_t cohort, const std::vector<int64_t>& left) {
  JobTurns turns;
  turns.participations = 4;
  turns.cohort = cohort;
  for (const int64_t each : left) {
    turns.devices.emplace_back();
    turns.devices.back().left = each;
  }
  return turns;
}

TEST(JobWarnings, ADeviceTakesOnePlaceOfARelease) {
  EXPECT_EQ(ReleasesWithTurns(TurnsLeft(2, {2, 2, 2}), 9), 3);
  EXPECT_EQ(ReleasesWithTurns(TurnsLeft(2, {9, 1, 0}), 9), 1) << "nine turns of one are no cohort";
  EXPECT_EQ(ReleasesWithTurns(TurnsLeft(2, {9, 9}), 4), 4) << "as many as asked";
  JobTurns turns = TurnsLeft(2, {3, 3, 3});
  turns.devices[0].is_revoked = true;
  EXPECT_EQ(ReleasesWithTurns(turns, 9), 3);
  turns.devices[1].must_settle = true;
  EXPECT_EQ(ReleasesWithTurns(turns, 9), 0);
}

RoundOutcome Released(uint32_t round, double epsilon = 0) {
  RoundOutcome outcome;
  outcome.released = true;
  outcome.round = round;
  if (epsilon > 0) {
    outcome.spent.claims.emplace_back();
    outcome.spent.claims[0].epsilon = epsilon;
  }
  return outcome;
}

Budget BudgetOf(const JobConfig& config) {
  Budget budget(config, JobPhases());
  budget.SetFleet(kSmallDevices, 0, 0);
  return budget;
}

TEST(JobWarnings, TurnsThatEndBeforeThePlanAreToldOnce) {
  JobConfig config = SmallPassesConfig();
  config.plan.rounds = 20;
  JobWarnings warnings(config);
  EXPECT_TRUE(warnings.OnOutcome(Released(3), TurnsLeft(2, {9, 9, 9}), BudgetOf(config)).empty())
      << "turns for many";
  const std::vector<std::string> lines =
      warnings.OnOutcome(Released(4), TurnsLeft(2, {3, 3, 3}), BudgetOf(config));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(Says(lines[0], "WARNING: the budget is nearly spent: devices have turns for 4 more"))
      << lines[0];
  EXPECT_TRUE(Says(lines[0], "15 rounds of the plan are left")) << lines[0];
  EXPECT_TRUE(warnings.OnOutcome(Released(5), TurnsLeft(2, {2, 2, 2}), BudgetOf(config)).empty())
      << "once";
  JobWarnings whole(config);
  EXPECT_TRUE(whole.OnOutcome(Released(15), TurnsLeft(2, {4, 4, 4}), BudgetOf(config)).empty())
      << "the plan ends as planned";
}

// By the accountant, not by what the last release added: after two rounds that says three more.
TEST(JobWarnings, ABudgetThatEndsBeforeThePlanIsToldOnceWithTheRoundsThatItPaysFor) {
  JobConfig config = SmallConfig();
  config.plan.rounds = 30;
  const auto spent = [&config](uint32_t rounds) { return privacy::Account(config.plan, rounds); };
  config.epsilon_budget = spent(7).epsilon_of_releases();
  const Budget budget = BudgetOf(config);
  JobWarnings warnings(config);
  std::vector<std::string> told;
  for (uint32_t round = 0; round < 7; ++round) {
    RoundOutcome outcome = Released(round);
    outcome.spent = spent(round + 1);
    for (const std::string& line : warnings.OnOutcome(outcome, {}, budget)) told.push_back(line);
    EXPECT_EQ(told.size(), round < 1 ? 0u : 1u) << round;
  }
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(Says(told[0], "pays for 5 more rounds, and 28 rounds of the plan are left"))
      << told[0];
  JobWarnings goes_on(config);
  RoundOutcome fifth = Released(4);
  fifth.spent = spent(5);
  const std::vector<std::string> first = goes_on.OnOutcome(fifth, {}, budget);
  ASSERT_EQ(first.size(), 1u) << "also of the first release after a restart";
  EXPECT_TRUE(Says(first[0], "pays for 2 more rounds")) << first[0];
}

// A plan that is calibrated to its budget spends it in its last round.
TEST(JobWarnings, APlanThatSpendsItsBudgetWholeIsNoWarning) {
  JobConfig config = SmallConfig();
  config.plan.rounds = 30;
  const auto spent = [&config](uint32_t rounds) { return privacy::Account(config.plan, rounds); };
  config.epsilon_budget = spent(30).epsilon_of_releases();
  const Budget budget = BudgetOf(config);
  JobWarnings warnings(config);
  for (uint32_t round = 0; round < 30; ++round) {
    RoundOutcome outcome = Released(round);
    outcome.spent = spent(round + 1);
    EXPECT_TRUE(warnings.OnOutcome(outcome, {}, budget).empty()) << round;
  }
}

TEST(JobWarnings, ABoundThatClipsNearlyAllForLongIsToldOnce) {
  JobConfig config = SmallConfig();
  config.clip_schedule.emplace();
  for (const double share : {0.0, 1.0}) {
    JobWarnings warnings(config);
    std::vector<std::string> lines;
    for (uint32_t round = 0; round < 20; ++round) {
      RoundOutcome outcome = Released(round);
      outcome.unclipped_fraction = round == 3 ? 0.5 : share;
      for (const std::string& line : warnings.OnOutcome(outcome, {}, BudgetOf(config))) {
        EXPECT_EQ(round, 8u) << "five one after the other";
        lines.push_back(line);
      }
    }
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_TRUE(Says(lines[0], share == 0 ? "nearly all updates" : "nearly nothing")) << lines[0];
  }
}

TEST(JobWarnings, ALossThatGrowsIsToldOnceAndNoiseIsNot) {
  const JobConfig config = SmallConfig();
  JobWarnings warnings(config);
  std::vector<std::string> lines;
  const std::vector<double> losses = {2, 1, 1.2, 1.05, 1.2, 1.3, 1.4, 2, 0.5, 3, 3, 3};
  for (size_t i = 0; i < losses.size(); ++i) {
    Evaluation evaluation;
    evaluation.loss = losses[i];
    for (const std::string& line : warnings.OnEvaluation(static_cast<uint32_t>(i), evaluation)) {
      EXPECT_EQ(i, 6u);
      lines.push_back(line);
    }
  }
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(Says(lines[0], "1 after round 2, and 1.4 now, after round 7")) << lines[0];
  JobWarnings diverges(config);
  Evaluation evaluation;
  evaluation.loss = 1;
  EXPECT_TRUE(diverges.OnEvaluation(0, evaluation).empty());
  evaluation.loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(diverges.OnEvaluation(1, evaluation).empty());
  EXPECT_TRUE(diverges.OnEvaluation(2, evaluation).empty());
  EXPECT_EQ(diverges.OnEvaluation(3, evaluation).size(), 1u);
}

TEST(StoreWatch, ADiskThatFillsAndAnOldCopyAreAlarms) {
  StoreFigures store;
  store.free_bytes = kLeastRoom;
  store.looked = 100000;
  EXPECT_TRUE(StoreAlarms("fleet.db", store, 7, 1000).empty()) << "no copy is known";
  const std::vector<StoreAlarm> fills =
      StoreAlarms("/var/lib/fleet.db", store, 7, kLeastRoom / kReleasesOfRoom + 1);
  ASSERT_EQ(fills.size(), 1u);
  EXPECT_TRUE(Says(fills[0].text, "disk of /var/lib fills: 16.8 MB are free (`df /var/lib`)"));
  EXPECT_TRUE(Says(fills[0].text, "a release of this job writes up to 1.7 MB")) << fills[0].text;
  store.copy = CopyRecord{7, 100000 - 2 * kOldCopySeconds};
  EXPECT_TRUE(StoreAlarms("fleet.db", store, 7, 1000).empty()) << "it knows all attempts";
  const std::vector<StoreAlarm> alarms = StoreAlarms("fleet.db", store, 9, 1000);
  ASSERT_EQ(alarms.size(), 1u);
  EXPECT_EQ(alarms[0].kind, StoreAlarm::Kind::kCopy);
  EXPECT_TRUE(Says(alarms[0].text, "120 minutes old and does not know the last 2 attempts"));
  store.copy->made = 100000 - kOldCopySeconds;
  EXPECT_TRUE(StoreAlarms("fleet.db", store, 9, 1000).empty()) << "the next copy is under way";
}

class CopyRecordTest : public StoredTest {};

TEST_F(CopyRecordTest, ACopyIsMeasuredAgainstTheAttemptsOfItsStore) {
  OF_A_FILE_ONLY();
  SqlStore store(path_, kCreate);
  store.BeginJob(RecordOf(SmallConfig()));
  store.CommitAttempt({0, 0, {0}});
  const LogEnd end = BackUpStore(path_, folder_.Path("copy"));
  EXPECT_EQ(end.attempts, 1);
  EXPECT_FALSE(ReadCopyRecord(path_)) << "a command writes it";
  WriteCopyRecord(path_, {end.attempts, 12345});
  store.CommitAttempt({0, 1, {0}});
  const std::optional<StoreFigures> figures = LookAtStore(path_);
  ASSERT_TRUE(figures && figures->copy);
  EXPECT_GT(figures->bytes, 0u);
  EXPECT_GT(figures->free_bytes, 0u);
  EXPECT_EQ(figures->copy->made, 12345);
  const int64_t attempts = AttemptsOf(store.ReadHistory());
  EXPECT_EQ(AttemptsBehind(*figures, attempts), 1);
  JobFigures job;
  job.store = figures;
  job.store_attempts = attempts;
  const std::string text = MetricsText({}, job);
  EXPECT_TRUE(Says(text, "sotto_store_copy_attempts_behind 1\n")) << text;
  EXPECT_TRUE(Says(text, "\nsotto_store_free_bytes ")) << text;
  job.store->copy.reset();
  EXPECT_TRUE(Says(MetricsText({}, job), "sotto_store_copy_attempts_behind 2\n"));
  EXPECT_TRUE(Says(MetricsText({}, job), "sotto_store_copy_time_seconds 0\n"));
  EXPECT_FALSE(LookAtStore(folder_.Path("nothing")));
}

}  // namespace
}  // namespace sotto::server
