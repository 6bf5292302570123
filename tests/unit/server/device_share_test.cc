// Tests of a device's samples as the SDK reads them.
#include "sotto/data/device_share.h"

#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "data/synthetic.h"
#include "sotto/models.h"
#include "unit/data_files.h"

namespace sotto::server {
namespace {

using Regression = nn::Sequential<nn::Dense<6, 2>, nn::MeanSquaredError<nn::TargetKind::kVector>>;
constexpr ModelInfo kRegression = MakeModelInfo<Regression>("regression");

struct Sample {
  std::vector<float> features;
  std::vector<float> target;
  uint32_t label = 0;
};

Sample ReadFrom(const SampleSource& source, const Dataset& data, uint32_t index) {
  Sample sample;
  sample.features.resize(data.input_size());
  sample.target.resize(data.info().targets);
  const Span<float> features = {sample.features.data(), sample.features.size()};
  const Status status = sample.target.empty()
                            ? source.read(source.context, index, features, &sample.label)
                            : source.read_vector(source.context, index, features,
                                                 {sample.target.data(), sample.target.size()});
  EXPECT_EQ(status, Status::kOk);
  return sample;
}

TEST(DeviceShare, CopiesOfGeneratedSamplesAreTheSamples) {
  for (const ModelInfo* model : {FindModel("motion"), &kRegression}) {
    const SharedDataset data = SyntheticFor(model, 100000).train;
    const uint32_t list[] = {99999, 5, 17};
    DeviceShare read(*data, {list, 0, 3});
    DeviceShare copied(*data, {list, 0, 3});
    std::vector<float> memory;
    copied.CopyGenerated(&memory);
    EXPECT_EQ(memory.size(), 3 * (model->inputs + data->info().targets));
    for (uint32_t i = 0; i < 3; ++i) {
      const Sample a = ReadFrom(read.source(), *data, i);
      const Sample b = ReadFrom(copied.source(), *data, i);
      EXPECT_EQ(a.features, b.features);
      EXPECT_EQ(a.target, b.target);
      EXPECT_EQ(a.label, b.label);
      EXPECT_EQ(a.label, data->Label(list[i]));
    }
  }
}

TEST(DeviceShare, StoredSamplesAreNotCopied) {
  const SharedDataset data = MakeSynthetic({10, 0, 1}).train;
  DeviceShare share(*data, {{}, 0, 10});
  std::vector<float> memory;
  share.CopyGenerated(&memory);
  EXPECT_TRUE(memory.empty());
  EXPECT_EQ(share.source().count, 10U);
  EXPECT_EQ(ReadFrom(share.source(), *data, 3).label, 3U);
}

// Labels of the synthetic set go round, so of 50 samples each class has 5 and holds one out.
TEST(DeviceShare, TheLastSamplesOfEachClassAreHeldOut) {
  const SharedDataset data = MakeSynthetic({50, 0, 1}).train;
  const DeviceShare share(*data, {{}, 0, 50}, 0.2);
  ASSERT_EQ(share.source().count, 40U);
  ASSERT_EQ(share.held_out_source().count, 10U);
  for (uint32_t i = 0; i < 40; ++i) {
    EXPECT_EQ(ReadFrom(share.source(), *data, i).features, FeaturesOf(*data, i));
  }
  for (uint32_t i = 0; i < 10; ++i) {
    const Sample held_out = ReadFrom(share.held_out_source(), *data, i);
    EXPECT_EQ(held_out.label, i);
    EXPECT_EQ(held_out.features, FeaturesOf(*data, 40 + i));
  }
}

TEST(DeviceShare, WithoutSamplesIsASourceToo) {
  const SharedDataset data = MakeSynthetic({10, 0, 1}).train;
  const DeviceShare share(*data, DeviceIndices(), 0.5);
  EXPECT_EQ(share.source().count, 0U);
  EXPECT_EQ(share.held_out_source().count, 0U);
  EXPECT_TRUE(FindModel("softmax-784-10")->CanRead(share.source()));
}

TEST(DeviceShare, DataThatDoNotFitTheModelAreRefusedWithBoth) {
  const SharedDataset data = MakeSynthetic({10, 0, 1}).train;
  EXPECT_NO_THROW(RequireFits(*FindModel("lenet"), *data));
  const auto why = [&](const ModelInfo& model) {
    try {
      RequireFits(model, *data);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(why(*FindModel("softmax-64-10")),
            "model softmax-64-10 takes 64 inputs in 10 classes, but data set synthetic has 784 "
            "inputs in 10 classes");
  EXPECT_EQ(why(kRegression),
            "model regression takes 6 inputs with 2 targets, but data set synthetic has 784 inputs "
            "in 10 classes");
  EXPECT_EQ(why(*FindModel("char-lstm-small")),
            "model char-lstm-small takes 40 tokens below 82 in 82 classes, but data set synthetic "
            "has 784 inputs in 10 classes");
}

}  // namespace
}  // namespace sotto::server
