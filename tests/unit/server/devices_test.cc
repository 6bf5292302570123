// Tests of the device registry.
#include "round/devices.h"

#include <gtest/gtest.h>
#include <stdexcept>

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

}  // namespace
}  // namespace sotto::server
