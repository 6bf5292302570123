// Devices that cheat, against a job: an update beyond the bound is refused, counted for the
// operator and topped up like a drop-out; the other devices' round goes on as if it had never come.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

#include "codec/lrq_codec.h"
#include "plans/private_noise.h"
#include "sotto/quantizer.h"
#include "unit/sdk/extra_coordinates.h"
#include "unit/server/requests.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

Key RoundKeyOf(const SmallJob& small, uint32_t device, const Upload& upload) {
  const std::string& id = small.registry[device].id;
  Key key;
  EXPECT_EQ(DeriveRoundKey(small.registry[device].secret,
                           {upload.task.job_id,
                            {reinterpret_cast<const uint8_t*>(id.data()), id.size()},
                            upload.task.round,
                            upload.task.attempt,
                            {upload.nonce.data(), upload.nonce.size()}},
                           &key),
            Status::kOk);
  return key;
}

// The encoder of a device that keeps none of its task's bounds.
//   update  model units; each value is at most 1024 quantizer scales
std::vector<uint8_t> EncodeUnbounded(const Key& key, const TrainTask& task,
                                     const std::vector<float>& update, int32_t extra_q20) {
  UpdateEncoder encoder;
  EXPECT_EQ(encoder.Begin(key, task.format, {update.data(), update.size()},
                          task.quantizer_scale * kMaxClipInScales, task.quantizer_scale,
                          WithClipBit(extra_q20)),
            Status::kOk);
  std::vector<uint8_t> bytes(MaxUpdateSize(static_cast<uint32_t>(update.size()) + 1, task.format));
  size_t written = 0;
  EXPECT_EQ(encoder.Read({bytes.data(), bytes.size()}, &written), Status::kOk);
  bytes.resize(written);
  return bytes;
}

// Sends a cheating device's upload; the last reply.
Reply Send(SmallJob& small, uint32_t device, const std::vector<float>& update,
           int32_t extra_q20 = 0) {
  Upload upload;
  upload.task = AskForWork(small.job, device).task;
  if (upload.task.format.coding == Coding::kFloat32) {
    for (const float value : update) {
      uint8_t bytes[4];
      StoreU32Le(FloatBits(value), bytes);
      upload.bytes.insert(upload.bytes.end(), bytes, bytes + 4);
    }
  } else {
    upload.bytes =
        EncodeUnbounded(RoundKeyOf(small, device, upload), upload.task, update, extra_q20);
  }
  Request begin = upload.Begin();
  begin.clip_bit_q20 = upload.task.clip_bit_q20;
  begin.private_noise_q20 = upload.task.private_noise_q20;
  EXPECT_EQ(small.job.Answer(device, begin).kind, Reply::Kind::kAck);
  return small.job.Answer(device, upload.Chunk(0, upload.bytes.size()));
}

double NormOf(const std::vector<float>& values) {
  double square = 0;
  for (const float value : values) square += static_cast<double>(value) * value;
  return std::sqrt(square);
}

// All parameters at the format's largest value: 1024 sqrt(650) = 26,108 quantizer scales.
std::vector<float> LargestUpdate(const JobConfig& config) {
  const float largest = 1024 * config.TaskFor(0, config.training.clip_l2).quantizer_scale;
  return std::vector<float>(config.model->parameters, largest);
}

// Pins the model to one class: the biases alone.
std::vector<float> OneClassUpdate(const JobConfig& config) {
  std::vector<float> update(config.model->parameters);
  for (size_t j = update.size() - 10; j < update.size(); ++j) update[j] = -100.0F;
  update.back() = 100.0F;
  return update;
}

TEST(CheatingDevice, AnUpdateBeyondTheBoundLeavesTheRoundAsADropOutDoes) {
  for (const Coding coding : {Coding::kRange, Coding::kFixed}) {
    JobConfig config = ClosingEarly(SmallConfig());
    config.coding = coding;
    for (const auto& update : {LargestUpdate(config), OneClassUpdate(config)}) {
      SmallJob attacked(config);
      SmallJob silent(config);
      ASSERT_TRUE(attacked.job.OpenRound());
      ASSERT_TRUE(silent.job.OpenRound());
      const std::vector<uint32_t> cohort = attacked.job.cohort();
      ASSERT_EQ(cohort, silent.job.cohort());
      const uint32_t cheat = cohort[1];
      const Reply reply = Send(attacked, cheat, update);
      EXPECT_TRUE(IsFinalError(reply));
      EXPECT_EQ(reply.code, ErrorCode::kMalformed);
      EXPECT_EQ(AskForWork(attacked.job, cheat).kind, Reply::Kind::kWait);
      for (const uint32_t device : cohort) {
        if (device == cheat) continue;
        attacked.Report(device);
        silent.Report(device);
      }
      EXPECT_TRUE(attacked.job.IsComplete());
      const RoundOutcome outcome = attacked.job.CloseRound();
      EXPECT_EQ(silent.job.CloseRound().topped_up, 1U);
      EXPECT_EQ(outcome.reported, 3U);
      EXPECT_EQ(outcome.topped_up, 1U);
      EXPECT_EQ(outcome.beyond_bound, std::vector<uint32_t>{cheat});
      EXPECT_EQ(attacked.Model(), silent.Model()) << "nothing of the update was added";
    }
  }
}

