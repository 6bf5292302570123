// Tests of what devices get that fetch the newest release, from a store and from a job that runs.
#include "service/releases.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "store/stored_codes.h"
#include "unit/server/downloading.h"
#include "unit/server/requests.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

constexpr uint32_t kPollMs = 700;

class ReleasesTest : public StoredTest {
 protected:
  std::unique_ptr<Job> Begin(const JobConfig& config = SmallGridConfig()) {
    store_.AllowNewJob();
    const Key key{{++jobs_}};
    return std::make_unique<Job>(config, registry_, store_, key);
  }

  DeviceRegistry Registered() {
    store_.AddDevices(SomeDevices(), false);
    return store_.LoadDevices();
  }

  void Round(Job* job) {
    ASSERT_TRUE(job->OpenRound());
    for (const uint32_t device : job->cohort()) {
      SmallDevice client(registry_[device], device, *job->config().model, job->round());
      EXPECT_EQ(client.Run(*job, device), Status::kOk);
    }
    EXPECT_TRUE(job->CloseRound().released);
    job->ShowRelease();
  }

  static Request Fetch(const JobConfig& config, ByteSpan held = {}) {
    static uint8_t digest[kSha256Size];
    EXPECT_EQ(ModelDigest(*config.model, digest), Status::kOk);
    Request request;
    request.kind = Request::Kind::kGetRelease;
    request.model_digest = digest;
    request.held = held;
    return request;
  }

  static Holder::Ask From(Releases* releases) {
    return [releases](const Request& request) { return releases->AnswerCode(request); };
  }

  static std::string ClaimsOf(const Reply& reply) {
    return {reply.claims.begin(), reply.claims.end()};
  }

  const JobConfig config_ = SmallGridConfig();
  SqlStore store_{path_, kCreate};
  const DeviceRegistry registry_ = Registered();
  Holder holder_{*config_.model};
  uint8_t jobs_ = 0;
};

TEST_F(ReleasesTest, WithoutAReleaseADeviceAsksAgainLater) {
  Releases releases(kPollMs);
  releases.Load(store_, 0);
  Reply reply = releases.AnswerRelease(Fetch(config_));
  EXPECT_EQ(reply.code, ErrorCode::kBusy);
  EXPECT_FALSE(reply.final);
  EXPECT_EQ(reply.wait_ms, kPollMs);
  const std::unique_ptr<Job> job = Begin();
  releases.OnBegin(1, *job, {}, false);
  reply = releases.AnswerRelease(Fetch(config_));
  EXPECT_EQ(reply.kind, Reply::Kind::kError);
  EXPECT_FALSE(reply.final);
}

TEST_F(ReleasesTest, AJobThatRunsShowsItsNewestRelease) {
  const std::unique_ptr<Job> job = Begin();
  Releases releases(kPollMs);
  releases.Load(store_, 1);
  releases.OnBegin(1, *job, {}, false);
  for (uint32_t round = 1; round <= 2; ++round) {
    Round(job.get());
    releases.OnRelease(round, job->Spent().claims);
    const Reply reply = releases.AnswerRelease(Fetch(config_, holder_.held()));
    ASSERT_EQ(reply.kind, Reply::Kind::kRelease);
    EXPECT_EQ(reply.rounds, round);
    EXPECT_FALSE(reply.final);
    EXPECT_EQ(reply.job_id.size(), kJobIdSize);
    EXPECT_EQ(ClaimsOf(reply).rfind("epsilon ", 0), 0u) << ClaimsOf(reply);
    EXPECT_EQ(reply.model.base, round == 1 ? ModelBase::kZeros : ModelBase::kHeld);
    holder_.Take(reply.model, From(&releases));
    EXPECT_EQ(holder_.parameters(),
              std::vector<float>(job->parameters().begin(), job->parameters().end()));
  }
}

