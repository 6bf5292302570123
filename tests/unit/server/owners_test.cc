// Tests of owners: what a store keeps of them, that two devices of one owner never share a cohort
// of passes, and what is said of them.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "accounting/guarantee.h"
#include "plans/composition.h"
#include "plans/statement.h"
#include "plans/turns.h"
#include "sotto/random.h"
#include "unit/server/requests.h"
#include "unit/server/store_fixture.h"
#include "views/claims_output.h"
#include "views/training_warnings.h"

namespace sotto::server {
namespace {

RandomStream OwnersStream(uint32_t number) {
  Key key;
  key.bytes[3] = 0x77;
  return RandomStream(key, number);
}

// The choice before there were owners.
std::vector<uint32_t> ChosenWithoutOwners(std::vector<Candidate> all, uint32_t cohort,
                                          RandomStream& random) {
  const auto count = static_cast<uint32_t>(all.size());
  for (uint32_t i = 0; i + 1 < count; ++i) std::swap(all[i], all[i + random.Below(count - i)]);
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.turns != b.turns ? a.turns < b.turns : a.is_rested && !b.is_rested;
  });
  std::vector<uint32_t> chosen;
  for (uint32_t i = 0; i < cohort; ++i) chosen.push_back(all[i].device);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

// Random fleets. Every cohort that the owners allow can be chosen, and one larger cannot.
TEST(OwnersTest, NoChoiceHasTwoDevicesOfOneOwner) {
  RandomStream random = OwnersStream(0);
  for (uint32_t fleet = 0; fleet < 1000; ++fleet) {
    std::vector<Candidate> all;
    std::map<uint32_t, uint32_t> owner_of;
    std::set<uint32_t> owners;
    uint32_t without = 0;
    const uint32_t devices = 1 + random.Below(40);
    const uint32_t most_owners = 1 + random.Below(20);
    for (uint32_t device = 0; device < devices; ++device) {
      const uint32_t owner = random.Below(3) == 0 ? 0 : 1 + random.Below(most_owners);
      all.push_back({3 * device, random.Below(4), random.Below(2) == 0, owner});
      owner_of[3 * device] = owner;
      owner == 0 ? static_cast<void>(++without) : static_cast<void>(owners.insert(owner));
    }
    const uint32_t largest = without + static_cast<uint32_t>(owners.size());
    ASSERT_EQ(LargestCohort(all), largest);
    RandomStream same = OwnersStream(fleet + 1);
    RandomStream again = OwnersStream(fleet + 1);
    const uint32_t cohort = fleet % 2 == 0 ? largest : 1 + random.Below(largest);
    const std::vector<uint32_t> chosen = ChooseByTurns(all, cohort, same);
    EXPECT_EQ(chosen, ChooseByTurns(all, cohort, again)) << "it is a function of its arguments";
    EXPECT_EQ(std::set<uint32_t>(chosen.begin(), chosen.end()).size(), cohort);
    std::set<uint32_t> asked;
    for (const uint32_t device : chosen) {
      const uint32_t owner = owner_of.at(device);
      EXPECT_TRUE(owner == 0 || asked.insert(owner).second) << "fleet " << fleet;
    }
    EXPECT_THROW(ChooseByTurns(all, largest + 1, same), std::invalid_argument);
  }
}

TEST(OwnersTest, WithoutOwnersTheChoiceIsTheOneBeforeThereWereAny) {
  RandomStream random = OwnersStream(9);
  for (uint32_t fleet = 0; fleet < 200; ++fleet) {
    std::vector<Candidate> all;
    const uint32_t devices = 1 + random.Below(40);
    for (uint32_t device = 0; device < devices; ++device) {
      all.push_back({device, random.Below(3), random.Below(2) == 0});
    }
    const uint32_t cohort = 1 + random.Below(devices);
    RandomStream former = OwnersStream(fleet);
    RandomStream present = OwnersStream(fleet);
    EXPECT_EQ(ChooseByTurns(all, cohort, present), ChosenWithoutOwners(all, cohort, former));
    for (Candidate& each : all) each.owner = each.device + 1;
    RandomStream once_more = OwnersStream(fleet);
    RandomStream one_each = OwnersStream(fleet);
    EXPECT_EQ(ChooseByTurns(all, cohort, one_each), ChosenWithoutOwners(all, cohort, once_more));
  }
}

// The devices of SmallRegistry(), of which device i has the owner owners[i]; empty: none.
DeviceRegistry OwnedRegistry(const std::vector<std::string>& owners) {
  const DeviceRegistry small = SmallRegistry();
  DeviceRegistry registry;
  for (uint32_t i = 0; i < small.size(); ++i) {
    registry.Register(small[i], std::nullopt, i < owners.size() ? owners[i] : "");
  }
  return registry;
}

struct OwnedJob {
  OwnedJob(const JobConfig& config, const std::vector<std::string>& owners)
      : registry(OwnedRegistry(owners)), job(config, registry, store, Key()) {}

