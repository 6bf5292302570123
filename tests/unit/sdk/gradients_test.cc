// Gradients of every kind of layer, and of nets of several, against central differences. The layers
// are compiled with double here, so the two agree to nine digits.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "nn/walker.h"
#include "sotto/net_memory.h"
#include "sotto/nn.h"

namespace sotto::nn {
namespace {

static_assert(sizeof(Real) == 8, "this test is compiled with double");

std::vector<Real> RandomNumbers(size_t size, double deviation, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<Real> numbers(size);
  for (Real& number : numbers) number = normal(random);
  return numbers;
}

std::vector<Real> RandomTokens(size_t size, uint32_t tokens, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Real> ids(size);
  for (Real& id : ids) id = static_cast<Real>(random() % tokens);
  return ids;
}

// A net, a batch of samples and the loss 0.5 sum_s |output - target|^2.
class Bench {
 public:
  Bench(Span<const LayerPlan> plan, size_t most_samples, double deviation = 1)
      : plan_(plan), most_samples_(most_samples) {
    size_t count = 0;
    for (const LayerPlan& layer : plan) count += layer.trained();
    parameters = RandomNumbers(count, 0.4, 1);
    const LayerPlan& last = plan[plan.size() - 1];
    for (uint32_t s = 0; s < 3; ++s) {
      const size_t inputs = plan[0].info.input.size();
      samples.push_back(plan[0].tokens > 0 ? RandomTokens(inputs, plan[0].tokens, 10 + s)
                                           : RandomNumbers(inputs, deviation, 10 + s));
      targets.push_back(RandomNumbers(last.info.output.size(), 1, 20 + s));
    }
    memory_ = RandomNumbers(NetMemory(plan, most_samples), 1, 2);
  }

  double Loss() {
    double loss = 0;
    Walker walker = MakeWalker();
    for (size_t s = 0; s < samples.size(); ++s) {
      Forward(s, walker);
      for (size_t i = 0; i < targets[s].size(); ++i) {
        const double error = walker.output()[i] - targets[s][i];
        loss += 0.5 * error * error;
      }
    }
    return loss;
  }

  // d loss / d parameters, as a step of rate -1 shows it.
  std::vector<Real> Gradient() {
    Walker walker = MakeWalker();
    walker.BeginBatch();
    for (size_t s = 0; s < samples.size(); ++s) {
      Forward(s, walker);
      for (size_t i = 0; i < targets[s].size(); ++i) walker.output()[i] -= targets[s][i];
      walker.Backward();
    }
    std::vector<Real> moved(parameters.size(), 0.0);
    walker.Step(1, 1, moved.data());
    return moved;
  }

  std::vector<Real> parameters;
  std::vector<std::vector<Real>> samples;
  std::vector<std::vector<Real>> targets;

 private:
  Walker MakeWalker() { return {plan_, parameters.data(), memory_.data(), most_samples_}; }
  void Forward(size_t s, Walker& walker) {
    std::copy(samples[s].begin(), samples[s].end(), walker.input().begin());
    walker.Forward();
  }

