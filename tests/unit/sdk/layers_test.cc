// Outputs of layers against their formulas, written plainly. The layers are compiled with double.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "nn/kernels.h"
#include "nn/walker.h"
#include "sotto/net_memory.h"
#include "sotto/nn.h"

namespace sotto::nn {
namespace {

using Numbers = std::vector<Real>;

Numbers Output(Span<const LayerPlan> plan, const Numbers& parameters, const Numbers& sample) {
  Numbers memory(NetMemory(plan, 0));
  Walker walker(plan, parameters.data(), memory.data(), 0);
  std::copy(sample.begin(), sample.end(), walker.input().begin());
  walker.Forward();
  return {walker.output().begin(), walker.output().end()};
}

// A single layer.
template <class Layer>
Numbers OutputOf(const Shape& input, const Numbers& sample, const Numbers& parameters = {}) {
  LayerPlan plan[] = {Layer::Plan(input)};
  PlaceTensors(plan, 1);
  EXPECT_TRUE(Layer::Fits(input));
  EXPECT_EQ(parameters.size(), plan[0].parameters());
  return Output(plan, parameters, sample);
}

Numbers RandomNumbers(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<Real> uniform(-1, 1);
  Numbers numbers(size);
  for (Real& number : numbers) number = uniform(random);
  return numbers;
}

// x at a place that may lie in the padding, which is zero.
Real At(const Numbers& x, const Shape& shape, int64_t row, int64_t column, size_t channel) {
  if (row < 0 || column < 0 || row >= shape.height || column >= shape.width) return 0;
  return x[(static_cast<size_t>(row) * shape.width + static_cast<size_t>(column)) * shape.channels +
           channel];
}

// PyTorch's convolution, with weights [outputs][channels / groups][height][width].
Numbers PlainConvolution(const LayerInfo& info, size_t groups, const Numbers& weights,
                         const Numbers& bias, const Numbers& x) {
  const Axis& rows = info.window.rows;
  const Axis& columns = info.window.columns;
  const size_t channels = info.input.channels / groups;
  Numbers out;
  for (int64_t y = 0; y < info.output.height; ++y) {
    for (int64_t z = 0; z < info.output.width; ++z) {
      for (size_t o = 0; o < info.output.channels; ++o) {
        const size_t group = o / (info.output.channels / groups);
        Real sum = bias[o];
        const Real* weight = &weights[o * channels * info.window.size()];
        for (size_t c = 0; c < channels; ++c) {
          for (int64_t i = 0; i < rows.extent; ++i) {
            for (int64_t j = 0; j < columns.extent; ++j) {
              sum += *weight++ * At(x, info.input, y * rows.stride + i - rows.padding,
                                    z * columns.stride + j - columns.padding, group * channels + c);
            }
          }
        }
        out.push_back(sum);
      }
    }
  }
  return out;
}

// PyTorch's weights [outputs][inner] in another order: [pixels of the window][outputs] of a
// depthwise convolution, [outputs][pixels][channels] of any other.
Numbers Reordered(const LayerInfo& info, const Numbers& weights) {
  const size_t pixels = info.window.size();
  const size_t outputs = info.output.channels;
  const size_t channels = weights.size() / (outputs * pixels);
  const bool is_depthwise = info.kind == LayerKind::kDepthwiseConv2d;
  Numbers ours(weights.size());
  for (size_t o = 0; o < outputs; ++o) {
    for (size_t c = 0; c < channels; ++c) {
      for (size_t p = 0; p < pixels; ++p) {
        ours[is_depthwise ? p * outputs + o : (o * pixels + p) * channels + c] =
            weights[(o * channels + c) * pixels + p];
      }
    }
  }
  return ours;
}

template <class Layer>
void ExpectConvolution(const Shape& input) {
  const LayerPlan plan = Layer::Plan(input);
  const size_t groups = plan.info.kind == LayerKind::kDepthwiseConv2d ? input.channels : 1;
  const Numbers weights = RandomNumbers(plan.weights, 1);
  const Numbers bias = RandomNumbers(plan.biases, 2);
  const Numbers x = RandomNumbers(input.size(), 3);
  Numbers parameters = Reordered(plan.info, weights);
  parameters.insert(parameters.end(), bias.begin(), bias.end());
  const Numbers expected = PlainConvolution(plan.info, groups, weights, bias, x);
  const Numbers y = OutputOf<Layer>(input, x, parameters);
  ASSERT_EQ(y.size(), expected.size());
  for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], 1e-12) << i;
}

TEST(Conv2d, IsPyTorchsConvolution) {
  ExpectConvolution<Conv2d<3, 3>>({6, 5, 2});
  ExpectConvolution<Conv2d<4, 3, 2, 1>>({6, 5, 3});
  ExpectConvolution<Conv2d<2, 2, 3, 1>>({7, 4, 1});
}

