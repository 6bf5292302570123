// Shards: what is written is what a board reads, whatever the element, target and alignment; and
// damage of each kind, or another model, is refused with its reason.
#include "sotto/shard.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/held_out.h"
#include "sotto/models.h"
#include "sotto/predict.h"

namespace sotto {
namespace {

using Bytes = std::vector<uint8_t>;
using Floats = std::vector<float>;

using Classifier = nn::Sequential<nn::Dense<6, 3>>;
using WideNet = nn::Sequential<nn::Dense<6, 300>>;
using Words = nn::Sequential<nn::Tokens<6>, nn::Embedding<10, 2>, nn::Flatten, nn::Dense<12, 3>>;
using Regression = nn::Sequential<nn::Dense<6, 2>, nn::MeanSquaredError<nn::TargetKind::kVector>>;
using Coder = nn::Sequential<nn::Dense<6, 2>, nn::Tanh, nn::Dense<2, 6>,
                             nn::MeanSquaredError<nn::TargetKind::kInput>>;
constexpr ModelInfo kClassifier = MakeModelInfo<Classifier>("classifier");
constexpr ModelInfo kWide = MakeModelInfo<WideNet>("wide");
constexpr ModelInfo kWords = MakeModelInfo<Words>("words");
constexpr ModelInfo kRegression = MakeModelInfo<Regression>("regression");
constexpr ModelInfo kCoder = MakeModelInfo<Coder>("coder");

// Numbers as a shard has them.
void Append(Bytes* out, uint32_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) out->push_back(static_cast<uint8_t>(value >> (8 * i)));
}
void Append(Bytes* out, const Floats& numbers) {
  for (const float number : numbers) Append(out, FloatBits(number), 4);
}

ShardInfo InfoOf(ShardElement element, uint32_t classes, uint32_t count) {
  ShardInfo info;
  info.element = element;
  info.shape = nn::ShapeOf(3, 2);
  info.classes = classes;
  info.count = count;
  return info;
}

Bytes File(const ShardInfo& info, const Bytes& samples) {
  uint8_t head[kShardHeadSize];
  EXPECT_EQ(MakeShardHead(info, {samples.data(), samples.size()}, head), Status::kOk);
  Bytes file(head, std::end(head));
  file.insert(file.end(), samples.begin(), samples.end());
  return file;
}

// Two samples of bytes in three classes.
const Bytes kTwoSamples = {2, 0, 51, 102, 153, 204, 255, 1, 255, 0, 1, 2, 3, 4};
Bytes TwoSamples() { return File(InfoOf(ShardElement::kByte, 3, 2), kTwoSamples); }

// Two samples of float32 in three classes.
const Floats kNumbers[] = {{1, -2.5f, 3, 4, 5, 1e-30f}, {0, 7, -8, 9e9f, 1, 2}};
Bytes TwoOfNumbers() {
  Bytes samples;
  Append(&samples, 1, 1);
  Append(&samples, kNumbers[0]);
  Append(&samples, 0, 1);
  Append(&samples, kNumbers[1]);
  return File(InfoOf(ShardElement::kFloat32, 3, 2), samples);
}

ShardStatus StatusOf(const Bytes& file, const ModelInfo& model = kClassifier) {
  Shard shard;
  const ShardStatus status = shard.Open({file.data(), file.size()}, model);
  EXPECT_EQ(shard.source().count, status == ShardStatus::kOk ? shard.info().count : 0u);
  return status;
}

struct Sample {
  uint32_t label = 99;
  Floats features = Floats(6);
  Floats target;
};

Sample Read(const Shard& shard, uint32_t index, uint32_t targets = 0) {
  const SampleSource source = shard.source();
  Sample sample;
  sample.target.resize(targets);
  const Span<float> features{sample.features.data(), sample.features.size()};
  EXPECT_LT(index, source.count);
  EXPECT_EQ(targets > 0 ? source.read_vector(source.context, index, features,
                                             {sample.target.data(), targets})
                        : source.read(source.context, index, features, &sample.label),
            Status::kOk);
  return sample;
}

TEST(Shard, TheHeadIsAsItsTableSays) {
  ShardInfo info = InfoOf(ShardElement::kByte, 3, 2);
  info.shape = nn::ShapeOf(1, 3, 2);
  info.tokens = 0x01020304;
  for (size_t i = 0; i < kShardModelSize; ++i) info.model[i] = static_cast<uint8_t>(0xa0 + i);
  const Bytes file = File(info, kTwoSamples);
  const Bytes expected = {'S',  'o',  'S',  'h',  1,    1,    0,    0,    1,    0,    0,    0,
                          3,    0,    0,    0,    2,    0,    0,    0,    4,    3,    2,    1,
                          3,    0,    0,    0,    0,    0,    0,    0,    2,    0,    0,    0,
                          0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab};
  ASSERT_EQ(file.size(), kShardHeadSize + kTwoSamples.size());
  EXPECT_EQ(Bytes(file.begin(), file.begin() + 48), expected);
  Bytes summed(file.begin(), file.begin() + 48);
  summed.insert(summed.end(), kTwoSamples.begin(), kTwoSamples.end());
  uint8_t digest[kSha256Size];
  ASSERT_EQ(Sha256Digest({summed.data(), summed.size()}, digest), Status::kOk);
  EXPECT_TRUE(std::equal(digest, digest + 16, file.begin() + 48));
}

TEST(Shard, BytesAreReadWhereverTheyLie) {
  for (size_t shift = 0; shift < 4; ++shift) {
    Bytes flash(shift, 0xee);
    const Bytes file = TwoSamples();
    flash.insert(flash.end(), file.begin(), file.end());
    flash.insert(flash.end(), 100, 0xff);  // the rest of a partition
    Shard shard;
    ASSERT_EQ(shard.Open(ByteSpan(flash.data(), flash.size()).subspan(shift), kClassifier),
              ShardStatus::kOk);
    EXPECT_EQ(shard.source().count, 2u);
    const Sample first = Read(shard, 0);
    EXPECT_EQ(first.label, 2u);
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(first.features[i], static_cast<float>(51 * i) * (1 / 255.0f));
    }
    EXPECT_EQ(Read(shard, 1).label, 1u);
    EXPECT_EQ(Read(shard, 1).features[0], 255 * (1 / 255.0f));
  }
}