  Span<const LayerPlan> plan_;
  size_t most_samples_;
  std::vector<Real> memory_;
};

double CentralDifference(Bench& bench, size_t parameter) {
  constexpr double kStep = 1e-6;
  Real& value = bench.parameters[parameter];
  const Real before = value;
  value = before + kStep;
  const double above = bench.Loss();
  value = before - kStep;
  const double below = bench.Loss();
  value = before;
  return (above - below) / (2 * kStep);
}

//   deviation  of the samples' numbers
template <class Net>
void ExpectGradients(double deviation = 1) {
  std::vector<Real> first;
  for (const size_t most_samples : {size_t{3}, size_t{1000}}) {
    Bench bench(Net::Plan(), most_samples, deviation);
    const std::vector<Real> gradient = bench.Gradient();
    if (first.empty()) first = gradient;
    EXPECT_EQ(gradient, first) << "the way to store it changes no bit";
    double largest = 0;
    for (const Real value : gradient) largest = std::max(largest, std::fabs(value));
    ASSERT_GT(largest, 1e-3);
    for (size_t i = 0; i < gradient.size(); ++i) {
      ASSERT_NEAR(gradient[i], CentralDifference(bench, i), 1e-7 * largest) << "parameter " << i;
    }
  }
}

// The derivative of a loss by each output, against central differences.
void ExpectErrors(const LossPlan& loss, size_t outputs, const Target& target) {
  const std::vector<Real> at = RandomNumbers(outputs, 2, 3);
  std::vector<Real> errors = at;
  loss.errors({errors.data(), errors.size()}, target);
  const auto loss_at = [&](size_t k, double step) {
    std::vector<Real> moved = at;
    moved[k] += step;
    return loss.errors({moved.data(), moved.size()}, target);
  };
  for (size_t k = 0; k < outputs; ++k) {
    EXPECT_NEAR(errors[k], (loss_at(k, 1e-6) - loss_at(k, -1e-6)) / 2e-6, 1e-8) << k;
  }
}

TEST(Gradients, Losses) {
  ExpectErrors(SoftmaxCrossEntropy::Plan(), 5, {3, nullptr});
  ExpectErrors(OneVsAll::Plan(), 5, {3, nullptr});
  for (const uint32_t label : {0u, 1u}) ExpectErrors(OneVsAll::Plan(), 1, {label, nullptr});
  const std::vector<Real> vector = RandomNumbers(4, 1, 5);
  ExpectErrors(MeanSquaredError<>::Plan(), 4, {0, vector.data()});
}

TEST(Gradients, FrozenLayersHaveNoneAndTheOthersTheSame) {
  static const Real kWeights[3 * 18 + 3] = {0.3, -0.2, 0.5, 0.1, 0.9, -0.4};
  using Net = Sequential<Input<6, 5, 2>, Frozen<kWeights, Conv2d<3, 3>, Relu>, Conv2d<2, 2>, Tanh,
                         Dense<12, 3>>;
  static_assert(Net::kParameters == 2 * 12 + 2 + 3 * 12 + 3);
  ExpectGradients<Net>();
}

TEST(Gradients, Dense) { ExpectGradients<Sequential<Dense<7, 5>, OneVsAll>>(); }

TEST(Gradients, DenseBehindDenseWithRectifiers) {
  ExpectGradients<Sequential<Dense<40, 33>, Relu, Dense<33, 17>, Relu, Dense<17, 3>>>();
}

TEST(Gradients, TanhAndSigmoid) {
  ExpectGradients<Sequential<Dense<7, 5>, Tanh>>();
  ExpectGradients<Sequential<Dense<7, 5>, Sigmoid>>();
  ExpectGradients<Sequential<Dense<40, 33>, Tanh, Dense<33, 17>, Sigmoid, Dense<17, 3>>>();
  ExpectGradients<
      Sequential<Input<6, 5, 2>, Conv2d<3, 3>, Tanh, Conv2d<2, 2>, Sigmoid, Tanh, Dense<12, 3>>>();
}

TEST(Gradients, Conv2dOfEachStrideAndPadding) {
  ExpectGradients<Sequential<Input<6, 5, 2>, Conv2d<3, 3>>>();
  ExpectGradients<Sequential<Input<6, 5, 2>, Conv2d<3, 3, 2, 1>>>();
  ExpectGradients<Sequential<Input<6, 5, 2>, Conv2d<3, 2, 3>>>();
  ExpectGradients<Sequential<Input<4, 4, 1>, Conv2d<2, 1>, Conv2d<3, 4, 1, 3>>>();
}

TEST(Gradients, Conv2dBehindConv2d) {
  ExpectGradients<Sequential<Input<7, 6, 2>, Conv2d<3, 3, 1, 1>, Relu, Conv2d<4, 3, 2>, Relu,
                             Flatten, Dense<24, 3>>>();
}

TEST(Gradients, DepthwiseConv2dOfEachStridePaddingAndMultiplier) {
  ExpectGradients<Sequential<Input<6, 5, 3>, DepthwiseConv2d<3>>>();
  ExpectGradients<Sequential<Input<6, 5, 11>, DepthwiseConv2d<3, 2, 1>>>();
  ExpectGradients<Sequential<Input<6, 5, 16>, DepthwiseConv2d<2, 3>>>();
  ExpectGradients<Sequential<Input<4, 4, 2>, DepthwiseConv2d<1>, DepthwiseConv2d<4, 1, 3>>>();
  ExpectGradients<
      Sequential<Input<4, 4, 3>, DepthwiseConv2d<3, 1, 1, 3>, DepthwiseConv2d<3, 2, 2, 2>>>();
}

TEST(Gradients, DepthwiseConv2dBetweenOtherLayers) {
  ExpectGradients<
      Sequential<Input<7, 6, 2>, Conv2d<10, 3, 1, 1>, Relu, DepthwiseConv2d<3, 2, 1>, Relu,
                 Conv2d<5, 1>, DepthwiseConv2d<2, 1, 0, 2>, Tanh, Dense<60, 3>>>();
}

TEST(Gradients, MaxPool2dSideBySideApartAndOverlapping) {
  ExpectGradients<Sequential<Input<7, 7, 1>, Conv2d<3, 3, 1, 1>, MaxPool2d<2>>>();
  ExpectGradients<Sequential<Input<7, 7, 1>, Conv2d<3, 3, 1, 1>, MaxPool2d<2, 3>>>();
  ExpectGradients<Sequential<Input<7, 7, 1>, Conv2d<3, 3, 1, 1>, MaxPool2d<3, 2>>>();
  ExpectGradients<Sequential<Input<7, 7, 1>, Conv2d<3, 3, 1, 1>, MaxPool2d<3, 2, 1>>>();
  ExpectGradients<Sequential<Input<7, 7, 1>, Conv2d<3, 3, 1, 1>, MaxPool2d<2, 2, 1>>>();
}

TEST(Gradients, AveragePool2dSideBySideApartAndOverlapping) {
  ExpectGradients<Sequential<Input<7, 7, 1>, Conv2d<3, 3, 1, 1>, AveragePool2d<2>>>();
  ExpectGradients<Sequential<Input<7, 7, 1>, Conv2d<3, 3, 1, 1>, AveragePool2d<2, 3>>>();
  ExpectGradients<Sequential<Input<7, 7, 1>, Conv2d<3, 3, 1, 1>, AveragePool2d<3, 2>>>();
  ExpectGradients<Sequential<Input<7, 7, 1>, Conv2d<3, 3, 1, 1>, AveragePool2d<3, 2, 1>>>();
  ExpectGradients<Sequential<Input<7, 7, 1>, Conv2d<3, 3, 1, 1>, AveragePool2d<2, 2, 1>>>();
  ExpectGradients<Sequential<Input<7, 7, 1>, Conv2d<3, 3, 1, 1>, AveragePool2d<3, 1, 2>>>();
}

TEST(Gradients, AveragesBetweenOtherLayers) {
  ExpectGradients<Sequential<Input<8, 6, 2>, Conv2d<3, 3, 1, 1>, Tanh, AveragePool2d<3, 2, 1>,
                             Conv2d<9, 2>, Relu, GlobalAverage2d, Dense<9, 4>>>();
}

TEST(Gradients, Conv1dOfEachStrideAndPadding) {
  ExpectGradients<Sequential<Input<1, 11, 3>, Conv1d<4, 3>>>();
  ExpectGradients<Sequential<Input<1, 11, 3>, Conv1d<4, 3, 2, 1>>>();
  ExpectGradients<Sequential<Input<1, 11, 3>, Conv1d<4, 2, 3>>>();
  ExpectGradients<Sequential<Input<1, 4, 1>, Conv1d<2, 1>, Conv1d<3, 4, 1, 3>>>();
}

TEST(Gradients, PoolingOfSequences) {
  ExpectGradients<Sequential<Input<1, 13, 2>, Conv1d<3, 3>, MaxPool1d<2>>>();
  ExpectGradients<Sequential<Input<1, 13, 2>, Conv1d<3, 3>, MaxPool1d<2, 3>>>();
  ExpectGradients<Sequential<Input<1, 13, 2>, Conv1d<3, 3>, MaxPool1d<3, 2, 1>>>();
  ExpectGradients<Sequential<Input<1, 13, 2>, Conv1d<3, 3>, MaxPool1d<2, 2, 1>>>();
  ExpectGradients<Sequential<Input<1, 13, 2>, Conv1d<3, 3>, AveragePool1d<2>>>();
  ExpectGradients<Sequential<Input<1, 13, 2>, Conv1d<3, 3>, AveragePool1d<2, 3>>>();
  ExpectGradients<Sequential<Input<1, 13, 2>, Conv1d<3, 3>, AveragePool1d<3, 1, 2>>>();
  ExpectGradients<Sequential<Input<1, 13, 2>, Conv1d<3, 3>, GlobalAverage2d>>();
}

TEST(Gradients, ANetOfSequences) {
  ExpectGradients<
      Sequential<Input<1, 32, 3>, Conv1d<6, 5, 2, 2>, Relu, MaxPool1d<2>, Conv1d<8, 3>, Tanh,
                 AveragePool1d<2, 1>, Flatten, Dense<40, 9>, Relu, Dense<9, 4>>>();
}

TEST(Gradients, GroupNormOfOneOfSomeAndOfAsManyGroupsAsChannels) {
  ExpectGradients<Sequential<Input<3, 4, 6>, GroupNorm<2>>>();
  ExpectGradients<Sequential<Input<5, 4, 2>, Conv2d<6, 3>, GroupNorm<1>, Flatten, Dense<36, 3>>>();
  ExpectGradients<Sequential<Input<5, 4, 2>, Conv2d<6, 3>, GroupNorm<3>, Flatten, Dense<36, 3>>>();
  ExpectGradients<Sequential<Input<5, 4, 2>, Conv2d<6, 3>, GroupNorm<6>, Flatten, Dense<36, 3>>>();
}

TEST(Gradients, GroupNormBehindGroupNorm) {
  ExpectGradients<Sequential<Input<6, 5, 2>, Conv2d<4, 3>, GroupNorm<2>, Relu, Conv2d<6, 2>,
                             GroupNorm<3>, Relu, MaxPool2d<2>, Flatten, Dense<6, 3>>>();
}

// Inputs around 100, so that the neighbours count.
TEST(Gradients, LocalResponseNormOfSomeOfAllAndOfNoNeighbours) {
  ExpectGradients<Sequential<Input<3, 3, 2>, Conv2d<7, 2>, LocalResponseNorm<5>>>(100);
  ExpectGradients<Sequential<Input<3, 3, 2>, Conv2d<7, 2>, LocalResponseNorm<15>>>(100);
  ExpectGradients<Sequential<Input<3, 3, 2>, Conv2d<7, 2>, LocalResponseNorm<1>>>(100);
}

TEST(Gradients, LocalResponseNormBetweenOtherLayers) {
  ExpectGradients<Sequential<Input<7, 6, 2>, Conv2d<6, 3>, Relu, LocalResponseNorm<3>, MaxPool2d<2>,
                             LocalResponseNorm<5>, Flatten, Dense<24, 3>>>(100);
}

// Tokens that occur several times, and some that do not occur.
TEST(Gradients, Embedding) {
  ExpectGradients<Sequential<Input<1, 5, 1>, Embedding<4, 3>>>();
  ExpectGradients<Sequential<Input<1, 5, 1>, Embedding<40, 3>, Flatten, Dense<15, 4>>>();
  ExpectGradients<Sequential<Input<1, 6, 1>, Embedding<7, 4>, GroupNorm<1>, Relu, Dense<24, 3>>>();
}

TEST(Gradients, LstmThatGivesTheSequenceOrTheLastStep) {
  ExpectGradients<Sequential<Input<1, 6, 3>, Lstm<5, LstmOutput::kSequence>>>();
  ExpectGradients<Sequential<Input<1, 6, 3>, Lstm<5, LstmOutput::kLast>>>();
  ExpectGradients<Sequential<Input<1, 1, 9>, Lstm<4, LstmOutput::kLast>>>();
  ExpectGradients<Sequential<Input<1, 20, 1>, Lstm<1, LstmOutput::kLast>>>();
}

TEST(Gradients, LstmBehindLstm) {
  ExpectGradients<Sequential<Input<1, 6, 3>, Lstm<5, LstmOutput::kSequence>,
                             Lstm<4, LstmOutput::kLast>, Dense<4, 3>>>();
  ExpectGradients<Sequential<Input<1, 4, 2>, Lstm<3, LstmOutput::kSequence>,
                             Lstm<4, LstmOutput::kSequence>, Flatten, Dense<16, 3>>>();
}

TEST(Gradients, LstmBehindEmbedding) {
  ExpectGradients<
      Sequential<Input<1, 7, 1>, Embedding<5, 3>, Lstm<6, LstmOutput::kLast>, Dense<6, 5>>>();
  ExpectGradients<Sequential<Input<1, 7, 1>, Embedding<5, 3>, Lstm<6, LstmOutput::kSequence>,
                             Lstm<4, LstmOutput::kLast>, Dense<4, 5>>>();
}

TEST(Gradients, LstmBehindAConvolution) {
  ExpectGradients<Sequential<Input<1, 8, 2>, Conv2d<3, 1>, Relu, Lstm<4, LstmOutput::kSequence>,
                             GroupNorm<2>, Lstm<3, LstmOutput::kLast>, Dense<3, 2>>>();
}

TEST(Gradients, ASmallLeNet) {
  ExpectGradients<Sequential<Input<12, 12, 1>, Conv2d<3, 5, 1, 2>, Relu, MaxPool2d<2>, Conv2d<4, 3>,
                             Relu, MaxPool2d<2>, Flatten, Dense<16, 12>, Relu, Dense<12, 5>>>();
}

template <uint32_t branch, uint32_t channels>
using Residual = Block<Fork<branch>, Conv2d<channels, 3, 1, 1>, Tanh, Conv2d<channels, 3, 1, 1>,
                       Add<branch>, Tanh>;
// The shortcut has a layer, too.
template <uint32_t branch, uint32_t channels>
using Projected = Block<Fork<branch>, Conv2d<channels, 3, 2, 1>, Tanh, Conv2d<channels, 3, 1, 1>,
                        Swap<branch>, Conv2d<channels, 1, 2>, Add<branch>, Tanh>;

TEST(Gradients, ResidualBlocks) {
  ExpectGradients<Sequential<Input<4, 3, 2>, Conv2d<3, 2>, Residual<1, 3>, Dense<18, 3>>>();
  ExpectGradients<Sequential<Input<5, 4, 2>, Conv2d<2, 1>, Projected<1, 3>, Dense<18, 3>>>();
  ExpectGradients<
      Sequential<Input<5, 4, 1>, Conv2d<2, 3, 1, 1>, GroupNorm<2>, Relu, Residual<1, 2>,
                 Projected<1, 4>, GroupNorm<2>, Residual<1, 4>, GlobalAverage2d, Dense<4, 3>>>();
}

TEST(Gradients, ABranchThatBeginsAtTheInput) {
  ExpectGradients<Sequential<Input<7>, Fork<1>, Dense<7, 7>, Tanh, Add<1>, Dense<7, 3>>>();
  ExpectGradients<Sequential<Input<7>, Fork<1>, Dense<7, 4>, Swap<1>, Dense<7, 4>, Add<1>>>();
  ExpectGradients<Sequential<Input<4, 4, 2>, Projected<1, 3>, Dense<12, 2>>>();
}

TEST(Gradients, BranchesInBranches) {
  ExpectGradients<Sequential<Input<4, 4, 2>, Fork<7>, Residual<1, 2>, Conv2d<2, 1>, Residual<1, 2>,
                             Add<7>, Dense<32, 2>>>();
  ExpectGradients<Sequential<Input<4, 4, 2>, Conv2d<2, 1>, Fork<1>, Projected<2, 2>, Swap<1>,
                             Projected<2, 2>, Add<1>, Dense<8, 2>>>();
}

// Branches that cross: neither lies within the other.
TEST(Gradients, BranchesSideBySide) {
  ExpectGradients<Sequential<Input<6>, Dense<6, 5>, Fork<1>, Dense<5, 5>, Tanh, Fork<2>,
                             Dense<5, 5>, Add<1>, Tanh, Dense<5, 5>, Add<2>, Dense<5, 2>>>();
}

// Three and four readers of one tensor, which each have layers or none, in place or not.
TEST(Gradients, ATensorThatSeveralLayersRead) {
  ExpectGradients<Sequential<Input<6>, Dense<6, 5>, Fork<1>, Fork<2>, Dense<5, 5>, Tanh, Add<1>,
                             Dense<5, 5>, Add<2>, Dense<5, 2>>>();
  ExpectGradients<Sequential<Input<6>, Dense<6, 5>, Fork<1>, Fork<2>, Fork<3>, Sigmoid, Swap<1>,
                             Dense<5, 5>, Add<1>, Swap<2>, Tanh, Add<2>, Add<3>, Dense<5, 2>>>();
  ExpectGradients<Sequential<Input<6>, Dense<6, 5>, Fork<1>, Add<1>, Tanh>>();
}

TEST(Gradients, BranchesOfFrozenLayers) {
  static const Real kWeights[] = {0.3, -0.2, 0.5, 0.1, 0.9, -0.4};
  using Net = Sequential<Input<4, 3, 2>, Frozen<kWeights, Conv2d<2, 1>, Fork<1>, Tanh>,
                         Conv2d<2, 3, 1, 1>, Add<1>, Tanh, Dense<24, 2>>;
  ExpectGradients<Net>();
}

// A weight's gradient is one sum in one order, whatever is kept until the step.
TEST(Gradients, TheMemoryOfAGradientDoesNotChangeItsBits) {
  using Net = Sequential<Dense<40, 33>, Relu, Dense<33, 3>>;
  static_assert(KeepsBatch(Net::Plan()[0], 3) && !KeepsBatch(Net::Plan()[0], 1000));
  EXPECT_EQ(Bench(Net::Plan(), 3).Gradient(), Bench(Net::Plan(), 1000).Gradient());
}

}  // namespace
}  // namespace sotto::nn