TEST(CheatingDevice, BytesThatDoNotDecodeAreNoRefusalForANorm) {
  SmallJob small;
  ASSERT_TRUE(small.job.OpenRound());
  const uint32_t device = small.job.cohort()[0];
  Upload upload;
  upload.task = AskForWork(small.job, device).task;
  upload.bytes.assign(64, 0xff);
  small.job.Answer(device, upload.Begin());
  EXPECT_TRUE(IsFinalError(small.job.Answer(device, upload.Chunk(0, 64))));
  EXPECT_TRUE(small.job.CloseRound().beyond_bound.empty());
}

// A bit of +-2^30 would pin the share of unclipped devices at 0 or 1.
TEST(CheatingDevice, NoBitMovesTheShareByMoreThanItsOwn) {
  for (const int32_t bit : {kMaxValueQ20, -kMaxValueQ20}) {
    SmallJob small(SmallAdaptiveConfig(100));
    ASSERT_TRUE(small.job.OpenRound());
    const std::vector<float> zeros(small.job.config().model->parameters);
    const uint32_t cheat = small.job.cohort()[0];
    EXPECT_TRUE(IsFinalError(Send(small, cheat, zeros, bit)));
    for (const uint32_t device : small.job.cohort()) {
      if (device != cheat) small.Report(device);
    }
    const RoundOutcome outcome = small.job.CloseRound();
    EXPECT_EQ(outcome.beyond_bound, std::vector<uint32_t>{cheat});
    ASSERT_TRUE(outcome.unclipped_fraction);
    // Three unclipped devices and one that counts half; six deviations of the noise: 2e-9.
    EXPECT_NEAR(*outcome.unclipped_fraction, 3.5 / 4, 6 * 0.05 / 4);
  }
}

// Exact floats are scaled to the bound: 63 C and 221 C are 1 C, and infinities are refused.
TEST(CheatingDevice, AnExactUpdateIsScaledToTheBound) {
  JobConfig config = SmallConfig();
  config.codec = FindCodec("none");
  for (const float value : {0.99F, 3.4662F, 3e38F}) {
    SmallJob small(config);
    ASSERT_TRUE(small.job.OpenRound());
    const std::vector<float> update(config.model->parameters, value);
    EXPECT_TRUE(Send(small, small.job.cohort()[0], update).complete);
    EXPECT_EQ(small.job.CloseRound().reported, 1U);
    // The mean over the planned cohort of four.
    EXPECT_NEAR(NormOf(small.Model()), 0.4 / 4, 1e-6);
  }
  for (const float value : {INFINITY, NAN}) {
    SmallJob small(config);
    ASSERT_TRUE(small.job.OpenRound());
    std::vector<float> update(config.model->parameters, 0.001F);
    update[7] = value;
    EXPECT_TRUE(IsFinalError(Send(small, small.job.cohort()[0], update)));
    EXPECT_TRUE(small.job.CloseRound().beyond_bound.empty());
  }
}

TEST(CheatingDevice, AnExactUpdateOfNormCUpToRoundingIsAddedAsItIs) {
  JobConfig config = SmallConfig();
  config.codec = FindCodec("none");
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  std::vector<float> update(config.model->parameters);
  update[3] = std::nextafter(0.4F, 1.0F);
  EXPECT_TRUE(Send(small, small.job.cohort()[0], update).complete);
  small.job.CloseRound();
  EXPECT_FLOAT_EQ(small.Model()[3], update[3] / 4);
}

TEST(CheatingDevice, PrivateNoiseDoesNotHideAnUpdateFarBeyondTheLimit) {
  JobConfig config = SmallConfig();
  config.plan.private_noise_multiplier = 0.5;
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  const uint32_t cheat = small.job.cohort()[0];
  EXPECT_TRUE(IsFinalError(Send(small, cheat, LargestUpdate(config))));
  for (const uint32_t device : small.job.cohort()) {
    if (device != cheat) small.Report(device);
  }
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_EQ(outcome.reported, 3U);
  EXPECT_EQ(outcome.beyond_bound, std::vector<uint32_t>{cheat});
}

