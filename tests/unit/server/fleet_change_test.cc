// Tests of a fleet that changes while its job runs: who takes part, and what each round costs.
#include <cmath>
#include <gtest/gtest.h>
#include <set>
#include <stdexcept>
#include <vector>

#include "accounting/accountant.h"
#include "plans/composition.h"
#include "round/cohort.h"
#include "round/job_phases.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

using privacy::Plan;
using privacy::SpentRounds;
using ChangeKind = DeviceChange::Kind;

DeviceChange Joined(int number) {
  DeviceChange change;
  change.number = number;
  change.device.id = "late-" + std::to_string(number);
  change.device.secret.bytes[1] = static_cast<uint8_t>(number);
  return change;
}

DeviceChange Left(const Device& device) { return {ChangeKind::kRevoked, 0, {device.id, {}}}; }

DeviceChange Rekeyed(Device device) {
  device.secret.bytes[2] = 99;
  return {ChangeKind::kRotated, 0, device};
}

// A job whose fleet changes.
struct ChangingJob : SmallJob {
  explicit ChangingJob(const JobConfig& config = SmallConfig()) : SmallJob(config) {}

  void Change(const std::vector<DeviceChange>& changes) {
    devices = (devices == nullptr ? registry : *devices).Changed(changes);
    job.SetFleet(devices, {});
  }

  void ReportAsNow(uint32_t index) {
    SmallDevice device((*devices)[index], index, *job.config().model, job.round());
    EXPECT_EQ(device.Run(job, index), Status::kOk);
  }

  RoundOutcome Round() {
    EXPECT_TRUE(job.OpenRound()) << job.finish_reason() << job.waiting_for();
    for (const uint32_t index : job.cohort()) {
      if (devices == nullptr) {
        Report(index);
      } else {
        ReportAsNow(index);
      }
    }
    return job.CloseRound();
  }

  SharedDevices devices;
};

TEST(DeviceRegistry, AChangeLeavesEveryIndexAsItWas) {
  const DeviceRegistry first = SmallRegistry();
  const SharedDevices changed = first.Changed({Left(first[3]), Joined(40), Rekeyed(first[5])});
  EXPECT_EQ(first.eligible(), kSmallDevices);
  EXPECT_EQ(changed->size(), kSmallDevices + 1);
  EXPECT_EQ(changed->eligible(), kSmallDevices);
  EXPECT_EQ(changed->Find(first[3].id), changed->size()) << "revoked";
  EXPECT_EQ(changed->IndexOf(first[3].id), 3u);
  EXPECT_EQ(changed->Find("late-40"), kSmallDevices);
  EXPECT_EQ(changed->NumberOf(kSmallDevices), 40);
  EXPECT_EQ((*changed)[5].secret.bytes[2], 99);
  EXPECT_EQ(first[5].secret.bytes[2], 0);
  const SharedDevices again = changed->Changed({Left(first[3]), Joined(40)});
  EXPECT_EQ(again->eligible(), kSmallDevices) << "known already";
}

TEST(DeviceRegistry, PositionsAmongEligibleDevicesSkipThoseThatLeft) {
  const DeviceRegistry first = SmallRegistry();
  const SharedDevices changed =
      first.Changed({Left(first[0]), Left(first[4]), Left(first[5]), Left(first[11])});
  std::vector<uint32_t> all(changed->eligible());
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  EXPECT_EQ(changed->IndicesOf(all), (std::vector<uint32_t>{1, 2, 3, 6, 7, 8, 9, 10}));
  EXPECT_EQ(changed->IndicesOf({3, 7}), (std::vector<uint32_t>{6, 10}));
  EXPECT_TRUE(changed->IndicesOf({}).empty());
}

