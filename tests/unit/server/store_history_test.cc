// Tests of the decisions in store/history.h, on records made by hand. No store is opened.
#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plans/statement.h"
#include "spec/configuration.h"
#include "store/history.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

constexpr uint8_t kJobDigest[kSha256Size] = {7};
constexpr uint8_t kJobIds[][kJobIdSize] = {{1}, {2}, {3}};

JobRecord RecordOf(size_t job, const JobConfig& config) {
  return {kJobIds[job], kJobDigest, config};
}

DeviceRecord DeviceOf(int64_t number) {
  DeviceRecord device;
  device.number = number;
  device.id = "device-" + std::to_string(number);
  return device;
}

DeviceRecord Revoked(DeviceRecord device) {
  device.revoked = 5;
  return device;
}

// The first, second or third job, on these devices.
JobEntry JobOf(size_t job, const std::vector<int64_t>& devices,
               const JobConfig& config = SmallConfig()) {
  JobEntry entry;
  entry.number = static_cast<int64_t>(job) + 1;
  std::copy_n(kJobIds[job], kJobIdSize, entry.job_id);
  entry.configuration = ConfigurationToJson(RecordOf(job, config)).dump();
  entry.devices = devices;
  return entry;
}

// Three devices that are eligible and a fourth that was.
History HistoryOf(const std::vector<JobEntry>& jobs) {
  return {"the store", {DeviceOf(1), DeviceOf(2), DeviceOf(3), Revoked(DeviceOf(4))}, jobs};
}

template <typename Action>
std::string RefusalOf(Action action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing was refused";
}

bool Says(const std::string& message, const std::string& words) {
  return message.find(words) != std::string::npos;
}

TEST(StoreHistory, TheLastJobGoesOn) {
  EXPECT_EQ(LastJob(HistoryOf({})), nullptr);
  const History history = HistoryOf({JobOf(0, {1}), JobOf(1, {2})});
  EXPECT_EQ(LastJob(history)->number, 2);
}

TEST(StoreHistory, AJobIsSpentPhaseByPhase) {
  JobConfig config = SmallConfig();
  config.plan.rounds = 10;
  JobEntry job = JobOf(0, {1, 2}, config);
  job.released = 5;
  job.attempts = 8;
  job.fleets = {{2, 1, 8, 4}};  // from the second attempt at round 2 on
  const std::vector<privacy::SpentRounds> spent = SpentBefore(HistoryOf({job}), nullptr);
  ASSERT_EQ(spent.size(), 2u);
  EXPECT_EQ(spent[0].plan.devices, SmallConfig().plan.devices);
  EXPECT_EQ(spent[0].rounds, 2);
  EXPECT_EQ(spent[0].updates, 4);
  EXPECT_EQ(spent[1].plan.devices, 8);
  EXPECT_EQ(spent[1].rounds, 3);
  EXPECT_EQ(spent[1].updates, 4);
}

TEST(StoreHistory, ANoiseIsCalibratedToWhatWasSpentWhenTheJobBegan) {
  JobEntry joined = JobOf(1, {1, 2});
  joined.first_devices = {2};
  const History history = HistoryOf({JobOf(0, {1}), joined});
  EXPECT_TRUE(SpentAtBeginning(history, history.jobs[1]).empty());
  EXPECT_EQ(SpentBefore(history, &history.jobs[1]).size(), 1u) << "device 1 joined later";
}

TEST(StoreHistory, AJobComposesWithEarlierJobsThatShareADevice) {
  const History history = HistoryOf({JobOf(0, {1, 2}), JobOf(1, {3, 4}), JobOf(2, {2, 5})});
  EXPECT_TRUE(JobsBefore(history, history.jobs[0]).empty());
  EXPECT_TRUE(JobsBefore(history, history.jobs[1]).empty());
  EXPECT_EQ(JobsBefore(history, history.jobs[2]), std::vector<int64_t>{1});
}

