// Layers and losses in fixed point, against the ones in float32 on the same numbers. Weights,
// inputs and deltas have 24 bits, so they are exact in both formats: only rounding differs.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "nn/fixed_net_kernels.h"
#include "sotto/net_memory.h"
#include "sotto/nn.h"

namespace sotto::nn {
namespace {

using Floats = std::vector<float>;

constexpr double kLargestWeight = 0.5;
constexpr double kLargestInput = 1;
constexpr double kLargestDelta = 1.0 / 16;
constexpr double kFloatRounding = 0x1p-23;  // relative, of a term and of the sum so far

template <class Number>
float Raw(int64_t raw) {
  float number = 0;
  StoreRaw(Number::FromRaw(raw).raw(), &number);
  return number;
}

template <class Number>
double Value(float number) {
  return std::ldexp(LoadRaw(&number), -Number::kFractionBits);
}

// Whole multiples of a format's unit, below `limit` in magnitude: as float32, and in fixed point.
struct Numbers {
  Floats in_float;
  Floats in_fixed;
};

template <class Number>
Numbers RandomNumbers(size_t size, double limit, uint32_t seed) {
  std::mt19937 random(seed);
  const auto most = static_cast<int32_t>(std::ldexp(limit, Number::kFractionBits)) - 1;
  std::uniform_int_distribution<int32_t> uniform(-most, most);
  Numbers numbers;
  for (size_t i = 0; i < size; ++i) {
    const int32_t raw = uniform(random);
    numbers.in_float.push_back(std::ldexp(static_cast<float>(raw), -Number::kFractionBits));
    numbers.in_fixed.push_back(Raw<Number>(raw));
  }
  return numbers;
}

template <class Number>
void ExpectNear(const Floats& in_fixed, const Floats& in_float, double bound) {
  ASSERT_EQ(in_fixed.size(), in_float.size());
  for (size_t i = 0; i < in_fixed.size(); ++i) {
    EXPECT_NEAR(Value<Number>(in_fixed[i]), double{in_float[i]}, bound) << i;
  }
}

// A layer at work on one sample, in one arithmetic.
struct Bench {
  Bench(const LayerPlan& layer, const Floats& weights, const Floats& sample)
      : plan(layer),
        parameters(weights),
        input(sample),
        output(layer.info.output.size()),
        kept(layer.kept),
        scratch(layer.scratch),
        gradient(layer.parameters()) {}

  LayerCall Call() {
    return {plan.info,    parameters.data(),
            input.data(), plan.is_in_place ? input.data() : output.data(),
            kept.data(),  scratch.data(),
            &saturated};
  }
  Floats& result() { return plan.is_in_place ? input : output; }
  void Forward() { plan.functions.forward(Call()); }
  void Backward(const Floats& delta) {
    result() = delta;
    if (plan.parameters() > 0) plan.functions.add_gradient(Call(), gradient.data());
    plan.functions.input_delta(Call());
  }

