// Nets with branches against a second implementation: numbers that know of what they were computed,
// so that their derivatives follow by the chain rule alone. The layers are compiled with double.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <utility>
#include <vector>

#include "nn/walker.h"
#include "sotto/models.h"
#include "sotto/net_memory.h"
#include "sotto/nn.h"

namespace sotto::nn {
namespace {

using Numbers = std::vector<Real>;

Numbers NormalNumbers(size_t size, double deviation, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, deviation);
  Numbers numbers(size);
  for (Real& number : numbers) number = normal(random);
  return numbers;
}

// All numbers of a computation, in its order.
class Tape {
 public:
  using Id = size_t;

  Id New(double value, std::vector<std::pair<Id, double>> slopes = {}) {
    values_.push_back(value);
    slopes_.push_back(std::move(slopes));
    return values_.size() - 1;
  }
  double At(Id id) const { return values_[id]; }
  Id Sum(Id a, Id b) { return New(At(a) + At(b), {{a, 1}, {b, 1}}); }
  Id Difference(Id a, Id b) { return New(At(a) - At(b), {{a, 1}, {b, -1}}); }
  Id Product(Id a, Id b) { return New(At(a) * At(b), {{a, At(b)}, {b, At(a)}}); }
  Id Times(double factor, Id a) { return New(factor * At(a), {{a, factor}}); }
  Id Rectified(Id a) { return New(std::max(At(a), 0.0), {{a, At(a) > 0 ? 1 : 0}}); }
  Id InverseRoot(Id a, double more) {
    const double root = std::sqrt(At(a) + more);
    return New(1 / root, {{a, -0.5 / (root * root * root)}});
  }

  // d `of` / d each number.
  std::vector<double> Derivatives(Id of) const {
    std::vector<double> all(values_.size(), 0.0);
    all[of] = 1;
    for (size_t i = of + 1; i-- > 0;) {
      for (const auto& [id, slope] : slopes_[i]) all[id] += all[i] * slope;
    }
    return all;
  }

 private:
  std::vector<double> values_;
  std::vector<std::vector<std::pair<Id, double>>> slopes_;
};

// [height][width][channels]
struct Image {
  size_t height, width, channels;
  std::vector<Tape::Id> numbers;

  Tape::Id At(size_t row, size_t column, size_t channel) const {
    return numbers[(row * width + column) * channels + channel];
  }
};

// The layers of residual nets, written as their definitions read. Parameters are taken in order.
class Plain {
 public:
  Plain(const Numbers& sample, const Numbers& parameters) {
    for (const Real number : sample) sample_.push_back(tape_.New(number));
    for (const Real number : parameters) parameters_.push_back(tape_.New(number));
  }

  Image Sample(size_t height, size_t width, size_t channels) const {
    return {height, width, channels, sample_};
  }

  Image Convolution(const Image& x, size_t outputs, size_t kernel, size_t stride, size_t padding) {
    const size_t weights = Take(outputs * kernel * kernel * x.channels);
    const size_t biases = Take(outputs);
    Image y = {(x.height + 2 * padding - kernel) / stride + 1,
               (x.width + 2 * padding - kernel) / stride + 1,
               outputs,
               {}};
    for (size_t row = 0; row < y.height; ++row) {
      for (size_t column = 0; column < y.width; ++column) {
        for (size_t o = 0; o < outputs; ++o) {
          Tape::Id sum = parameters_[biases + o];
          for (size_t i = 0; i < kernel * kernel * x.channels; ++i) {
            const size_t from_row = row * stride + i / x.channels / kernel - padding;
            const size_t from_column = column * stride + i / x.channels % kernel - padding;
            if (from_row >= x.height || from_column >= x.width) continue;  // or below zero
            sum = tape_.Sum(
                sum, tape_.Product(parameters_[weights + o * kernel * kernel * x.channels + i],
                                   x.At(from_row, from_column, i % x.channels)));
          }
          y.numbers.push_back(sum);
        }
      }
    }
    return y;
  }

  Image Norm(Image x, size_t groups) {
    const size_t gains = Take(x.channels);
    const size_t biases = Take(x.channels);
    const size_t size = x.channels / groups;
    for (size_t g = 0; g < groups; ++g) {
      std::vector<Tape::Id*> group;
      for (size_t i = 0; i < x.numbers.size(); ++i) {
        if (i % x.channels / size == g) group.push_back(&x.numbers[i]);
      }
      const Tape::Id mean = Mean(group);
      std::vector<Tape::Id> squares;
      for (Tape::Id* number : group) {
        *number = tape_.Difference(*number, mean);
        squares.push_back(tape_.Product(*number, *number));
      }
      std::vector<Tape::Id*> pointers;
      for (Tape::Id& square : squares) pointers.push_back(&square);
      const Tape::Id scale = tape_.InverseRoot(Mean(pointers), 1e-5);
      for (Tape::Id* number : group) *number = tape_.Product(*number, scale);
    }
    for (size_t i = 0; i < x.numbers.size(); ++i) {
      const Tape::Id scaled = tape_.Product(x.numbers[i], parameters_[gains + i % x.channels]);
      x.numbers[i] = tape_.Sum(scaled, parameters_[biases + i % x.channels]);
    }
    return x;
  }