// SECURITY.md S25.
TEST(FleetChange, ADeviceThatJoinsIsDrawnFromTheNextAttemptOn) {
  JobConfig config = SmallConfig();
  config.plan.rounds = 30;
  ChangingJob small(config);
  EXPECT_TRUE(small.job.OpenRound());
  small.Change({Joined(40), Joined(41)});
  small.ReportAll();
  EXPECT_EQ(small.job.CloseRound().devices, kSmallDevices);
  std::set<uint32_t> drawn;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(small.Round().devices, kSmallDevices + 2);
    EXPECT_EQ(small.job.cohort().size(), 4u) << "uniform cohorts keep their size";
    drawn.insert(small.job.cohort().begin(), small.job.cohort().end());
  }
  EXPECT_TRUE(drawn.count(kSmallDevices) == 1 && drawn.count(kSmallDevices + 1) == 1);
  const std::vector<AttemptRecord>& attempts = small.store.attempts;
  EXPECT_EQ(attempts[0].devices, kSmallDevices);
  EXPECT_TRUE(attempts[0].joined.empty());
  EXPECT_EQ(attempts[1].devices, kSmallDevices + 2);
  EXPECT_EQ(attempts[1].joined, (std::vector<int64_t>{40, 41}));
  EXPECT_TRUE(attempts[2].joined.empty());
}

TEST(FleetChange, ADeviceThatLeavesIsNeverDrawnAgain) {
  JobConfig config = SmallConfig();
  config.plan.rounds = 30;
  ChangingJob small(config);
  small.Change({Left(small.registry[3]), Left(small.registry[7])});
  for (int i = 0; i < 20; ++i) {
    small.Round();
    for (const uint32_t index : small.job.cohort()) EXPECT_TRUE(index != 3 && index != 7);
  }
}

// SECURITY.md S3.
TEST(FleetChange, ADrawnDeviceThatLeavesIsToppedUpAndAnAcceptedUpdateStays) {
  ChangingJob small;
  ASSERT_TRUE(small.job.OpenRound());
  const std::vector<uint32_t> cohort = small.job.cohort();
  small.Report(cohort[0]);
  small.Change({Left(small.registry[cohort[0]]), Left(small.registry[cohort[1]])});
  Request hello;
  hello.kind = Request::Kind::kHello;
  hello.version = kProtocolVersion;
  for (size_t i = 2; i < cohort.size(); ++i) small.ReportAsNow(cohort[i]);
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_EQ(outcome.reported, 3u);
  EXPECT_EQ(outcome.topped_up, 1u);
  EXPECT_EQ(outcome.rejected, 0u);
}

TEST(FleetChange, ARoundThatClosesEarlyDoesNotWaitForADeviceThatLeft) {
  ChangingJob small(ClosingEarly(SmallConfig()));
  ASSERT_TRUE(small.job.OpenRound());
  const std::vector<uint32_t> cohort = small.job.cohort();
  for (size_t i = 1; i < cohort.size(); ++i) small.Report(cohort[i]);
  EXPECT_FALSE(small.job.IsComplete());
  small.Change({Left(small.registry[cohort[0]])});
  EXPECT_TRUE(small.job.IsComplete());
}

// SECURITY.md S4.
TEST(FleetChange, AnUpdateUnderTheOldSecretBeginsAnew) {
  ChangingJob small;
  ASSERT_TRUE(small.job.OpenRound());
  const uint32_t index = small.job.cohort()[0];
  SmallDevice thief(small.registry[index], index, *small.job.config().model, 0);
  EXPECT_EQ(thief.Run(small.job, index, -1, 3), Status::kOk) << "until its upload is under way";
  small.Change({Rekeyed(small.registry[index])});
  small.ReportAsNow(index);
  for (size_t i = 1; i < 4; ++i) small.ReportAsNow(small.job.cohort()[i]);
  EXPECT_EQ(small.job.CloseRound().reported, 4u);
  EXPECT_EQ(small.Round().reported, 4u) << "the same device takes part in later rounds";
}

