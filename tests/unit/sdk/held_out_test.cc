// Evaluation on held-out samples: what is counted, what becomes of it, and how it can fail.
#include "sotto/held_out.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "sotto/local_round.h"
#include "sotto/models.h"

namespace sotto {
namespace {

using Net = nn::Sequential<nn::Dense<3, 3>>;
using Deep = nn::Sequential<nn::Dense<3, 4>, nn::Relu, nn::Dense<4, 3>>;
using Single = nn::Sequential<nn::Dense<3, 1>, nn::OneVsAll>;
constexpr ModelInfo kNet = MakeModelInfo<Net>("net");
constexpr ModelInfo kFixed = MakeModelInfo<nn::FixedPoint<Deep>>("fixed");
constexpr ModelInfo kDeep = MakeModelInfo<Deep>("deep");
constexpr ModelInfo kSingle = MakeModelInfo<Single>("single");

// Sample i has its largest feature at i % 3; the label is told apart by `shift`.
struct Samples {
  uint32_t shift = 0;
  uint32_t fails_at = 1000;
  uint32_t classes = 3;

  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
    const auto* self = static_cast<const Samples*>(context);
    if (index >= self->fails_at) return Status::kEntropyFailed;
    for (size_t i = 0; i < features.size(); ++i) features[i] = i == index % 3 ? 1.0f : 0.0f;
    *label = (index + (index < 4 ? 0 : self->shift)) % self->classes;
    return Status::kOk;
  }
};

// The identity: the model names the largest feature.
std::vector<float> Identity() { return {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}; }

uint32_t Count(const ModelInfo& model, const std::vector<float>& parameters, Samples samples,
               uint32_t first, uint32_t count) {
  std::vector<float> scratch(EvaluationFloats(model));
  uint32_t correct = 0;
  EXPECT_EQ(
      CountCorrect(model, {parameters.data(), parameters.size()}, {10, Samples::Read, &samples},
                   first, count, {scratch.data(), scratch.size()}, &correct),
      Status::kOk);
  return correct;
}

TEST(HeldOut, CountsWhatTheModelGetsRight) {
  EXPECT_EQ(Count(kNet, Identity(), {}, 0, 10), 10u);
  EXPECT_EQ(Count(kNet, Identity(), {1}, 0, 10), 4u);
  EXPECT_EQ(Count(kNet, Identity(), {1}, 2, 4), 2u);
  EXPECT_EQ(Count(kNet, Identity(), {1}, 7, 0), 0u);
  EXPECT_EQ(Count(kNet, std::vector<float>(12), {}, 0, 10), 4u) << "a tie: the lowest class";
}

TEST(HeldOut, OneOutputTellsTwoClassesBySign) {
  Samples samples;
  samples.classes = 2;
  // Features 0 to 2 in turn, labels 0 and 1 in turn.
  EXPECT_EQ(Count(kSingle, {0, 0, 0, 1}, samples, 0, 10), 5u);
  EXPECT_EQ(Count(kSingle, {0, 0, 0, -1}, samples, 0, 10), 5u);
  EXPECT_EQ(Count(kSingle, {-1, 1, -1, 0}, samples, 0, 3), 3u);
}

TEST(HeldOut, NetsInFloatAndInFixedPointCountAlike) {
  std::vector<float> parameters(kDeep.parameters);
  for (int i = 0; i < 3; ++i) {
    parameters[static_cast<size_t>(4 * i)] = 1;       // hidden unit i is feature i
    parameters[static_cast<size_t>(16 + 5 * i)] = 1;  // output i is hidden unit i
  }
  EXPECT_EQ(Count(kDeep, parameters, {1}, 0, 10), 4u);
  EXPECT_EQ(Count(kFixed, parameters, {1}, 0, 10), 4u);
}

TEST(HeldOut, SaysWhyItCannotCount) {
  std::vector<float> parameters = Identity();
  std::vector<float> scratch(EvaluationFloats(kNet));
  const auto status = [&](Samples samples, size_t floats) {
    uint32_t correct = 0;
    return CountCorrect(kNet, {parameters.data(), parameters.size()}, {10, Samples::Read, &samples},
                        0, 10, {scratch.data(), floats}, &correct);
  };
  EXPECT_EQ(status({0, 5}, scratch.size()), Status::kEntropyFailed);
  EXPECT_EQ(status({2, 1000, 9}, scratch.size()), Status::kOutOfRange);
  EXPECT_EQ(status({}, scratch.size() - 1), Status::kBufferTooSmall);
}

TEST(HeldOut, NeedsNoMoreMemoryThanTraining) {
  for (const ModelInfo& model : Models()) {
    const bool is_fixed = std::string(model.name).find("-q") != std::string::npos;
    if (model.classes == 0 || is_fixed) continue;
    EXPECT_LE(EvaluationFloats(model), model.training_floats(model, 1)) << model.name;
  }
}

// A round of a device, with its coordinate of the accuracy decoded.
struct Bench {
  Bench() {
    device.model = &kNet;
    device.device_id = kId;
    device.samples = {4, Samples::Read, &training};
    device.port.entropy = [](void*, MutableByteSpan out) {
      for (uint8_t& byte : out) byte = 9;
      return Status::kOk;
    };
    device.held_out = &held_out;
    task.quantizer_scale = 1e-3f;
    task.training.clip_l2 = 1e-3f;
    task.training.batch_size = 4;
    task.training.local_epochs = 1;
    task.accuracy_q20 = kRange;
  }

