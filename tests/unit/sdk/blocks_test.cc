// Predictions and trainings by blocks of samples, bit for bit against single samples: all
// kinds of layers, several sizes of blocks, and all widths of vectors that this CPU has.
#include "sotto/blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include "nn/block_net.h"
#include "sotto/models.h"
#include "sotto/nn.h"
#include "sotto/num.h"

namespace sotto::nn {
namespace {

// A layer behind one that is trained, so that its input delta counts; sizes that are no multiples
// of a vector's.
template <class Layer>
using OnImage = Sequential<Input<7, 6, 2>, Conv2d<6, 1>, Layer,
                           Dense<Layer::Plan({7, 6, 6}).info.output.size(), 3>>;

constexpr float kConstants[] = {0.5f, -0.25f, 0.125f, 1.0f, -0.5f, 0.0625f};
constexpr float kMeans[] = {0.1f, -0.25f};
constexpr float kDeviations[] = {0.5f, 1.7f};

template <class Net>
constexpr ModelInfo kOf = MakeModelInfo<Net>("net");

struct Named {
  const char* name;
  const ModelInfo* model;
};

const Named kNets[] = {
    {"dense, few inputs", &kOf<Sequential<Dense<5, 9>, Relu, Dense<9, 3>>>},
    {"dense", &kOf<Sequential<Dense<61, 70>, Relu, Dense<70, 37>, Relu, Dense<37, 10>>>},
    {"dense, whole vectors", &kOf<Sequential<Dense<64, 48>, Relu, Dense<48, 16>>>},
    {"dense, several tiles",
     &kOf<Sequential<Dense<7, 150>, Relu, Dense<150, 141>, Relu, Dense<141, 3>>>},
    {"dense, many outputs", &kOf<Sequential<Dense<5, 9>, Relu, Dense<9, 600>>>},
    {"conv2d, a filter", &kOf<OnImage<Conv2d<1, 3>>>},
    {"conv2d, 6 filters", &kOf<OnImage<Conv2d<6, 3, 2, 1>>>},
    {"conv2d, 13 filters", &kOf<OnImage<Conv2d<13, 3, 1, 1>>>},
    {"conv2d, 21 filters", &kOf<OnImage<Conv2d<21, 2>>>},
    {"conv2d, 37 filters", &kOf<OnImage<Conv2d<37, 3, 1, 2>>>},
    {"conv1d", &kOf<Sequential<Input<17, 3>, Conv1d<5, 4, 2, 1>, Relu, Flatten, Dense<40, 3>>>},
    {"depthwise", &kOf<OnImage<DepthwiseConv2d<3, 2, 1, 2>>>},
    {"max pool", &kOf<OnImage<MaxPool2d<2>>>},
    {"overlapping pool", &kOf<OnImage<MaxPool2d<3, 2, 1>>>},
    {"average pool", &kOf<OnImage<AveragePool2d<2>>>},
    {"relu", &kOf<OnImage<Relu>>},
    {"tanh", &kOf<OnImage<Tanh>>},
    {"sigmoid", &kOf<OnImage<Sigmoid>>},
    {"group norm", &kOf<OnImage<GroupNorm<3>>>},
    {"local response norm", &kOf<OnImage<LocalResponseNorm<3>>>},
    {"embedding, lstm", &kOf<Sequential<Tokens<9>, Embedding<11, 4>, Lstm<6, LstmOutput::kSequence>,
                                        Lstm<5, LstmOutput::kLast>, Dense<5, 11>>>},
    {"branches",
     &kOf<Sequential<Input<7, 6, 2>, Conv2d<6, 3, 1, 1>, Relu, Fork<1>, Conv2d<6, 3, 1, 1>, Relu,
                     Conv2d<6, 3, 1, 1>, Add<1>, Relu, Fork<1>, Conv2d<9, 3, 2, 1>, Swap<1>,
                     Conv2d<9, 1, 2>, Add<1>, Relu, GlobalAverage2d, Dense<9, 3>>>},
    {"frozen", &kOf<Sequential<Input<7, 6, 2>, Frozen<kConstants, Conv2d<2, 1>, Relu>, Conv2d<3, 3>,
                               Relu, Dense<60, 3>>>},
    {"prepared", &kOf<Sequential<Input<7, 6, 2>, Normalise<kMeans, kDeviations>, RandomFlip,
                                 Conv2d<3, 3>, Relu, Dense<60, 3>>>},
    {"one against all", &kOf<Sequential<Dense<12, 4>, Tanh, Dense<4, 1>, OneVsAll>>},
    {"regression", &kOf<Sequential<Dense<12, 7>, Relu, Dense<7, 5>, MeanSquaredError<>>>},
    {"autoencoder",
     &kOf<Sequential<Dense<12, 4>, Tanh, Dense<4, 12>, MeanSquaredError<TargetKind::kInput>>>},
    {"lenet", &kOf<LeNet>},
    {"softmax", &kOf<Sequential<Dense<21, 5>>>},
    {"prepared softmax",
     &kOf<Sequential<Input<2, 3, 2>, Normalise<kMeans, kDeviations>, Dense<12, 5>>>},
    {"fixed point", &kOf<FixedPoint<Sequential<Dense<12, 7>, Relu, Dense<7, 5>>>>},
};

std::vector<float> Random(size_t size, uint32_t seed, float scale) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-scale, scale);
  std::vector<float> values(size);
  for (float& value : values) value = uniform(random);
  return values;
}