// The thief's last chunk may wait for a decoder while the key is exchanged.
// SECURITY.md S4.
TEST(FleetChange, AChunkOfTheOldSessionFindsNoUpload) {
  ChangingJob small;
  ASSERT_TRUE(small.job.OpenRound());
  const uint32_t index = small.job.cohort()[0];
  SmallDevice thief(small.registry[index], index, *small.job.config().model, 0);
  Request chunk;
  for (Client::Progress progress{}; chunk.kind != Request::Kind::kUpdateChunk;) {
    ASSERT_EQ(thief.client().Step(&progress), Status::kOk);
    if (progress != Client::Progress::kSend) continue;
    chunk = thief.client().request();
    if (chunk.kind == Request::Kind::kUpdateChunk) break;
    ASSERT_EQ(thief.client().OnReply(small.job.Answer(index, chunk)), Status::kOk);
  }
  small.Change({Rekeyed(small.registry[index])});
  EXPECT_EQ(small.job.Answer(index, chunk).code, ErrorCode::kWrongAttempt);
  small.ReportAsNow(index);
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_EQ(outcome.reported, 1u);
  EXPECT_EQ(outcome.rejected, 0u);
}

// Without noise there is no sum that must be topped up, and so no cap on what is drawn.
TEST(FleetChange, APoissonJobWithoutNoiseTakesALargerFleet) {
  JobConfig config = SmallConfig();
  config.codec = FindCodec("none");
  config.plan.sampling = privacy::Sampling::kPoisson;
  config.plan.planned_reports = kSmallDevices;
  config.plan.noise_sigma = 0;
  config.min_devices = 0;
  ChangingJob small(config);
  std::vector<DeviceChange> many;
  for (int i = 0; i < 60; ++i) many.push_back(Joined(40 + i));
  small.Change(many);
  ASSERT_TRUE(small.job.OpenRound());
  EXPECT_EQ(small.job.attempt(), 0u) << "no draw was given up";
}

// SECURITY.md S17.
// An alert compares it with the budget (sotto-alerts.rules.yml): a plan that spends its budget with
// its last round is none, and one that a smaller fleet makes dearer is one at once.
TEST(FleetChange, WhatThePlanWillHaveCostIsKnownFromItsFirstRound) {
  JobConfig config = SmallConfig();
  config.process.observes_updates = true;
  ChangingJob small(config);
  const double planned = privacy::Account(config.plan, 3).epsilon();
  for (int round = 0; round < 2; ++round) EXPECT_DOUBLE_EQ(*small.Round().planned_epsilon, planned);
  small.Change({Left(small.registry[0]), Left(small.registry[1])});
  const RoundOutcome last = small.Round();
  EXPECT_GT(*last.planned_epsilon, planned);
  EXPECT_DOUBLE_EQ(*last.planned_epsilon, last.spent.epsilon());
  EXPECT_EQ(ChangingJob().Round().planned_epsilon, std::nullopt) << "nobody watches";
}

TEST(FleetChange, MoreRoundsThanTheBudgetPaysForAreNotRecorded) {
  struct BegunLog : RecordingStore {
    int begun = 0;
    void BeginJob(const JobRecord&) override { ++begun; }
  };
  ChangingJob small;
  for (int i = 0; i < 3; ++i) small.Round();
  JobConfig more = SmallConfig();
  more.plan.rounds = 6;
  more.epsilon_budget = small.job.Spent().epsilon();
  BegunLog log;
  EXPECT_THROW(Job(more, small.registry, log, Key(), small.job.State()), std::invalid_argument);
  EXPECT_EQ(log.begun, 0);
  more.epsilon_budget *= 10;
  EXPECT_TRUE(Job(more, small.registry, log, Key(), small.job.State()).OpenRound());
  EXPECT_EQ(log.begun, 1);
}

TEST(FleetChange, AJobWaitsWhileItsCohortIsLargerThanItsFleet) {
  ChangingJob small;
  small.Round();
  std::vector<DeviceChange> all;
  for (uint32_t i = 0; i < 9; ++i) all.push_back(Left(small.registry[i]));
  small.Change(all);
  EXPECT_FALSE(small.job.OpenRound());
  EXPECT_EQ(small.job.phase(), Job::Phase::kIdle);
  EXPECT_NE(small.job.waiting_for().find("3 devices of the 4"), std::string::npos)
      << small.job.waiting_for();
  EXPECT_EQ(small.store.attempts.size(), 1u) << "nothing is drawn";
  Request hello;
  hello.kind = Request::Kind::kHello;
  hello.version = kProtocolVersion;
  small.Change({Joined(50)});
  EXPECT_EQ(small.Round().devices, 4u);
}