TEST(Shard, NumbersAreReadWhereBytesWereExpectedBefore) {
  const Bytes file = TwoOfNumbers();
  Shard shard;
  ASSERT_EQ(shard.Open({file.data(), file.size()}, kClassifier), ShardStatus::kOk);
  for (uint32_t i = 0; i < 2; ++i) {
    const Sample sample = Read(shard, i);
    EXPECT_EQ(sample.label, 1 - i);
    EXPECT_EQ(sample.features, kNumbers[i]);
  }
}

TEST(Shard, AMissingNumberStaysNaN) {
  Bytes samples = {0};
  Append(&samples, {1, 2, 3, 4, 5, std::numeric_limits<float>::quiet_NaN()});
  const Bytes file = File(InfoOf(ShardElement::kFloat32, 3, 1), samples);
  Shard shard;
  ASSERT_EQ(shard.Open({file.data(), file.size()}, kClassifier), ShardStatus::kOk);
  EXPECT_TRUE(std::isnan(Read(shard, 0).features[5]));
}

TEST(Shard, LabelsBeyondAByteHaveFour) {
  Bytes samples;
  Append(&samples, 299, 4);
  samples.insert(samples.end(), {1, 2, 3, 4, 5, 6});
  const Bytes file = File(InfoOf(ShardElement::kByte, 300, 1), samples);
  EXPECT_EQ(file.size(), kShardHeadSize + 10);
  Shard shard;
  ASSERT_EQ(shard.Open({file.data(), file.size()}, kWide), ShardStatus::kOk);
  EXPECT_EQ(Read(shard, 0).label, 299u);
  EXPECT_EQ(Read(shard, 0).features[5], 6 * (1 / 255.0f));
}

TEST(Shard, TokensAreNotScaled) {
  ShardInfo info = InfoOf(ShardElement::kByte, 3, 1);
  info.tokens = 10;
  const Bytes file = File(info, {1, 9, 0, 8, 7, 6, 5});
  Shard shard;
  ASSERT_EQ(shard.Open({file.data(), file.size()}, kWords), ShardStatus::kOk);
  EXPECT_EQ(Read(shard, 0).features, (Floats{9, 0, 8, 7, 6, 5}));
}

