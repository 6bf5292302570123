// Tests of jobs whose devices take part at most K times: who is asked, what is charged, how they
// end. Turns are counted by hand, from what devices were told.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "plans/turns.h"
#include "spec/configuration.h"
#include "spec/make_job.h"
#include "unit/server/requests.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

using ChangeKind = DeviceChange::Kind;

// A job with its turns as the devices count them: the rounds that were released with each.
struct PassesJob : SmallJob {
  explicit PassesJob(const JobConfig& config = SmallPassesConfig()) : SmallJob(config) {}

  bool Round() {
    if (!job.OpenRound()) return false;
    const std::vector<uint32_t> cohort = job.cohort();
    ReportAll();
    EXPECT_TRUE(job.CloseRound().released);
    cohorts.push_back(cohort);
    for (const uint32_t device : cohort) ++turns[device];
    return true;
  }

  std::map<uint32_t, int> turns;
  std::vector<std::vector<uint32_t>> cohorts;
};

TEST(PassesJob, EachPassAsksEachDeviceOnce) {
  PassesJob small;
  while (small.Round()) continue;
  EXPECT_EQ(small.job.finish_reason(), "all 6 rounds of the plan are released");
  ASSERT_EQ(small.cohorts.size(), 6u);
  for (const size_t pass : {0u, 3u}) {
    std::set<uint32_t> asked;
    for (size_t i = pass; i < pass + 3; ++i) {
      asked.insert(small.cohorts[i].begin(), small.cohorts[i].end());
    }
    EXPECT_EQ(asked.size(), kSmallDevices);
  }
  EXPECT_EQ(small.store.seals.size(), 6u);
}

TEST(PassesJob, TheFigureIsTheLimitFromTheFirstReleaseOn) {
  PassesJob small;
  ASSERT_TRUE(small.Round());
  ASSERT_TRUE(small.Round());
  const privacy::Statement first = small.store.releases[0].spent;
  const privacy::Statement second = small.store.releases[1].spent;
  EXPECT_EQ(first.epsilon(), second.epsilon());
  ASSERT_EQ(first.claims.size(), 2u);
  EXPECT_EQ(first.claims[0].epsilon, first.claims[1].epsilon) << "models and network";
  EXPECT_EQ(first.claims[0].participations, 2);
}

TEST(PassesJob, EndsWhenTooFewDevicesHaveATurnLeft) {
  PassesJob small(SmallPassesConfig(2, 50));
  while (small.Round()) continue;
  EXPECT_EQ(small.cohorts.size(), 6u);
  EXPECT_NE(small.job.finish_reason().find("the turns of its devices are used: 0 devices of the 4"),
            std::string::npos)
      << small.job.finish_reason();
  for (const auto& [device, turns] : small.turns) EXPECT_EQ(turns, 2) << device;
}

TEST(PassesJob, ADeviceThatJoinsHasAllTurnsAndEndsNothing) {
  JobConfig config = SmallPassesConfig(1, 50);
  config.quorum = 1;
  PassesJob small(config);
  ASSERT_TRUE(small.Round());
  ASSERT_TRUE(small.Round());
  DeviceChange joined;
  joined.number = 40;
  joined.device.id = "late";
  joined.device.secret.bytes[1] = 40;
  small.job.SetFleet(small.registry.Changed({joined}), {});
  ASSERT_TRUE(small.job.OpenRound()) << small.job.finish_reason();
  const double before = small.store.releases[0].spent.epsilon();
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_FALSE(outcome.released) << "nobody reported, and the quorum is 1";
  ASSERT_EQ(small.job.phase(), Job::Phase::kOpen) << "the next attempt";
  for (const uint32_t device : small.job.cohort()) {
    if (device < kSmallDevices) small.Report(device);
  }
  const RoundOutcome released = small.job.CloseRound();
  EXPECT_TRUE(released.released);
  EXPECT_EQ(released.spent.epsilon(), before);
}

TEST(PassesJob, AnAttemptBelowTheQuorumCostsNothingAndIsNotSealed) {
  JobConfig config = SmallPassesConfig();
  config.quorum = 3;
  PassesJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  small.Report(small.job.cohort()[0]);
  small.Report(small.job.cohort()[1]);
  EXPECT_FALSE(small.job.CloseRound().released);
  EXPECT_TRUE(small.store.seals.empty());
  for (uint32_t device = 0; device < kSmallDevices; ++device) {
    EXPECT_EQ(small.job.turns()->UsedBy(device).count, 0);
  }
  for (size_t i = 0; i < 3; ++i) small.Report(small.job.cohort()[i]);
  EXPECT_TRUE(small.job.CloseRound().released);
  EXPECT_EQ(small.store.seals.size(), 1u);
  EXPECT_EQ(small.store.seals[0].devices.size(), 4u) << "who was asked, not who reported";
}

