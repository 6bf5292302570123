// Tests of the salt that a server gives for the key of an update, with the SDK's client: what it
// changes in a round, and what becomes of a device that loses its update or is given another salt.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

JobConfig SaltedConfig() {
  JobConfig config = SmallConfig();
  config.requires_salt = true;
  config.plan.noise_sigma = config.plan.clip_l2 / 1000;
  config.plan.rounds = 50;
  config.plan = RoundToDevice(config.plan);
  return config;
}

std::vector<float> ModelAfterARound(const JobConfig& config) {
  SmallJob small(config);
  EXPECT_TRUE(small.job.OpenRound());
  small.ReportAll();
  EXPECT_EQ(small.job.CloseRound().reported, 4U);
  return small.Model();
}

// The same cohort trains to the same updates in both. A parameter has two noises of C / 2000, so
// 0.0023 is eight deviations: exceeded with a probability below 1e-12 for 650 parameters. A server
// with another key than the device decodes numbers as large as the update's, 0.1.
TEST(SaltedRound, TheServerTakesOutTheNoiseThatTheDevicePutIn) {
  JobConfig seeded = SaltedConfig();
  seeded.seeded = true;
  const std::vector<float> unsalted = ModelAfterARound(seeded);
  const std::vector<float> salted = ModelAfterARound(SaltedConfig());
  EXPECT_NE(salted, unsalted) << "the noise must be another one";
  float largest = 0;
  for (size_t j = 0; j < salted.size(); ++j) {
    largest = std::max(largest, std::fabs(salted[j] - unsalted[j]));
  }
  EXPECT_LT(largest, 0.0023F);
}

// A device that has announced its update and got its salt.
struct SaltedDevice {
  SaltedDevice() {
    EXPECT_TRUE(small.job.OpenRound());
    index = small.job.cohort()[0];
    device = std::make_unique<SmallDevice>(small.registry[index], index, *small.job.config().model);
    for (int i = 0; i < 100 && device->client().state() != Client::State::kUpload; ++i) {
      EXPECT_EQ(device->client().OnReply(Ask()), Status::kOk);
    }
  }

  // The server's answer to the next request.
  Reply Ask() {
    Client::Progress progress = Client::Progress::kAgain;
    for (int i = 0; i < 10000 && progress != Client::Progress::kSend; ++i) {
      EXPECT_EQ(device->client().Step(&progress), Status::kOk);
    }
    return small.job.Answer(index, device->client().request());
  }

  bool IsDrawn() const {
    const std::vector<uint32_t>& drawn = small.job.cohort();
    return std::find(drawn.begin(), drawn.end(), index) != drawn.end();
  }

  SmallJob small{SaltedConfig()};
  uint32_t index = 0;
  std::unique_ptr<SmallDevice> device;
};

// A server would else see the update under two noises.
TEST(SaltedRound, ADeviceThatIsGivenASecondSaltDropsItsUpdate) {
  Salt other;
  other.is_there = true;
  for (const Salt& second : {other, Salt()}) {
    SaltedDevice salted;
    Client& client = salted.device->client();
    client.OnLinkLost();
    EXPECT_EQ(client.OnReply(salted.Ask()), Status::kOk);  // Hello
    Reply ack = salted.Ask();
    ASSERT_EQ(client.state(), Client::State::kUploadBegin);
    ASSERT_TRUE(ack.salt.is_there);
    ack.salt = second;
    EXPECT_EQ(client.OnReply(ack), Status::kMalformed);
    EXPECT_EQ(client.state(), Client::State::kHello);
  }
}

// The server cannot tell it from a device that tries nonces.
TEST(SaltedRound, ADeviceThatIsResetWithinItsUploadIsOutOfTheAttemptAndInTheNext) {
  SaltedDevice salted;
  Job& job = salted.small.job;
  const uint32_t index = salted.index;
  SmallDevice reset(salted.small.registry[index], index, *job.config().model, 1);
  EXPECT_EQ(reset.Run(job, index), Status::kPeerRefused);
  EXPECT_EQ(reset.client().error_code(), ErrorCode::kConflict);
  EXPECT_FALSE(reset.client().is_refused()) << "it goes on";
  EXPECT_EQ(reset.Run(job, index), Status::kOk);
  EXPECT_EQ(reset.client().state(), Client::State::kHello) << "it waits";
  EXPECT_EQ(job.CloseRound().reported, 0U);
  do {
    ASSERT_TRUE(job.OpenRound());
    if (salted.IsDrawn()) {
      EXPECT_EQ(reset.Run(job, index), Status::kOk);
    }
  } while (job.CloseRound().reported == 0);
}

}  // namespace
}  // namespace sotto::server