  Image Rectified(Image x) {
    for (Tape::Id& number : x.numbers) number = tape_.Rectified(number);
    return x;
  }

  Image Sum(Image x, const Image& y) {
    for (size_t i = 0; i < x.numbers.size(); ++i) {
      x.numbers[i] = tape_.Sum(x.numbers[i], y.numbers[i]);
    }
    return x;
  }

  Image Means(const Image& x) {
    Image y = {1, 1, x.channels, {}};
    for (size_t c = 0; c < x.channels; ++c) {
      Tape::Id sum = x.numbers[c];
      for (size_t i = c + x.channels; i < x.numbers.size(); i += x.channels) {
        sum = tape_.Sum(sum, x.numbers[i]);
      }
      y.numbers.push_back(tape_.Times(1.0 / static_cast<double>(x.height * x.width), sum));
    }
    return y;
  }

  // The outputs, and the gradient of 0.5 |output|^2.
  std::pair<Numbers, Numbers> Results(const Image& outputs) {
    Numbers values;
    Tape::Id loss = tape_.New(0);
    for (const Tape::Id output : outputs.numbers) {
      values.push_back(tape_.At(output));
      loss = tape_.Sum(loss, tape_.Times(0.5, tape_.Product(output, output)));
    }
    EXPECT_EQ(taken_, parameters_.size());
    const std::vector<double> all = tape_.Derivatives(loss);
    Numbers gradient;
    for (const Tape::Id parameter : parameters_) gradient.push_back(all[parameter]);
    return {values, gradient};
  }

 private:
  size_t Take(size_t count) { return std::exchange(taken_, taken_ + count); }

  Tape::Id Mean(const std::vector<Tape::Id*>& of) {
    Tape::Id sum = *of[0];
    for (size_t i = 1; i < of.size(); ++i) sum = tape_.Sum(sum, *of[i]);
    return tape_.Times(1.0 / static_cast<double>(of.size()), sum);
  }

  Tape tape_;
  std::vector<Tape::Id> sample_;
  std::vector<Tape::Id> parameters_;
  size_t taken_ = 0;
};

std::pair<Numbers, Numbers> ResultsOf(Span<const LayerPlan> plan, const Numbers& sample,
                                      const Numbers& parameters) {
  Numbers memory = NormalNumbers(NetMemory(plan, 1), 1, 7);  // nothing counts on zeros
  Walker walker(plan, parameters.data(), memory.data(), 1);
  walker.BeginBatch();
  std::copy(sample.begin(), sample.end(), walker.input().begin());
  walker.Forward();
  const Numbers outputs(walker.output().begin(), walker.output().end());
  walker.Backward();
  Numbers gradient(parameters.size(), 0.0);
  walker.Step(1, 1, gradient.data());
  return {outputs, gradient};
}

void ExpectNear(const Numbers& a, const Numbers& b) {
  ASSERT_EQ(a.size(), b.size());
  double largest = 0;
  for (const Real number : b) largest = std::max(largest, std::fabs(number));
  ASSERT_GT(largest, 1e-3);
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-11 * largest) << i;
}

// ResNet8 and ResNet18 have such blocks; this net has fewer channels.
TEST(Branches, AResidualNetIsWhatItsDefinitionComputes) {
  using Net =
      Sequential<Input<6, 5, 2>, NormedConv2d<4, 1, 2>, Relu, BasicBlock<4, 2>, HalvingBlock<6, 3>,
                 HalvingBlock<8, 2, GroupNorm<2>>, GlobalAverage2d, Dense<8, 3>>;
  const Numbers sample = NormalNumbers(Net::kInputs, 1, 1);
  const Numbers parameters = NormalNumbers(Net::kParameters, 0.4, 2);
  Plain plain(sample, parameters);
  const auto block = [&](const Image& x, size_t channels, size_t groups, size_t stride) {
    Image y = plain.Rectified(plain.Norm(plain.Convolution(x, channels, 3, stride, 1), groups));
    return plain.Norm(plain.Convolution(y, channels, 3, 1, 1), groups);
  };
  Image x = plain.Convolution(plain.Sample(6, 5, 2), 4, 3, 1, 1);
  x = plain.Rectified(plain.Norm(x, 2));
  x = plain.Rectified(plain.Sum(block(x, 4, 2, 1), x));
  Image main = block(x, 6, 3, 2);
  x = plain.Rectified(plain.Sum(main, plain.Convolution(x, 6, 1, 2, 0)));
  main = block(x, 8, 2, 2);
  x = plain.Rectified(plain.Sum(main, plain.Norm(plain.Convolution(x, 8, 1, 2, 0), 2)));
  const auto expected = plain.Results(plain.Convolution(plain.Means(x), 3, 1, 1, 0));
  const auto found = ResultsOf(Net::Plan(), sample, parameters);
  ExpectNear(found.first, expected.first);
  ExpectNear(found.second, expected.second);
}