TEST(Shard, AVectorIsTheTargetOfARegression) {
  for (const ShardElement element : {ShardElement::kFloat32, ShardElement::kByte}) {
    ShardInfo info = InfoOf(element, 0, 2);
    info.targets = 2;
    Bytes samples;
    for (const float sign : {1.0f, -1.0f}) {
      Append(&samples, {sign * 0.5f, 1e6f});
      if (element == ShardElement::kByte)
        samples.insert(samples.end(), {0, 51, 102, 153, 204, 255});
      if (element == ShardElement::kFloat32) Append(&samples, kNumbers[0]);
    }
    const Bytes file = File(info, samples);
    Shard shard;
    ASSERT_EQ(shard.Open({file.data(), file.size()}, kRegression), ShardStatus::kOk);
    EXPECT_TRUE(kRegression.CanRead(shard.source()));
    const Sample second = Read(shard, 1, 2);
    EXPECT_EQ(second.target, (Floats{-0.5f, 1e6f}));
    EXPECT_EQ(second.features[1], element == ShardElement::kByte ? 51 * (1 / 255.0f) : -2.5f);
  }
}

TEST(Shard, AnAutoencoderTakesFeaturesAloneAndLooksAtNoLabel) {
  Bytes alone;
  Append(&alone, kNumbers[1]);
  ShardInfo vectors = InfoOf(ShardElement::kFloat32, 0, 1);
  vectors.targets = 1;
  Bytes aimed;
  Append(&aimed, {4});
  Append(&aimed, kNumbers[1]);
  for (const Bytes& file :
       {File(InfoOf(ShardElement::kFloat32, 0, 1), alone), File(vectors, aimed)}) {
    Shard shard;
    ASSERT_EQ(shard.Open({file.data(), file.size()}, kCoder), ShardStatus::kOk);
    EXPECT_TRUE(kCoder.CanRead(shard.source()));
    EXPECT_EQ(Read(shard, 0).features, kNumbers[1]);
  }
  EXPECT_EQ(StatusOf(TwoSamples(), kCoder), ShardStatus::kOk);
}

// A file of which reads can fail.
struct PlayedFile {
  Bytes bytes;
  size_t fails_from = SIZE_MAX;

  static Status Read(void* context, size_t offset, MutableByteSpan out) {
    const auto* self = static_cast<const PlayedFile*>(context);
    if (offset + out.size() > self->fails_from) return Status::kStoreFailed;
    EXPECT_LE(offset + out.size(), self->bytes.size());
    std::copy_n(self->bytes.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return Status::kOk;
  }
  ShardFile file() { return {bytes.size(), Read, this}; }
};

TEST(Shard, AFileIsReadAsFlashIs) {
  PlayedFile played = {TwoOfNumbers()};
  Shard shard;
  ASSERT_EQ(shard.Open(played.file(), kClassifier), ShardStatus::kOk);
  EXPECT_EQ(Read(shard, 1).features, kNumbers[1]);

  // What fails later ends a training with the file's own status.
  played.fails_from = played.bytes.size() - 1;
  const SampleSource source = shard.source();
  float features[6];
  uint32_t label = 7;
  EXPECT_EQ(source.read(source.context, 1, Span<float>(features), &label), Status::kStoreFailed);
  EXPECT_EQ(source.read(source.context, 0, Span<float>(features), &label), Status::kOk);

  for (const size_t failing : {size_t{0}, size_t{50}, size_t{70}, played.bytes.size() - 1}) {
    played.fails_from = failing;
    EXPECT_EQ(shard.Open(played.file(), kClassifier), ShardStatus::kFailed) << failing;
    EXPECT_EQ(shard.source().count, 0u) << "what was open before is not";
  }
}

TEST(Shard, ATrainingAndAnEvaluationReadIt) {
  const Bytes file = TwoSamples();
  Shard shard;
  ASSERT_EQ(shard.Open({file.data(), file.size()}, kClassifier), ShardStatus::kOk);
  Floats trained(kClassifier.parameters);
  Floats scratch(kClassifier.training_floats(kClassifier, 2));
  const SampleSource source = shard.source();
  const uint32_t indices[] = {0, 1};
  const WorkingParameters working = {{trained.data(), trained.size()}};
  SgdStep step;
  step.learning_rate = 1;
  float loss = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(kClassifier.train_batch(kClassifier, {&source, indices}, step, working,
                                      {scratch.data(), scratch.size()}, &loss),
              Status::kOk);
  }
  scratch.resize(EvaluationFloats(kClassifier));
  uint32_t correct = 0;
  const HeldOut held_out = MakeHeldOut(source);
  EXPECT_EQ(held_out.count_correct(kClassifier, {trained.data(), trained.size()}, source, 0, 2,
                                   {scratch.data(), scratch.size()}, &correct),
            Status::kOk);
  EXPECT_EQ(correct, 2u);
}