// Samples of a model, with labels and targets.
struct Samples {
  Samples(const ModelInfo& of, size_t count) : model(of) {
    features = Random(count * of.inputs, 3, 1.0f);
    targets = Random(count * of.outputs, 4, 1.0f);
    const uint32_t tokens = of.layers[0].tokens;
    if (tokens == 0) return;
    for (float& id : features) id = std::floor((id + 1) / 2.001f * static_cast<float>(tokens));
  }

  const float* of(size_t i) const { return &features[i * model.inputs]; }

  static Status Read(void* context, uint32_t index, Span<float> out, uint32_t* label) {
    const auto& self = *static_cast<const Samples*>(context);
    std::copy_n(self.of(index), out.size(), out.begin());
    *label = self.model.classes > 0 ? index % self.model.classes : 0;
    return Status::kOk;
  }
  static Status ReadVector(void* context, uint32_t index, Span<float> out, Span<float> target) {
    const auto& self = *static_cast<const Samples*>(context);
    std::copy_n(&self.targets[index * target.size()], target.size(), target.begin());
    uint32_t label = 0;
    return Read(context, index, out, &label);
  }
  SampleSource source() {
    return {static_cast<uint32_t>(features.size() / model.inputs), Read, this, ReadVector};
  }

  const ModelInfo& model;
  std::vector<float> features;
  std::vector<float> targets;
};

bool HaveSameBits(Span<const float> a, Span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
}

Span<float> View(std::vector<float>& values) { return {values.data(), values.size()}; }

// Memory whose end is watched.
class Watched {
 public:
  explicit Watched(size_t size) : size_(size), floats_(size + kGuard, kMark) {}
  Span<float> span() { return {floats_.data(), size_}; }
  bool IsWhole() const {
    return std::all_of(floats_.begin() + static_cast<std::ptrdiff_t>(size_), floats_.end(),
                       [](float f) { return f == kMark; });
  }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr float kMark = 1234.5f;

  size_t size_;
  std::vector<float> floats_;
};

std::vector<float> PredictAlone(const ModelInfo& model, Span<const float> parameters,
                                const float* features) {
  std::vector<float> scratch(model.predict_floats(model));
  std::vector<float> outputs(model.outputs);
  model.predict(model, parameters, {features, model.inputs}, View(scratch), View(outputs));
  return outputs;
}

