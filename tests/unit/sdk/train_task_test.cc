// The tasks that a device takes, and those that it refuses.
#include "sotto/train_task.h"

#include <gtest/gtest.h>
#include <limits>

#include "sotto/quantizer.h"

namespace sotto {
namespace {

TrainTask Task() {
  TrainTask task;
  task.quantizer_scale = 0.125f;
  task.training.clip_l2 = 0.5f;
  return task;
}

// What Validate() says of the task after `change`.
template <typename Change>
Status After(Change change) {
  TrainTask task = Task();
  change(task);
  return task.Validate();
}

TEST(TrainTask, TakesEveryFormatWithoutExtras) {
  for (const Coding coding : {Coding::kFixed, Coding::kFloat32, Coding::kRange}) {
    for (const DitherKind dither : {DitherKind::kGaussian, DitherKind::kUniform}) {
      EXPECT_EQ(After([&](TrainTask& t) { t.format = {coding, dither, 0}; }), Status::kOk);
    }
  }
}

TEST(TrainTask, RefusesUnknownFormats) {
  const auto refuses = [](auto change) { EXPECT_EQ(After(change), Status::kMalformed); };
  refuses([](TrainTask& t) { t.format.coding = static_cast<Coding>(0); });
  refuses([](TrainTask& t) { t.format.coding = static_cast<Coding>(4); });
  refuses([](TrainTask& t) { t.format.dither = static_cast<DitherKind>(3); });
  refuses([](TrainTask& t) { t.format.padding = kMaxPadding + 1; });
}

TEST(TrainTask, RefusesTrainingOptionsOutOfRange) {
  const auto refuses = [](auto change) { EXPECT_EQ(After(change), Status::kInvalidArgument); };
  refuses([](TrainTask& t) { t.training.local_epochs = 0; });
  refuses([](TrainTask& t) { t.training.batch_size = 65536; });
  refuses([](TrainTask& t) { t.training.learning_rate = -0.1f; });
  refuses([](TrainTask& t) { t.training.weight_decay = std::numeric_limits<float>::infinity(); });
  refuses([](TrainTask& t) { t.training.momentum = 1.0f; });
  refuses([](TrainTask& t) { t.training.momentum = -0.5f; });
  refuses([](TrainTask& t) { t.training.momentum = std::numeric_limits<float>::quiet_NaN(); });
  refuses([](TrainTask& t) { t.training.clip_l2 = 0.0f; });
  refuses([](TrainTask& t) { t.training.clip_l2 = std::numeric_limits<float>::denorm_min(); });
  refuses([](TrainTask& t) { t.training.clipping = static_cast<Clipping>(3); });
}

TEST(TrainTask, BoundsTheClippingNormInQuantizerScales) {
  EXPECT_EQ(After([](TrainTask& t) { t.training.clip_l2 = 0x1p20f * t.quantizer_scale; }),
            Status::kOk);
  EXPECT_EQ(After([](TrainTask& t) { t.training.clip_l2 = 0x1.000002p20f * t.quantizer_scale; }),
            Status::kMalformed);
  for (const float scale :
       {0.0f, -1.0f, std::numeric_limits<float>::denorm_min(),
        std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(After([&](TrainTask& t) { t.quantizer_scale = scale; }), Status::kMalformed) << scale;
  }
}

TEST(TrainTask, OnlyABallBeyondTheBoxNeedsClamping) {
  TrainTask task = Task();
  task.training.clip_l2 = 1024 * task.quantizer_scale;
  EXPECT_FALSE(task.NeedsClamping());
  task.training.clip_l2 = 0x1.000002p10f * task.quantizer_scale;
  EXPECT_TRUE(task.NeedsClamping());
  task.format.coding = Coding::kFloat32;
  EXPECT_FALSE(task.NeedsClamping());
}

TEST(TrainTask, FloatsNeedNoQuantizer) {
  EXPECT_EQ(After([](TrainTask& t) {
              t.format.coding = Coding::kFloat32;
              t.quantizer_scale = 0.0f;
            }),
            Status::kOk);
}

TEST(TrainTask, AClipBitNeedsAQuantizer) {
  constexpr auto kMost = static_cast<uint32_t>(kMaxValueQ20);
  EXPECT_EQ(After([](TrainTask& t) { t.clip_bit_q20 = kMost; }), Status::kOk);
  EXPECT_EQ(After([](TrainTask& t) { t.clip_bit_q20 = kMost + 1; }), Status::kMalformed);
  EXPECT_EQ(After([](TrainTask& t) { t.clip_bit_q20 = UINT32_MAX; }), Status::kMalformed);
  EXPECT_EQ(After([](TrainTask& t) {
              t.clip_bit_q20 = 1;
              t.format.coding = Coding::kFloat32;
            }),
            Status::kMalformed);
}

TEST(TrainTask, PrivateNoiseNeedsGaussianDitherAndRoomAndNoClipBit) {
  const auto with_noise = [](auto change) {
    return After([&](TrainTask& t) {
      t.private_noise_q20 = kMaxPrivateNoiseQ20;
      change(t);
    });
  };
  const auto refuses = [&](auto change) { EXPECT_EQ(with_noise(change), Status::kMalformed); };
  EXPECT_EQ(with_noise([](TrainTask&) {}), Status::kOk);
  EXPECT_EQ(with_noise([](TrainTask& t) { t.format.coding = Coding::kFixed; }), Status::kOk);
  EXPECT_EQ(with_noise([](TrainTask& t) { t.training.clip_l2 = 128 * t.quantizer_scale; }),
            Status::kOk);
  refuses([](TrainTask& t) { t.training.clip_l2 = 129 * t.quantizer_scale; });
  refuses([](TrainTask& t) { ++t.private_noise_q20; });
  refuses([](TrainTask& t) { t.format.dither = DitherKind::kUniform; });
  refuses([](TrainTask& t) { t.format.coding = Coding::kFloat32; });
  refuses([](TrainTask& t) { t.clip_bit_q20 = 1; });
}

}  // namespace
}  // namespace sotto