TEST(FleetChange, APausedJobOpensNothingAndItsOpenAttemptGoesOn) {
  ChangingJob small;
  ASSERT_TRUE(small.job.OpenRound());
  small.job.SetPaused(true);
  small.ReportAll();
  EXPECT_TRUE(small.job.CloseRound().released);
  EXPECT_FALSE(small.job.OpenRound());
  EXPECT_NE(small.job.waiting_for().find("paused"), std::string::npos);
  small.job.SetPaused(false);
  EXPECT_TRUE(small.Round().released);
}

// q stays, and the mean is over q N devices.
TEST(FleetChange, PoissonKeepsTheRateAndDividesByItTimesTheFleet) {
  JobConfig config = SmallConfig();
  config.plan.sampling = privacy::Sampling::kPoisson;
  config.plan.planned_reports = kSmallDevices;
  config.min_devices = 0;
  config.plan.rounds = 4000;
  const Plan half = PlanForFleet(config.plan, 6);
  EXPECT_EQ(half.SamplingRate(), 4.0 / 12);
  EXPECT_EQ(half.ExpectedCohort(), 2.0);
  half.Validate();
  EXPECT_EQ(PlanForFleet(config.plan, 24).ExpectedCohort(), 8.0);
  RandomStream random(Key(), 3);
  double drawn = 0;
  for (int i = 0; i < 4000; ++i) {
    drawn += static_cast<double>(
        DrawCohort(privacy::Sampling::kPoisson, 6, 4, random, kSmallDevices).size());
  }
  EXPECT_NEAR(drawn / 4000, 2.0, 6 * std::sqrt(6 * (1.0 / 3) * (2.0 / 3) / 4000));
}

TEST(JobPhases, EachRoundHasTheFleetThatItHad) {
  Plan plan = SmallConfig().plan;
  plan.rounds = 10;
  JobPhases phases;
  EXPECT_FALSE(phases.SetFleet(plan, plan.devices, 0, 0));
  EXPECT_TRUE(phases.SetFleet(plan, 10, 3, 5));
  EXPECT_TRUE(phases.SetFleet(plan, 8, 6, 8));
  const std::vector<SpentRounds> spent = phases.Split(plan, 7, 10);
  ASSERT_EQ(spent.size(), 3u);
  EXPECT_EQ(spent[0].plan.devices, kSmallDevices);
  EXPECT_EQ(spent[0].rounds, 3);
  EXPECT_EQ(spent[0].updates, 5);
  EXPECT_EQ(spent[0].plan.rounds, 10);
  EXPECT_EQ(spent[1].plan.devices, 10);
  EXPECT_EQ(spent[1].rounds, 3);
  EXPECT_EQ(spent[1].updates, 3);
  EXPECT_EQ(spent[2].plan.devices, 8);
  EXPECT_EQ(spent[2].rounds, 1);
  EXPECT_EQ(spent[2].updates, 2);
  EXPECT_EQ(spent[2].plan.rounds, 4);
  EXPECT_EQ(spent[2].plan.schedule.first_round, 6);
}

TEST(JobPhases, RoundsThatThePlanDominatesAreChargedAsPlanned) {
  using privacy::Sampling;
  Plan plan = SmallConfig().plan;
  plan.rounds = 10;
  const auto split = [&](Sampling sampling, int64_t first, int64_t second) {
    plan.sampling = sampling;
    JobPhases phases;
    phases.SetFleet(plan, first, 0, 0);
    phases.SetFleet(plan, second, 4, 6);
    EXPECT_EQ(phases.DevicesNow(plan), second);
    return phases.Split(plan, 7, 10);
  };
  for (const std::vector<SpentRounds>& spent :
       {split(Sampling::kUniform, 13, 40), split(Sampling::kUniform, 40, 12),
        split(Sampling::kPoisson, 12, 5), split(Sampling::kFull, 5, 40)}) {
    ASSERT_EQ(spent.size(), 1u);
    EXPECT_EQ(spent[0].plan.devices, kSmallDevices);
    EXPECT_EQ(spent[0].plan.rounds, 10);
    EXPECT_EQ(spent[0].rounds, 7);
    EXPECT_EQ(spent[0].updates, 10);
  }
  EXPECT_EQ(split(Sampling::kUniform, 13, 11).size(), 2u);
  EXPECT_EQ(split(Sampling::kPoisson, 11, 13).size(), 2u);
  EXPECT_EQ(split(Sampling::kUniform, 11, 13).size(), 2u) << "planned for twelve again";
}

