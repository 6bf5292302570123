// Tests of uploads, with requests made by hand: what a job accepts, resumes and refuses.
#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "unit/server/requests.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

class UploadTest : public testing::Test {
 protected:
  UploadTest() {
    EXPECT_TRUE(small_.job.OpenRound());
    device_ = small_.job.cohort()[0];
    upload_.task = AskForWork(small_.job, device_).task;
    upload_.bytes = EncodedUpdate(upload_.nonce);
  }

  std::vector<uint8_t> EncodedUpdate(const std::vector<uint8_t>& nonce, ByteSpan salt = {}) {
    const std::string& id = small_.registry[device_].id;
    Key round_key;
    EXPECT_EQ(DeriveRoundKey(small_.registry[device_].secret,
                             {upload_.task.job_id,
                              {reinterpret_cast<const uint8_t*>(id.data()), id.size()},
                              0,
                              0,
                              {nonce.data(), nonce.size()},
                              salt},
                             &round_key),
              Status::kOk);
    const std::vector<float> update(small_.job.config().model->parameters, 0.01f);
    UpdateEncoder encoder;
    EXPECT_EQ(encoder.Begin(round_key, upload_.task.format, {update.data(), update.size()}, 0.4f,
                            upload_.task.quantizer_scale),
              Status::kOk);
    std::vector<uint8_t> bytes(
        MaxUpdateSize(small_.job.config().model->parameters, upload_.task.format));
    size_t written = 0;
    EXPECT_EQ(encoder.Read({bytes.data(), bytes.size()}, &written), Status::kOk);
    bytes.resize(written);
    return bytes;
  }

  Reply Answer(const Request& request) { return small_.job.Answer(device_, request); }

  SmallJob small_{ClosingEarly(SmallConfig())};
  uint32_t device_ = 0;
  Upload upload_;
};

TEST_F(UploadTest, AnIdenticalSecondUploadIsAcknowledgedADifferentOneRefused) {
  EXPECT_EQ(Answer(upload_.Begin()).offset, 0u);
  EXPECT_TRUE(Answer(upload_.Chunk(0, upload_.bytes.size())).complete);
  EXPECT_TRUE(Answer(upload_.Begin()).complete);
  Upload other = upload_;
  other.nonce[0] ^= 1;
  EXPECT_TRUE(IsFinalError(Answer(other.Begin())));
  EXPECT_EQ(small_.job.CloseRound().reported, 1u);
}

// SECURITY.md S14.
TEST_F(UploadTest, AnInterruptedUploadResumesWhereItStopped) {
  EXPECT_EQ(Answer(upload_.Begin()).offset, 0u);
  EXPECT_EQ(Answer(upload_.Chunk(0, 30)).offset, 30u);
  EXPECT_EQ(Answer(upload_.Begin()).offset, 30u);
  EXPECT_TRUE(Answer(upload_.Chunk(30, upload_.bytes.size() - 30)).complete);
}

TEST_F(UploadTest, ADeviceThatTrainedAnewStartsItsUploadAnew) {
  EXPECT_EQ(Answer(upload_.Begin()).offset, 0u);
  EXPECT_EQ(Answer(upload_.Chunk(0, 30)).offset, 30u);
  Upload other = upload_;
  other.nonce[0] ^= 1;
  other.bytes = EncodedUpdate(other.nonce);
  EXPECT_EQ(Answer(other.Begin()).offset, 0u);
  EXPECT_TRUE(Answer(other.Chunk(0, other.bytes.size())).complete);
}

// A device that takes salts, as its Hello says.
class SaltedUploadTest : public UploadTest {
 protected:
  SaltedUploadTest() { SayHello(kFeatureSalt); }

  void SayHello(uint32_t features) {
    Request hello = Hello(small_.job);
    hello.abilities.features = features;
    EXPECT_EQ(Answer(hello).kind, Reply::Kind::kTrain);
  }
  void AnnounceAnother() {
    upload_.nonce[0] ^= 1;
    EXPECT_EQ(Answer(upload_.Begin()).code, ErrorCode::kConflict);
    EXPECT_EQ(Answer(Hello(small_.job)).kind, Reply::Kind::kWait);
  }
};

TEST_F(SaltedUploadTest, TheSaltIsPartOfTheKeyAndSurvivesACutLink) {
  const Reply first = Answer(upload_.Begin());
  ASSERT_TRUE(first.salt.is_there);
  upload_.bytes = EncodedUpdate(upload_.nonce, first.salt.view());
  EXPECT_FALSE(Answer(upload_.Chunk(0, 30)).salt.is_there) << "an answer to UpdateBegin has it";
  SayHello(kFeatureSalt);
  const Reply again = Answer(upload_.Begin());
  EXPECT_EQ(again.offset, 30u);
  EXPECT_TRUE(std::equal(first.salt.bytes, first.salt.bytes + kSaltSize, again.salt.bytes));
  EXPECT_TRUE(Answer(upload_.Chunk(30, upload_.bytes.size() - 30)).complete);
}