TEST(Blocks, PredictTheBitsOfSingleSamples) {
  for (const Named& net : kNets) {
    const ModelInfo& model = *net.model;
    std::vector<float> parameters = Random(model.parameters, 1, 0.5f);
    const Samples samples(model, 64);
    for (const size_t size : {1, 2, 3, 5, 8, 9, 14, 33, 64}) {
      ASSERT_EQ(BlockPredictor::Samples(model, size), size);
      Watched scratch(BlockPredictor::ScratchFloats(model, size));
      BlockPredictor predictor(model, View(parameters), size, scratch.span());
      // A full block, then one that is not.
      for (const size_t count : {size, (size + 1) / 2}) {
        for (size_t s = 0; s < count; ++s) {
          std::copy_n(samples.of(s), model.inputs, predictor.features(s).begin());
        }
        predictor.Run(count);
        for (size_t s = 0; s < count; ++s) {
          std::vector<float> alone = PredictAlone(model, View(parameters), samples.of(s));
          EXPECT_TRUE(HaveSameBits(predictor.outputs(s), View(alone)))
              << net.name << ", sample " << s << " of " << count;
        }
      }
      EXPECT_TRUE(scratch.IsWhole()) << net.name << ", " << size;
    }
  }
}

// Parameters, velocity and loss of a few steps.
struct Trained {
  std::vector<float> parameters;
  std::vector<float> velocity;
  float loss = 0;
  Status status = Status::kOk;

  bool operator==(const Trained& other) const {
    return status == other.status && std::memcmp(&loss, &other.loss, sizeof(loss)) == 0 &&
           std::memcmp(parameters.data(), other.parameters.data(), 4 * parameters.size()) == 0 &&
           (velocity.empty() ||
            std::memcmp(velocity.data(), other.velocity.data(), 4 * velocity.size()) == 0);
  }
};

constexpr uint32_t kMostOfBatch = 70;  // more than a block

template <class TrainBatch>
Trained Train(const ModelInfo& model, const SgdStep& step, uint32_t size, size_t floats,
              TrainBatch train) {
  Samples samples(model, kMostOfBatch);
  const SampleSource source = samples.source();
  std::vector<uint32_t> indices;
  for (uint32_t i = 0; i < size; ++i) indices.push_back((i * 37 + 5) % kMostOfBatch);
  Trained result;
  result.parameters = Random(model.parameters, 1, 0.5f);
  result.velocity = Random(step.momentum > 0 ? model.parameters : 0, 2, 0.1f);
  std::vector<float> gradient(model.parameters);
  Watched scratch(floats);
  const Key key;
  for (uint32_t pass = 0; pass < 2 && result.status == Status::kOk; ++pass) {
    const Batch batch{&source, {indices.data(), indices.size()}, &key, pass};
    result.status =
        train(batch, step,
              WorkingParameters{View(result.parameters), View(result.velocity), View(gradient)},
              scratch.span(), &result.loss);
  }
  EXPECT_TRUE(scratch.IsWhole());
  return result;
}

// With blocks, on kernels of each width.
void ExpectSameTraining(const Named& net, const SgdStep& step, uint32_t size) {
  const ModelInfo& model = *net.model;
  const auto alone = [&](const Batch& batch, const SgdStep& s, const WorkingParameters& working,
                         Span<float> scratch, float* loss) {
    return model.train_batch(model, batch, s, working, scratch, loss);
  };
  const Trained expected = Train(model, step, size, model.training_floats(model, size), alone);
  EXPECT_EQ(expected.status, Status::kOk) << net.name;
  const ModelInfo with = WithBlocks(model);
  const auto fastest = [&](const Batch& batch, const SgdStep& s, const WorkingParameters& working,
                           Span<float> scratch, float* loss) {
    return with.train_batch(with, batch, s, working, scratch, loss);
  };
  EXPECT_EQ(Train(model, step, size, with.training_floats(with, size), fastest), expected)
      << net.name << ", batch of " << size;
}