TEST(Conv1d, IsPyTorchsConvolution) {
  ExpectConvolution<Conv1d<3, 3>>({1, 9, 2});
  ExpectConvolution<Conv1d<4, 5, 2, 2>>({1, 9, 3});
  ExpectConvolution<Conv1d<2, 2, 3, 1>>({1, 4, 1});
}

// Rows of an image are not a sequence, and padding lies before and behind a sequence only.
TEST(Sequences, HaveHeightOneBeforeAndAfter) {
  static_assert(!Conv1d<3, 3>::Fits({2, 9, 2}) && !Conv1d<3, 3>::Fits({1, 2, 2}));
  static_assert(!MaxPool1d<2>::Fits({2, 9, 2}) && !AveragePool1d<2>::Fits({2, 9, 2}));
  EXPECT_EQ((Conv1d<4, 3, 2, 1>::Plan({1, 9, 2}).info.output), (Shape{1, 5, 4}));
  EXPECT_EQ((MaxPool1d<3, 2, 1>::Plan({1, 9, 2}).info.output), (Shape{1, 5, 2}));
  EXPECT_EQ((AveragePool1d<3, 2, 1>::Plan({1, 9, 2}).info.output), (Shape{1, 5, 2}));
  EXPECT_EQ((Conv1d<4, 3>::Plan({1, 9, 2}).info.kind), LayerKind::kConv2d);
}

TEST(MaxPool1d, IsTheLargestOfEachChannel) {
  const Numbers two_channels = {1, -1, 3, -3, 2, -2, 5, -5, 4, -4};
  EXPECT_EQ(OutputOf<MaxPool1d<2>>({1, 5, 2}, two_channels), (Numbers{3, -1, 5, -2}));
  EXPECT_EQ((OutputOf<MaxPool1d<2, 2, 1>>({1, 5, 2}, two_channels)),
            (Numbers{1, -1, 3, -2, 5, -4}));
}

TEST(MaxPool2d, PassesTheDeltaToTheFirstOfEqualValues) {
  const LayerPlan plan = MaxPool2d<2>::Plan({2, 5, 1});
  Numbers input = {1, 3, 2, 2, 7, 3, 3, 2, 2, 7};
  Numbers delta = {5, 6};
  Numbers scratch(plan.scratch);
  plan.functions.input_delta(
      {plan.info, nullptr, input.data(), delta.data(), nullptr, scratch.data()});
  EXPECT_EQ(input, (Numbers{0, 5, 6, 0, 0, 0, 0, 0, 0, 0}));
}

// A sum that began at zero is the same with and without products that are zero.
TEST(Kernels, SkipRowsWhoseFactorIsZero) {
  const Numbers factors = {0, 2, 0, 0, -1, 3, 0};
  const Numbers x = RandomNumbers(11, 1);
  const Numbers m = RandomNumbers(7 * 11, 2);
  Numbers outer(7 * 11);
  AddOuterProduct(factors.data(), 7, x.data(), 11, outer.data());
  Numbers product(11, 9);
  TransposedProduct(m.data(), factors.data(), 11, 7, product.data());
  for (size_t i = 0; i < 11; ++i) {
    Real sum = 0;
    for (size_t o = 0; o < 7; ++o) {
      EXPECT_EQ(outer[o * 11 + i], factors[o] * x[i]);
      sum += m[o * 11 + i] * factors[o];
    }
    EXPECT_EQ(product[i], sum);
  }
}

TEST(AveragePool1d, DoesNotCountPadding) {
  EXPECT_EQ((OutputOf<AveragePool1d<2, 2, 1>>({1, 5, 1}, {1, 2, 3, 4, 5})), (Numbers{1, 2.5, 4.5}));
}

TEST(DepthwiseConv2d, IsPyTorchsConvolutionOfAsManyGroupsAsChannels) {
  ExpectConvolution<DepthwiseConv2d<3>>({6, 5, 2});
  ExpectConvolution<DepthwiseConv2d<3, 2, 1>>({6, 5, 17});
  ExpectConvolution<DepthwiseConv2d<2, 3, 1>>({7, 4, 8});
  ExpectConvolution<DepthwiseConv2d<3, 1, 2, 3>>({5, 5, 3});
}

TEST(AveragePool2d, IsTheMeanOfEachChannel) {
  const Numbers two_channels = {1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60, 7, 70, 8, 80};
  EXPECT_EQ(OutputOf<AveragePool2d<2>>({2, 4, 2}, two_channels), (Numbers{3.5, 35, 5.5, 55}));
}

// PyTorch's count_include_pad=False. With padding counted, the first mean would be 1 / 4.
TEST(AveragePool2d, DoesNotCountPadding) {
  const Numbers sample = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ((OutputOf<AveragePool2d<2, 2, 1>>({3, 3, 1}, sample)), (Numbers{1, 2.5, 5.5, 7}));
  const Numbers means = OutputOf<AveragePool2d<3, 1, 2>>({3, 3, 1}, Numbers(9, 8));
  ASSERT_EQ(means.size(), 25u);
  for (const Real mean : means) EXPECT_DOUBLE_EQ(mean, 8);
}