  LayerPlan plan;
  Floats parameters;
  Floats input;
  Floats output;
  Floats kept;
  Floats scratch;
  Floats gradient;
  bool saturated = false;
};

struct Bounds {
  double output = 0;
  double gradient = 0;
  double input_delta = 0;
};

template <class Layer>
void ExpectFollowsFloat(const Shape& shape, const Bounds& bounds) {
  ASSERT_TRUE(Layer::Fits(shape));
  const LayerPlan plan = Layer::Plan(shape);
  const Numbers parameters = RandomNumbers<Weight>(plan.parameters(), kLargestWeight, 1);
  const Numbers sample = RandomNumbers<Activation>(shape.size(), kLargestInput, 2);
  const Numbers delta = RandomNumbers<Delta>(plan.info.output.size(), kLargestDelta, 3);
  Bench in_float(plan, parameters.in_float, sample.in_float);
  Bench in_fixed(Layer::FixedPlan(shape), parameters.in_fixed, sample.in_fixed);
  in_float.Forward();
  in_fixed.Forward();
  ExpectNear<Activation>(in_fixed.result(), in_float.result(), bounds.output);
  in_float.Backward(delta.in_float);
  in_fixed.Backward(delta.in_fixed);
  ExpectNear<Gradient>(in_fixed.gradient, in_float.gradient, bounds.gradient);
  ExpectNear<Delta>(in_fixed.input, in_float.input, bounds.input_delta);
  EXPECT_FALSE(in_fixed.saturated);
}

// A sum of n products with weights: the operand loses OperandShift(n) bits by rounding, and the sum
// is rounded to the unit.
double SumBound(size_t n, double largest, int fraction_bits) {
  const double half = std::ldexp(0.5, -fraction_bits);
  const double count = static_cast<double>(n);
  const double shifted = std::ldexp(half, OperandShift(n));
  return count * kLargestWeight * (shifted + count * largest * kFloatRounding) + half;
}

// A product with a fixed operand, once for each of n positions.
double GradientBound(size_t n) {
  const double count = static_cast<double>(n);
  const double half = std::ldexp(0.5, -Gradient::kFractionBits);
  return count * (half + count * kLargestDelta * kFloatRounding);
}

Bounds BoundsOfConvolution(const LayerPlan& plan) {
  const LayerInfo& info = plan.info;
  const size_t positions = info.output.size() / info.output.channels;
  return {SumBound(plan.fan_in, kLargestInput, Activation::kFractionBits), GradientBound(positions),
          info.window.size() * SumBound(info.output.channels, kLargestDelta, Delta::kFractionBits)};
}

TEST(FixedLayers, DenseFollowsFloatWithinTheRoundingOfItsFormats) {
  for (const size_t inputs : {1, 2, 7, 30}) {
    const Bounds bounds{SumBound(inputs, kLargestInput, Activation::kFractionBits),
                        GradientBound(1), SumBound(5, kLargestDelta, Delta::kFractionBits)};
    const Shape shape = ShapeOf(static_cast<uint32_t>(inputs));
    if (inputs == 1) ExpectFollowsFloat<Dense<1, 5>>(shape, bounds);
    if (inputs == 2) ExpectFollowsFloat<Dense<2, 5>>(shape, bounds);
    if (inputs == 7) ExpectFollowsFloat<Dense<7, 5>>(shape, bounds);
    if (inputs == 30) ExpectFollowsFloat<Dense<30, 5>>(shape, bounds);
  }
}

template <class Layer>
void ExpectConvolutionFollowsFloat(const Shape& shape) {
  ExpectFollowsFloat<Layer>(shape, BoundsOfConvolution(Layer::Plan(shape)));
}

TEST(FixedLayers, ConvolutionsFollowFloatWithinTheRoundingOfTheirFormats) {
  ExpectConvolutionFollowsFloat<Conv2d<3, 3, 1, 1>>({6, 5, 2});
  ExpectConvolutionFollowsFloat<Conv2d<4, 5, 2, 2>>({8, 9, 3});
  ExpectConvolutionFollowsFloat<Conv2d<5, 1>>({4, 4, 1});
  ExpectConvolutionFollowsFloat<Conv2d<2, 2, 3>>({7, 7, 1});
  ExpectConvolutionFollowsFloat<Conv1d<4, 5, 2, 1>>({1, 20, 3});
}

TEST(FixedLayers, MaxPoolingAndReluAreExact) {
  ExpectFollowsFloat<Relu>({3, 7, 5}, {});
  ExpectFollowsFloat<Relu>({1, 1, 33}, {});
  ExpectFollowsFloat<MaxPool2d<2>>({5, 6, 3}, {});
  ExpectFollowsFloat<MaxPool2d<2, 3>>({8, 8, 2}, {});
  ExpectFollowsFloat<MaxPool1d<3>>({1, 14, 2}, {});
  // Windows that overlap add deltas; float rounds here.
  const double sums = 9 * kLargestDelta * kFloatRounding;
  ExpectFollowsFloat<MaxPool2d<3, 1, 1>>({6, 5, 3}, {0, 0, sums});
  ExpectFollowsFloat<MaxPool2d<3, 2, 1>>({8, 8, 2}, {0, 0, sums});
}

TEST(FixedLayers, OfEqualValuesTheFirstPassesTheDeltaOn) {
  const LayerPlan plan = MaxPool2d<2>::FixedPlan({2, 2, 1});
  Bench bench(plan, {}, Floats(4, Raw<Activation>(INT32_MIN)));
  bench.Forward();
  EXPECT_EQ(LoadRaw(&bench.output[0]), INT32_MIN);
  bench.input.assign(4, Raw<Activation>(INT32_MIN));
  bench.Backward({Raw<Delta>(7)});
  EXPECT_EQ(LoadRaw(&bench.input[0]), 7);
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(LoadRaw(&bench.input[i]), 0);
}

// A share is rounded to 2^-31, which moves a mean by at most count * 2^-31; then one rounding for
// each window over an element.
template <class Layer>
void ExpectMeanFollowsFloat(const Shape& shape) {
  const Window& window = Layer::Plan(shape).info.window;
  const double count = window.size();
  const double share = count * (0x1p-31 + count * kFloatRounding);
  ExpectFollowsFloat<Layer>(
      shape, {kLargestInput * share + 0x1p-25, 0, count * (kLargestDelta * share + 0x1p-29)});
}

TEST(FixedLayers, MeansFollowFloatWithinTheRoundingOfTheirFormats) {
  ExpectMeanFollowsFloat<AveragePool2d<2>>({4, 6, 3});
  ExpectMeanFollowsFloat<AveragePool2d<3, 1, 1>>({5, 5, 2});
  ExpectMeanFollowsFloat<AveragePool1d<3, 2, 1>>({1, 11, 2});
  ExpectMeanFollowsFloat<GlobalAverage2d>({7, 7, 3});
}

TEST(FixedLayers, MeansOfEqualValuesAreTheseValuesAtTheLimitsToo) {
  for (const int32_t value : {INT32_MIN, INT32_MAX, 12345, -1}) {
    const Shape shape{7, 7, 1};
    Bench bench(GlobalAverage2d::FixedPlan(shape), {},
                Floats(shape.size(), Raw<Activation>(value)));
    bench.Forward();
    // 49 shares of 1 / 49 add up to 1 within 49 * 2^-31.
    const double mean = LoadRaw(bench.output.data());
    EXPECT_NEAR(mean, value, 1 + std::fabs(static_cast<double>(value)) * 49 * 0x1p-31);
  }
}

// The numbers of the two tensors of a sum, and of the two deltas at a fork.
TEST(FixedLayers, SumsOfBranchesAreExactUntilTheySaturate) {
  const LayerPlan add = internal::FixedAdd(internal::AddPlan(1, {1, 1, 2}));
  const LayerPlan fork = internal::FixedFork(internal::ForkPlan(1, {1, 1, 2}));
  for (const int32_t b : {1, INT32_MAX}) {
    Floats x = {Raw<Activation>(-7), Raw<Activation>(INT32_MAX - 1)};
    Floats y = {Raw<Activation>(5), Raw<Activation>(b)};
    bool saturated = false;
    add.functions.forward(
        {add.info, nullptr, x.data(), x.data(), nullptr, nullptr, &saturated, y.data()});
    EXPECT_EQ(LoadRaw(&x[0]), -2);
    EXPECT_EQ(LoadRaw(&x[1]), INT32_MAX);
    EXPECT_EQ(saturated, b != 1);
    add.functions.input_delta(
        {add.info, nullptr, x.data(), x.data(), nullptr, nullptr, nullptr, y.data()});
    EXPECT_EQ(LoadRaw(&y[0]), -2);
    saturated = false;
    y[1] = Raw<Delta>(b);
    x[1] = Raw<Delta>(INT32_MAX - 1);
    fork.functions.input_delta(
        {fork.info, nullptr, x.data(), y.data(), nullptr, nullptr, &saturated});
    EXPECT_EQ(LoadRaw(&x[0]), -4);
    EXPECT_EQ(LoadRaw(&x[1]), INT32_MAX);
    EXPECT_EQ(saturated, b != 1);
  }
}

// Every number at the end of its range, in all combinations of signs: exact sums, rounded once,
// saturated. UBSan would see a sum that leaves 64 bits.
TEST(FixedLayers, SumsOfTheLargestNumbersAreExact) {
  for (const size_t n : {1, 2, 3, 6, 7, 8, 14, 15, 16, 255, 256, 4095, 5000}) {
    const int shift = OperandShift(n);
    EXPECT_LE(n + 1, size_t{1} << (shift + 2));
    for (const int32_t weight : {Weight::kMinRaw, Weight::kMaxRaw}) {
      for (const int32_t number : {INT32_MIN, INT32_MAX, 1 << 20}) {
        const Floats weights(n + 1, Raw<Weight>(weight));
        Floats x(n, Raw<Activation>(number));
        FixedShift(x.data(), n, shift, x.data());
        const int64_t sum = static_cast<int64_t>(n) * weight * RoundingShift(number, shift);
        const int bits = 24 - shift;
        const int64_t rounded = (sum >> bits) + (sum >> (bits - 1) & 1);
        const auto limit = [](int64_t raw) {
          return std::clamp<int64_t>(raw, INT32_MIN, INT32_MAX);
        };
        float y = 0;
        bool saturated = FixedRowProducts(weights.data(), &weights[n], x.data(), n, 1, &y);
        const int64_t exact = rounded + weight;
        EXPECT_EQ(LoadRaw(&y), limit(exact)) << n;
        EXPECT_EQ(saturated, limit(exact) != exact);
        saturated = FixedTransposedProduct(weights.data(), x.data(), 1, n, &y);
        EXPECT_EQ(LoadRaw(&y), limit(rounded)) << n;
        EXPECT_EQ(saturated, limit(rounded) != rounded);
      }
    }
  }
}

TEST(FixedLayers, RandomSumsAreRoundedOnce) {
  std::mt19937 random(4);
  for (size_t n = 1; n < 20; ++n) {
    const int shift = OperandShift(n);
    const size_t rows = 1 + n % 4;
    Floats weights;
    Floats x;
    for (size_t i = 0; i < (n + 1) * rows; ++i) {
      weights.push_back(Raw<Weight>(static_cast<int32_t>(random()) >> 4));
    }
    for (size_t i = 0; i < n; ++i) {
      x.push_back(Raw<Activation>(static_cast<int32_t>(random()) >> (8 + shift)));
    }
    Floats y(rows);
    EXPECT_FALSE(FixedRowProducts(weights.data(), &weights[n * rows], x.data(), n, rows, y.data()));
    for (size_t o = 0; o < rows; ++o) {
      int64_t sum = 0;
      for (size_t i = 0; i < n; ++i) {
        sum += int64_t{LoadRaw(&weights[o * n + i])} * LoadRaw(&x[i]);
      }
      EXPECT_EQ(LoadRaw(&y[o]), RoundingShift(sum, 24 - shift) + LoadRaw(&weights[n * rows + o]));
    }
  }
}

TEST(FixedLayers, EverySaturationIsReportedAndGivesTheNearestNumber) {
  // A gradient: 2^30 - 1 plus 1,024.
  for (const int sign : {1, -1}) {
    const Floats delta = {Raw<Delta>(int64_t{INT32_MIN}), Raw<Delta>(0), Raw<Delta>(1)};
    const Floats x(6, Raw<Activation>(sign > 0 ? INT32_MIN : INT32_MAX));
    Floats gradient(18, Raw<Gradient>(sign * 1000000000));
    EXPECT_TRUE(FixedAddOuterProduct(delta.data(), 3, x.data(), 6, gradient.data()));
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(LoadRaw(&gradient[i]), sign > 0 ? Gradient::kMaxRaw : Gradient::kMinRaw);
      EXPECT_EQ(LoadRaw(&gradient[6 + i]), sign * 1000000000);
    }
    Floats sums(2, Raw<Gradient>(sign > 0 ? Gradient::kMaxRaw : Gradient::kMinRaw));
    const Floats deltas(2, Raw<Delta>(sign * 256));
    EXPECT_TRUE(FixedAddDeltas(deltas.data(), 2, sums.data()));
    EXPECT_EQ(LoadRaw(&sums[1]), sign > 0 ? Gradient::kMaxRaw : Gradient::kMinRaw);
    Floats tensor = {Raw<Delta>(sign * int64_t{2000000000}), Raw<Delta>(3)};
    const Floats more = {Raw<Delta>(sign * int64_t{2000000000}), Raw<Delta>(4)};
    EXPECT_TRUE(FixedAdd(more.data(), 2, tensor.data()));
    EXPECT_EQ(LoadRaw(&tensor[0]), sign > 0 ? INT32_MAX : INT32_MIN);
    EXPECT_EQ(LoadRaw(&tensor[1]), 7);
    EXPECT_FALSE(FixedAdd(&more[1], 1, &tensor[1]));
    // A parameter of 60 and a step of 8 * 1000.
    Floats weight = {Raw<Weight>(sign * 60 * (1 << 24))};
    const float gradient_1000 = Raw<Gradient>(sign * 1000 * (1 << 20));
    EXPECT_TRUE(FixedStep(Rate::FromFloat(7.9f), &gradient_1000, 20, 1, weight.data()));
    EXPECT_EQ(LoadRaw(&weight[0]), sign > 0 ? Weight::kMaxRaw : Weight::kMinRaw);
  }
}

TEST(FixedLayers, GradientsAreRoundedToTheNearestForEveryNumberOfRows) {
  std::mt19937 random(6);
  for (size_t rows = 1; rows <= 5; ++rows) {
    for (size_t n = 1; n <= 13; ++n) {
      Floats a;
      Floats x;
      Floats m;
      for (size_t i = 0; i < rows; ++i) a.push_back(Raw<Delta>(static_cast<int32_t>(random())));
      for (size_t i = 0; i < n; ++i) x.push_back(Raw<Activation>(static_cast<int32_t>(random())));
      for (size_t i = 0; i < rows * n; ++i) {
        m.push_back(Raw<Gradient>(static_cast<int32_t>(random()) >> 1));
      }
      const Floats before = m;
      FixedAddOuterProduct(a.data(), rows, x.data(), n, m.data());
      for (size_t i = 0; i < rows * n; ++i) {
        const int64_t product = int64_t{LoadRaw(&a[i / n])} * LoadRaw(&x[i % n]);
        const int64_t sum = LoadRaw(&before[i]) + RoundingShift(product, 32);
        EXPECT_EQ(LoadRaw(&m[i]), Gradient::FromRaw(sum).raw());
      }
    }
  }
}

// Scores in (-16, 16) and close to zero.
template <class Loss>
void ExpectLossFollowsFloat(uint32_t outputs, double error_bound, double loss_bound) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    Numbers y = RandomNumbers<Activation>(outputs, seed < 10 ? 0.9 : 0.01, seed);
    for (size_t k = 0; k < outputs; ++k) {
      y.in_float[k] *= 16;
      y.in_fixed[k] = Raw<Activation>(int64_t{LoadRaw(&y.in_fixed[k])} * 16);
    }
    const Numbers vector = RandomNumbers<Activation>(outputs, 0.9, 100 + seed);
    const uint32_t label = seed % (outputs == 1 ? 2 : outputs);
    const float in_float =
        Loss::Plan().errors({y.in_float.data(), outputs}, {label, vector.in_float.data()});
    const float in_fixed =
        Loss::FixedPlan().errors({y.in_fixed.data(), outputs}, {label, vector.in_fixed.data()});
    EXPECT_NEAR(in_fixed, in_float, loss_bound);
    ExpectNear<Delta>(y.in_fixed, y.in_float, error_bound);
  }
}