// 0.5 |outputs|^2
double LossOf(Span<const LayerPlan> plan, const Numbers& sample, const Numbers& parameters) {
  double loss = 0;
  Numbers memory(NetMemory(plan, 0));
  Walker walker(plan, parameters.data(), memory.data(), 0);
  std::copy(sample.begin(), sample.end(), walker.input().begin());
  walker.Forward();
  for (const Real output : walker.output()) loss += 0.5 * output * output;
  return loss;
}

// For each layer along a direction in which all of its parameters move.
void ExpectGradientsAreSlopes(Span<const LayerPlan> plan, size_t count) {
  constexpr double kStep = 1e-9;  // few rectifiers change sides
  const Numbers sample = NormalNumbers(plan[0].info.input.size(), 1, 1);
  const Numbers parameters = NormalNumbers(count, 0.1, 2);
  const Numbers gradient = ResultsOf(plan, sample, parameters).second;
  size_t first = 0;
  for (const LayerPlan& layer : plan) {
    const size_t end = first + layer.trained();
    if (first == end) continue;
    const Numbers direction = NormalNumbers(parameters.size(), 1, 3);
    Numbers above = parameters;
    Numbers below = parameters;
    double slope = 0;
    for (size_t i = first; i < end; ++i) {
      above[i] += kStep * direction[i];
      below[i] -= kStep * direction[i];
      slope += gradient[i] * direction[i];
    }
    const double difference = LossOf(plan, sample, above) - LossOf(plan, sample, below);
    EXPECT_NEAR(difference / (2 * kStep), slope, 1e-5 * (1 + std::fabs(slope))) << first;
    first = end;
  }
  EXPECT_EQ(first, parameters.size());
}

TEST(Branches, TheGradientOfResNet8IsItsSlope) {
  ExpectGradientsAreSlopes(ResNet8::Plan(), ResNet8::kParameters);
}

// It has no branches, but what else a residual net has.
TEST(Branches, TheGradientOfDsCnnIsItsSlope) {
  ExpectGradientsAreSlopes(DsCnn::Plan(), DsCnn::kParameters);
}

// The sample, the copy of Fork, and the outputs of the two convolutions: Swap and Add have none.
// Scratch are the patches of the first one.
TEST(Branches, TakeTheMemoryOfTheirForks) {
  using Net =
      Sequential<Input<4, 4, 2>, Fork<1>, Conv2d<2, 3, 1, 1>, Swap<1>, Conv2d<2, 1>, Add<1>>;
  static_assert(NetMemory(Net::Plan(), 0) == 4 * 32 + 4 * 18);
  static_assert(NetMemory(Net::Plan(), 1) == 4 * 32 + 4 * 18 + (2 * 18 + 2) + (2 * 2 + 2));
  const Span<const LayerPlan> plan = Net::Plan();
  const size_t places[][2] = {{32, 0}, {64, 0}, {0, 0}, {96, 0}, {96, 64}};
  for (size_t i = 0; i < plan.size(); ++i) {
    EXPECT_EQ(plan[i].output_at, places[i][0]) << i;
    EXPECT_EQ(plan[i].branch_at, places[i][1]) << i;
  }
}

// What waits is not what a layer in place behind the Fork overwrites.
TEST(Branches, ALayerInPlaceLeavesWhatWaits) {
  using Net =
      Sequential<Input<3>, Fork<1>, Relu, Fork<2>, Relu, Add<1>, Swap<2>, Add<2>, Dense<3, 1>>;
  const auto net = ResultsOf(Net::Plan(), {-2, 3, -0.5}, {1, 10, 100, 0});
  EXPECT_EQ(net.first[0], -2 + 10 * (3 * 3) + 100 * -0.5);
}

TEST(Branches, ABlockIsItsEntries) {
  using Blocks = Sequential<Input<3>, Block<Fork<1>, Block<Dense<3, 3>, Relu>>, Block<Add<1>>>;
  using Entries = Sequential<Input<3>, Fork<1>, Dense<3, 3>, Relu, Add<1>>;
  ASSERT_EQ(Blocks::Plan().size(), Entries::Plan().size());
  for (size_t i = 0; i < Blocks::Plan().size(); ++i) {
    EXPECT_EQ(Blocks::Plan()[i].info.kind, Entries::Plan()[i].info.kind) << i;
    EXPECT_EQ(Blocks::Plan()[i].output_at, Entries::Plan()[i].output_at) << i;
  }
}

}  // namespace
}  // namespace sotto::nn