// It would have a choice of noises, with the salt known or by another salt.
TEST_F(SaltedUploadTest, ADeviceThatHasItsSaltAnnouncesNoOtherUpdate) {
  EXPECT_TRUE(Answer(upload_.Begin()).salt.is_there);
  AnnounceAnother();
}

TEST_F(SaltedUploadTest, NorAsADeviceThatTakesNone) {
  EXPECT_TRUE(Answer(upload_.Begin()).salt.is_there);
  SayHello(0);
  AnnounceAnother();
}

TEST_F(SaltedUploadTest, ANonceOfZerosIsANonceToo) {
  upload_.nonce.assign(kNonceSize, 0);
  EXPECT_TRUE(Answer(upload_.Begin()).salt.is_there);
}

TEST_F(UploadTest, ADeviceThatTakesNoSaltGetsNone) {
  EXPECT_FALSE(Answer(upload_.Begin()).salt.is_there);
}

TEST(Salt, IsOfItsDeviceAndAttemptAndNotForSeededJobs) {
  std::set<std::vector<uint8_t>> salts;
  size_t uploads = 0;
  const auto collect = [&](const JobConfig& config) {
    SmallJob small(config);
    for (int round = 0; round < 2; ++round) {
      EXPECT_TRUE(small.job.OpenRound());
      for (const uint32_t device : small.job.cohort()) {
        Request hello = Hello(small.job);
        hello.abilities.features = kFeatureSalt;
        Upload upload;
        upload.task = small.job.Answer(device, hello).task;
        const Salt salt = small.job.Answer(device, upload.Begin()).salt;
        ++uploads;
        if (salt.is_there) salts.emplace(salt.view().begin(), salt.view().end());
      }
      small.job.CloseRound();
    }
  };
  collect(SmallConfig());
  EXPECT_EQ(salts.size(), uploads);
  salts.clear();
  JobConfig seeded = SmallConfig();
  seeded.seeded = true;
  collect(seeded);
  EXPECT_EQ(salts.size(), 0u);
}

TEST_F(UploadTest, WhatBelongsToAnotherAttemptIsRefused) {
  Upload other = upload_;
  other.task.attempt = 1;
  EXPECT_TRUE(IsFinalError(Answer(other.Begin())));
  other = upload_;
  other.task.round = 1;
  EXPECT_TRUE(IsFinalError(Answer(other.Begin())));
  other = upload_;
  other.task.job_id[0] ^= 1;
  EXPECT_TRUE(IsFinalError(Answer(other.Begin())));
}

TEST_F(UploadTest, SizesAndOrderOutsideTheProtocolAreRefused) {
  EXPECT_TRUE(IsFinalError(Answer(upload_.Chunk(0, 10)))) << "no UpdateBegin yet";
  Request begin = upload_.Begin();
  begin.coding = Coding::kFloat32;
  EXPECT_TRUE(IsFinalError(Answer(begin)));
  begin = upload_.Begin();
  begin.nonce = {};
  EXPECT_TRUE(IsFinalError(Answer(begin)));
  EXPECT_EQ(Answer(upload_.Begin()).offset, 0u);
  EXPECT_TRUE(IsFinalError(Answer(upload_.Chunk(5, 10)))) << "a gap";
  EXPECT_TRUE(IsFinalError(Answer(upload_.Chunk(0, 0)))) << "an empty chunk";
  upload_.bytes.resize(MaxUpdateSize(small_.job.config().model->parameters, upload_.task.format) +
                       1);
  EXPECT_EQ(Answer(upload_.Chunk(0, upload_.bytes.size())).code, ErrorCode::kTooLarge)
      << "one byte too many";
  EXPECT_TRUE(IsFinalError(Answer({}))) << "no request at all";
}

// SECURITY.md S14.
TEST_F(UploadTest, BytesNoHonestDeviceSendsCountAsNoReport) {
  upload_.bytes[0] = lrq::kMaxScaleCode + 1;
  EXPECT_EQ(Answer(upload_.Begin()).offset, 0u);
  EXPECT_TRUE(IsFinalError(Answer(upload_.Chunk(0, upload_.bytes.size()))));
  EXPECT_TRUE(IsFinalError(Answer(upload_.Begin())));
  EXPECT_EQ(Answer(Hello(small_.job)).kind, Reply::Kind::kWait);
  small_.Report(small_.job.cohort()[1]);
  EXPECT_FALSE(small_.job.IsComplete());
  const RoundOutcome outcome = small_.job.CloseRound();
  EXPECT_EQ(outcome.reported, 1u);
  EXPECT_EQ(outcome.topped_up, 3u);
}

TEST_F(UploadTest, ARoundDoesNotWaitForWhomItHasRefused) {
  upload_.bytes[0] = lrq::kMaxScaleCode + 1;
  EXPECT_EQ(Answer(upload_.Begin()).offset, 0u);
  EXPECT_TRUE(IsFinalError(Answer(upload_.Chunk(0, upload_.bytes.size()))));
  for (size_t i = 1; i < small_.job.cohort().size(); ++i) {
    EXPECT_FALSE(small_.job.IsComplete());
    small_.Report(small_.job.cohort()[i]);
  }
  EXPECT_TRUE(small_.job.IsComplete());
}

}  // namespace
}  // namespace sotto::server