// A score is rounded to 2^-21, which moves an error by less than that, and the loss by twice that.
TEST(FixedLayers, LossesOfClassesFollowFloat) {
  ExpectLossFollowsFloat<SoftmaxCrossEntropy>(10, 0x1p-20, 1e-5);
  ExpectLossFollowsFloat<SoftmaxCrossEntropy>(2, 0x1p-20, 1e-5);
  ExpectLossFollowsFloat<OneVsAll>(10, 0x1p-20, 1e-4);
  ExpectLossFollowsFloat<OneVsAll>(1, 0x1p-20, 1e-5);
}

// Differences below 17: float32 rounds them and their products to 2^-23 of their size.
TEST(FixedLayers, SquaredErrorsFollowFloat) {
  ExpectLossFollowsFloat<MeanSquaredError<>>(10, 3.4 * 0x1p-21, 289 * 0x1p-20);
  ExpectLossFollowsFloat<MeanSquaredError<>>(7, 4.9 * 0x1p-21, 289 * 0x1p-20);
}

TEST(FixedLayers, AnOutlierMakesADeltaOfAtMostEight) {
  const float target = Raw<Activation>(INT32_MIN);
  float output = Raw<Activation>(INT32_MAX);
  const float loss = MeanSquaredError<>::FixedPlan().errors({&output, 1}, {0, &target});
  EXPECT_EQ(LoadRaw(&output), INT32_MAX);
  EXPECT_NEAR(loss, 128.0 * 128.0, 0.01);
}

}  // namespace
}  // namespace sotto::nn