TEST(Blocks, TrainTheBitsOfSingleSamples) {
  SgdStep plain;
  plain.learning_rate = 0.05f;
  for (const Named& net : kNets) {
    const bool is_large = net.model->parameters > 10000;
    for (const uint32_t size : {1u, 3u, 10u, 64u, 70u}) {
      if (!is_large || size == 10) ExpectSameTraining(net, plain, size);
    }
  }
}

TEST(Blocks, TrainTheBitsOfSingleSamplesWithEachOption) {
  const std::vector<float> base = Random(60000 + 2000, 5, 0.5f);
  for (const Named& net : kNets) {
    const ModelInfo& model = *net.model;
    if (model.parameters > 10000) continue;
    SgdStep step;
    step.learning_rate = 0.05f;
    step.weight_decay = 0.01f;
    ExpectSameTraining(net, step, 9);
    if (model.has_momentum) {
      step.momentum = 0.9f;
      ExpectSameTraining(net, step, 9);
      step.momentum = 0.0f;
    }
    if (!model.has_gradient_options) continue;
    step.proximal = 0.5f;
    step.base = Span<const float>(base.data(), model.parameters);
    step.error_clip = model.layers.size() > 1 ? 0.3f : 0.0f;
    ExpectSameTraining(net, step, 9);
    step.gradient_clip = 0.5f;
    for (const auto of : {GradientClipOf::kBatch, GradientClipOf::kSample}) {
      step.gradient_clip_of = of;
      ExpectSameTraining(net, step, 9);
    }
  }
}

// What each set of kernels makes of one block of a net.
TEST(Blocks, AllWidthsOfVectorsGiveTheSameBits) {
  for (const Named& net : kNets) {
    const ModelInfo& model = *net.model;
    if (model.predict != nn::internal::NetPredict || model.preparation.size() > 0) continue;
    std::vector<float> parameters = Random(model.parameters, 1, 0.5f);
    SgdStep step;
    step.learning_rate = 0.05f;
    const auto alone = [&](const Batch& batch, const SgdStep& s, const WorkingParameters& working,
                           Span<float> scratch, float* loss) {
      return model.train_batch(model, batch, s, working, scratch, loss);
    };
    for (const uint32_t size : {1u, 2u, 7u}) {
      const size_t floats = model.training_floats(model, size);
      const Trained expected = Train(model, step, size, floats, alone);
      for (const BlockKernels* kernels : AllBlockKernels()) {
        const auto by_blocks = [&](const Batch& batch, const SgdStep& s,
                                   const WorkingParameters& working, Span<float> scratch,
                                   float* loss) {
          return TrainBlocks(*kernels, model, batch, s, working, scratch, loss);
        };
        EXPECT_EQ(Train(model, step, size, BlockTrainingFloats(model, size), by_blocks), expected)
            << net.name << ", " << kernels->name << ", batch of " << size;
      }
    }
  }
}

// A prediction keeps nothing, so its rectifier is another function: of each width.
TEST(Blocks, TheirRectifierClearsWhatIsNotAboveZero) {
  const float values[] = {1.0f,  -1.0f, 0.0f,   -0.0f, 3e-45f, -3e-45f, 1e38f, -1e38f, 2.0f,
                          -2.0f, 0.5f,  -0.25f, 7.0f,  -7.0f,  0.125f,  9.0f,  -9.0f,  4.0f};
  constexpr size_t kCount = sizeof(values) / sizeof(values[0]);
  for (const BlockKernels* kernels : AllBlockKernels()) {
    for (size_t n = 1; n <= kCount; ++n) {
      std::vector<float> rows(2 * kCount);
      for (size_t i = 0; i < rows.size(); ++i) rows[i] = values[i % kCount];
      kernels->relu({rows.data(), kCount}, 2, n);
      for (size_t i = 0; i < rows.size(); ++i) {
        const float x = values[i % kCount];
        const float expected = i % kCount < n && !(x > 0) ? 0.0f : x;
        EXPECT_EQ(FloatBits(rows[i]), FloatBits(expected)) << kernels->name << ", " << i;
      }
    }
  }
}