TEST_F(ReleasesTest, AfterItsEndAJobsReleaseIsFinalUnlessALaterStartGoesOn) {
  const std::unique_ptr<Job> job = Begin();
  Releases releases(kPollMs);
  releases.OnBegin(1, *job, {}, false);
  Round(job.get());
  releases.OnRelease(1, job->Spent().claims);
  releases.OnEnd(false);
  EXPECT_FALSE(releases.AnswerRelease(Fetch(config_)).final);
  releases.OnEnd(true);
  EXPECT_TRUE(releases.AnswerRelease(Fetch(config_)).final);
}

TEST_F(ReleasesTest, AnotherProcessShowsTheSameReleaseAndKnowsWhatDevicesHold) {
  {
    const std::unique_ptr<Job> job = Begin();
    Releases releases(kPollMs);
    releases.OnBegin(1, *job, {}, false);
    Round(job.get());
    releases.OnRelease(1, job->Spent().claims);
    holder_.Take(releases.AnswerRelease(Fetch(config_)).model, From(&releases));
    Round(job.get());
    job->End(Halt::kOperator, "stopped");
  }
  Releases later(kPollMs);
  later.Load(store_, 0);
  const Reply reply = later.AnswerRelease(Fetch(config_, holder_.held()));
  ASSERT_EQ(reply.kind, Reply::Kind::kRelease);
  EXPECT_EQ(reply.rounds, 2u);
  EXPECT_TRUE(reply.final);
  EXPECT_EQ(reply.model.base, ModelBase::kHeld);
  holder_.Take(reply.model, From(&later));
  EXPECT_EQ(holder_.parameters(), store_.ReadModel(1, 1).parameters);
}

TEST_F(ReleasesTest, AThresholdBelongsToItsReleaseAndChangesTheAnswersMark) {
  const std::unique_ptr<Job> job = Begin();
  Releases releases(kPollMs);
  releases.OnBegin(1, *job, {}, false);
  Round(job.get());
  releases.OnRelease(1, job->Spent().claims);
  const Request fetch = Fetch(config_);
  EXPECT_EQ(releases.AnswerRelease(fetch).threshold, 0);
  const uint32_t without = releases.NewestRelease(fetch);
  store_.AttachThreshold({1, 0, 0.5F});
  releases.OnThresholds(store_.Thresholds());
  EXPECT_EQ(releases.AnswerRelease(fetch).threshold, 0.5F);
  const uint32_t with = releases.NewestRelease(fetch);
  EXPECT_NE(with, without);
  Releases later(kPollMs);
  later.Load(store_, 0);
  EXPECT_EQ(later.AnswerRelease(fetch).threshold, 0.5F);
  EXPECT_EQ(later.NewestRelease(fetch), with) << "another process says the same";
  Round(job.get());
  releases.OnRelease(2, job->Spent().claims);
  EXPECT_EQ(releases.AnswerRelease(fetch).threshold, 0) << "the next model has none";
  store_.AttachThreshold({1, 1, 2});
  releases.OnThresholds(store_.Thresholds());
  EXPECT_EQ(releases.AnswerRelease(fetch).threshold, 2);
}

// The pool has looked before the round was released, and tells it after.
TEST_F(ReleasesTest, AnOlderLookDoesNotHideTheThresholdThatARoundHasMeasured) {
  const std::unique_ptr<Job> job = Begin();
  Releases releases(kPollMs);
  releases.OnBegin(1, *job, {}, false);
  const std::vector<ModelThreshold> before = store_.Thresholds();
  Round(job.get());
  releases.OnRelease(1, job->Spent().claims, 0.5);
  releases.OnThresholds(before);
  EXPECT_EQ(releases.AnswerRelease(Fetch(config_)).threshold, 0.5F);
  releases.OnThresholds({{1, 0, 2}});
  EXPECT_EQ(releases.AnswerRelease(Fetch(config_)).threshold, 2) << "somebody has attached another";
}