// The limit is a quantile at 2^-128, and hardly more: with noise alone the sum of squares is 10
// deviations below it, and no honest update is refused.
TEST(CheatingDevice, PrivateNoiseRefusesNoHonestUpdate) {
  TrainTask task;
  task.quantizer_scale = 1.0F;
  task.training.clip_l2 = 2.0F;
  task.private_noise_q20 = 2 << 20;
  std::mt19937 random(4);
  double largest = 0;
  for (uint32_t trial = 0; trial < 400; ++trial) {
    const size_t size = trial % 2 == 0 ? 1 + random() % 30 : 650;
    std::vector<float> update(size);
    update[random() % size] = 2.0F;  // norm C
    Key key;
    StoreU32Le(trial, key.bytes);
    UpdateEncoder encoder;
    ASSERT_EQ(encoder.Begin(key, task.format, {update.data(), size}, 2.0F, 1.0F, {},
                            PrivateNoise(key, task.private_noise_q20)),
              Status::kOk);
    std::vector<uint8_t> bytes(MaxUpdateSize(650, task.format));
    size_t written = 0;
    ASSERT_EQ(encoder.Read({bytes.data(), bytes.size()}, &written), Status::kOk);
    std::vector<int32_t> noisy(size);
    const UpdateBound bound = BoundOf(task, size);
    ASSERT_EQ(
        DecodeUpdate(key, task.format, {bytes.data(), written}, {noisy.data(), size}, {}, &bound),
        Status::kOk);
    const auto share = static_cast<double>(size) * 4 * 0x1p40 /
                       (std::ldexp(static_cast<double>(bound.max_squares_q40.high), 64) +
                        static_cast<double>(bound.max_squares_q40.low));
    if (size == 650) largest = std::max(largest, share);
  }
  EXPECT_GT(largest, 0.45) << "about 2 z C sqrt(d) is admitted, no more than 1.5 times";
}

TEST(CheatingDevice, TheLimitWithPrivateNoiseIsTheQuantile) {
  // d + 2 sqrt(d x) + 2 x for S = 0, n = 1, with x = 128 ln 2.
  const double x = 128 * std::log(2.0);
  EXPECT_NEAR(privacy::MaxNoisySquaresQ40(0, 100, 1), 100 + 2 * std::sqrt(100 * x) + 2 * x, 1e-9);
  EXPECT_EQ(privacy::MaxNoisySquaresQ40(12345, 100, 0), 12345);
  TrainTask task;
  task.quantizer_scale = 1.0F;
  task.training.clip_l2 = 100.0F;
  task.private_noise_q20 = kMaxPrivateNoiseQ20;
  const UpdateBound bound = BoundOf(task, kMaxParameters);  // above 64 bits
  const double value = std::ldexp(static_cast<double>(bound.max_squares_q40.high), 64) +
                       static_cast<double>(bound.max_squares_q40.low);
  EXPECT_NEAR(value / (0x1p24 * 0x1p52), 1.0, 0.01);
  EXPECT_GE(value, 0x1p76);
}

// Every model, coding and way to clip; every report of an honest fleet counts.
TEST(CheatingDevice, NoHonestFleetIsTakenForOne) {
  for (const char* model : {"softmax-64-10", "softmax-64-10-q"}) {
    for (const Coding coding : {Coding::kRange, Coding::kFixed}) {
      for (const Clipping clipping : {Clipping::kEveryStep, Clipping::kAtEnd}) {
        for (const double clip : {0.02, 0.4}) {
          for (const bool adaptive : {false, true}) {
            JobConfig config = adaptive ? SmallAdaptiveConfig(clip) : SmallConfig();
            config.model = FindModel(model);
            config.coding = coding;
            config.training.clipping = clipping;
            config.training.learning_rate = 1.0F;
            config.plan.clip_l2 = clip;
            config.plan = RoundToDevice(config.plan);
            config.training.clip_l2 = static_cast<float>(clip);
            SmallJob small(config);
            while (small.job.OpenRound()) {
              small.ReportAll();
              const RoundOutcome outcome = small.job.CloseRound();
              ASSERT_EQ(outcome.reported, 4U) << model << " " << clip;
              ASSERT_TRUE(outcome.beyond_bound.empty());
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace sotto::server