// Its open attempt is given up: what was not sealed is not read, and what was stays charged.
TEST(PassesJob, AnEndByTheOperatorReadsNoSumAndKeepsEveryCharge) {
  PassesJob trusted;
  ASSERT_TRUE(trusted.job.OpenRound());
  trusted.Report(trusted.job.cohort()[0]);
  trusted.job.End(Halt::kOperator, "enough");
  EXPECT_EQ(trusted.job.phase(), Job::Phase::kFinished);
  EXPECT_EQ(trusted.job.end(), Halt::kOperator);
  EXPECT_TRUE(trusted.store.seals.empty()) << "no sum was read";
  EXPECT_TRUE(trusted.store.releases.empty());
  ASSERT_FALSE(trusted.store.halts.empty());
  EXPECT_EQ(trusted.store.halts.back().kind, Halt::kOperator);
  EXPECT_EQ(AskForWork(trusted.job, 0).kind, Reply::Kind::kDone);
  JobConfig config = SmallPassesConfig(1, 6);
  config.quorum = 1;
  config.plan.private_noise_multiplier = 0.5;
  PassesJob seen(config);
  ASSERT_TRUE(seen.job.OpenRound());
  seen.job.End(Halt::kReplaced, "another job");
  EXPECT_EQ(seen.store.seals.size(), 1u);
  EXPECT_EQ(seen.job.turns()->UsedBy(seen.job.cohort()[0]).count, 1) << "the server saw it";
  EXPECT_EQ(seen.job.attempts(), 1u);
}

// The server sees an update in every attempt, so there a device has at most K attempts.
TEST(PassesJob, UnderPrivateNoiseEachAttemptIsATurn) {
  JobConfig config = SmallPassesConfig(1, 6);
  config.quorum = 1;
  config.plan.private_noise_multiplier = 0.5;
  PassesJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  ASSERT_EQ(small.store.seals.size(), 1u) << "before any device learns of it";
  const uint32_t first = small.job.cohort()[0];
  EXPECT_FALSE(small.job.CloseRound().released);
  EXPECT_EQ(small.job.turns()->UsedBy(first).count, 1);
  EXPECT_FALSE(small.job.CloseRound().released);
  EXPECT_FALSE(small.job.CloseRound().released);
  EXPECT_EQ(small.store.seals.size(), 3u);
  EXPECT_EQ(small.job.phase(), Job::Phase::kFinished);
  EXPECT_NE(small.job.finish_reason().find("turns of its devices are used"), std::string::npos);
}

TEST(PassesJob, OnlyDevicesThatWereHeardAreAskedInTheOrderConnected) {
  JobConfig config = SmallPassesConfig();
  config.process.hears_all = false;
  config.process.poll_interval_ms = 1;
  PassesJob small(config);
  EXPECT_FALSE(small.job.OpenRound());
  EXPECT_EQ(small.job.waiting_for(),
            "0 devices of the 4 that a round needs are connected and have a "
            "turn left");
  for (const uint32_t device : {1u, 4u, 9u}) AskForWork(small.job, device);
  EXPECT_EQ(small.job.WaitingNow(),
            "3 devices of the 4 that a round needs are connected and have a "
            "turn left");
  ASSERT_EQ(small.store.halts.size(), 1u);
  EXPECT_EQ(small.store.halts[0].kind, Halt::kWaiting);
  EXPECT_FALSE(small.job.OpenRound());
  AskForWork(small.job, 11);
  EXPECT_EQ(small.job.WaitingNow(), "");
  ASSERT_TRUE(small.job.OpenRound());
  EXPECT_EQ(small.job.cohort(), (std::vector<uint32_t>{1, 4, 9, 11}));
}

TEST(PassesJob, ADeviceThatIsGoneIsNotAskedUntilItComesAgain) {
  JobConfig config = SmallPassesConfig();
  config.process.hears_all = false;
  config.quorum = 1;
  PassesJob small(config);
  for (const uint32_t device : {1u, 4u, 9u, 11u}) AskForWork(small.job, device);
  small.job.OnGone(4);
  EXPECT_FALSE(small.job.OpenRound());
  EXPECT_EQ(small.job.WaitingNow().value_or("").find("3 devices of the 4"), 0u);
  AskForWork(small.job, 4);
  ASSERT_TRUE(small.job.OpenRound());
  for (const uint32_t device : small.job.cohort()) AskForWork(small.job, device);
  small.job.OnGone(9);
  EXPECT_FALSE(small.job.CloseRound().released) << "nobody has reported";
  EXPECT_EQ(small.job.waiting_for().find("3 devices of the 4"), 0u)
      << "that the last attempt heard it says nothing any more";
}

