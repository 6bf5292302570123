// Tests of the queue of jobs (jobs/job_queue.h), of jobs' settings as text, and of their
// records.
#include "jobs/job_queue.h"

#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "backends/open_store.h"
#include "jobs/job_settings.h"
#include "spec/job_spec.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

class JobQueueTest : public StoredTest {
 protected:
  void SetUp() override {
    StoredTest::SetUp();
    store_.emplace(path_, kCreate);
    store_->AddDevices(SomeDevices(), false);
  }

  History Now() { return store_->ReadHistory(); }

  int64_t Queue(const std::string& settings, int64_t replaces = 0) {
    return store_->Ask({JobAct::kStart, replaces, settings, true});
  }

  // As the server begins it.
  void Begin(int64_t request, const JobRecord& record) {
    store_->AllowNewJob();
    store_->AnswerWithNextJob(request);
    store_->BeginJob(record);
  }

  void ReleaseOne() {
    store_->CommitAttempt({0, 0, {0, 1, 2, 3}, kSmallDevices});
    Release(*store_, 0, 0);
  }

  std::optional<SqlStore> store_;
};

TEST_F(JobQueueTest, JobsBeginInTheOrderInWhichTheyWereAskedFor) {
  const int64_t first = Queue("rounds = \"2\"\n");
  Queue("rounds = \"3\"\n");
  ASSERT_NE(NextStart(Now()), nullptr);
  EXPECT_EQ(NextStart(Now())->number, first);
  Begin(first, RecordOf(SmallConfig()));
  const History history = Now();
  EXPECT_EQ(NextStart(history)->ask.settings, "rounds = \"3\"\n");
  EXPECT_EQ(history.requests[0].answer->job, 1) << "written with the job's beginning";
  EXPECT_EQ(SettingsOf(history, 1), "rounds = \"2\"\n");
  EXPECT_EQ(JobBegunWith(history, "rounds = \"2\"\n")->number, 1);
  EXPECT_FALSE(WhyEnd(history)) << "the other one waits";
}

TEST_F(JobQueueTest, AJobIsReplacedOnlyBeforeItsFirstReleaseAndByAJobThatSaysSo) {
  Begin(Queue("a"), RecordOf(SmallConfig()));
  Queue("b");
  EXPECT_FALSE(WhyEnd(Now()));
  Queue("c", 1);
  ASSERT_TRUE(WhyEnd(Now()));
  EXPECT_EQ(WhyEnd(Now())->kind, Halt::kReplaced);
  ReleaseOne();
  EXPECT_FALSE(WhyEnd(Now())) << "it has released a round";
}

// Somebody agreed to a price that does not count the job.
TEST_F(JobQueueTest, ARequestToReplaceAJobThatHasReleasedIsRefused) {
  Begin(Queue("a"), RecordOf(SmallConfig()));
  const int64_t request = Queue("b", 1);
  EXPECT_FALSE(FindMoot(Now())) << "it ends job 1";
  ReleaseOne();
  const auto refuse = [&] {
    const std::optional<MootRequest> moot = FindMoot(Now());
    ASSERT_TRUE(moot);
    EXPECT_EQ(moot->number, request);
    EXPECT_EQ(NextStart(Now()), nullptr) << "it begins no job";
    EXPECT_TRUE(Says(moot->reason, "job 1 has released a round")) << moot->reason;
    EXPECT_TRUE(Says(moot->reason, "--after")) << moot->reason;
  };
  refuse();
  store_->HaltJob({Halt::kBudget, "spent"});
  refuse();
  store_->AnswerRequest(request, {JobOutcome::kRefused, 0, "moot"});
  EXPECT_FALSE(FindMoot(Now()));
}

TEST_F(JobQueueTest, AStoppedJobStaysOverAndTheRequestHasItsAnswer) {
  Begin(Queue("a"), RecordOf(SmallConfig()));
  ReleaseOne();
  const int64_t stop = store_->Ask({JobAct::kStop, 1, "", false});
  ASSERT_TRUE(WhyEnd(Now()));
  EXPECT_FALSE(FindMoot(Now()));
  store_->HaltJob(*WhyEnd(Now()));
  const History history = Now();
  EXPECT_FALSE(WhyEnd(history));
  ASSERT_TRUE(history.requests[static_cast<size_t>(stop) - 1].answer);
  EXPECT_EQ(history.requests[static_cast<size_t>(stop) - 1].answer->outcome, JobOutcome::kDone);
  EXPECT_EQ(EndOf(history, *LastJob(history))->kind, Halt::kOperator);
  EXPECT_EQ(JobToGoOnWith(history), nullptr) << "not even after a restart";
  EXPECT_EQ(InspectStore(path_).jobs, 1);
}