  // Nobody reports, and each round is released and charged.
  bool Round() {
    if (!job.OpenRound()) return false;
    cohorts.push_back(job.cohort());
    EXPECT_TRUE(job.CloseRound().released);
    return true;
  }

  void ExpectNoPairs() const {
    for (const std::vector<uint32_t>& cohort : cohorts) {
      std::set<uint32_t> asked;
      for (const uint32_t device : cohort) {
        const uint32_t owner = registry.OwnerOf(device);
        EXPECT_TRUE(owner == 0 || asked.insert(owner).second) << device;
      }
    }
  }

  DeviceRegistry registry;
  RecordingStore store;
  std::vector<std::vector<uint32_t>> cohorts;
  Job job;
};

TEST(OwnersTest, AJobAsksOneDeviceOfEachOwnerInEitherOrder) {
  for (const privacy::Order order : {privacy::Order::kConnected, privacy::Order::kFixed}) {
    JobConfig config = SmallPassesConfig(2, 40);
    config.plan.order = order;
    // Five of one owner, three of another one, four without: at most six devices of a round.
    OwnedJob owned(config, {"a", "a", "a", "a", "a", "b", "b", "b"});
    while (owned.Round()) continue;
    owned.ExpectNoPairs();
    EXPECT_GE(owned.cohorts.size(), 3u);
    EXPECT_NE(owned.job.finish_reason().find(
                  "devices of different owners of the 4 that a round needs have one left"),
              std::string::npos)
        << owned.job.finish_reason();
  }
}

std::string RefusalOfOwners(const JobConfig& config, const std::vector<std::string>& owners) {
  try {
    OwnedJob owned(config, owners);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(OwnersTest, AFleetThatCanNeverFillACohortIsRefusedWithItsNumbers) {
  const std::vector<std::string> owners = {"a", "a", "a", "a", "a", "b", "b", "b", "b", "b", "b"};
  EXPECT_EQ(RefusalOfOwners(SmallPassesConfig(), owners),
            "--cohort 4: two devices of one owner never share a cohort, and the 12 devices of the "
            "store have 2 owners and 1 device without an owner, so a cohort has at most 3 devices; "
            "lower --cohort, or add devices of other owners with `sotto keys new`");
  EXPECT_EQ(RefusalOfOwners(SmallConfig(), owners), "") << "uniform cohorts do not look at owners";
  std::vector<std::string> enough = owners;
  enough[0] = "c";
  EXPECT_EQ(RefusalOfOwners(SmallPassesConfig(), enough), "");
}

TEST(OwnersTest, UniformCohortsAreThoseOfAFleetWithoutOwners) {
  OwnedJob owned(SmallConfig(), {"a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a"});
  OwnedJob plain(SmallConfig(), {});
  ASSERT_TRUE(owned.job.OpenRound());
  ASSERT_TRUE(plain.job.OpenRound());
  for (int attempt = 0; attempt < 3; ++attempt) {  // nobody checks in
    EXPECT_EQ(owned.job.cohort(), plain.job.cohort());
    owned.job.CloseRound();
    plain.job.CloseRound();
  }
}

TEST(OwnersTest, AJobWaitsUntilEnoughOwnersAreConnected) {
  JobConfig config = SmallPassesConfig();
  config.process.hears_all = false;
  config.process.poll_interval_ms = 1;
  OwnedJob owned(config, {"a", "a", "a", "b", "b"});
  for (const uint32_t device : {0u, 1u, 2u, 3u, 4u, 5u}) AskForWork(owned.job, device);
  EXPECT_FALSE(owned.job.OpenRound());
  EXPECT_EQ(owned.job.waiting_for(),
            "3 devices of different owners of the 4 that a round needs are "
            "connected and have a turn left");
  EXPECT_EQ(owned.job.WaitingNow(), owned.job.waiting_for());
  AskForWork(owned.job, 6);
  EXPECT_EQ(owned.job.WaitingNow(), "");
  EXPECT_TRUE(owned.Round());
  owned.ExpectNoPairs();
}

// An owner that is named while the job runs holds from the next attempt on; if too few are left,
// the job waits for devices.
TEST(OwnersTest, AnOwnerThatIsNamedWhileAJobRunsHoldsFromTheNextAttemptOn) {
  OwnedJob owned(SmallPassesConfig(2, 40), {});
  ASSERT_TRUE(owned.Round());
  std::vector<DeviceChange> changes;
  for (const uint32_t device : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u}) {
    DeviceChange change;
    change.kind = DeviceChange::Kind::kOwned;
    change.device.id = owned.registry[device].id;
    change.owner = "late";
    changes.push_back(change);
  }
  const SharedDevices named = owned.registry.Changed(changes);
  owned.job.SetFleet(named, {});
  ASSERT_TRUE(owned.Round());
  EXPECT_EQ(std::count_if(owned.cohorts[1].begin(), owned.cohorts[1].end(),
                          [](uint32_t device) { return device < 9; }),
            1);
  changes = {changes[0]};
  changes[0].device.id = owned.registry[11].id;
  owned.job.SetFleet(named->Changed(changes), {});
  EXPECT_FALSE(owned.Round());
  EXPECT_EQ(owned.job.waiting_for(),
            "3 devices of different owners of the 4 that a round needs; add "
            "some with `sotto keys new`");
  changes[0].owner = "two words";
  EXPECT_THROW(named->Changed(changes), std::invalid_argument);
}

class OwnersStoreTest : public StoredTest {};

TEST_F(OwnersStoreTest, OwnersAreKeptTakenAndCovered) {
  {
    SqlStore store(path_, kCreate);
    store.AddDevices(SomeDevices(2), false);
    store.AddDevices({{"tv", {{9}}}, {"phone", {{8}}}}, false, "household-7");
    store.LoadDevices();
    SqlStore other(path_);
    other.SetOwner("small-0", "household-7");
    other.SetOwner("phone", "guest");
    other.SetOwner("phone", "guest");
    const std::vector<DeviceChange> changes = store.TakeChanges();
    ASSERT_EQ(changes.size(), 2u) << "naming the same owner again changes nothing";
    EXPECT_EQ(changes[0].kind, DeviceChange::Kind::kOwned);
    EXPECT_EQ(changes[0].owner, "household-7");
    EXPECT_EQ(changes[1].device.id, "phone");
    EXPECT_EQ(changes[1].owner, "guest");
    EXPECT_THROW(other.SetOwner("small-1", "two words"), std::invalid_argument);
    EXPECT_THROW(other.SetOwner("small-1", ""), std::invalid_argument);
    EXPECT_THROW(other.SetOwner("nobody", "guest"), std::runtime_error);
    EXPECT_THROW(other.AddDevices({{"pc", {{7}}}}, false, "a/b"), std::invalid_argument);
    other.RevokeDevice("tv");
    EXPECT_THROW(other.SetOwner("tv", "guest"), std::runtime_error) << "revoked";
  }
  SqlStore store(path_);
  const std::vector<DeviceRecord> list = store.ListDevices();
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].owner, "household-7");
  EXPECT_EQ(list[1].owner, "");
  EXPECT_EQ(list[2].owner, "household-7");
  EXPECT_EQ(list[3].owner, "guest");
  const DeviceRegistry devices = store.LoadDevices();
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices.OwnerOf(1), DeviceRegistry::kNoOwner);
  EXPECT_NE(devices.OwnerOf(0), DeviceRegistry::kNoOwner);
  EXPECT_NE(devices.OwnerOf(0), devices.OwnerOf(2));
  EXPECT_EQ(OwnersOf(store.ReadHistory()).most_devices, 2) << "revoked ones count";
  const std::vector<int64_t> eligible_of = {1, 1, 1};
  EXPECT_EQ(OwnersOf(store.ReadHistory()).eligible_of, eligible_of);
  RunSql("UPDATE owners SET owner = 'guest' WHERE device = 1");
  EXPECT_TRUE(Says(Refusal(), "owner 1 of device number 1")) << Refusal();
}