// At the report time each device that is there speaks, whatever it trained.
TEST(PassesJob, ADeviceThatIsSilentSinceTheReportTimeIsNotAskedAgain) {
  JobConfig config = SmallPassesConfig();
  config.plan.participants_known = config.plan.timed_reports = true;
  config.process.report_after_ms = 60;
  config.process.hears_all = false;
  PassesJob small(config);
  for (const uint32_t device : {1u, 4u, 9u, 11u}) AskForWork(small.job, device);
  ASSERT_TRUE(small.job.OpenRound());
  std::vector<std::unique_ptr<SmallDevice>> devices;
  const std::vector<uint32_t> cohort = small.job.cohort();
  for (const uint32_t index : cohort) {
    devices.push_back(std::make_unique<SmallDevice>(small.registry[index], index, *config.model));
    EXPECT_EQ(devices.back()->Run(small.job, index), Status::kOk) << "it has the task";
  }
  posix::SleepMs(80);
  for (size_t i = 1; i < devices.size(); ++i) {
    for (int step = 0; step < 5; ++step) {
      EXPECT_EQ(devices[i]->Run(small.job, cohort[i]), Status::kOk);
      posix::SleepMs(10);
    }
  }
  EXPECT_TRUE(small.job.CloseRound().released);
  EXPECT_FALSE(small.job.OpenRound());
  const std::string three = "3 devices of the 4";
  EXPECT_EQ(small.job.waiting_for().find(three), 0u) << small.job.waiting_for();
  AskForWork(small.job, cohort[0]);
  EXPECT_EQ(small.job.WaitingNow(), "") << "it is back";
}

// A job that waits does not take a device of its last attempt for connected as long as it waits.
TEST(PassesJob, TheLastAttemptSoonSaysNothingAboutWhoIsConnected) {
  constexpr uint32_t kHeardWithinMs = 200;
  JobConfig config = SmallPassesConfig();
  config.process.hears_all = false;
  config.process.heard_within_ms = kHeardWithinMs;
  config.quorum = 1;
  PassesJob small(config);
  for (const uint32_t device : {1u, 4u, 9u, 11u}) AskForWork(small.job, device);
  ASSERT_TRUE(small.job.OpenRound());
  posix::SleepMs(kHeardWithinMs + 20);
  for (const uint32_t device : {1u, 4u, 9u}) AskForWork(small.job, device);
  EXPECT_FALSE(small.job.CloseRound().released);
  EXPECT_EQ(small.job.waiting_for().find("3 devices of the 4"), 0u);
  posix::SleepMs(kHeardWithinMs + 20);
  EXPECT_EQ(small.job.WaitingNow().value_or("").find("0 devices of the 4"), 0u);
}

// A round ends when the last device has reported, unless one of them does not keep to the time.
TEST(PassesJob, ARoundWithAnOldDeviceEndsAtItsDeadline) {
  JobConfig config = SmallPassesConfig();
  config.plan.participants_known = config.plan.timed_reports = true;
  config.process.report_after_ms = 1;
  for (const bool is_old : {false, true}) {
    PassesJob small(config);
    ASSERT_TRUE(small.job.OpenRound());
    for (const uint32_t index : small.job.cohort()) {
      SmallDevice device(small.registry[index], index, *config.model);
      for (int i = 0; i < 5; ++i) {  // it waits for the report time, and then for more work
        EXPECT_EQ(device.Run(small.job, index), Status::kOk);
        posix::SleepMs(2);
      }
    }
    EXPECT_TRUE(small.job.IsComplete());
    if (!is_old) continue;
    Request hello;
    hello.kind = Request::Kind::kHello;
    hello.version = kProtocolVersion;
    uint8_t digest[kSha256Size] = {};
    ASSERT_EQ(ModelDigest(*config.model, digest), Status::kOk);
    hello.model_digest = digest;
    hello.abilities.features = ~kFeatureReportTime;
    const std::vector<uint32_t> cohort = small.job.cohort();
    uint32_t other = 0;
    while (std::binary_search(cohort.begin(), cohort.end(), other)) ++other;
    small.job.Answer(other, hello);
    EXPECT_TRUE(small.job.IsComplete()) << "it was not drawn";
    small.job.Answer(small.job.cohort()[2], hello);
    EXPECT_FALSE(small.job.IsComplete());
    hello.abilities.features = ~0u;
    small.job.Answer(small.job.cohort()[2], hello);
    EXPECT_TRUE(small.job.IsComplete()) << "its program was replaced";
  }
}