// Lemma 4: what a larger fleet would cost by itself, whatever the colluders choose, is no more.
TEST(FleetChange, ALargerFleetCostsAtMostWhatWasPlanned) {
  for (const int64_t colluders : {0, 1, 3}) {
    for (const int64_t devices : {13, 15, 40, 4000}) {
      Plan plan = SmallConfig().plan;
      plan.rounds = 6;
      plan.colluders = colluders;
      plan.noise_sigma *= 4;
      const double planned = privacy::Account(plan, 6).epsilon();
      EXPECT_LE(privacy::Account(PlanForFleet(plan, devices), 6).epsilon(), planned);
    }
  }
}

TEST(FleetChange, ADeviceThatJoinsEndsNoJobAndMovesNoFigure) {
  JobConfig config = SmallConfig();
  config.epsilon_budget = privacy::Account(config.plan, config.plan.rounds).epsilon();
  ChangingJob small(config);
  for (int64_t round = 0; round < config.plan.rounds; ++round) {
    small.Change({Joined(40 + static_cast<int>(round))});
    const RoundOutcome outcome = small.Round();
    EXPECT_EQ(outcome.devices, kSmallDevices + 1 + round);
    EXPECT_EQ(outcome.spent.epsilon(), privacy::Account(config.plan, round + 1).epsilon());
    EXPECT_NE(outcome.spent.Headline().accountant, "rdp-filter");
  }
}

// Down to the floor nothing moves and no filter is needed; below it each round is as it was.
TEST(FleetChange, ADeviceThatLeavesMovesNoFigureDownToTheFloor) {
  JobConfig config = SmallConfig();
  config.plan.device_floor = 10;
  config.plan.rounds = 6;
  config.epsilon_budget = privacy::Account(config.plan, 6).epsilon();
  ChangingJob small(config);
  for (int64_t round = 0; round < 3; ++round) {
    const RoundOutcome outcome = small.Round();
    EXPECT_EQ(outcome.devices, round == 0 ? 12 : round == 1 ? 11 : 10) << "as many as there are";
    EXPECT_EQ(outcome.spent.epsilon(), privacy::Account(config.plan, round + 1).epsilon());
    EXPECT_NE(outcome.spent.Headline().accountant, "rdp-filter");
    EXPECT_EQ(small.store.releases.back().plan.devices, outcome.devices);
    if (round < 2) small.Change({Left(small.registry[static_cast<uint32_t>(round)])});
  }
  RecordingStore log;
  Job resumed(config, *small.devices, log, Key(), small.job.State());
  EXPECT_EQ(resumed.Spent().epsilon(), small.job.Spent().epsilon());
  small.Change({Left(small.registry[2])});
  resumed.SetFleet(small.devices, {});
  ASSERT_TRUE(resumed.OpenRound());
  const RoundOutcome below = resumed.CloseRound();
  EXPECT_EQ(below.devices, 9);
  EXPECT_EQ(below.spent.Headline().accountant, "rdp-filter");
  EXPECT_GT(below.spent.epsilon(), privacy::Account(config.plan, 4).epsilon());
}

