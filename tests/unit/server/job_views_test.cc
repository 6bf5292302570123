// What devices can see of a job, besides the models: when rounds end, who counts as checked in, how
// long devices are told to wait, how much work a release is. PRIVACY.md, section 1, lists these
// channels. And the claims of a job that lets the time of a release tell who took part.
#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <set>

#include "plans/claim_kinds.h"
#include "plans/private_noise.h"
#include "spec/make_job.h"
#include "unit/privacy/figures.h"
#include "unit/server/passing_codec.h"
#include "unit/server/requests.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

using privacy::Assumption;

bool Rests(const privacy::Claim& claim, Assumption assumption) {
  return std::count(claim.assumptions.begin(), claim.assumptions.end(), assumption) == 1;
}

// A round that ended with its last report would tell by its time how many devices reported.
TEST(JobViews, ARoundWhoseCohortHasReportedIsOverOnlyIfItClosesEarly) {
  for (const bool early : {false, true}) {
    SmallJob small(early ? ClosingEarly(SmallConfig()) : SmallConfig());
    ASSERT_TRUE(small.job.OpenRound());
    small.ReportAll();
    EXPECT_EQ(small.job.IsComplete(), early);
  }
}

// The device is drawn for attempt 0, and trains until after attempt 1. If it did not count, the
// number of the next attempt would tell that it was drawn.
TEST(JobViews, ADeviceThatStillTrainsFromTheDrawBeforeCountsAsCheckedIn) {
  JobConfig config = SmallConfig();
  config.min_devices = 2;
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  const uint32_t trains = small.job.cohort()[0];
  const uint32_t polls = (trains + 1) % kSmallDevices;
  ASSERT_EQ(AskForWork(small.job, trains).kind, Reply::Kind::kTrain);
  AskForWork(small.job, polls);
  ASSERT_TRUE(small.job.CloseRound().released);
  ASSERT_TRUE(small.job.OpenRound());
  AskForWork(small.job, polls);
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_EQ(outcome.checked_in, 2U);
  EXPECT_TRUE(outcome.released);
  // What it sends when it has trained counts for the attempts after it, although it comes too late.
  ASSERT_TRUE(small.job.OpenRound());
  Request late;
  late.kind = Request::Kind::kUpdateBegin;
  small.job.Answer(trains, late);
  EXPECT_EQ(small.job.CloseRound().checked_in, 2U);
}

// It counts no longer than a device that was not drawn would.
TEST(JobViews, ADeviceThatIsGoneCountsForOneMoreAttemptDrawnOrNot) {
  for (const bool drawn : {true, false}) {
    JobConfig config = SmallConfig();
    config.min_devices = 0;
    SmallJob small(config);
    ASSERT_TRUE(small.job.OpenRound());
    uint32_t device = 0;
    while (std::binary_search(small.job.cohort().begin(), small.job.cohort().end(), device) !=
           drawn) {
      ++device;
    }
    AskForWork(small.job, device);
    for (const uint32_t counted : {1U, 1U, 0U}) {
      EXPECT_EQ(small.job.CloseRound().checked_in, counted);
      small.job.OpenRound();
    }
  }
}

// Before, within, after: drawn, not drawn, reported, late. One interval, which the operator sets.
TEST(JobViews, EveryDeviceIsToldToWaitEquallyLongAtEveryTime) {
  JobConfig config = SmallConfig();
  config.process.poll_interval_ms = 1234;
  SmallJob small(config);
  std::set<uint32_t> waits;
  const auto ask_all = [&] {
    for (uint32_t device = 0; device < kSmallDevices; ++device) {
      const Reply reply = AskForWork(small.job, device);
      if (reply.kind == Reply::Kind::kWait) waits.insert(reply.wait_ms);
    }
  };
  ask_all();
  ASSERT_TRUE(small.job.OpenRound());
  ask_all();
  small.Report(small.job.cohort()[0]);
  ask_all();
  PartialSum part = small.job.CloseUploads();
  ask_all();
  small.job.FinishRound(std::move(part));
  ask_all();
  EXPECT_EQ(waits, std::set<uint32_t>{1234});
}

// An attempt that is given up is followed by the next at once. Devices see it when the server says.
TEST(JobViews, ASuspendedJobTellsEveryDeviceToWait) {
  SmallJob small;
  ASSERT_TRUE(small.job.OpenRound());
  small.job.Suspend();
  ASSERT_FALSE(small.job.CloseRound().released);
  ASSERT_EQ(small.job.phase(), Job::Phase::kOpen);
  for (uint32_t device = 0; device < kSmallDevices; ++device) {
    EXPECT_EQ(AskForWork(small.job, device).kind, Reply::Kind::kWait);
  }
  small.job.Proceed();
  EXPECT_EQ(AskForWork(small.job, small.job.cohort()[0]).kind, Reply::Kind::kTrain);
}

std::atomic<uint32_t> g_zero_updates{0};

struct CountingCodec : PassingCodec {
  using PassingCodec::PassingCodec;
  void AddZeroUpdate(const Key& key, uint32_t number, Accumulator& sum) const override {
    ++g_zero_updates;
    PassingCodec::AddZeroUpdate(key, number, sum);
  }
};