TEST(PassesJob, TheFixedOrderLooksAtNobodysPresence) {
  JobConfig config = SmallPassesConfig();
  config.process.hears_all = false;
  config.plan.order = privacy::Order::kFixed;
  PassesJob small(config);
  ASSERT_TRUE(small.job.OpenRound()) << "nobody was heard";
  EXPECT_TRUE(small.job.CloseRound().released) << "and nobody reports: a turn is lost";
  EXPECT_EQ(small.store.seals.size(), 1u);
  config.quorum = 1;
  EXPECT_THROW(config.Validate(), std::invalid_argument);
  config.quorum = 0;
  config.plan.participants_known = true;
  EXPECT_THROW(config.Validate(), std::invalid_argument) << "it needs deadlines";
}

// Under noise decay later rounds cost more. The limit follows from the rounds with which the job
// began, in mu^2.
TEST(PassesJob, AddedRoundsDoNotLiftTheLimit) {
  JobConfig config = SmallPassesConfig(2, 3);
  config.plan.schedule.noise_decay = 0.5;
  PassesJob small(config);
  while (small.Round()) continue;
  ASSERT_EQ(small.cohorts.size(), 3u) << "each device has had one of two turns";
  const JobState state = small.job.State();
  config.plan.rounds = 12;
  Job longer(config, small.registry, small.store, Key(), state);
  EXPECT_FALSE(longer.OpenRound());
  EXPECT_NE(longer.finish_reason().find("turns of its devices are used"), std::string::npos);
  EXPECT_EQ(longer.SpentAfter(3, 3).epsilon(), small.store.releases.back().spent.epsilon());
}

// The log fails after the seal and before the release: a crash in between.
struct CrashingLog : RecordingStore {
  bool crashes = false;
  void CommitRelease(const ReleaseRecord& record) override {
    if (crashes) throw std::runtime_error("crash");
    RecordingStore::CommitRelease(record);
  }
};

// Random fleets, crashes, attempts without a quorum, devices that leave, get new secrets or join.
// Seals are counted by hand; no device has more than K.
TEST(PassesJob, NoPathExceedsTheLimit) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    JobConfig config = SmallPassesConfig(1 + static_cast<int64_t>(random() % 3), 40);
    config.quorum = 1;
    config.process.max_attempts = 1000;
    CrashingLog log;
    SharedDevices devices = std::make_shared<DeviceRegistry>(SmallRegistry());
    std::vector<SharedDevices> fleets = {devices};  // which jobs refer to
    std::optional<JobState> state;
    int64_t next_number = 100;
    for (int start = 0; start < 6; ++start) {
      const privacy::Turns limit = privacy::LimitOf(config.plan);
      Job job(config, *devices, log, Key(), state);
      for (int step = 0; step < 12; ++step) {
        if (job.phase() == Job::Phase::kIdle && !job.OpenRound()) break;
        if (random() % 4 == 0) {
          DeviceChange change;
          const auto index = static_cast<uint32_t>(random() % devices->size());
          change.device = (*devices)[index];
          const auto kind = static_cast<unsigned>(random() % 3);
          change.kind = kind == 0   ? ChangeKind::kRevoked
                        : kind == 1 ? ChangeKind::kRotated
                                    : ChangeKind::kAdded;
          if (kind == 1)
            change.device.secret.bytes[5] = static_cast<uint8_t>(1 + start * 12 + step);
          if (kind == 2) {
            change.number = ++next_number;
            change.device.id = "late-" + std::to_string(next_number);
            change.device.secret.bytes[7] = static_cast<uint8_t>(next_number);
            change.device.secret.bytes[8] = static_cast<uint8_t>(seed + 1);
          }
          devices = devices->Changed({change});
          fleets.push_back(devices);
          job.SetFleet(devices, {});
        }
        const bool reports = random() % 3 != 0;
        for (const uint32_t device : job.cohort()) {
          if (!reports || !devices->IsEligible(device)) continue;
          SmallDevice client((*devices)[device], device, *config.model,
                             static_cast<uint32_t>(random()));
          static_cast<void>(client.Run(job, device));
        }
        log.crashes = random() % 5 == 0;
        try {
          job.CloseRound();
        } catch (const std::runtime_error&) {
          break;
        }
      }
      JobState kept = job.State();  // as a store knows it
      kept.heard.clear();
      kept.seals = log.seals;
      kept.next_attempt = log.attempts.back().attempt + 1;
      state = kept;
      std::map<int64_t, int64_t> turns;
      for (const SealRecord& seal : log.seals) {
        for (const int64_t device : seal.devices) ++turns[device];
      }
      for (const auto& [device, count] : turns) {
        ASSERT_LE(count, limit.count) << "device " << device << ", seed " << seed;
      }
    }
    EXPECT_GE(log.seals.size(), log.releases.size());
  }
}

