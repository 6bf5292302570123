// For tests of the SDK's client: a small job whose round is open, and a device that is drawn for
// it.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "unit/server/small_job.h"

namespace sotto::server {

inline bool Contains(const std::vector<uint32_t>& cohort, uint32_t device) {
  return std::find(cohort.begin(), cohort.end(), device) != cohort.end();
}

struct ClientTest : testing::Test {
  explicit ClientTest(const JobConfig& config = SmallConfigWithAModel()) : small(config) {
    EXPECT_TRUE(small.job.OpenRound());
    index = small.job.cohort()[0];
    device = std::make_unique<SmallDevice>(small.registry[index], index, *small.job.config().model);
  }

  // Steps until there is something to send.
  void StepToRequest() {
    Client::Progress progress = Client::Progress::kAgain;
    while (progress != Client::Progress::kSend) {
      ASSERT_EQ(device->client().Step(&progress), Status::kOk);
    }
  }

  // Exchanges messages until the client is about to send in this state.
  void AdvanceTo(Client::State state) {
    StepToRequest();
    while (device->client().state() != state) {
      ASSERT_EQ(device->client().OnReply(small.job.Answer(index, device->client().request())),
                Status::kOk);
      StepToRequest();
    }
  }

  SmallJob small;
  uint32_t index = 0;
  std::unique_ptr<SmallDevice> device;
};

}  // namespace sotto::server