TEST(Shard, AFileWithoutAHeadIsRefused) {
  EXPECT_EQ(StatusOf({}), ShardStatus::kNoShard);
  EXPECT_EQ(StatusOf(kTwoSamples), ShardStatus::kNoShard);
  Bytes old;  // of an earlier build: label u32 and float32
  for (int i = 0; i < 7; ++i) {
    Append(&old, 1, 4);
    Append(&old, kNumbers[0]);
  }
  ASSERT_EQ(old.size() % 7, 0u) << "as many whole samples of bytes";
  EXPECT_EQ(StatusOf(old), ShardStatus::kNoShard);
}

TEST(Shard, EveryChangedByteIsFound) {
  const Bytes good = TwoSamples();
  ASSERT_EQ(StatusOf(good), ShardStatus::kOk);
  for (size_t at = 0; at < good.size(); ++at) {
    for (const uint8_t change : Bytes{0x01, 0x80, 0xff}) {
      Bytes bad = good;
      bad[at] = bad[at] ^ change;
      const ShardStatus status = StatusOf(bad);
      if (at < 4) {
        EXPECT_EQ(status, ShardStatus::kNoShard);
      } else if (at == 4) {
        EXPECT_EQ(status, ShardStatus::kOtherVersion);
      } else {
        // A changed size may say that there are more bytes than there are.
        const bool is_size = (at >= 5 && at < 20) || (at >= 24 && at < 36);
        EXPECT_TRUE(status == ShardStatus::kDamaged ||
                    (is_size && status == ShardStatus::kTruncated))
            << at;
      }
    }
  }
}

TEST(Shard, ACutFileIsFound) {
  const Bytes good = TwoSamples();
  for (size_t size = 4; size < good.size(); ++size) {
    EXPECT_EQ(StatusOf(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))),
              ShardStatus::kTruncated)
        << size;
  }
}

// With a checksum over it, so that the numbers themselves are met.
ShardStatus StatusOfHead(const Bytes& numbers, size_t at, const ModelInfo& model = kClassifier) {
  Bytes file = TwoSamples();
  std::copy(numbers.begin(), numbers.end(), file.begin() + static_cast<std::ptrdiff_t>(at));
  Bytes summed(file.begin(), file.begin() + 48);
  summed.insert(summed.end(), file.begin() + 64, file.end());
  uint8_t digest[kSha256Size];
  EXPECT_EQ(Sha256Digest({summed.data(), summed.size()}, digest), Status::kOk);
  std::copy_n(digest, 16, file.begin() + 48);
  return StatusOf(file, model);
}