privacy::Plan PlanOfRequest(const JobRequest& request, uint32_t devices) {
  return MakeJob(request, devices).plan;
}

TEST(PassesRequest, NumbersThatNobodyGaveFollowFromTheFleet) {
  JobRequest request;
  const JobConfig job = MakeJob(request, 1000);
  EXPECT_EQ(job.plan.sampling, privacy::Sampling::kPasses);
  EXPECT_TRUE(job.plan.timed_reports);
  EXPECT_TRUE(job.close_early());
  EXPECT_EQ(job.plan.cohort, 100);
  EXPECT_EQ(job.plan.participations, 4);
  EXPECT_EQ(job.plan.rounds, 40);
  EXPECT_EQ(job.plan.delta, 1e-5);
  EXPECT_EQ(job.quorum, 1u);
  EXPECT_EQ(job.min_devices, 0u);
  EXPECT_NEAR(privacy::Account(job.plan, 1).epsilon(), 6, 1e-3);
  EXPECT_EQ(PlanOfRequest(request, 7).cohort, 4);
  EXPECT_EQ(PlanOfRequest(request, 7).rounds, 7);
  EXPECT_EQ(RoundsOf(request, 1000), 40);
  request.given = {"rounds"};
  request.job.plan.rounds = 41;
  EXPECT_EQ(PlanOfRequest(request, 1000).participations, 5);
  request.participations = 2;
  EXPECT_EQ(PlanOfRequest(request, 1000).participations, 2);
  EXPECT_EQ(PlanOfRequest(request, 1000).rounds, 41);
  request.given = {"cohort"};
  request.job.plan.cohort = 50;
  EXPECT_EQ(PlanOfRequest(request, 1000).rounds, 40);
}

std::string RefusalOfPasses(const JobRequest& request) {
  try {
    MakeJob(request, 1000);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(PassesRequest, OptionsThatDoNotFitAreRefusedByName) {
  JobRequest request;
  request.job.plan.sampling = privacy::Sampling::kUniform;
  request.participations = 2;
  EXPECT_NE(RefusalOfPasses(request).find("--participations is for --sampling passes"),
            std::string::npos);
  request.participations.reset();
  request.job.plan.sampling = privacy::Sampling::kPasses;
  EXPECT_EQ(RefusalOfPasses(request), "");
  request.min_devices = 3;
  EXPECT_NE(RefusalOfPasses(request).find("--quorum"), std::string::npos);
  request.min_devices.reset();
  request.job.plan.order = privacy::Order::kFixed;
  EXPECT_EQ(RefusalOfPasses(request), "");
  request.quorum = 3;
  EXPECT_NE(RefusalOfPasses(request).find("--order fixed"), std::string::npos);
  request.quorum.reset();
  request.job.plan.participants_known = true;
  EXPECT_NE(RefusalOfPasses(request).find("--close-early"), std::string::npos);
  request.job.plan.order = privacy::Order::kConnected;
  EXPECT_EQ(RefusalOfPasses(request), "");
}

TEST(PassesRequest, RoundsEndWhenAllHaveReportedUnlessItIsSaidOtherwise) {
  JobRequest request;
  request.job.plan.participants_known = true;  // --close-early
  EXPECT_TRUE(MakeJob(request, 1000).close_early());
  EXPECT_FALSE(MakeJob(request, 1000).plan.timed_reports) << "at any time";
  request.job.plan.participants_known = false;
  request.deadlines = true;
  EXPECT_FALSE(MakeJob(request, 1000).close_early());
  EXPECT_FALSE(MakeJob(request, 1000).plan.timed_reports);
  request.job.plan.sampling = privacy::Sampling::kUniform;
  EXPECT_NE(RefusalOfPasses(request).find("--deadlines is for"), std::string::npos);
}

TEST(PassesRequest, AJobKeepsTheSamplingThatItBeganWith) {
  const std::string began = R"({"sampling": "poisson"})";
  JobRequest request;
  request.given = {"sampling"};
  KeepBegun("a store", began, &request);
  EXPECT_EQ(request.job.plan.sampling, privacy::Sampling::kPasses);
  request.given = {};
  KeepBegun("a store", began, &request);
  EXPECT_EQ(request.job.plan.sampling, privacy::Sampling::kPoisson);
}

}  // namespace
}  // namespace sotto::server