TEST(JobPhases, RoundsBeyondTheFirstPlanAreAPhaseOfTheirOwn) {
  Plan plan = SmallConfig().plan;
  plan.rounds = 9;
  JobPhases phases;
  phases.ExtendFrom(3);
  phases.ExtendFrom(5);
  EXPECT_EQ(phases.Split(plan, 2, 2).size(), 1u) << "the first plan, whatever comes";
  const std::vector<SpentRounds> spent = phases.Split(plan, 7, 9);
  ASSERT_EQ(spent.size(), 3u);
  EXPECT_EQ(spent[0].rounds, 3);
  EXPECT_EQ(spent[0].plan.rounds, 3);
  EXPECT_EQ(spent[1].rounds, 2);
  EXPECT_EQ(spent[2].rounds, 2);
  EXPECT_EQ(spent[0].updates + spent[1].updates + spent[2].updates, 9);
  EXPECT_EQ(phases.Split(plan, 3, 3).back().rounds, 0) << "the next round is of the second one";
}

// By hand: Renyi DP at the one order that is best for the first plan, summed over the rounds as
// each one was.
// SECURITY.md S25.
TEST(FleetChange, TheFigureIsTheFilterOverTheRoundsAsTheyWere) {
  JobConfig config = SmallConfig();
  config.plan.colluders = 0;
  config.plan.rounds = 6;
  ChangingJob small(config);
  small.Round();
  small.Round();
  small.Change({Left(small.registry[3]), Left(small.registry[5]), Left(small.registry[8])});
  const RoundOutcome last = small.Round();
  EXPECT_EQ(last.spent.rounds, 3);
  EXPECT_EQ(last.spent.earlier_rounds, 0);
  const privacy::Claim headline = last.spent.Headline();
  EXPECT_EQ(headline.accountant, "rdp-filter");
  const double z = std::sqrt(4.0) * config.plan.noise_sigma / (2 * config.plan.clip_l2);
  const auto rounds = [&](int devices, int64_t count) {
    return privacy::GaussianRounds{privacy::Sampling::kUniform, z, 4.0 / devices, count};
  };
  const double order = privacy::BestFilterOrder({rounds(12, 6)}, config.plan.delta);
  const double by_hand = privacy::AccountFor({rounds(12, 2), rounds(9, 1)}, config.plan.delta,
                                             privacy::Accountant::RdpFilter(order))
                             .epsilon;
  // The encoder's own terms come on top: its noise is Gaussian up to the certificate.
  EXPECT_GE(headline.epsilon, by_hand);
  EXPECT_NEAR(headline.epsilon, by_hand, 2e-3 * by_hand);
  // A round of the smaller fleet costs more than one of the larger fleet.
  const double larger =
      privacy::AccountFor({rounds(12, 3)}, config.plan.delta, privacy::Accountant::RdpFilter(order))
          .epsilon;
  EXPECT_GT(by_hand, larger);
}

TEST(FleetChange, AJobThatResumesGoesOnWithItsPhases) {
  JobConfig config = SmallConfig();
  config.plan.rounds = 6;
  ChangingJob small(config);
  small.Round();
  small.Change({Joined(40)});
  small.Round();
  const JobState state = small.job.State();
  const privacy::Statement spent = small.job.Spent();
  RecordingStore store;
  Job resumed(config, *small.devices, store, Key(), state);
  EXPECT_EQ(resumed.Spent().epsilon(), spent.epsilon());
  EXPECT_TRUE(resumed.OpenRound());
  EXPECT_EQ(store.attempts[0].devices, kSmallDevices + 1);
}

TEST(FleetChange, ADeviceThatJoinsBringsWhatItHasSpent) {
  ChangingJob small;
  const double alone = small.Round().spent.epsilon();
  Plan earlier = SmallConfig().plan;
  earlier.noise_sigma *= 2;
  SpentRounds before;
  before.plan = earlier;
  before.rounds = 2;
  small.devices = small.registry.Changed({Joined(40)});
  small.job.SetFleet(small.devices, {before});
  const RoundOutcome next = small.Round();
  EXPECT_EQ(next.spent.earlier_rounds, 2);
  EXPECT_EQ(next.spent.rounds, 2);
  EXPECT_GT(next.spent.epsilon(), alone);
}

}  // namespace
}  // namespace sotto::server
