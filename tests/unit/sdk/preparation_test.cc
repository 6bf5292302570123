// Steps that prepare samples: their values against double, their place in training and prediction,
// random steps, digests.
#include "sotto/preparation.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sotto/nn.h"
#include "sotto/train.h"
#include "unit/sdk/hex.h"

namespace sotto {
namespace {

using namespace nn;

using Floats = std::vector<float>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kOne = 0.25f;
constexpr float kPerChannel[] = {0.5f, -1.5f, 3.0f};
constexpr float kAbove[] = {0.3081f, 2.0f, 7.0f};
constexpr float kPerFeature[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
constexpr float kFactor = 1.0f / 255;

constexpr Shape kShape = ShapeOf(2, 2, 3);

Span<float> SpanOf(Floats& values) { return {values.data(), values.size()}; }

Floats RandomVector(size_t size, uint32_t seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  Floats values(size);
  for (float& value : values) value = normal(random);
  return values;
}

template <class... Steps>
Floats Prepared(Floats features, const Shape& shape = kShape) {
  const PreparationStep steps[] = {PlacedStep(Steps::Step(), shape)...};
  Prepare(steps, features.data());
  return features;
}

Floats Cropped(Floats features, const Shape& shape, uint32_t padding, uint32_t down,
               uint32_t right) {
  const PreparationStep step = PlacedStep(nn::internal::RandomCropStep(padding), shape);
  const uint32_t random[] = {down, right};
  PrepareForTraining({&step, 1}, features.data(), random);
  return features;
}

TEST(Preparation, FillMissingReplacesNaNAlone) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Prepared<FillMissing<kOne>>({kNaN, 1, -kNaN, inf, 0, kNaN, 1, 1, 1, 1, 1, 1}),
            (Floats{kOne, 1, kOne, inf, 0, kOne, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(Prepared<FillMissing<kPerChannel>>(Floats(12, kNaN)),
            (Floats{0.5f, -1.5f, 3, 0.5f, -1.5f, 3, 0.5f, -1.5f, 3, 0.5f, -1.5f, 3}));
  EXPECT_EQ(Prepared<FillMissing<kPerFeature>>(Floats(12, kNaN)),
            Floats(std::begin(kPerFeature), std::end(kPerFeature)));
}

TEST(Preparation, StepsHaveTheValuesOfDouble) {
  const Floats x = RandomVector(12, 1, 100);
  const Floats rescaled = Prepared<Rescale<kFactor, kPerChannel>>(x);
  const Floats normalised = Prepared<Normalise<kPerFeature, kAbove>>(x);
  const Floats unit = Prepared<UnitNorm>(x);
  double square = 0;
  for (const float value : x) square += double{value} * value;
  for (size_t i = 0; i < x.size(); ++i) {
    // Each operation rounds once: half a unit in the last place of what it gives.
    EXPECT_NEAR(rescaled[i], double{kFactor} * x[i] + kPerChannel[i % 3], 2e-7);
    EXPECT_NEAR(normalised[i], (double{x[i]} - kPerFeature[i]) / kAbove[i % 3],
                1.2e-7 * std::fabs(normalised[i]));
    EXPECT_NEAR(unit[i], x[i] / std::sqrt(square), 4e-7);
  }
}

// torchvision.transforms.Normalize((0.1307,), (0.3081,)) of a black and a white pixel.
TEST(Preparation, NormaliseIsWhatPyTorchComputes) {
  static constexpr float kMean = 0.1307f;
  static constexpr float kDeviation = 0.3081f;
  EXPECT_EQ((Prepared<Normalise<kMean, kDeviation>>({0.0f, 1.0f}, ShapeOf(2))),
            (Floats{-0.42421296f, 2.8214867f}));
}

TEST(Preparation, UnitNormTakesNumbersOfAnyMagnitude) {
  for (const float scale : {1e-38f, 1.0f, 1e38f}) {
    const Floats x = Prepared<UnitNorm>({3 * scale, 0, -2 * scale}, ShapeOf(3));
    EXPECT_NEAR(x[0], 3 / std::sqrt(13.0), 1e-6) << scale;
    EXPECT_NEAR(x[2], -2 / std::sqrt(13.0), 1e-6) << scale;
  }
  EXPECT_EQ(Prepared<UnitNorm>({0, 0, -0.0f}, ShapeOf(3)), (Floats{0, 0, 0}));
}

TEST(Preparation, StepsFollowEachOtherInTheirOrder) {
  const Floats x = {kNaN, 255};
  EXPECT_EQ((Prepared<FillMissing<kOne>, Rescale<kFactor, kOne>>(x, ShapeOf(2))),
            (Floats{kFactor * kOne + kOne, kFactor * 255 + kOne}));
  const Floats reversed = Prepared<Rescale<kFactor, kOne>, FillMissing<kOne>>(x, ShapeOf(2));
  EXPECT_EQ(reversed[0], kOne);
}

// The window of the padded image, computed with a copy.
Floats WindowOfPadded(const Floats& x, const Shape& shape, int down, int right) {
  Floats window(x.size(), 0.0f);
  const auto height = static_cast<int>(shape.height);
  const auto width = static_cast<int>(shape.width);
  const auto channels = static_cast<int>(shape.channels);
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      const int y = row + down;
      const int z = column + right;
      if (y < 0 || y >= height || z < 0 || z >= width) continue;
      for (int c = 0; c < channels; ++c) {
        window[static_cast<size_t>((row * width + column) * channels + c)] =
            x[static_cast<size_t>((y * width + z) * channels + c)];
      }
    }
  }
  return window;
}

TEST(Preparation, ARandomCropIsAWindowOfThePaddedImage) {
  constexpr Shape kImage = ShapeOf(5, 4, 2);
  constexpr uint32_t kPadding = 3;
  const Floats x = RandomVector(kImage.size(), 2);
  std::set<Floats> seen;
  for (uint32_t i = 0; i < 7; ++i) {
    for (uint32_t j = 0; j < 7; ++j) {
      // The middle of each seventh of the words, and its two ends.
      for (const uint64_t at : {1, 4, 7}) {
        const auto word = [&](uint32_t move) {
          return static_cast<uint32_t>(((move * 8 + at) << 32) / 56 - (at == 7 ? 1 : 0));
        };
        const Floats cropped = Cropped(x, kImage, kPadding, word(i), word(j));
        ASSERT_EQ(cropped,
                  WindowOfPadded(x, kImage, static_cast<int>(i) - 3, static_cast<int>(j) - 3))
            << i << ' ' << j;
        seen.insert(cropped);
      }
    }
  }
  EXPECT_EQ(seen.size(), 49u);
  EXPECT_EQ(Cropped(x, kImage, kPadding, 0xffffffff, 0xffffffff), WindowOfPadded(x, kImage, 3, 3));
}

TEST(Preparation, ARandomFlipMirrorsRows) {
  const PreparationStep step = PlacedStep(RandomFlip::Step(), ShapeOf(2, 3, 2));
  const Floats x = {1, 2, 3, 4, 5, 6, /* second row */ 7, 8, 9, 10, 11, 12};
  for (const uint32_t word : {0x7fffffffu, 0x80000000u}) {
    Floats flipped = x;
    const uint32_t random[] = {word, 0};
    PrepareForTraining({&step, 1}, flipped.data(), random);
    EXPECT_EQ(flipped, word >> 31 == 0 ? x : (Floats{5, 6, 3, 4, 1, 2, 11, 12, 9, 10, 7, 8}));
  }
}

TEST(Preparation, APredictionAppliesNoRandomStep) {
  const Floats x = RandomVector(12, 3);
  EXPECT_EQ((Prepared<RandomFlip, RandomCrop<1>>(x)), x);
}

TEST(Preparation, KnowsWhatFitsASample) {
  EXPECT_TRUE(FitsPreparation(Normalise<kOne, kPerChannel>::Step(), kShape));
  EXPECT_TRUE(FitsPreparation(FillMissing<kPerFeature>::Step(), kShape));
  EXPECT_FALSE(FitsPreparation(Normalise<kOne, kPerChannel>::Step(), ShapeOf(4)));
  EXPECT_FALSE(FitsPreparation(Rescale<kPerFeature, kOne>::Step(), ShapeOf(7, 3)));
  EXPECT_TRUE(FitsPreparation(RandomCrop<1>::Step(), kShape));
  EXPECT_FALSE(FitsPreparation(RandomCrop<2>::Step(), kShape));
  EXPECT_FALSE(FitsPreparation(RandomFlip::Step(), ShapeOf(12, 3)));
}

// Samples from memory, raw or prepared elsewhere.
struct Samples {
  std::vector<Floats> features;

