// Tests of what `sotto job start` says, and of what it refuses before it changes anything
// (jobs/job_control.h, jobs/job_start.h).
#include "jobs/job_control.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "jobs/job_settings.h"
#include "jobs/job_start.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

class JobControlTest : public StoredTest {
 protected:
  void SetUp() override {
    StoredTest::SetUp();
    store_.emplace(path_, kCreate);
    store_->AddDevices(SomeDevices(), false);
  }

  // Passes of epsilon 6, unless told.
  ServeRequest Asked() const {
    ServeRequest request;
    request.store = path_;
    return request;
  }

  JobConfig ConfigOf(ServeRequest request) {
    request.agrees_to_sum = true;
    return ServedConfig(request, store_->LoadDevices().eligible(), store_->ReadHistory(), nullptr);
  }

  // Begins the job and releases its first round.
  //   settings  recorded as its options; empty: none are
  void RunFirstRound(const ServeRequest& request, const std::string& settings = "") {
    JobConfig config = ConfigOf(request);
    config.process.hears_all = true;
    config.quorum = 0;
    const DeviceRegistry devices = store_->LoadDevices();
    store_->AllowNewJob();
    if (!settings.empty()) {
      store_->AnswerWithNextJob(store_->Ask({JobAct::kStart, 0, settings, true}));
    }
    Key key;
    key.bytes[0] = ++jobs_;
    Job job(config, devices, *store_, key);
    ASSERT_TRUE(job.OpenRound());
    ASSERT_TRUE(job.CloseRound().released);
  }

  std::string Proposal(const ServeRequest& request) {
    return fmt::format("{}", fmt::join(ProposeJob(request, false, *store_).lines, "\n"));
  }