TEST_F(ReleasesTest, AJobWithoutAReleaseShowsTheOneBeforeIt) {
  const std::unique_ptr<Job> first = Begin();
  Round(first.get());
  const std::unique_ptr<Job> second = Begin();
  Releases releases(kPollMs);
  releases.Load(store_, 2);
  releases.OnBegin(2, *second, {}, false);
  const Reply before = releases.AnswerRelease(Fetch(config_));
  ASSERT_EQ(before.kind, Reply::Kind::kRelease);
  EXPECT_TRUE(before.final);
  EXPECT_TRUE(std::equal(before.job_id.begin(), before.job_id.end(), first->job_id()));
  Round(second.get());
  releases.OnRelease(1, second->Spent().claims);
  const Reply after = releases.AnswerRelease(Fetch(config_));
  EXPECT_TRUE(std::equal(after.job_id.begin(), after.job_id.end(), second->job_id()));
}

TEST_F(ReleasesTest, AMissingModelIsSaidAndDevicesOfOtherNetsGetTheirs) {
  JobConfig other = SmallGridConfig();
  other.model = FindModel("small-cnn");
  other.plan.dimension = other.model->parameters;
  for (const JobConfig& config : {config_, other}) Round(Begin(config).get());
  RunSql("DELETE FROM models WHERE job = 1");
  Releases releases(kPollMs);
  const std::vector<std::string> wrong = releases.Load(store_, 0);
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong[0].rfind("no device can fetch the release of job 1: ", 0), 0u) << wrong[0];
  EXPECT_EQ(releases.AnswerRelease(Fetch(config_)).code, ErrorCode::kModelMismatch);
  EXPECT_EQ(releases.AnswerRelease(Fetch(other)).kind, Reply::Kind::kRelease);
}

TEST_F(ReleasesTest, AnotherNetIsRefusedByTheNameOfTheReleasedOne) {
  const std::unique_ptr<Job> job = Begin();
  Round(job.get());
  Releases releases(kPollMs);
  releases.Load(store_, 0);
  JobConfig other;
  other.model = FindModel("softmax-784-10");
  const Reply reply = releases.AnswerRelease(Fetch(other));
  EXPECT_TRUE(IsFinalError(reply));
  EXPECT_EQ(reply.code, ErrorCode::kModelMismatch);
  EXPECT_EQ(std::string(reply.bytes.begin(), reply.bytes.end()), "softmax-64-10");
}

TEST_F(ReleasesTest, ADeviceThatHasSaidNoHelloIsRefused) {
  Releases releases(kPollMs);
  Request request;
  request.kind = Request::Kind::kGetRelease;
  EXPECT_EQ(releases.AnswerRelease(request).code, ErrorCode::kVersion);
}

// The key is a record of the job: a later process offers differences from the initial model, too.
TEST_F(ReleasesTest, AStoreKeepsTheKeyOfTheInitialModel) {
  JobConfig config = SmallGridConfig();
  config.model = FindModel("small-cnn");
  config.plan.dimension = config.model->parameters;
  const std::unique_ptr<Job> job = Begin(config);
  ASSERT_TRUE(job->codes()->weights_key());
  const std::shared_ptr<ModelCodes> read = ReadCodes(store_, *LastJob(store_.ReadHistory()));
  ASSERT_TRUE(read->weights_key());
  EXPECT_TRUE(std::equal(std::begin(read->weights_key()->bytes),
                         std::end(read->weights_key()->bytes),
                         std::begin(job->codes()->weights_key()->bytes)));
}

TEST(ClaimsInBrief, SaysTheEpsilonsAsFarAsThereIsRoom) {
  privacy::Claim claim;
  claim.epsilon = 1.5;
  claim.delta = 1e-5;
  EXPECT_EQ(ClaimsInBrief({claim}, false).rfind("epsilon 1.500 at delta 1e-05", 0), 0u);
  EXPECT_LE(ClaimsInBrief(std::vector<privacy::Claim>(9, claim), false).size(), kMaxClaimsSize);
  EXPECT_EQ(ClaimsInBrief({claim}, true), "seeded noise: not private");
  EXPECT_EQ(ClaimsInBrief({}, false), "no privacy");
}

}  // namespace
}  // namespace sotto::server
