// Training of softmax regression in float32: kernels, gradients, digests of models.
#include "sotto/nn.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "nn/kernels.h"
#include "sotto/initial_weights.h"
#include "sotto/models.h"
#include "sotto/num.h"
#include "unit/sdk/hex.h"

namespace sotto {
namespace {

std::vector<float> RandomVector(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> v(size);
  for (float& value : v) value = uniform(random);
  return v;
}

// The documented order of a sum: eight lanes, then halves.
float LaneSum(const std::vector<float>& terms) {
  float lanes[8] = {};
  for (size_t i = 0; i < terms.size(); ++i) lanes[i % 8] += terms[i];
  for (int half = 4; half >= 1; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

TEST(Kernels, SumInTheDocumentedOrderToTheLastBit) {
  for (size_t n = 1; n <= 40; ++n) {
    const auto a = RandomVector(n, 1);
    const auto b = RandomVector(n, 2);
    std::vector<float> products(n);
    std::vector<float> squares(n);
    for (size_t i = 0; i < n; ++i) {
      products[i] = a[i] * b[i];
      squares[i] = (a[i] - b[i]) * (a[i] - b[i]);
    }
    const float bias[1] = {0.25f};
    float y[1];
    nn::DenseForward(a.data(), bias, b.data(), n, 1, y);
    EXPECT_EQ(y[0], LaneSum(products) + 0.25f) << n;
    EXPECT_EQ(nn::SquaredDistance(a.data(), b.data(), n), LaneSum(squares)) << n;
  }
}

TEST(Kernels, DenseForwardServesAnyNumberOfOutputs) {
  constexpr size_t kInputs = 13;
  const auto x = RandomVector(kInputs, 3);
  for (size_t outputs = 1; outputs <= 5; ++outputs) {
    const auto weights = RandomVector(outputs * kInputs, 4);
    const auto bias = RandomVector(outputs, 5);
    std::vector<float> y(outputs);
    nn::DenseForward(weights.data(), bias.data(), x.data(), kInputs, outputs, y.data());
    for (size_t o = 0; o < outputs; ++o) {
      float alone = 0;
      nn::DenseForward(weights.data() + o * kInputs, bias.data() + o, x.data(), kInputs, 1, &alone);
      EXPECT_EQ(y[o], alone);
    }
  }
}

TEST(Kernels, ElementwiseOnesTreatEveryElementAlike) {
  for (size_t n = 1; n <= 20; ++n) {
    const auto x = RandomVector(n, 6);
    auto y = RandomVector(n, 7);
    auto pulled = y;
    const auto before = y;
    nn::AddScaled(0.3f, x.data(), n, y.data());
    nn::PullTowards(x.data(), 0.5f, n, pulled.data());
    for (size_t i = 0; i < n; ++i) {
      EXPECT_EQ(y[i], before[i] + 0.3f * x[i]);
      EXPECT_EQ(pulled[i], x[i] + 0.5f * (before[i] - x[i]));
    }
  }
}

TEST(Kernels, ThoseOfDepthwiseConvolutionsTreatEveryChannelAlike) {
  constexpr size_t kRows = 3;
  for (size_t n = 1; n <= 20; ++n) {
    const auto a = RandomVector(kRows * n, 8);
    const auto b = RandomVector(kRows * n, 9);
    auto sums = RandomVector(n, 10);
    auto plain_sums = sums;
    auto moved = b;
    auto plain_moved = b;
    nn::AddRowProducts(a.data(), b.data(), kRows, n, sums.data());
    nn::AddScaledColumns(a.data(), sums.data(), kRows, n, moved.data());
    for (size_t i = 0; i < n; ++i) {
      for (size_t t = i; t < kRows * n; t += n) plain_sums[i] += a[t] * b[t];
      for (size_t t = i; t < kRows * n; t += n) plain_moved[t] += a[t] * plain_sums[i];
    }
    EXPECT_EQ(sums, plain_sums);
    EXPECT_EQ(moved, plain_moved);
  }
}

// Three classes on five features: a small net for exact comparisons.
using SmallNet = nn::Sequential<nn::Dense<5, 3>>;
constexpr ModelInfo kSmall = MakeModelInfo<SmallNet>("small");

struct Samples {
  std::vector<std::vector<float>> features;
  std::vector<uint32_t> labels;
  Status failure = Status::kOk;

  static Status Read(void* context, uint32_t index, Span<float> out, uint32_t* label) {
    const auto* self = static_cast<const Samples*>(context);
    if (self->failure != Status::kOk) return self->failure;
    std::memcpy(out.data(), self->features[index].data(), out.size() * sizeof(float));
    *label = self->labels[index];
    return Status::kOk;
  }
  SampleSource source() { return {static_cast<uint32_t>(labels.size()), Read, this}; }
};

Samples SmallSamples() {
  Samples samples;
  for (uint32_t i = 0; i < 4; ++i) {
    samples.features.push_back(RandomVector(5, 20 + i));
    samples.labels.push_back(i % 3);
  }
  return samples;
}

double Loss(const std::vector<double>& p, const Samples& samples) {
  double total = 0;
  for (size_t s = 0; s < samples.labels.size(); ++s) {
    double scores[3];
    double sum = 0;
    for (int o = 0; o < 3; ++o) {
      scores[o] = p[15 + o];
      for (int i = 0; i < 5; ++i) scores[o] += p[o * 5 + i] * samples.features[s][i];
      sum += std::exp(scores[o]);
    }
    total += std::log(sum) - scores[samples.labels[s]];
  }
  return total / static_cast<double>(samples.labels.size());
}

// One step against the numerical gradient of the loss in double precision.
TEST(Softmax, StepFollowsTheGradientOfTheMeanCrossEntropy) {
  Samples samples = SmallSamples();
  const SampleSource source = samples.source();
  const uint32_t indices[] = {0, 1, 2, 3};
  auto parameters = RandomVector(kSmall.parameters, 30);
  const std::vector<double> before(parameters.begin(), parameters.end());
  std::vector<float> scratch(kSmall.training_floats(kSmall, 4));
  float loss = 0;
  constexpr float kRate = 0.5f;
  constexpr float kDecay = 0.1f;
  ASSERT_EQ(kSmall.train_batch(kSmall, {&source, indices}, {kRate, kDecay},
                               {{parameters.data(), parameters.size()}},
                               {scratch.data(), scratch.size()}, &loss),
            Status::kOk);
  EXPECT_NEAR(loss, Loss(before, samples), 1e-6);
  for (size_t j = 0; j < before.size(); ++j) {
    auto up = before;
    auto down = before;
    up[j] += 1e-5;
    down[j] -= 1e-5;
    const double gradient = (Loss(up, samples) - Loss(down, samples)) / 2e-5;
    EXPECT_NEAR(parameters[j], before[j] * (1 - kRate * kDecay) - kRate * gradient, 1e-6) << j;
  }
}

TEST(Softmax, SurvivesHugeScores) {
  Samples samples = SmallSamples();
  const SampleSource source = samples.source();
  const uint32_t indices[] = {0, 1};
  std::vector<float> parameters(kSmall.parameters, 0.0f);
  for (int i = 0; i < 5; ++i) parameters[i] = 1e6f;
  std::vector<float> scratch(kSmall.training_floats(kSmall, 2));
  float loss = 0;
  ASSERT_EQ(kSmall.train_batch(kSmall, {&source, indices}, {0.1f},
                               {{parameters.data(), parameters.size()}},
                               {scratch.data(), scratch.size()}, &loss),
            Status::kOk);
  EXPECT_TRUE(std::isfinite(loss));
  for (const float value : parameters) EXPECT_TRUE(std::isfinite(value));
}

TEST(Softmax, RefusesBadLabelsSmallScratchAndFailingSamples) {
  Samples samples = SmallSamples();
  const SampleSource source = samples.source();
  const uint32_t indices[] = {0, 1};
  std::vector<float> parameters(kSmall.parameters, 0.0f);
  std::vector<float> scratch(kSmall.training_floats(kSmall, 2));
  float loss = 0;
  const auto train = [&](size_t scratch_size, size_t batch_size) {
    return kSmall.train_batch(kSmall, {&source, Span<const uint32_t>(indices, batch_size)}, {0.1f},
                              {{parameters.data(), parameters.size()}},
                              {scratch.data(), scratch_size}, &loss);
  };
  EXPECT_EQ(train(scratch.size() - 1, 2), Status::kBufferTooSmall);
  EXPECT_EQ(train(scratch.size(), 0), Status::kInvalidArgument);
  samples.failure = Status::kSampleFailed;
  EXPECT_EQ(train(scratch.size(), 2), Status::kSampleFailed);
  samples.failure = Status::kOk;
  samples.labels[1] = 3;
  EXPECT_EQ(train(scratch.size(), 2), Status::kOutOfRange);
}

using TokenNet = nn::Sequential<nn::Input<1, 2, 1>, nn::Embedding<4, 3>, nn::GroupNorm<3>,
                                nn::Flatten, nn::Dense<6, 3>>;
constexpr ModelInfo kTokenNet = MakeModelInfo<TokenNet>("token-net");

TEST(Net, RefusesWhatIsNoTokenOfItsVocabulary) {
  static_assert(TokenNet::kTokens == 4 && SmallNet::kTokens == 0);
  const auto train = [](float token) {
    Samples samples;
    samples.features = {{3.0f, token}};
    samples.labels = {0};
    const SampleSource source = samples.source();
    const uint32_t indices[] = {0};
    std::vector<float> parameters(kTokenNet.parameters, 0.0f);
    std::vector<float> scratch(kTokenNet.training_floats(kTokenNet, 1));
    float loss = 0;
    return kTokenNet.train_batch(kTokenNet, {&source, indices}, {0.1f},
                                 {{parameters.data(), parameters.size()}},
                                 {scratch.data(), scratch.size()}, &loss);
  };
  EXPECT_EQ(train(0.0f), Status::kOk);
  EXPECT_EQ(train(3.0f), Status::kOk);
  for (const float bad : {4.0f, -1.0f, 0.5f, 1e30f, INFINITY, NAN}) {
    EXPECT_EQ(train(bad), Status::kOutOfRange) << bad;
  }
}

TEST(InitialWeights, ConstantsStartAtTheirValueAndBiasesAtZero) {
  std::vector<float> parameters(kTokenNet.parameters, 7.0f);
  ASSERT_EQ(InitialWeights(kTokenNet, Key{}, {parameters.data(), parameters.size()}), Status::kOk);
  // Table [4][3], gains [3], biases [3], Dense [3][6] and biases [3].
  for (size_t i = 0; i < 12; ++i) EXPECT_LE(std::fabs(parameters[i]), std::sqrt(6.0f / 7)) << i;
  for (size_t i = 12; i < 15; ++i) EXPECT_EQ(parameters[i], 1.0f) << i;
  for (size_t i = 15; i < 18; ++i) EXPECT_EQ(parameters[i], 0.0f) << i;
  for (size_t i = 18; i < 36; ++i) EXPECT_NE(parameters[i], 0.0f) << i;
  for (size_t i = 36; i < 39; ++i) EXPECT_EQ(parameters[i], 0.0f) << i;
}

// Smoothing and exports treat each matrix on its own.
TEST(Net, AnLstmHasTwoMatricesAndTwoVectorsAndAForgetBiasOfOne) {
  using Net = nn::Sequential<nn::Input<1, 5, 3>, nn::Lstm<2, nn::LstmOutput::kLast>>;
  const nn::LayerTensors all = nn::TensorsOf(Net::Plan()[0]);
  ASSERT_EQ(all.count, 4u);
  const uint32_t expected[4][2] = {{8, 3}, {8, 2}, {8, 1}, {8, 1}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all.tensors[i].axes[0], expected[i][0]) << i;
    EXPECT_EQ(all.tensors[i].axes[1], expected[i][1]) << i;
  }
  constexpr ModelInfo kModel = MakeModelInfo<Net>("lstm");
  std::vector<float> parameters(kModel.parameters);
  ASSERT_EQ(InitialWeights(kModel, Key{}, {parameters.data(), parameters.size()}), Status::kOk);
  for (size_t i = 40; i < 56; ++i) EXPECT_EQ(parameters[i], i == 42 || i == 43 ? 1.0f : 0.0f) << i;
}

TEST(ModelDigest, OfAnyOtherNetCoversEachLayersGeometry) {
  using Net = nn::Sequential<nn::Input<1, 9, 3>, nn::Conv1d<4, 3, 2, 1>, nn::Tanh,
                             nn::GlobalAverage2d, nn::GroupNorm<2>, nn::Dense<4, 2>>;
  constexpr ModelInfo kModel = MakeModelInfo<Net>("sequence");
  const std::vector<uint32_t> values = {
      2,  5,                                      // version, layers; then of each the fields
      2,  1, 9, 3, 1, 5, 4, 1, 1, 0, 3, 2, 1, 0,  // Conv1d
      6,  1, 5, 4, 1, 5, 4, 0, 0, 0, 0, 0, 0, 0,  // Tanh
      8,  1, 5, 4, 1, 1, 4, 1, 1, 0, 5, 1, 0, 0,  // GlobalAverage2d
      12, 1, 1, 4, 1, 1, 4, 0, 0, 0, 0, 0, 0, 2,  // GroupNorm
      1,  1, 1, 4, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0,  // Dense
      1,  1, 0, 0};  // loss, target, steps that prepare data, frozen layers
  Sha256 hash;
  for (const uint32_t value : values) ASSERT_EQ(hash.UpdateU32(value), Status::kOk);
  uint8_t expected[kSha256Size];
  uint8_t digest[kSha256Size];
  ASSERT_EQ(hash.Finish(expected), Status::kOk);
  ASSERT_EQ(ModelDigest(kModel, digest), Status::kOk);
  EXPECT_EQ(ToHex(digest), ToHex(expected));
}

// The number of a branch is the size of its layers.
TEST(ModelDigest, OfANetWithBranchesCoversWhereTheyBeginAndEnd) {
  using Net = nn::Sequential<nn::Input<3>, nn::Fork<1>, nn::Dense<3, 2>, nn::Swap<1>,
                             nn::Dense<3, 2>, nn::Add<1>>;
  constexpr ModelInfo kModel = MakeModelInfo<Net>("branches");
  const std::vector<uint32_t> values = {
      2,  5,                                      // version, layers
      14, 1, 1, 3, 1, 1, 3, 0, 0, 0, 0, 0, 0, 1,  // Fork
      1,  1, 1, 3, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0,  // Dense
      15, 1, 1, 2, 1, 1, 3, 0, 0, 0, 0, 0, 0, 1,  // Swap
      1,  1, 1, 3, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0,  // Dense
      16, 1, 1, 2, 1, 1, 2, 0, 0, 0, 0, 0, 0, 1,  // Add
      1,  1, 0, 0};  // loss, target, steps that prepare data, frozen layers
  Sha256 hash;
  for (const uint32_t value : values) ASSERT_EQ(hash.UpdateU32(value), Status::kOk);
  uint8_t expected[kSha256Size];
  uint8_t digest[kSha256Size];
  ASSERT_EQ(hash.Finish(expected), Status::kOk);
  ASSERT_EQ(ModelDigest(kModel, digest), Status::kOk);
  EXPECT_EQ(ToHex(digest), ToHex(expected));
}

constexpr float kFrozenWeights[] = {0.5f, -1.0f, 0.25f, 2.0f, -0.125f, 1.0f, 0.0f, 3.0f};

TEST(ModelDigest, CoversLossTargetAndConstants) {
  using Net = nn::Sequential<nn::Input<3>, nn::Frozen<kFrozenWeights, nn::Dense<3, 2>>, nn::Relu,
                             nn::Dense<2, 3>, nn::MeanSquaredError<nn::TargetKind::kInput>>;
  static_assert(Net::kParameters == 9 && Net::kClasses == 0 && Net::kOutputs == 3);
  constexpr ModelInfo kModel = MakeModelInfo<Net>("frozen");
  std::vector<uint32_t> values = {2, 3,                                      // version, layers
                                  1, 1, 1, 3, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0,  // Dense
                                  4, 1, 1, 2, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0,  // Relu
                                  1, 1, 1, 2, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0,  // Dense
                                  3, 3, 0, 1, 0};  // loss, target, steps, frozen layers, the first
  for (const float weight : kFrozenWeights) values.push_back(FloatBits(weight));
  Sha256 hash;
  for (const uint32_t value : values) ASSERT_EQ(hash.UpdateU32(value), Status::kOk);
  uint8_t expected[kSha256Size];
  uint8_t digest[kSha256Size];
  ASSERT_EQ(hash.Finish(expected), Status::kOk);
  ASSERT_EQ(ModelDigest(kModel, digest), Status::kOk);
  EXPECT_EQ(ToHex(digest), ToHex(expected));
}

TEST(ModelDigest, IsTheDocumentedHash) {
  Sha256 hash;
  for (const uint32_t value : {1u, 1u, 1u, 784u, 10u}) {
    ASSERT_EQ(hash.UpdateU32(value), Status::kOk);
  }
  uint8_t expected[kSha256Size];
  uint8_t digest[kSha256Size];
  ASSERT_EQ(hash.Finish(expected), Status::kOk);
  ASSERT_EQ(ModelDigest(*FindModel("softmax-784-10"), digest), Status::kOk);
  EXPECT_EQ(ToHex(digest), ToHex(expected));
  EXPECT_EQ(ToHex(digest), "78f83a5ab25de66fe17591d3ed64c07085a6c0b5bfdf3cfaf78a024350c5c42a");
}

// The steps' factors and tables and the names of the classes are in the digest.
TEST(ModelDigest, OfDsCnnIsTheSameOnEveryPlatform) {
  uint8_t digest[kSha256Size];
  ASSERT_EQ(ModelDigest(*FindModel("ds-cnn"), digest), Status::kOk);
  EXPECT_EQ(ToHex(digest), "dab314ff4bf2ccb96549d4531aff7eee91d6d9639e1f1b1aa7868388dfd12b4a");
}

static_assert(Mlp::kParameters == 50890);
static_assert(LeNet::kParameters == 61706);
static_assert(SvhnCnn::kParameters == 3431754);
static_assert(CharLstm::kParameters == 820450 && CharLstm::kTokens == 82);
static_assert(CharLstmSmall::kParameters == 8738 && CharLstmSmall::kInputs == 40);
static_assert(OvaLogistic::kParameters == 510 && OvaLogistic::kClasses == 10);
static_assert(Motion::kParameters == 3046 && Motion::kInputs == 128 * 3);
static_assert(ResNet8::kParameters == 78186 && ResNet8::kInputs == 32 * 32 * 3);
static_assert(ResNet18::kParameters == 11178762 && ResNet18::Plan().size() == 78);
static_assert(DsCnn::kParameters == 4378 && DsCnn::kInputs == 16000);

TEST(Models, AreFoundByNameAndAddUp) {
  EXPECT_EQ(FindModel("no-such-model"), nullptr);
  for (const ModelInfo& model : Models()) {
    EXPECT_EQ(FindModel(model.name), &model);
    uint32_t total = 0;
    for (const nn::LayerPlan& layer : model.layers) {
      const nn::LayerTensors all = nn::TensorsOf(layer);
      for (uint32_t i = 0; i < all.count; ++i) total += all.tensors[i].size();
    }
    EXPECT_EQ(total, model.parameters) << model.name;
  }
  EXPECT_EQ(FindModel("softmax-784-10")->parameters, 7850u);
}

}  // namespace
}  // namespace sotto