TEST(Shard, AHeadThatNoHostWritesIsRefused) {
  const Bytes most(4, 0xff);
  EXPECT_EQ(StatusOfHead({0}, 5), ShardStatus::kDamaged) << "element";
  EXPECT_EQ(StatusOfHead({3}, 5), ShardStatus::kDamaged) << "element";
  EXPECT_EQ(StatusOfHead({1}, 6), ShardStatus::kDamaged) << "not zero";
  EXPECT_EQ(StatusOfHead({0}, 8), ShardStatus::kDamaged) << "no features";
  EXPECT_EQ(StatusOfHead({1, 0, 0, 0}, 28), ShardStatus::kDamaged) << "classes and targets";
  EXPECT_EQ(StatusOfHead(most, 32), ShardStatus::kTruncated) << "count";
  EXPECT_EQ(StatusOfHead(most, 12), ShardStatus::kDamaged) << "more than 2^32 features";
  EXPECT_EQ(StatusOfHead({0xff, 0xff, 0xff, 0x7f}, 12), ShardStatus::kTruncated) << "nearly";
  EXPECT_EQ(StatusOfHead(Bytes(12, 0xff), 8), ShardStatus::kDamaged) << "2^96 features";
  EXPECT_EQ(StatusOfHead({0, 0, 1, 0, 0, 0, 1, 0}, 8), ShardStatus::kDamaged)
      << "2^32 features times 2";
  EXPECT_EQ(StatusOfHead({0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, 24), ShardStatus::kTruncated)
      << "a vector of 2^32";
  EXPECT_EQ(StatusOfHead({0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 24, kCoder),
            ShardStatus::kTruncated);
}

TEST(Shard, SamplesOfAnotherModelAreRefusedWithTheReason) {
  EXPECT_EQ(StatusOf(TwoSamples(), *FindModel("softmax-64-10")), ShardStatus::kOtherFeatures);
  EXPECT_EQ(StatusOf(TwoSamples(), kWords), ShardStatus::kOtherTokens);
  EXPECT_EQ(StatusOf(TwoSamples(), kWide), ShardStatus::kOtherTargets);
  EXPECT_EQ(StatusOf(TwoSamples(), kRegression), ShardStatus::kOtherTargets);
  ShardInfo info = InfoOf(ShardElement::kByte, 3, 2);
  for (const uint32_t tokens : {9, 10, 11}) {
    info.tokens = tokens;
    const Bytes file = File(info, kTwoSamples);
    EXPECT_EQ(StatusOf(file, kClassifier), ShardStatus::kOtherTokens);
    EXPECT_EQ(StatusOf(file, kWords), tokens > 10 ? ShardStatus::kOtherTokens : ShardStatus::kOk);
  }
  info = InfoOf(ShardElement::kByte, 0, 1);
  info.targets = 3;
  const Bytes three = File(info, Bytes(18));
  EXPECT_EQ(StatusOf(three, kRegression), ShardStatus::kOtherTargets) << "three for two outputs";
  EXPECT_EQ(StatusOf(three), ShardStatus::kOtherTargets);
  EXPECT_EQ(StatusOf(File(InfoOf(ShardElement::kByte, 0, 1), Bytes(6))), ShardStatus::kOtherTargets)
      << "no labels";
}

TEST(Shard, ANamedModelIsTheOnlyOneThatTakesIt) {
  using Deep = nn::Sequential<nn::Dense<6, 4>, nn::Relu, nn::Dense<4, 3>>;
  constexpr ModelInfo kDeep = MakeModelInfo<Deep>("deep");
  ShardInfo info = InfoOf(ShardElement::kByte, 3, 2);
  ASSERT_EQ(ShardModel(kDeep, info.model), Status::kOk);
  uint8_t digest[kSha256Size];
  ASSERT_EQ(ModelDigest(kDeep, digest), Status::kOk);
  EXPECT_TRUE(std::equal(info.model, std::end(info.model), digest));
  const Bytes file = File(info, kTwoSamples);
  EXPECT_EQ(StatusOf(file, kDeep), ShardStatus::kOk);
  EXPECT_EQ(StatusOf(file, kClassifier), ShardStatus::kOtherModel);
  EXPECT_EQ(StatusOf(file, MakePredictionModel<Classifier>("without a digest")), ShardStatus::kOk);
  EXPECT_EQ(StatusOf(TwoSamples(), kDeep), ShardStatus::kOk) << "written for any model";
}

TEST(Shard, ADeviceWithoutSamplesHasAShard) {
  const Bytes file = File(InfoOf(ShardElement::kFloat32, 3, 0), {});
  EXPECT_EQ(file.size(), kShardHeadSize);
  EXPECT_EQ(StatusOf(file), ShardStatus::kOk);
}

TEST(Shard, AWriterIsToldWhatDoesNotGoTogether) {
  const auto status = [](const ShardInfo& info, const Bytes& samples) {
    uint8_t head[kShardHeadSize] = {77};
    const Status s = MakeShardHead(info, {samples.data(), samples.size()}, head);
    EXPECT_EQ(head[0], s == Status::kOk ? 'S' : 77);
    return s;
  };
  ShardInfo info = InfoOf(ShardElement::kByte, 3, 2);
  EXPECT_EQ(status(info, kTwoSamples), Status::kOk);
  EXPECT_EQ(status(info, Bytes(13)), Status::kInvalidArgument);
  EXPECT_EQ(status(info, Bytes(15)), Status::kInvalidArgument);
  EXPECT_EQ(status(info, Bytes(21)), Status::kInvalidArgument);
  info.targets = 1;
  EXPECT_EQ(status(info, Bytes(20)), Status::kInvalidArgument);
  info.targets = 0;
  info.shape.width = 0;
  EXPECT_EQ(status(info, Bytes(2)), Status::kInvalidArgument);
  EXPECT_EQ(status(InfoOf(static_cast<ShardElement>(0), 3, 0), {}), Status::kInvalidArgument);
}

TEST(Shard, EveryStatusHasATextOfItsOwn) {
  std::set<std::string> texts;
  for (int i = 0; i <= kShardStatusCount; ++i) {
    texts.insert(ShardText(static_cast<ShardStatus>(-i)));
  }
  EXPECT_EQ(texts.size(), static_cast<size_t>(kShardStatusCount) + 1);
  EXPECT_EQ(ShardText(static_cast<ShardStatus>(-kShardStatusCount)), std::string("unknown status"));
}

}  // namespace
}  // namespace sotto