  static Status Read(void* context, uint32_t index, Span<float> x, uint32_t* label) {
    const auto& all = static_cast<const Samples*>(context)->features;
    std::copy(all[index].begin(), all[index].end(), x.begin());
    *label = index % 3;
    return Status::kOk;
  }
  static Status ReadVector(void* context, uint32_t index, Span<float> x, Span<float> target) {
    for (size_t k = 0; k < target.size(); ++k) target[k] = 0.1f * static_cast<float>(index + k);
    uint32_t label = 0;
    return Read(context, index, x, &label);
  }
  SampleSource source() { return {static_cast<uint32_t>(features.size()), Read, this, ReadVector}; }
};

Samples RawSamples(size_t inputs) {
  Samples samples;
  for (uint32_t i = 0; i < 7; ++i) {
    samples.features.push_back(RandomVector(inputs, 10 + i));
    samples.features.back()[i] = kNaN;
  }
  return samples;
}

Key TestKey(uint8_t byte) {
  Key key;
  std::fill(std::begin(key.bytes), std::end(key.bytes), byte);
  return key;
}

// Trained parameters; empty if the training failed.
Floats Train(const ModelInfo& model, const SampleSource& source, const Key& key = TestKey(1)) {
  TrainingOptions options;
  options.batch_size = 3;
  options.local_epochs = 2;
  Floats base = RandomVector(model.parameters, 5, 0.1f);
  Floats working(model.parameters);
  Floats scratch(model.training_floats(model, options.batch_size));
  std::vector<uint32_t> indices(options.batch_size);
  LocalTrainer trainer;
  Status status = trainer.Begin(model, options, source, key, SpanOf(base), {SpanOf(working)},
                                SpanOf(scratch), {indices.data(), indices.size()});
  for (bool done = false; status == Status::kOk && !done;) status = trainer.Step(&done);
  return status == Status::kOk ? working : Floats();
}

Floats Predict(const ModelInfo& model, const Floats& parameters, const Floats& features) {
  Floats scratch(model.predict_floats(model));
  Floats outputs(model.outputs);
  model.predict(model, {parameters.data(), parameters.size()}, {features.data(), features.size()},
                SpanOf(scratch), SpanOf(outputs));
  return outputs;
}

// A net on raw samples computes the bits that the net without steps computes on prepared ones.
template <class Raw, class Plain>
void ExpectAlike() {
  const ModelInfo raw = MakeModelInfo<Raw>("raw");
  const ModelInfo plain = MakeModelInfo<Plain>("plain");
  Samples samples = RawSamples(raw.inputs);
  Samples prepared = samples;
  for (Floats& x : prepared.features) {
    Prepare(raw.preparation, x.data());
  }
  const Floats trained = Train(raw, samples.source());
  ASSERT_FALSE(trained.empty());
  EXPECT_EQ(trained, Train(plain, prepared.source()));
  EXPECT_EQ(Predict(raw, trained, samples.features[2]),
            Predict(plain, trained, prepared.features[2]));
  EXPECT_EQ(raw.training_floats(raw, 3), plain.training_floats(plain, 3));
}

using Image = Input<2, 2, 3>;
template <class... Layers>
using Raw =
    Sequential<Image, FillMissing<kOne>, Normalise<kPerChannel, kAbove>, UnitNorm, Layers...>;
template <class... Layers>
using Plain = Sequential<Image, Layers...>;

TEST(Preparation, TrainingAndPredictionPrepareInEveryArithmetic) {
  ExpectAlike<Raw<Dense<12, 3>>, Plain<Dense<12, 3>>>();
  ExpectAlike<FixedPoint<Raw<Dense<12, 3>>>, FixedPoint<Plain<Dense<12, 3>>>>();
  ExpectAlike<Raw<Conv2d<2, 2>, Relu, Dense<2, 3>>, Plain<Conv2d<2, 2>, Relu, Dense<2, 3>>>();
  ExpectAlike<FixedPoint<Raw<Conv2d<2, 2>, Relu, Dense<2, 3>>>,
              FixedPoint<Plain<Conv2d<2, 2>, Relu, Dense<2, 3>>>>();
}

TEST(Preparation, VectorsAndAutoencodersArePreparedToo) {
  ExpectAlike<Raw<Dense<12, 2>, MeanSquaredError<>>, Plain<Dense<12, 2>, MeanSquaredError<>>>();
  using Target = MeanSquaredError<TargetKind::kInput>;
  ExpectAlike<Raw<Dense<12, 12>, Target>, Plain<Dense<12, 12>, Target>>();
}

TEST(Preparation, FeaturesOfSoftmaxRegressionMayLieInItsScratch) {
  static constexpr ModelInfo kModel = MakeModelInfo<Raw<Dense<12, 3>>>("raw");
  const Floats parameters = RandomVector(kModel.parameters, 4);
  const Floats features = RandomVector(12, 5);
  ASSERT_EQ(kModel.predict_floats(kModel), 12u);
  Floats scratch = features;
  Floats outputs(3);
  kModel.predict(kModel, {parameters.data(), parameters.size()}, {scratch.data(), 12},
                 SpanOf(scratch), SpanOf(outputs));
  EXPECT_EQ(outputs, Predict(kModel, parameters, features));
}

using Augmented = Sequential<Input<6, 6, 1>, RandomCrop<2>, RandomFlip, Dense<36, 3>>;

// What a training reads of a sample.
Floats ReadAugmented(const Key* key, uint32_t epoch, uint32_t index) {
  static constexpr ModelInfo kModel = MakeModelInfo<Augmented>("augmented");
  static Samples samples = {std::vector<Floats>(300, RandomVector(36, 1))};
  const SampleSource raw = samples.source();
  const Batch batch = {&raw, {}, key, epoch};
  nn::internal::PreparedSamples prepared = {kModel, batch};
  const SampleSource source = nn::internal::SourceOf(&prepared);
  Floats x(36);
  uint32_t label = 0;
  EXPECT_EQ(source.read(source.context, index, SpanOf(x), &label), Status::kOk);
  EXPECT_EQ(label, index % 3);
  return x;
}

TEST(Preparation, RandomStepsDependOnKeyPassAndSampleAlone) {
  const Key key = TestKey(1);
  const Key other = TestKey(2);
  EXPECT_EQ(ReadAugmented(nullptr, 0, 0), RandomVector(36, 1));
  std::set<Floats> passes;
  std::map<Floats, int> samples;
  for (uint32_t i = 0; i < 20; ++i) passes.insert(ReadAugmented(&key, i, 0));
  for (uint32_t i = 0; i < 300; ++i) ++samples[ReadAugmented(&key, 0, i)];
  EXPECT_GE(passes.size(), 10u);
  EXPECT_EQ(samples.size(), 50u);  // 25 places, mirrored or not
  EXPECT_EQ(ReadAugmented(&key, 3, 7), ReadAugmented(&key, 3, 7));
  int differ = 0;
  for (uint32_t i = 0; i < 10; ++i) {
    differ += ReadAugmented(&key, 3, i) != ReadAugmented(&other, 3, i) ? 1 : 0;
  }
  EXPECT_GE(differ, 6);
}

TEST(Preparation, ATrainingAppliesRandomStepsUnderItsKey) {
  using WithoutRandom = Sequential<Input<6, 6, 1>, Dense<36, 3>>;
  static constexpr ModelInfo kAugmented = MakeModelInfo<Augmented>("augmented");
  static constexpr ModelInfo kFixed = MakeModelInfo<FixedPoint<Augmented>>("fixed");
  static constexpr ModelInfo kPlain = MakeModelInfo<WithoutRandom>("plain");
  Samples samples = RawSamples(36);
  for (Floats& x : samples.features) {
    std::replace_if(
        x.begin(), x.end(), [](float value) { return std::isnan(value); }, 0.0f);
  }
  const SampleSource source = samples.source();
  const Floats trained = Train(kAugmented, source);
  EXPECT_EQ(trained, Train(kAugmented, source));
  EXPECT_NE(trained, Train(kAugmented, source, TestKey(2)));
  EXPECT_NE(trained, Train(kPlain, source));
  const Floats in_fixed = Train(kFixed, source);
  for (size_t i = 0; i < trained.size(); ++i) ASSERT_NEAR(trained[i], in_fixed[i], 1e-4);
  EXPECT_EQ(Predict(kAugmented, trained, samples.features[0]),
            Predict(kPlain, trained, samples.features[0]));
}

std::string DigestOf(const ModelInfo& model) {
  uint8_t digest[kSha256Size];
  EXPECT_EQ(ModelDigest(model, digest), Status::kOk);
  return ToHex(digest);
}

template <class Net>
std::string DigestOf() {
  return DigestOf(MakeModelInfo<Net>("net"));
}

TEST(Preparation, TheDigestCoversStepsNumbersAndNames) {
  static constexpr float kOther = 0.250001f;
  static constexpr float kThrice[] = {kOne, kOne, kOne};
  constexpr const char* kNames[] = {"rest", "walk", "run"};
  constexpr const char* kOthers[] = {"rest", "walk", "ran"};
  constexpr const char* kMoved[] = {"rest", "walkr", "un"};
  using D = Dense<12, 3>;
  using Filled = Sequential<Image, FillMissing<kOne>, D>;
  const std::vector<std::string> digests = {
      DigestOf<Sequential<Image, D>>(),
      DigestOf<Filled>(),
      DigestOf<Sequential<Image, FillMissing<kOther>, D>>(),
      DigestOf<Sequential<Image, FillMissing<kThrice>, D>>(),
      DigestOf<Sequential<Image, FillMissing<kOne>, UnitNorm, D>>(),
      DigestOf<Sequential<Image, UnitNorm, FillMissing<kOne>, D>>(),
      DigestOf<Sequential<Image, RandomCrop<1>, D>>(),
      DigestOf<Sequential<Image, RandomFlip, D>>(),
      DigestOf<Sequential<Image, Rescale<kOne, kOther>, D>>(),
      DigestOf<Sequential<Image, Rescale<kOther, kOne>, D>>(),
      DigestOf(MakeModelInfo<Filled>("net", kNames)),
      DigestOf(MakeModelInfo<Sequential<Image, D>>("net", kNames)),
      DigestOf(MakeModelInfo<Sequential<Image, D>>("net", kOthers)),
      DigestOf(MakeModelInfo<Sequential<Image, D>>("net", kMoved)),
  };
  EXPECT_EQ(std::set<std::string>(digests.begin(), digests.end()).size(), digests.size());
  EXPECT_EQ(DigestOf<Filled>(), DigestOf<FixedPoint<Filled>>());
}

// SHA-256 of what model_info.h says of format 2.
TEST(Preparation, TheDigestIsThatOfTheManual) {
  constexpr const char* kNames[] = {"rest", "walk", "run"};
  using Net = Sequential<Image, Normalise<kOne, kPerChannel>, RandomCrop<1>, Dense<12, 3>>;
  const std::vector<uint32_t> words = {2,
                                       1,
                                       1,
                                       2,
                                       2,
                                       3,
                                       1,
                                       1,
                                       3,
                                       0,
                                       0,
                                       0,
                                       0,
                                       0,
                                       0,
                                       0,
                                       1,
                                       1,
                                       /* steps */ 2,
                                       3,
                                       1,
                                       0x3e800000,
                                       3,
                                       0x3f000000,
                                       0xbfc00000,
                                       0x40400000,
                                       0,
                                       5,
                                       0,
                                       0,
                                       1,
                                       /* frozen */ 0,
                                       /* names */ 3};
  Sha256 hash;
  for (const uint32_t word : words) ASSERT_EQ(hash.UpdateU32(word), Status::kOk);
  for (const std::string name : {"rest", "walk", "run"}) {
    ASSERT_EQ(hash.UpdateU32(static_cast<uint32_t>(name.size())), Status::kOk);
    ASSERT_EQ(hash.Update(View(name)), Status::kOk);
  }
  uint8_t digest[kSha256Size];
  ASSERT_EQ(hash.Finish(digest), Status::kOk);
  EXPECT_EQ(DigestOf(MakeModelInfo<Net>("net", kNames)), ToHex(digest));
}

// A net of layers that has neither steps nor names has its digest by either function.
TEST(Preparation, ModelsWithoutKeepTheirDigest) {
  ModelInfo model = MakeModelInfo<Sequential<Dense<12, 4>, Tanh, Dense<4, 3>>>("net");
  const std::string digest = DigestOf(model);
  model.update_digest = nn::internal::UpdatePreparedDigest;
  EXPECT_EQ(DigestOf(model), digest);
}

}  // namespace
}  // namespace sotto