// Turns of passes tell; of another sampling it is assumed.
TEST_F(OwnersStoreTest, CohortsThatWereSharedBeforeAreFound) {
  SqlStore store(path_, kCreate);
  store.AddDevices(SomeDevices(), false);
  store.BeginJob(RecordOf(SmallPassesConfig()));
  store.CommitAttempt({0, 0, {0, 1, 2, 3}, kSmallDevices});
  store.SealAttempt({0, 0, {1, 2, 3, 4}});
  store.SetOwner("small-0", "a");
  EXPECT_EQ(OwnersOf(store.ReadHistory()).most_devices, 1);
  store.SetOwner("small-8", "a");
  EXPECT_EQ(OwnersOf(store.ReadHistory()).most_devices, 2);
  EXPECT_FALSE(OwnersOf(store.ReadHistory()).may_have_shared);
  store.SetOwner("small-2", "a");
  EXPECT_EQ(OwnersOf(store.ReadHistory()).most_devices, 3);
  EXPECT_TRUE(OwnersOf(store.ReadHistory()).may_have_shared);
}

TEST_F(OwnersStoreTest, AReleaseOfAnotherSamplingMayHaveHeldTwoDevicesOfAnOwner) {
  SqlStore store(path_, kCreate);
  store.AddDevices(SomeDevices(), false, "a");
  store.BeginJob(RecordOf(SmallConfig()));
  EXPECT_FALSE(OwnersOf(store.ReadHistory()).may_have_shared);
  store.CommitAttempt({0, 0, {0}});
  Release(store, 0, 0);
  EXPECT_TRUE(OwnersOf(store.ReadHistory()).may_have_shared);
}