  // The accuracy's coordinate, noise included: of deviation 2^20.
  double Accuracy(Status* status) {
    buffers = {{base.data(), base.size()},
               {update.data(), update.size()},
               {scratch.data(), scratch.size()},
               indices};
    LocalRound round;
    *status = round.Begin(task, device, buffers);
    if (*status != Status::kOk) return 0;
    for (bool done = false; !done; ++steps) EXPECT_EQ(round.Step(&done), Status::kOk);
    std::vector<uint8_t> bytes(1000);
    size_t size = 0;
    bool is_last = false;
    EXPECT_EQ(round.Read({bytes.data(), bytes.size()}, &size, &is_last), Status::kOk);
    EXPECT_TRUE(is_last);
    Key key;
    EXPECT_EQ(
        DeriveRoundKey(device.secret, {task.job_id, device.device_id, 0, 0, round.nonce()}, &key),
        Status::kOk);
    std::vector<int32_t> noisy(kNet.parameters + (task.clip_bit_q20 == 0 ? 1 : 2));
    UpdateBound bound;
    bound.max_squares_q40 = MaxSquaresQ40(task.training.clip_l2, task.quantizer_scale);
    bound.clip_bit_q20 = task.clip_bit_q20;
    bound.accuracy_q20 = task.accuracy_q20;
    EXPECT_EQ(DecodeUpdate(key, task.format, ByteSpan(bytes.data(), size),
                           {noisy.data(), noisy.size()}, {}, &bound),
              Status::kOk);
    return static_cast<double>(noisy.back()) / 0x1p20;
  }

  static constexpr uint32_t kRange = 1 << 28;  // 256 deviations of the noise
  static constexpr uint8_t kId[] = {'a'};
  Samples training;
  Samples evaluation;
  HeldOut held_out = MakeHeldOut({10, Samples::Read, &evaluation});
  LocalDevice device;
  TrainTask task;
  LocalRoundBuffers buffers;
  std::vector<float> base = Identity();
  std::vector<float> update = std::vector<float>(12);
  std::vector<float> scratch = std::vector<float>(kNet.training_floats(kNet, 4));
  uint32_t indices[4] = {};
  int steps = 0;
};

constexpr uint8_t Bench::kId[];

// Eight deviations of the noise.
constexpr double kNoise = 8;

TEST(LocalRoundAccuracy, IsTheShareThatTheRoundsModelGetsRight) {
  for (const uint32_t shift : {0u, 1u}) {
    for (const uint32_t clip_bit : {0u, 1u << 24}) {
      Bench bench;
      bench.evaluation.shift = shift;
      bench.task.clip_bit_q20 = clip_bit;
      Status status;
      const double right = shift == 0 ? 10 : 4;
      EXPECT_NEAR(bench.Accuracy(&status), 256 * (2 * right - 10) / 10, kNoise);
      EXPECT_EQ(status, Status::kOk);
      EXPECT_EQ(bench.steps, 3 + 1) << "three batches of held-out samples, one of training";
    }
  }
}

TEST(LocalRoundAccuracy, IsZeroWithoutHeldOutSamplesAndIfOneCannotBeRead) {
  Status status;
  Bench none;
  none.held_out.samples.count = 0;
  EXPECT_NEAR(none.Accuracy(&status), 0, kNoise);
  Bench broken;
  broken.evaluation.fails_at = 9;
  EXPECT_NEAR(broken.Accuracy(&status), 0, kNoise);
  EXPECT_EQ(status, Status::kOk);
}

TEST(LocalRoundAccuracy, OutlivesATrainingThatFails) {
  Bench bench;
  bench.training.fails_at = 0;
  Status status;
  EXPECT_NEAR(bench.Accuracy(&status), 256, kNoise);
}

TEST(LocalRoundAccuracy, ADeviceThatCannotEvaluateTakesNoSuchTask) {
  Status status;
  Bench without;
  without.device.held_out = nullptr;
  without.Accuracy(&status);
  EXPECT_EQ(status, Status::kMalformed);
  Bench small;
  small.scratch.resize(EvaluationFloats(kNet) - 1);
  small.Accuracy(&status);
  EXPECT_EQ(status, Status::kMalformed);
}

TEST(LocalRoundAccuracy, ATaskWithoutItIsAsEver) {
  Bench bench;
  bench.task.accuracy_q20 = 0;
  bench.device.held_out = nullptr;
  bench.buffers = {{bench.base.data(), bench.base.size()},
                   {bench.update.data(), bench.update.size()},
                   {bench.scratch.data(), bench.scratch.size()},
                   bench.indices};
  LocalRound round;
  ASSERT_EQ(round.Begin(bench.task, bench.device, bench.buffers), Status::kOk);
  bool done = false;
  EXPECT_EQ(round.Step(&done), Status::kOk);
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace sotto
