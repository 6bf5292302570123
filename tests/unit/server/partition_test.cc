// Tests of the devices' shares of the training set. The random numbers are fixed, so no test can
// fail by chance.
#include "sotto/data/partition.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace sotto::server {
namespace {

// A linear congruential generator, scaled.
class FixedRandom {
 public:
  explicit FixedRandom(uint32_t seed) : state_(seed) {}
  uint32_t operator()(uint32_t bound) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<uint32_t>((state_ >> 32) * bound >> 32);
  }

 private:
  uint64_t state_;
};

std::vector<uint32_t> Share(const Partition& partition, uint32_t device) {
  const DeviceIndices samples = partition.DeviceSamples(device);
  std::vector<uint32_t> share;
  for (uint32_t i = 0; i < samples.size(); ++i) share.push_back(samples[i]);
  return share;
}

TEST(Partition, NoSampleIsGivenTwice) {
  const Partition partition = IidPartition(1000, 30, 33, FixedRandom(1));
  std::set<uint32_t> seen;
  EXPECT_EQ(partition.devices(), 30U);
  for (uint32_t device = 0; device < partition.devices(); ++device) {
    const std::vector<uint32_t> share = Share(partition, device);
    EXPECT_EQ(share.size(), 33U);
    seen.insert(share.begin(), share.end());
  }
  EXPECT_EQ(seen.size(), 990U);
  EXPECT_LT(*seen.rbegin(), 1000U);
}

TEST(Partition, TheWholeSetCanBeGivenAway) {
  const Partition partition = IidPartition(100, 4, 25, FixedRandom(2));
  std::vector<uint32_t> all;
  for (uint32_t device = 0; device < 4; ++device) {
    for (const uint32_t sample : Share(partition, device)) all.push_back(sample);
  }
  EXPECT_FALSE(std::is_sorted(all.begin(), all.end()));
  std::sort(all.begin(), all.end());
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(all[i], i);
}

TEST(Partition, ItIsTheFisherYatesShuffleOfTheNumbersDrawn) {
  // 0 1 2 3 4 -> swap 0 with 3: 3 1 2 0 4 -> swap 1 with 1 -> swap 2 with 4: 3 1 4 0 2 -> stay.
  std::vector<uint32_t> bounds;
  const std::vector<uint32_t> draws = {3, 0, 2, 0};
  const Partition partition = IidPartition(5, 2, 2, [&](uint32_t bound) {
    bounds.push_back(bound);
    return draws[bounds.size() - 1];
  });
  EXPECT_EQ(bounds, (std::vector<uint32_t>{5, 4, 3, 2}));
  EXPECT_EQ(Share(partition, 0), (std::vector<uint32_t>{3, 1}));
  EXPECT_EQ(Share(partition, 1), (std::vector<uint32_t>{4, 0}));
}

TEST(Partition, ADeviceKeepsItsSamplesWhenDevicesAreAdded) {
  const Partition small = IidPartition(1000, 3, 20, FixedRandom(3));
  const Partition large = IidPartition(1000, 50, 20, FixedRandom(3));
  for (uint32_t device = 0; device < 3; ++device) {
    EXPECT_EQ(Share(small, device), Share(large, device));
  }
}

TEST(Partition, TooLargeSharesAreRefusedWithAllTheNumbers) {
  try {
    const Partition partition = IidPartition(60000, 1000, 61, FixedRandom(1));
    FAIL() << "nothing was thrown";
  } catch (const std::invalid_argument& error) {
    const std::string what = error.what();
    for (const char* number : {"1000 devices", "61 samples", "60000 samples", "983 such devices"}) {
      EXPECT_NE(what.find(number), std::string::npos) << what;
    }
  }
}

TEST(Partition, EmptyAndAbsurdSharesAreRefused) {
  const size_t huge = std::numeric_limits<size_t>::max();
  EXPECT_THROW(IidPartition(100, 0, 1, FixedRandom(1)), std::invalid_argument);
  EXPECT_THROW(IidPartition(100, 1, 0, FixedRandom(1)), std::invalid_argument);
  EXPECT_THROW(IidPartition(0, 1, 1, FixedRandom(1)), std::invalid_argument);
  EXPECT_THROW(IidPartition(100, huge, 2, FixedRandom(1)), std::invalid_argument);
  EXPECT_THROW(IidPartition(100, 2, huge, FixedRandom(1)), std::invalid_argument);
  EXPECT_THROW(IidPartition(huge, 1, 1, FixedRandom(1)), std::invalid_argument);
}

TEST(Partition, InOrderTakesTheSamplesAsTheyCome) {
  const Partition partition = Partition::InOrder(1000000, 50);
  EXPECT_EQ(partition.devices(), 1000000U);
  const DeviceIndices last = partition.DeviceSamples(999999);
  EXPECT_EQ(last.size(), 50U);
  EXPECT_EQ(last[0], 49999950U);
  EXPECT_EQ(last[49], 49999999U);
}

TEST(Partition, PartsOfAShareAreItsSamples) {
  const Partition lists({0, 4}, {7, 5, 9, 2});
  const Partition in_order = Partition::InOrder(3, 4);
  const DeviceIndices middle = lists.DeviceSamples(0).Part(1, 2);
  ASSERT_EQ(middle.size(), 2U);
  EXPECT_EQ(middle[0], 5U);
  EXPECT_EQ(middle[1], 9U);
  const DeviceIndices last = in_order.DeviceSamples(2).Part(3, 1);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0], 11U);
  EXPECT_EQ(lists.DeviceSamples(0).Part(4, 0).size(), 0U);
}

TEST(Partition, SharesMayDiffer) {
  const Partition partition({0, 2, 2, 3}, {7, 5, 9});
  EXPECT_EQ(partition.devices(), 3U);
  EXPECT_EQ(Share(partition, 0), (std::vector<uint32_t>{7, 5}));
  EXPECT_EQ(Share(partition, 1), std::vector<uint32_t>());
  EXPECT_EQ(Share(partition, 2), std::vector<uint32_t>{9});
}

}  // namespace
}  // namespace sotto::server