privacy::Owners OfOwners(int64_t most_devices, bool may_have_shared = false) {
  privacy::Owners owners;
  owners.most_devices = most_devices;
  owners.may_have_shared = may_have_shared;
  return owners;
}

// Four rounds of four of two households of four and two, and two devices by themselves, which are
// in each cohort. Counted by hand.
TEST(OwnersTest, RoundsEndWhereTheTurnsOfDifferentOwnersDo) {
  EXPECT_EQ(privacy::RoundsForOwners({4, 2, 1, 1}, 4, 4), 4);
  EXPECT_EQ(privacy::RoundsForOwners({6, 1, 1, 1, 1}, 4, 3), 8);
  EXPECT_EQ(privacy::RoundsForOwners({5}, 4, 2), 0);
  EXPECT_EQ(privacy::RoundsForOwners({1}, 4, 2), 0);
  EXPECT_EQ(privacy::RoundsForOwners(std::vector<int64_t>(12, 1), 2, 4), 6) << "no owners";
  privacy::Owners owners = OfOwners(4);
  owners.eligible_of = {4, 2, 1, 1};
  const privacy::Plan plan = SmallPassesConfig(4, 8).plan;
  EXPECT_TRUE(Says(DescribeOwners(plan, {}, owners),
                   "at most 4 of the 8 rounds find a cohort of different owners"))
      << DescribeOwners(plan, {}, owners);
  JobConfig config = SmallPassesConfig(4, 40);
  OwnedJob owned(config, {"a", "a", "a", "a", "a", "a", "b", "b", "b", "b"});
  while (owned.Round()) continue;
  EXPECT_EQ(owned.cohorts.size(), 4u) << "two devices are in each cohort";
}