TEST(StoreHistory, ANewJobIsChargedWithTheJobsOfTheDevicesThatAreEligible) {
  History history = HistoryOf({JobOf(0, {1, 2}), JobOf(1, {4})});
  EXPECT_EQ(SpentBefore(history, nullptr).size(), 1u) << "device 4 is revoked";
  history.devices[3].revoked.reset();
  EXPECT_EQ(SpentBefore(history, nullptr).size(), 2u);
}

TEST(StoreHistory, AResumedJobIsChargedWithTheJobsOfItsRevokedDevicesToo) {
  const History history = HistoryOf({JobOf(0, {4}), JobOf(1, {3, 4}), JobOf(2, {1})});
  EXPECT_EQ(SpentBefore(history, &history.jobs[1]).size(), 1u);
  EXPECT_TRUE(SpentBefore(history, &history.jobs[0]).empty()) << "neither itself nor later ones";
}

TEST(StoreHistory, WhatIsSpentIsTheReleasedRoundsOfThePlan) {
  JobConfig config = SmallConfig();
  config.plan.delta = 1e-5;
  JobEntry job = JobOf(0, {1}, config);
  job.released = 2;
  job.attempts = 9;
  const std::vector<privacy::SpentRounds> spent = SpentBefore(HistoryOf({job}), nullptr);
  ASSERT_EQ(spent.size(), 1u);
  EXPECT_EQ(spent[0].rounds, 2);
  EXPECT_EQ(spent[0].updates, 9);
  EXPECT_EQ(spent[0].plan.delta, 1e-5);
  EXPECT_EQ(spent[0].plan.noise_sigma, config.plan.noise_sigma);
}

TEST(StoreHistory, TheTurnsOfAJobAreTheMostThatOneOfTheDevicesHadPhaseByPhase) {
  JobConfig config = SmallConfig();
  config.plan.rounds = 10;
  JobEntry job = JobOf(0, {1, 2, 4}, config);
  job.released = job.attempts = 5;
  job.fleets = {{2, 0, 8, 2}};
  job.seals = {{0, 0, {1, 4}}, {1, 0, {1, 4}}, {2, 0, {2, 4}}, {3, 0, {1, 4}}, {4, 0, {2, 4}}};
  std::vector<privacy::SpentRounds> spent = SpentBefore(HistoryOf({job}), nullptr);
  ASSERT_EQ(spent.size(), 2u);
  EXPECT_EQ(spent[0].turns, 2) << "device 1; device 4 is revoked";
  EXPECT_EQ(spent[1].turns, 2) << "device 2";
  job.seals.pop_back();
  spent = SpentBefore(HistoryOf({job}), nullptr);
  EXPECT_EQ(spent[1].turns, 2) << "nobody wrote who was in the last round: all were";
}

TEST(StoreHistory, AJobWithoutPrivacyIsSpentWithoutNoise) {
  JobConfig config = SmallConfig();
  config.codec = FindCodec("none");
  EXPECT_EQ(SpentBefore(HistoryOf({JobOf(0, {1}, config)}), nullptr)[0].plan.noise_sigma, 0.0);
}

TEST(StoreHistory, ADamagedConfigurationIsRefusedAndTheStoreNamed) {
  JobEntry job = JobOf(0, {1});
  job.configuration = "{";
  const std::string message = RefusalOf([&] { SpentBefore(HistoryOf({job}), nullptr); });
  EXPECT_TRUE(Says(message, "the store") && Says(message, "damaged")) << message;
}

TEST(StoreHistory, AFigureRestsOnTheSeededDevicesThatAreEligible) {
  History history = HistoryOf({JobOf(0, {1})});
  EXPECT_FALSE(RestsOnSeededNoise(history, history.jobs[0]));
  history.devices[3].seeded = true;
  EXPECT_FALSE(RestsOnSeededNoise(history, history.jobs[0])) << "it is revoked";
  history.devices[2].seeded = true;
  EXPECT_TRUE(RestsOnSeededNoise(history, history.jobs[0]));
}

