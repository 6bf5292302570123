// Tests of the device registry.
#include "round/devices.h"

#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

TEST(DeviceRegistry, RefusesDuplicatesOfNameAndSecret) {
  DeviceRegistry registry = SmallRegistry();
  EXPECT_EQ(registry.Find("small-3"), 3u);
  EXPECT_EQ(registry.Find("stranger"), registry.size());
  Device device{"small-3", {}};
  device.secret.bytes[1] = 9;
  EXPECT_THROW(registry.Register(device), std::invalid_argument);
  device = {"new", registry[3].secret};
  EXPECT_THROW(registry.Register(device), std::invalid_argument);
  device = {"not a name", {}};
  EXPECT_THROW(registry.Register(device), std::invalid_argument);
}

TEST(DeviceRegistry, FindsEachOfMany) {
  DeviceRegistry registry;
  const auto name_of = [](uint32_t i) { return "device-" + std::to_string(i * i); };
  for (uint32_t i = 0; i < 5000; ++i) {
    if (i == 100) registry.Reserve(3000);
    Device device{name_of(i), {}};
    device.secret.bytes[0] = static_cast<uint8_t>(i);
    device.secret.bytes[9] = static_cast<uint8_t>(i >> 8);
    registry.Register(device);
  }
  for (uint32_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(registry.Find(name_of(i)), i);
    ASSERT_EQ(registry[i].id, name_of(i));
    ASSERT_THROW(registry.Register({"new", registry[i].secret}), std::invalid_argument);
  }
  EXPECT_EQ(registry.Find("device-2"), registry.size());
  EXPECT_EQ(DeviceRegistry().Find("device-1"), 0u);
}

}  // namespace
}  // namespace sotto::server