// Epsilon 6 at 1e-5 for a device: 9.10 for two that never share a cohort, 14.0 for two that do.
TEST(OwnersTest, TheFigureOfAnOwnerIsStatedWithTheUnit) {
  privacy::Plan plan = SmallPassesConfig(4, 40).plan;
  plan.devices = 1000;
  plan.cohort = plan.planned_reports = 100;
  plan.delta = 1e-5;
  plan.certificate = {};
  plan.colluders = 0;
  plan.clip_l2 = 0.4;
  plan.noise_sigma = 0.4 * 2 * 1.5270 / 10;  // z = 2 / mu
  EXPECT_NEAR(privacy::Account(plan, 40).epsilon(), 6.0, 0.01);
  EXPECT_NEAR(privacy::OwnerEpsilon(plan, 40, {}, 1, true), privacy::Account(plan, 40).epsilon(),
              1e-6);
  EXPECT_NEAR(privacy::OwnerEpsilon(plan, 40, {}, 2, false), 9.10, 0.01);
  EXPECT_NEAR(privacy::OwnerEpsilon(plan, 40, {}, 2, true), 14.01, 0.02);
  EXPECT_GT(privacy::OwnerEpsilon(plan, 40, {}, 3, false), 11.0);
  const std::string none = DescribeOwners(plan, {}, {}, 1);
  EXPECT_EQ(none,
            "the unit is one device; two devices of one owner in the same cohorts have epsilon "
            "14.1 together; name their owner with `sotto keys owner`, and they never share a "
            "cohort: 9.1")
      << privacy::OwnerEpsilon(plan, 40, {}, 2, true);
  EXPECT_EQ(DescribeOwners(plan, {}, OfOwners(2), 1),
            "the unit is one device; the 2 devices of one owner, never in one cohort, have epsilon "
            "9.1 together");
  EXPECT_TRUE(Says(DescribeOwners(plan, {}, OfOwners(2, true), 1), "epsilon 14.1 together"));
  EXPECT_EQ(DescribeOwners(plan, {}, OfOwners(1), 1),
            "the unit is one device, and no owner has two");
  plan.certificate = SmallConfig().plan.certificate;
  plan.sampling = privacy::Sampling::kUniform;
  plan.participations = 0;
  EXPECT_EQ(DescribeOwners(plan, {}, OfOwners(2)), "");
  EXPECT_THROW(privacy::OwnerEpsilon(plan, 40, {}, 2, false), std::invalid_argument);
}

// Delta pays for all releases with one of the owner's devices.
TEST(OwnersTest, UpdatesThatAreTooLongAreChargedForEachDeviceOfAnOwner) {
  privacy::Plan plan = SmallPassesConfig(4, 40).plan;
  plan.delta = 1e-5;
  plan.too_long = 1e-11;
  plan.noise_sigma = 2;
  constexpr int64_t kDevices = 9;
  const privacy::Composition one = privacy::ComposeReleases(plan, 40, {});
  std::vector<privacy::GaussianRounds> rounds = one.rounds;
  for (privacy::GaussianRounds& group : rounds) group.noise_multiplier /= 3;
  privacy::Deviations deviations = one.deviations;
  deviations.coordinates *= kDevices;
  deviations.log_too_long = std::log(plan.TooLong(kDevices * plan.participations));
  const double least = privacy::StateGuarantee(rounds, plan.delta, deviations).epsilon;
  EXPECT_TRUE(std::isfinite(least));
  EXPECT_GE(privacy::OwnerEpsilon(plan, 40, {}, kDevices, false), least);
}

TEST(OwnersTest, ASamplingThatDoesNotLookAtOwnersIsWarnedOf) {
  const std::string warning = OwnersWarning(SmallConfig(), 3);
  EXPECT_TRUE(Says(warning, "an owner has 3 devices, and --sampling uniform does not look at"));
  EXPECT_EQ(OwnersWarning(SmallConfig(), 1), "");
  EXPECT_EQ(OwnersWarning(SmallPassesConfig(), 3), "");
}

}  // namespace
}  // namespace sotto::server
