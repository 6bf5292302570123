// Statuses and their names, byte order, wiping, comparison in constant time.
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "sotto/bytes.h"
#include "sotto/status.h"

namespace sotto {
namespace {

TEST(Status, EveryStatusHasItsOwnName) {
  std::set<std::string> names;
  for (int i = 0; i < kStatusCount; ++i) {
    const std::string name = StatusName(static_cast<Status>(-i));
    EXPECT_EQ(name.substr(0, 1), "k") << -i;
    names.insert(name);
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kStatusCount));
}

TEST(Status, ValuesBeyondTheListHaveNoName) {
  EXPECT_STREQ(StatusName(static_cast<Status>(-kStatusCount)), "unknown status");
  EXPECT_STREQ(StatusName(static_cast<Status>(1)), "unknown status");
}

TEST(Bytes, LittleEndianWhateverTheCpu) {
  const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 0x88};
  EXPECT_EQ(LoadU32Le(bytes), 0x04030201u);
  EXPECT_EQ(LoadU64Le(bytes), 0x8807060504030201u);
  uint8_t copy[8] = {};
  StoreU64Le(0x8807060504030201u, copy);
  EXPECT_EQ(std::memcmp(bytes, copy, 8), 0);
  EXPECT_EQ(FloatFromBits(FloatBits(-1.5f)), -1.5f);
}

TEST(Bytes, WipeOnExitLeavesZeros) {
  uint8_t secret[5] = {1, 2, 3, 4, 5};
  { WipeOnExit wipe(secret); }
  const uint8_t zeros[5] = {};
  EXPECT_EQ(std::memcmp(secret, zeros, 5), 0);
}

TEST(Bytes, ConstantTimeEqualSeesEveryDifference) {
  uint8_t a[16];
  for (int i = 0; i < 16; ++i) a[i] = static_cast<uint8_t>(i);
  for (int i = 0; i < 16; ++i) {
    uint8_t b[16];
    std::memcpy(b, a, 16);
    EXPECT_TRUE(ConstantTimeEqual(a, b));
    b[i] ^= 0x80;
    EXPECT_FALSE(ConstantTimeEqual(a, b)) << i;
  }
  EXPECT_FALSE(ConstantTimeEqual(a, ByteSpan(a, 15)));
}

}  // namespace
}  // namespace sotto