TEST(JobViews, UnderConstantWorkAReleaseComputesAsMuchWhoeverReportedAndIsTheSame) {
  CodecInfo codec = RequireCodec("gau-lrq");
  codec.make = [](const TrainTask& task) -> std::unique_ptr<const UpdateCodec> {
    return std::make_unique<CountingCodec>(task);
  };
  for (const size_t reports : {0U, 1U, 4U}) {
    std::vector<std::vector<float>> models;
    for (const bool constant : {false, true}) {
      JobConfig config = SmallConfig();
      config.codec = &codec;
      config.process.constant_work = constant;
      config.min_devices = 0;
      SmallJob small(config);
      ASSERT_TRUE(small.job.OpenRound());
      for (size_t i = 0; i < reports; ++i) small.Report(small.job.cohort()[i]);
      g_zero_updates = 0;
      EXPECT_EQ(small.job.CloseRound().topped_up, 4 - reports);
      EXPECT_EQ(g_zero_updates, constant ? 4 : 4 - reports);
      models.push_back(small.Model());
    }
    EXPECT_EQ(models[0], models[1]);
  }
}

// Ten attempts whose updates the server has decoded, and no release.
TEST(JobViews, AttemptsThatReleaseNothingAreChargedAgainstTheServer) {
  JobConfig config = SmallConfig();
  config.plan.private_noise_multiplier = 0.5;
  config.min_devices = kSmallDevices;
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  for (int64_t attempt = 1; attempt <= 10; ++attempt) {
    small.ReportAll();
    const RoundOutcome outcome = small.job.CloseRound();
    ASSERT_FALSE(outcome.released);
    EXPECT_EQ(outcome.spent.rounds, 0);
    EXPECT_EQ(outcome.spent.epsilon(), 0);
    EXPECT_EQ(ServerEpsilon(outcome.spent),
              privacy::GuaranteeAgainstServer(config.plan, attempt).epsilon);
  }
  ASSERT_TRUE(small.job.gave_up());
  EXPECT_EQ(ServerEpsilon(small.job.Spent()),
            privacy::GuaranteeAgainstServer(config.plan, 10).epsilon);
}

TEST(ClosingEarly, TheHeadlineIsThatOfAnAdversaryWhoKnowsTheParticipants) {
  const privacy::Plan plan = SmallConfig().plan;
  const privacy::Statement secret = privacy::Account(plan, 3);
  const privacy::Statement known = privacy::Account(ClosingEarly(SmallConfig()).plan, 3);
  EXPECT_GT(NetworkEpsilon(secret), secret.epsilon());
  EXPECT_EQ(known.epsilon(), NetworkEpsilon(secret));
  EXPECT_EQ(NetworkEpsilon(known), NetworkEpsilon(secret));
  EXPECT_TRUE(Rests(secret.Headline(), Assumption::kParticipationIsSecret));
  EXPECT_FALSE(Rests(secret.Headline(), Assumption::kTimesTellNothing));
  EXPECT_FALSE(Rests(known.Headline(), Assumption::kParticipationIsSecret));
  EXPECT_TRUE(Rests(known.Headline(), Assumption::kTimesTellNothing));
}

// One job with known and one with secret participants: neither figure covers both, so the rounds
// are composed each as it was, and the claim rests on the assumptions of both.
TEST(ClosingEarly, JobsOfBothKindsComposeEachAsItWas) {
  const privacy::Plan secret = SmallConfig().plan;
  const privacy::Plan known = ClosingEarly(SmallConfig()).plan;
  const double both_secret = privacy::Account(secret, 2, {{secret, 2}}).epsilon();
  const double both_known = privacy::Account(known, 2, {{known, 2}}).epsilon();
  for (const auto& [now, before] : {std::pair{secret, known}, std::pair{known, secret}}) {
    const privacy::Statement mixed = privacy::Account(now, 2, {{before, 2}});
    EXPECT_GT(mixed.epsilon(), both_secret);
    EXPECT_LT(mixed.epsilon(), both_known);
    EXPECT_TRUE(Rests(mixed.Headline(), Assumption::kParticipationIsSecret));
    EXPECT_TRUE(Rests(mixed.Headline(), Assumption::kTimesTellNothing));
  }
}

TEST(ClosingEarly, TheNoiseIsCalibratedToTheClaim) {
  JobRequest request;
  request.job.plan.sampling = privacy::Sampling::kUniform;
  request.epsilon = 6;
  const JobConfig secret = MakeJob(request, 1000);
  request.job.plan.participants_known = true;
  const JobConfig known = MakeJob(request, 1000);
  const double epsilon = privacy::Account(known.plan, known.plan.rounds).epsilon();
  EXPECT_LE(epsilon, 6);
  EXPECT_GT(epsilon, 5.99);
  EXPECT_GT(known.plan.NoiseMultiplier(), 2 * secret.plan.NoiseMultiplier());
  EXPECT_TRUE(known.close_early());
}

}  // namespace
}  // namespace sotto::server