TEST(GlobalAverage2d, IsTheMeanOverHeightAndWidth) {
  EXPECT_EQ(OutputOf<GlobalAverage2d>({2, 2, 2}, {1, 10, 2, 20, 3, 30, 6, 100}), (Numbers{3, 40}));
  EXPECT_EQ(GlobalAverage2d::Plan({3, 5, 7}).info.output, (Shape{1, 1, 7}));
}

TEST(GroupNorm, IsTheDocumentedFormula) {
  const Numbers y =
      OutputOf<GroupNorm<2>>({1, 2, 4}, {3, 5, 0, 0, 4, 8, 0, 1}, {1, 2, 3, 4, 5, 6, 7, 8});
  // The first group is 3, 5, 4, 8: mean 5, variance 3.5. The second is 0, 0, 0, 1.
  EXPECT_NEAR(y[0], 1 * (3 - 5) / std::sqrt(3.5 + 1e-5) + 5, 1e-12);
  EXPECT_NEAR(y[5], 2 * (8 - 5) / std::sqrt(3.5 + 1e-5) + 6, 1e-12);
  EXPECT_NEAR(y[7], 4 * (1 - 0.25) / std::sqrt(0.1875 + 1e-5) + 8, 1e-12);
}

TEST(LocalResponseNorm, IsTheDocumentedFormula) {
  const Numbers y = OutputOf<LocalResponseNorm<3>>({1, 1, 4}, {100, -200, 300, 400});
  EXPECT_NEAR(y[0], 100 * std::pow(1 + 1e-4 / 3 * 50000, -0.75), 1e-10);
  EXPECT_NEAR(y[1], -200 * std::pow(1 + 1e-4 / 3 * 140000, -0.75), 1e-10);
  EXPECT_NEAR(y[3], 400 * std::pow(1 + 1e-4 / 3 * 250000, -0.75), 1e-10);
}

TEST(Embedding, ReadsNoRowBeyondItsTable) {
  const Numbers y = OutputOf<Embedding<2, 1>>({1, 6, 1}, {0, 1, 2, -1, 1e30, std::nan("")}, {5, 6});
  EXPECT_EQ(y, (Numbers{5, 6, 5, 5, 5, 5}));
}

// PyTorch's nn.LSTM, written plainly: h of every step.
std::vector<Numbers> PlainLstm(size_t channels, size_t units, const Real* parameters,
                               const std::vector<Numbers>& x) {
  const Real* w_ih = parameters;
  const Real* w_hh = w_ih + 4 * units * channels;
  const Real* b_ih = w_hh + 4 * units * units;
  const Real* b_hh = b_ih + 4 * units;
  Numbers h(units, 0.0);
  Numbers c(units, 0.0);
  std::vector<Numbers> outputs;
  for (const Numbers& xt : x) {
    Numbers a(4 * units);
    for (size_t j = 0; j < 4 * units; ++j) {
      a[j] = b_ih[j] + b_hh[j];
      for (size_t k = 0; k < channels; ++k) a[j] += w_ih[j * channels + k] * xt[k];
      for (size_t k = 0; k < units; ++k) a[j] += w_hh[j * units + k] * h[k];
    }
    const auto sigmoid = [](Real v) { return 1 / (1 + std::exp(-v)); };
    for (size_t u = 0; u < units; ++u) {
      c[u] = sigmoid(a[units + u]) * c[u] + sigmoid(a[u]) * std::tanh(a[2 * units + u]);
      h[u] = sigmoid(a[3 * units + u]) * std::tanh(c[u]);
    }
    outputs.push_back(h);
  }
  return outputs;
}

TEST(Lstm, IsPyTorchs) {
  using Steps = Lstm<5, LstmOutput::kSequence>;
  using Last = Lstm<5, LstmOutput::kLast>;
  const Shape input = {1, 3, 2};
  const Numbers sample = {1, -2, 3, 0.5, -1, 4};
  const Numbers parameters = RandomNumbers(Steps::Plan(input).parameters(), 3);
  const Numbers steps = OutputOf<Steps>(input, sample, parameters);
  const Numbers last = OutputOf<Last>(input, sample, parameters);
  const std::vector<Numbers> h = PlainLstm(2, 5, parameters.data(), {{1, -2}, {3, 0.5}, {-1, 4}});
  for (size_t u = 0; u < 5; ++u) {
    for (size_t t = 0; t < 3; ++t) EXPECT_NEAR(steps[5 * t + u], h[t][u], 1e-12);
    EXPECT_NEAR(last[u], h[2][u], 1e-12);
  }
}

}  // namespace
}  // namespace sotto::nn