TEST(StoreHistory, AFigureRestsOnSeededReleasesOfItsJobAndOfThoseItComposesWith) {
  History history = HistoryOf({JobOf(0, {1}), JobOf(1, {2}), JobOf(2, {1})});
  history.jobs[0].seeded = true;
  EXPECT_TRUE(RestsOnSeededNoise(history, history.jobs[0]));
  EXPECT_FALSE(RestsOnSeededNoise(history, history.jobs[1])) << "other devices";
  EXPECT_TRUE(RestsOnSeededNoise(history, history.jobs[2]));
  history.jobs[0].seeded = false;
  history.jobs[2].seeded = true;
  EXPECT_FALSE(RestsOnSeededNoise(history, history.jobs[0])) << "a later job";
}

TEST(StoreHistory, ARecordResumesTheLastJobIfItIsTheSameOne) {
  const JobConfig config = SmallConfig();
  const History history = HistoryOf({JobOf(0, {1}), JobOf(1, {2})});
  EXPECT_EQ(JobToResume(history, RecordOf(1, config), false)->number, 2);
  EXPECT_EQ(JobToResume(HistoryOf({}), RecordOf(0, config), false), nullptr);
  EXPECT_EQ(JobToResume(history, RecordOf(2, config), true), nullptr);
  const auto refusal = [&](size_t job, const JobConfig& now) {
    return RefusalOf([&] { JobToResume(history, RecordOf(job, now), false); });
  };
  EXPECT_TRUE(Says(refusal(0, config), "resume")) << "the first job is over";
  EXPECT_TRUE(Says(refusal(2, config), "resume"));
  JobConfig other = config;
  other.plan.colluders = 3;
  EXPECT_TRUE(Says(refusal(1, other), "colluders = 1"));
}

TEST(StoreHistory, AJobsStateIsWhereItsLastReleaseLeftIt) {
  JobEntry job = JobOf(2, {1});
  job.released = 4;
  job.attempts = 9;
  job.next_attempt = 2;
  const StoredModel model{{1.0F, 2.0F}, {9, 8, 7}, 0.25};
  const JobState state = StateOf("the store", job, model);
  EXPECT_EQ(state.job_id[0], 3);
  EXPECT_EQ(state.next_round, 4u);
  EXPECT_EQ(state.next_attempt, 2u);
  EXPECT_EQ(state.attempts, 9u);
  EXPECT_EQ(state.parameters, model.parameters);
  EXPECT_EQ(state.optimiser_state, model.optimiser_state);
  EXPECT_EQ(state.clip_l2, 0.25);
}

TEST(StoreHistory, AReleaseWithoutClaimsIsKeptWithInfiniteOnes) {
  const std::vector<privacy::Claim> claims = ClaimsToKeep({});
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims[0].view, privacy::View::kReleases);
  EXPECT_EQ(claims[1].view, privacy::View::kReleasesAndParticipants);
  for (const privacy::Claim& claim : claims) {
    EXPECT_EQ(claim.epsilon, std::numeric_limits<double>::infinity());
  }
  ReleaseRecord record;
  record.spent = privacy::Account(ClosingEarly(SmallConfig()).plan, 1);
  EXPECT_EQ(ClaimsToKeep(record).size(), record.spent.claims.size());
}

// Under adaptive clipping the bound, the bits' scale and the noise change together, so the plan of
// a round costs what the plan of the job costs.
TEST(StoreHistory, ThePlanOfARoundIsAccountedLikeThePlanOfTheJob) {
  ReleaseRecord record;
  record.plan = SmallAdaptiveConfig(0.4, 0.5).plan;
  record.clip_l2 = 0.5 * record.plan.clip_l2;
  record.noise_sigma = 0.5 * record.plan.noise_sigma;
  const privacy::Plan plan = PlanOfRound(record);
  EXPECT_EQ(plan.clip_bit_scale, 0.5 * record.plan.clip_bit_scale);
  EXPECT_EQ(privacy::Account(plan, 2).epsilon(), privacy::Account(record.plan, 2).epsilon());
}

}  // namespace
}  // namespace sotto::server
