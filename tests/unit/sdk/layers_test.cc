// Outputs of layers against their formulas, written plainly. The layers are compiled with double.
#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

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
  const LayerPlan plan[] = {Layer::Plan(input)};
  EXPECT_TRUE(Layer::Fits(input));
  EXPECT_EQ(parameters.size(), plan[0].parameters());
  return Output(plan, parameters, sample);
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

}  // namespace
}  // namespace sotto::nn