// On a device a row without a delta is passed over, so infinite weights in it harm nothing.
TEST(Blocks, RowsWithoutADeltaArePassedOver) {
  using Net = Sequential<Dense<3, 4>, Sigmoid, Dense<4, 5>, Relu, Dense<5, 2>>;
  const ModelInfo& model = kOf<Net>;
  const SgdStep step = {0.1f};
  const auto train = [&](const ModelInfo& with) {
    Samples samples(model, 6);
    const SampleSource source = samples.source();
    const uint32_t indices[] = {0, 1, 2, 3, 4, 5};
    std::vector<float> parameters = Random(model.parameters, 1, 0.5f);
    // A weight of a hidden unit is -infinity: the unit rests, and its delta is zero.
    parameters[3 * 4 + 4 + 4 * 2 + 1] = -std::numeric_limits<float>::infinity();
    std::vector<float> scratch(with.training_floats(with, 6));
    float loss = 0;
    EXPECT_EQ(
        with.train_batch(with, {&source, indices}, step, {View(parameters)}, View(scratch), &loss),
        Status::kOk);
    return parameters;
  };
  std::vector<float> alone = train(model);
  std::vector<float> by_blocks = train(WithBlocks(model));
  EXPECT_TRUE(std::none_of(alone.begin(), alone.end(), [](float x) { return std::isnan(x); }));
  EXPECT_TRUE(HaveSameBits(View(alone), View(by_blocks)));
}

// The bound of blocks.h.
TEST(Blocks, TakeNoMoreMemoryThanTheirBound) {
  using Wide = Sequential<Input<64, 64, 3>, Conv2d<32, 3, 1, 1>, Relu, Conv2d<32, 3, 1, 1>, Relu,
                          GlobalAverage2d, Dense<32, 10>>;
  const ModelInfo& wide = kOf<Wide>;
  const size_t of_sample = NetMemory(wide.layers, 0);
  const size_t samples = BlockPredictor::Samples(wide, 1000);
  EXPECT_LE(samples * of_sample, kMostBlockFloats);
  EXPECT_GT((samples + 1) * (of_sample + 32), kMostBlockFloats);
  EXPECT_EQ(BlockPredictor::Samples(wide, 2), 2U);
  EXPECT_EQ(BlockPredictor::Samples(kOf<LeNet>, 1000), 64U);
  // Scratch for one layer is no multiple of the samples' memory.
  EXPECT_LE(BlockPredictor::ScratchFloats(wide, samples), kMostBlockFloats + 4 * of_sample);
}

TEST(Blocks, NeedNoMoreMemoryForASmallerBatch) {
  for (const Named& net : kNets) {
    const ModelInfo with = WithBlocks(*net.model);
    for (uint32_t batch = 2; batch <= 2 * kMostSamples + 2; ++batch) {
      EXPECT_LE(with.training_floats(with, batch - 1), with.training_floats(with, batch))
          << net.name << ", " << batch;
    }
  }
}

TEST(Blocks, LeaveTheDigestAndTheModelsOfOtherArithmeticAsTheyAre) {
  for (const Named& net : kNets) {
    uint8_t before[kSha256Size];
    uint8_t after[kSha256Size];
    const ModelInfo with = WithBlocks(*net.model);
    ASSERT_EQ(ModelDigest(*net.model, before), Status::kOk);
    ASSERT_EQ(ModelDigest(with, after), Status::kOk);
    EXPECT_EQ(std::memcmp(before, after, sizeof(before)), 0);
  }
  const ModelInfo& fixed = kOf<FixedPoint<Sequential<Dense<12, 7>, Relu, Dense<7, 5>>>>;
  EXPECT_EQ(WithBlocks(fixed).train_batch, fixed.train_batch);
  EXPECT_NE(WithBlocks(kOf<LeNet>).train_batch, kOf<LeNet>.train_batch);
}

}  // namespace
}  // namespace sotto::nn