  std::string WhyNot(const ServeRequest& request) {
    try {
      return "proposed: " + Proposal(request);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  }

  std::optional<SqlStore> store_;
  uint8_t jobs_ = 0;
};

bool SaysIn(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST_F(JobControlTest, AJobThatItsBudgetCannotBeginIsRefusedBeforeItIsQueued) {
  for (const privacy::Sampling sampling : {privacy::Sampling::kPasses, privacy::Sampling::kFull}) {
    ServeRequest request = Asked();
    request.job.plan.sampling = sampling;
    request.given.insert("sampling");
    request.epsilon_budget = 0.5;
    const std::string why = WhyNot(request);
    EXPECT_TRUE(SaysIn(why, "cannot pay for another round")) << why;
    EXPECT_TRUE(SaysIn(why, "the budget is 0.5")) << why;
  }
}

// The server would refuse it, too, but only after it has ended the job that this one replaces.
TEST_F(JobControlTest, AJobWhoseOwnersFillNoCohortIsRefusedBeforeItIsQueued) {
  for (const DeviceRecord& device : store_->ListDevices()) store_->SetOwner(device.id, "one");
  const std::string why = WhyNot(Asked());
  EXPECT_TRUE(SaysIn(why, "two devices of one owner never share a cohort")) << why;
}

TEST_F(JobControlTest, TheProposalSaysWhatTheBudgetPaysFor) {
  EXPECT_TRUE(SaysIn(Proposal(Asked()), "the budget, epsilon 6, pays for 4 turns of each device"));
  ServeRequest request = Asked();
  request.job.plan.sampling = privacy::Sampling::kFull;
  request.job.plan.rounds = 9;
  request.given = {"sampling", "rounds"};
  std::string text = Proposal(request);
  EXPECT_TRUE(SaysIn(text, "the budget, epsilon 6, pays for all its rounds")) << text;
  request.epsilon_budget = 4;
  text = Proposal(request);
  EXPECT_TRUE(SaysIn(text, "pays for 4 of the 9 rounds")) << text;
}

// --epsilon is for the second job alone; its budget counts both.
TEST_F(JobControlTest, TheBudgetOfPassesCountsEarlierJobsOnTheSameDevices) {
  RunFirstRound(Asked());
  store_->HaltJob({Halt::kOperator, "stopped"});
  const double both = ConfigOf(Asked()).epsilon_budget;
  EXPECT_GT(both, 6.5);
  const std::string text = Proposal(Asked());
  EXPECT_TRUE(SaysIn(text, "alone: epsilon 6.000")) << text;
  EXPECT_TRUE(
      SaysIn(text, fmt::format("with the earlier jobs on these devices: epsilon {:.3f}", both)))
      << text;
  EXPECT_TRUE(SaysIn(text, fmt::format("the budget, epsilon {}, pays for 4 turns of each device, "
                                       "after the earlier jobs",
                                       both)))
      << text;
  ServeRequest limited = Asked();
  limited.epsilon_budget = both - 0.01;
  const std::string why = WhyNot(limited);
  EXPECT_TRUE(SaysIn(why, "4 turns of one device and the earlier jobs on these devices cost"))
      << why;
  limited.epsilon_budget = both;
  EXPECT_TRUE(SaysIn(WhyNot(limited), "proposed: "));
}

// It will have asked each device four times when the new one begins.
TEST_F(JobControlTest, TheJobThatRunsCountsWithAllItsTurns) {
  RunFirstRound(Asked());
  const std::string text = Proposal(Asked());
  EXPECT_TRUE(SaysIn(text, "with the earlier jobs on these devices: epsilon 9.09")) << text;
  EXPECT_TRUE(SaysIn(text, "it begins when job 1 is over")) << text;
}

TEST_F(JobControlTest, AResumedJobOfPassesKeepsTheBudgetWithWhichItBegan) {
  RunFirstRound(Asked());
  RunFirstRound(Asked());
  const History history = store_->ReadHistory();
  const double began = PlanNow(history.store, *LastJob(history)).epsilon_budget;
  EXPECT_GT(began, 6.5);
  const JobConfig resumed =
      ServedConfig(Asked(), store_->LoadDevices().eligible(), history, LastJob(history));
  EXPECT_EQ(resumed.epsilon_budget, began);
}

// A service's options are read at each of its starts.
TEST_F(JobControlTest, ABudgetInAUnitFileExtendsTheJobForWhichItWasWrittenAndNoLaterOne) {
  RunFirstRound(Asked(), "sampling = \"passes\"\nepsilon-budget = \"12\"\n");
  ServeRequest unit = Asked();
  unit.given = {"epsilon-budget"};
  unit.epsilon_budget = 12;
  const auto chosen = [&] {
    return ChooseFirstJob(unit, store_->LoadDevices().eligible(), store_->ReadHistory(), *store_);
  };
  std::optional<JobChoice> choice = chosen();
  ASSERT_TRUE(choice && !choice->begins);
  EXPECT_FALSE(choice->ask) << "it has this budget: nothing is to be recorded";
  unit.epsilon_budget = 13;
  choice = chosen();
  ASSERT_TRUE(choice && choice->ask);
  EXPECT_EQ(choice->ask->settings, "sampling = \"passes\"\nepsilon-budget = \"13\"\n");
  RunFirstRound(Asked(), "sampling = \"passes\"\nepsilon-budget = \"20\"\n");
  unit.epsilon_budget = 12;
  choice = chosen();
  ASSERT_TRUE(choice && !choice->begins);
  EXPECT_FALSE(choice->ask) << "it was for the first job";
  EXPECT_EQ(choice->request.epsilon_budget, 20);
}

TEST(JobSettings, ABudgetAloneExtendsTheJobAndKeepsItsOtherOptions) {
  ServeRequest request;
  request.given = {"epsilon-budget", "listen"};
  request.epsilon_budget = 12;
  EXPECT_TRUE(OnlyExtends(request));
  EXPECT_EQ(
      Merged("rounds = \"4\"\nepsilon-budget = \"6\"\ncohort = \"3\"\n", JobSettings(request)),
      "rounds = \"4\"\ncohort = \"3\"\nepsilon-budget = \"12\"\n");
  EXPECT_EQ(Merged("cohort = \"3\"\n", JobSettings(request)),
            "cohort = \"3\"\nepsilon-budget = \"12\"\n");
  request.given.insert("rounds");
  EXPECT_TRUE(OnlyExtends(request));
  request.given.insert("cohort");
  EXPECT_FALSE(OnlyExtends(request));
  request.given = {"rounds"};
  EXPECT_FALSE(OnlyExtends(request)) << "it may be the first option of another job";
}

}  // namespace
}  // namespace sotto::server
