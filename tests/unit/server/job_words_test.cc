// Tests of what `sotto job` says before it changes a store (jobs/job_control.h), and of how it
// lists jobs and requests (overview/jobs_output.h).
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "jobs/job_control.h"
#include "jobs/job_queue.h"
#include "overview/jobs_output.h"
#include "spec/job_spec.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

class JobWordsTest : public StoredTest {
 protected:
  void SetUp() override {
    StoredTest::SetUp();
    store_.emplace(path_, kCreate);
    store_->AddDevices(SomeDevices(), false);
  }

  // As the server begins a job that was asked for with these options.
  void Begin(const JobConfig& config, const std::string& settings = "") {
    const int64_t request = store_->Ask({JobAct::kStart, 0, settings, true});
    store_->AllowNewJob();
    store_->AnswerWithNextJob(request);
    store_->BeginJob(RecordOf(config));
  }

  void ReleaseOne() {
    store_->CommitAttempt({0, 0, {0, 1, 2, 3}, kSmallDevices});
    Release(*store_, 0, 0);
  }

  ServeRequest Proposed() const {
    ServeRequest request;
    request.store = path_;
    for (const auto& [name, text] : {std::pair{"model", "softmax-64-10"},
                                     {"rounds", "2"},
                                     {"cohort", "4"},
                                     {"noise-multiplier", "1"},
                                     {"sampling", "uniform"},
                                     {"delta", "0.001"}}) {
      for (const JobField& row : JobFields()) {
        JobRequest& job = request;
        if (row.is_option() && std::string(row.name) == name) {
          Give(row, job, posix::ParseValue(row, text));
        }
      }
    }
    return request;
  }

  std::string WhyNotResumed() {
    try {
      ProposeReopening(*store_);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }

  std::optional<SqlStore> store_;
};

TEST_F(JobWordsTest, AStopSaysWhatItEndsAndRefusesWhatIsOver) {
  EXPECT_THROW(ProposeStop(*store_), std::invalid_argument);
  Begin(SmallConfig());
  ReleaseOne();
  const JobProposal stop = ProposeStop(*store_);
  EXPECT_EQ(stop.question, "end job 1 for good?");
  EXPECT_TRUE(Says(stop.lines.at(0), "with 1 round released")) << stop.lines[0];
  EXPECT_TRUE(Says(stop.lines[0], "cannot go on")) << stop.lines[0];
  EXPECT_TRUE(Says(stop.lines[0], "`sotto job pause`")) << stop.lines[0];
  EXPECT_EQ(store_->ReadHistory().requests.size(), 1u) << "a proposal asks nothing of the server";
  EXPECT_THROW(RequireQueued(*store_, 7), std::invalid_argument);
  store_->HaltJob({Halt::kOperator, "ended"});
  EXPECT_THROW(ProposeStop(*store_), std::invalid_argument) << "with --dry-run, too";
}

TEST_F(JobWordsTest, AProposalSaysBothThingsThatCanHappenToAJobWithoutARelease) {
  EXPECT_EQ(ProposeJob(Proposed(), false, *store_).question, "begin this job?");
  Begin(SmallConfig());
  const JobProposal replaces = ProposeJob(Proposed(), false, *store_);
  EXPECT_EQ(replaces.ask.job, 1);
  EXPECT_TRUE(Says(replaces.lines.back(), "REPLACES job 1")) << replaces.lines.back();
  EXPECT_TRUE(Says(replaces.lines.back(), "If that releases its first round before"));
  EXPECT_TRUE(Says(replaces.lines.back(), "this one is refused and nothing changes"));
  EXPECT_TRUE(Says(replaces.lines.back(), "--after")) << replaces.lines.back();
  EXPECT_EQ(replaces.question, "end job 1 and begin this one in its place?");
  const JobProposal waits = ProposeJob(Proposed(), true, *store_);
  EXPECT_EQ(waits.ask.job, 0) << "it replaces nothing";
  EXPECT_TRUE(Says(waits.lines.back(), "begins when job 1 is over")) << waits.lines.back();
  ReleaseOne();
  const JobProposal queued = ProposeJob(Proposed(), false, *store_);
  EXPECT_EQ(queued.ask.job, 0);
  EXPECT_EQ(queued.question, "queue this job behind job 1?");
}

TEST_F(JobWordsTest, AResumeThatWouldOpenNoRoundIsRefusedWithTheWayOut) {
  EXPECT_TRUE(Says(WhyNotResumed(), "no job has begun")) << WhyNotResumed();
  Begin(SmallPassesConfig(1, 2), "model = \"softmax-64-10\"\nsampling = \"passes\"\n");
  EXPECT_TRUE(Says(WhyNotResumed(), "job 1 is under way")) << WhyNotResumed();
  std::vector<int64_t> all;
  for (uint32_t i = 1; i <= kSmallDevices; ++i) all.push_back(i);
  store_->CommitAttempt({0, 0, {0, 1, 2, 3}, kSmallDevices});
  store_->SealAttempt({0, 0, all});
  store_->HaltJob({Halt::kNoTurns, "none is left"});
  EXPECT_TRUE(Says(WhyNotResumed(), "0 of the 4 devices that a round needs")) << WhyNotResumed();
  EXPECT_TRUE(Says(WhyNotResumed(), "sotto keys new")) << WhyNotResumed();
  EXPECT_TRUE(store_->ReadHistory().requests.size() == 1U) << "nothing was asked";
  std::vector<Device> more = SomeDevices(kSmallDevices + 4);
  more.erase(more.begin(), more.begin() + kSmallDevices);
  store_->AddDevices(more, false);
  const History history = store_->ReadHistory();
  EXPECT_EQ(WhyNotReopened(history, *LastJob(history)), "");
}

TEST_F(JobWordsTest, TheListNamesEachEndAndOnlyTheNewestRefusalsWithTheirTimes) {
  Begin(SmallConfig(), "rounds = \"3\"\n");
  JobList unserved = ReadJobList(*store_);
  unserved.has_server = false;  // it is this process
  EXPECT_TRUE(Says(DescribeJobs(unserved), "interrupted: no server runs"))
      << DescribeJobs(unserved);
  for (int i = 0; i < 7; ++i) {
    const int64_t request = store_->Ask({JobAct::kStop, 9, "", false});
    store_->AnswerRequest(request, {JobOutcome::kRefused, 0, "job 9 is over"});
  }
  store_->HaltJob({Halt::kBudget, "the privacy budget is spent"});
  const std::string list = DescribeJobs(ReadJobList(*store_));
  EXPECT_TRUE(Says(list, "over (budget): the privacy budget is spent")) << list;
  EXPECT_FALSE(Says(list, "request 3, ")) << list;
  EXPECT_TRUE(Says(list, "request 8, 20")) << list;
  EXPECT_TRUE(Says(DescribeJobs(ReadJobList(*store_), true), "request 3, 20"));
  EXPECT_TRUE(Says(DescribeJobs(ReadJobList(*store_), true), "request 1, 20"));
  const std::string job = DescribeJob(ReadJobList(*store_), 1).value_or("");
  EXPECT_TRUE(Says(job, "\nrounds = \"3\"\n")) << job;
  EXPECT_TRUE(Says(job, "\n# cohort = \"4\"\n")) << "it holds, and nobody gave it\n" << job;
  EXPECT_TRUE(Says(job, "\n# clip = \"0.4\"\n")) << job;
  EXPECT_FALSE(Says(job, "# rounds")) << job;
  EXPECT_FALSE(Says(job, "# epsilon = ")) << "the noise was not asked for by an epsilon\n" << job;
}

}  // namespace
}  // namespace sotto::server
