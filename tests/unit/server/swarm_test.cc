// The parts of a swarm that need no network: its faults, its figures, its addresses.
#include "swarm/swarm.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

FaultOptions Faults(double drop_out, double corrupt) {
  FaultOptions options;
  options.drop_out = drop_out;
  options.corrupt = corrupt;
  return options;
}

TEST(SwarmFaults, ASeedRepeatsEachFate) {
  const FaultOptions options = Faults(0.3, 0.3);
  int different = 0;
  for (uint32_t device = 0; device < 200; ++device) {
    const Fate fate = FateOf(options, posix::RunKey(1), device, 5, 0);
    const Fate again = FateOf(options, posix::RunKey(1), device, 5, 0);
    EXPECT_EQ(fate.drops_out, again.drops_out);
    EXPECT_EQ(fate.is_corrupt, again.is_corrupt);
    EXPECT_EQ(fate.at, again.at);
    different += fate.at != FateOf(options, posix::RunKey(2), device, 5, 0).at ? 1 : 0;
    different += fate.at != FateOf(options, posix::RunKey(1), device, 6, 0).at ? 1 : 0;
    different += fate.at != FateOf(options, posix::RunKey(1), device, 5, 1).at ? 1 : 0;
  }
  EXPECT_EQ(different, 600);
}

TEST(SwarmFaults, AChanceIsTheShareOfDevices) {
  int drop_outs = 0;
  int corrupt = 0;
  for (uint32_t device = 0; device < 10000; ++device) {
    const Fate fate = FateOf(Faults(0.1, 0.5), posix::RunKey(3), device, 0, 0);
    drop_outs += fate.drops_out ? 1 : 0;
    corrupt += fate.is_corrupt ? 1 : 0;
  }
  EXPECT_NEAR(drop_outs, 1000, 200);  // the seed is fixed: it passes always or never
  EXPECT_NEAR(corrupt, 5000, 350);
  EXPECT_TRUE(FateOf(Faults(1, 1), posix::RunKey(3), 0, 0, 0).drops_out);
  EXPECT_FALSE(FateOf(Faults(0, 1), posix::RunKey(3), 0, 0, 0).drops_out);
}

TEST(SwarmFaults, JitterIsWithinHalf) {
  EXPECT_EQ(Jittered(100, 0), 50u);
  EXPECT_EQ(Jittered(100, 0x80000000), 100u);
  EXPECT_EQ(Jittered(100, 0xffffffff), 150u);
}

TEST(SwarmFaults, ASlowDeviceGetsItsBytesASecond) {
  ByteRate rate(1000);
  size_t passed = 0;
  for (uint64_t now_ms = 1; now_ms <= 10000;) {
    const size_t allowed = rate.Allowed(64, now_ms);
    rate.Took(allowed);
    passed += allowed;
    now_ms += allowed > 0 ? 1 : rate.PauseMs();
  }
  EXPECT_GE(passed, 9900u);
  EXPECT_LE(passed, 10100u) << "and a tenth of a second's bytes at once";
  ByteRate any(0);
  EXPECT_EQ(any.Allowed(1 << 20, 0), size_t{1} << 20);
}

TEST(SwarmFigures, PercentilesAreAtMostTwoPercentTooLong) {
  Latencies latencies;
  EXPECT_EQ(latencies.Percentile(0.5), 0);
  for (int ms = 1; ms <= 1000; ++ms) latencies.Add(ms);
  for (const double share : {0.5, 0.95, 0.99, 1.0}) {
    EXPECT_GE(latencies.Percentile(share), 1000 * share * 0.9999);
    EXPECT_LE(latencies.Percentile(share), 1000 * share * 1.0201);
  }
  latencies.Add(0);
  latencies.Add(1e12);
  EXPECT_GT(latencies.Percentile(0.9999), 3600e3);
}

TEST(SwarmFigures, ARateIsOverTheTimeInWhichThereWasWork) {
  Figures figures;
  EXPECT_EQ(figures.Summarise().updates_s, 0);
  const Figures::Task first = {0, 0};
  const Figures::Task second = {1, 0};
  figures.OnTask(first, 100 * kSecond);
  figures.OnTask(first, 101 * kSecond);
  figures.OnAccepted(first, {400, 4000, 8}, 100 * kSecond, 102 * kSecond);
  figures.OnAccepted(first, {500, 5000, 10}, 101 * kSecond, 104 * kSecond);
  figures.OnTask(second, 109 * kSecond);
  figures.OnAccepted(second, {600, 3000, 6}, 109 * kSecond, 110 * kSecond);
  figures.OnTask({2, 0}, 500 * kSecond);  // nobody answers it
  const SwarmSummary summary = figures.Summarise();
  EXPECT_EQ(summary.rounds, 2u);
  EXPECT_EQ(summary.counts.tasks, 4u);
  EXPECT_EQ(summary.counts.accepted, 3u);
  EXPECT_DOUBLE_EQ(summary.busy_seconds, 10);
  EXPECT_DOUBLE_EQ(summary.updates_s, 0.3);
  EXPECT_DOUBLE_EQ(summary.best_round_updates_s, 1);
  EXPECT_DOUBLE_EQ(summary.median_round_updates_s, 1);
  EXPECT_NEAR(summary.latency_ms_p50, 2000, 40);
  EXPECT_DOUBLE_EQ(summary.counts.OfAnUpdate(&SwarmCounts::bytes_up), 500);
  EXPECT_DOUBLE_EQ(summary.counts.OfAnUpdate(&SwarmCounts::bytes_down), 4000);
  EXPECT_DOUBLE_EQ(summary.counts.OfAnUpdate(&SwarmCounts::turns), 8);
}

TEST(SwarmFigures, TheMostThatAreConnectedAtATimeIsKept) {
  Figures figures;
  figures.OnConnected();
  figures.OnConnected();
  figures.OnDisconnected();
  figures.OnConnected();
  EXPECT_EQ(figures.Counts().connected, 2u);
  EXPECT_EQ(figures.Counts().connected_max, 2u);
}

TEST(SwarmAddresses, AreDifferentOnesOfThisMachine) {
  std::set<std::string> addresses;
  for (const uint32_t index : {0, 1, 249, 250, 251, 62499, 62500, 999999}) {
    EXPECT_TRUE(IsLocal(LocalAddress(index)));
    addresses.insert(LocalAddress(index));
  }
  EXPECT_EQ(addresses.size(), 8u);
  EXPECT_EQ(LocalAddress(0), "127.100.0.1");
  EXPECT_EQ(LocalAddress(999999), "127.115.249.250");
  EXPECT_FALSE(IsLocal("192.168.1.27"));
}

}  // namespace
}  // namespace sotto::server