TEST_F(JobQueueTest, AStartGoesOnWithAJobThatGaveUpUnlessAnotherIsQueued) {
  Begin(Queue("a"), RecordOf(SmallConfig()));
  EXPECT_NE(JobToGoOnWith(Now()), nullptr);
  store_->HaltJob({Halt::kGaveUp, "nobody came"});
  EXPECT_NE(JobToGoOnWith(Now()), nullptr);
  Queue("b");
  EXPECT_EQ(JobToGoOnWith(Now()), nullptr) << "a server that runs takes the next one, too";
  EXPECT_EQ(NextResume(Now()), nullptr);
  store_->Ask({JobAct::kResume, 1, "", false});
  EXPECT_NE(NextResume(Now()), nullptr);
}

TEST_F(JobQueueTest, ARequestForAJobThatIsOverIsMoot) {
  Begin(Queue("a"), RecordOf(SmallConfig()));
  store_->HaltJob({Halt::kBudget, "spent"});
  store_->Ask({JobAct::kStop, 1, "", false});
  ASSERT_TRUE(FindMoot(Now()));
  EXPECT_EQ(FindMoot(Now())->number, 2);
  store_->AnswerRequest(2, {JobOutcome::kRefused, 0, FindMoot(Now())->reason});
  EXPECT_FALSE(FindMoot(Now()));
  EXPECT_FALSE(store_->AnswerRequest(2, {JobOutcome::kWithdrawn, 0, ""})) << "once";
  EXPECT_EQ(Now().requests[1].answer->outcome, JobOutcome::kRefused);
}

TEST_F(JobQueueTest, ARequestThatWasWithdrawnMeanwhileBeginsNothing) {
  const int64_t request = Queue("a");
  ASSERT_TRUE(store_->AnswerRequest(request, {JobOutcome::kWithdrawn, 0, "by the operator"}));
  EXPECT_THROW(Begin(request, RecordOf(SmallConfig())), std::invalid_argument);
  EXPECT_TRUE(Now().jobs.empty());
  Begin(Queue("b"), RecordOf(SmallConfig()));
  EXPECT_EQ(Now().jobs.size(), 1U);
}

TEST_F(JobQueueTest, AJobThatGoesOnAnswersWhoeverAskedForThatInTheSameMoment) {
  Begin(Queue("a"), RecordOf(SmallConfig()));
  store_->HaltJob({Halt::kGaveUp, "nobody came"});
  store_->Ask({JobAct::kResume, 1, "", false});
  const int64_t before = store_->LastRecord();
  store_->BeginJob(RecordOf(SmallConfig()));
  EXPECT_EQ(Now().requests[1].answer->outcome, JobOutcome::kDone);
  EXPECT_EQ(NextResume(Now()), nullptr) << "or the job would go on once more after its next end";
  EXPECT_GT(store_->LastRecord(), before);
}

TEST(JobSettings, AreTheOptionsThatWereGivenAndMakeTheSameRequest) {
  ServeRequest request;
  const auto give = [&](const char* name, const char* text) {
    for (const JobField& row : JobFields()) {
      if (row.is_option() && std::string(row.name) == name) {
        JobRequest& job = request;
        Give(row, job, posix::ParseValue(row, text));
      }
    }
  };
  EXPECT_FALSE(NamesJob(request));
  give("rounds", "7");
  give("noise-multiplier", "1.25");
  give("sampling", "passes");
  give("epsilon", "inf");
  request.evaluate_every = 3;
  request.given.insert("evaluate-every");
  request.listen = "127.0.0.1:1";
  request.given.insert("listen");
  EXPECT_TRUE(NamesJob(request));
  const std::string settings = JobSettings(request);
  EXPECT_EQ(settings.find("listen"), std::string::npos) << settings;
  ServeRequest server;
  server.listen = "127.0.0.1:2";
  const ServeRequest again = WithSettings(server, settings);
  EXPECT_EQ(again.listen, "127.0.0.1:2");
  EXPECT_EQ(again.job.plan.rounds, 7);
  EXPECT_EQ(again.noise_multiplier, 1.25);
  EXPECT_EQ(again.evaluate_every, 3U);
  EXPECT_EQ(JobSettings(again), settings);
  EXPECT_THROW(WithSettings(server, "no-such-option = \"1\"\n"), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::server
