// Tests of a job's budget: what a job charges for its rounds, and how it stops when the budget
// cannot pay for another round.
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "accounting/figures.h"
#include "plans/statement.h"
#include "unit/privacy/figures.h"
#include "unit/server/requests.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

// The message names all of these.
void ExpectSaid(const std::string& message, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    EXPECT_NE(message.find(word), std::string::npos) << word << " is not in: " << message;
  }
}

TEST(Job, AnAbortDoesNotCountAgainstTheBudget) {
  JobConfig config = SmallConfig();
  config.epsilon_budget = privacy::Account(config.plan, 1).epsilon() * 1.000001;
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  EXPECT_FALSE(small.job.CloseRound().released);
  EXPECT_EQ(small.job.phase(), Job::Phase::kOpen);
  small.ReportAll();
  EXPECT_TRUE(small.job.CloseRound().released);
  EXPECT_FALSE(small.job.OpenRound());
}

// SECURITY.md S17.
TEST(Job, StopsWhenTheBudgetCannotPayForAnotherRoundAndSaysWhatItWouldCost) {
  JobConfig config = SmallConfig();
  config.epsilon_budget = privacy::Account(config.plan, 2).epsilon() * 1.000001;
  SmallJob small(config);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(small.job.OpenRound());
    small.ReportAll();
    ASSERT_TRUE(small.job.CloseRound().released);
  }
  EXPECT_FALSE(small.job.OpenRound());
  EXPECT_EQ(AskForWork(small.job, 0).kind, Reply::Kind::kDone);
  ExpectSaid(small.job.finish_reason(),
             {"budget", privacy::EpsilonText(privacy::Account(config.plan, 2).epsilon(), 3),
              privacy::EpsilonText(privacy::Account(config.plan, 3).epsilon(), 3), "2 of 3 rounds",
              "larger budget"});
  EXPECT_EQ(small.job.end(), Halt::kBudget);
  EXPECT_FALSE(small.job.gave_up()) << "it did what it was told to";
}

TEST(Job, WhatEarlierJobsSpentCountsInEveryFigureAndAgainstTheBudget) {
  JobConfig config = SmallConfig();
  config.spent_before = {{config.plan, 2}};
  const double third = privacy::Account(config.plan, 1, config.spent_before).epsilon();
  EXPECT_GT(third, privacy::Account(config.plan, 3).epsilon()) << "two jobs need a filter";
  config.epsilon_budget = third * 1.000001;
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  small.ReportAll();
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_NEAR(outcome.spent.epsilon(), third, 1e-9 * third);
  EXPECT_EQ(outcome.spent.Headline().accountant, "rdp-filter");
  EXPECT_GT(NetworkEpsilon(outcome.spent), NetworkEpsilon(privacy::Account(config.plan, 1)));
  EXPECT_EQ(outcome.spent.earlier_rounds, 2);
  EXPECT_FALSE(small.job.OpenRound());
  ExpectSaid(small.job.finish_reason(), {"1 of 3 rounds and 2 of earlier jobs"});
}

TEST(Job, ANewJobThatCannotPayForOneRoundIsRefusedAndNotBegun) {
  struct Store : RecordingStore {
    void BeginJob(const JobRecord&) override { ++begun; }
    int begun = 0;
  };
  JobConfig config = SmallConfig();
  config.epsilon_budget = privacy::Account(config.plan, 1).epsilon() * 0.99;
  const DeviceRegistry registry = SmallRegistry();
  Store store;
  try {
    const Job job(config, registry, store, Key());
    ADD_FAILURE() << "it was begun";
  } catch (const std::invalid_argument& refusal) {
    ExpectSaid(refusal.what(), {"budget", "epsilon 0.000 ", "0 of 3 rounds"});
  }
  EXPECT_EQ(store.begun, 0);
}

}  // namespace
}  // namespace sotto::server
