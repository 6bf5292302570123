// Tests of generated data: their samples never change, fit the model and can be learned. Everything
// is seeded, so no test can fail by chance.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/synthetic.h"
#include "sotto/bytes.h"
#include "sotto/data/device_share.h"
#include "sotto/data/partitions.h"
#include "sotto/models.h"
#include "unit/stored_bytes.h"

namespace sotto::server {
namespace {

using Regression = nn::Sequential<nn::Dense<6, 2>, nn::MeanSquaredError<nn::TargetKind::kVector>>;
using Detector = nn::Sequential<nn::Dense<12, 3>, nn::Tanh, nn::Dense<3, 12>,
                                nn::MeanSquaredError<nn::TargetKind::kInput>>;
constexpr ModelInfo kLinear = MakeModelInfo<Regression>("regression");
constexpr ModelInfo kDetector = MakeModelInfo<Detector>("detector");

constexpr uint64_t kMany = 5000000;

std::vector<float> Features(const Dataset& data, size_t index) {
  std::vector<float> features(data.input_size());
  data.CopyFeatures(index, {features.data(), features.size()});
  return features;
}

// FNV-1a over the bits of some samples far apart.
uint64_t Fingerprint(const Dataset& data) {
  uint64_t hash = 0xCBF29CE484222325U;
  const auto add = [&](float x) { hash = (hash ^ FloatBits(x)) * 0x100000001B3U; };
  for (const size_t index : {size_t{0}, size_t{77777}, data.size() - 1}) {
    for (const float x : Features(data, index)) add(x);
    add(static_cast<float>(data.Label(index)));
    std::vector<float> target(data.info().targets);
    if (!target.empty()) data.CopyTarget(index, {target.data(), target.size()});
    for (const float x : target) add(x);
  }
  return hash;
}

TEST(Generated, UpToSixtyThousandSamplesOfTheDefaultModelAreTheStoredSet) {
  for (const ModelInfo* model :
       {static_cast<const ModelInfo*>(nullptr), FindModel("softmax-784-10"), FindModel("lenet")}) {
    const TrainTest data = SyntheticFor(model, 60000);
    EXPECT_FALSE(data.train->is_generated());
    EXPECT_EQ(data.train->size(), 60000U);
    EXPECT_EQ(Features(*data.train, 59999), Features(*MakeSynthetic().train, 59999));
  }
}

TEST(Generated, ItFitsEachNamedModel) {
  for (const ModelInfo& model : Models()) {
    if (model.inputs > 2000) continue;  // prototypes take long
    const TrainTest data = SyntheticFor(&model, kMany);
    for (const SharedDataset& part : {data.train, data.test}) {
      EXPECT_NO_THROW(RequireFits(model, *part)) << model.name;
      for (const size_t index : {size_t{0}, part->size() - 1}) {
        for (const float x : Features(*part, index)) {
          ASSERT_GE(x, 0.0F) << model.name;
          ASSERT_LE(x, model.layers[0].tokens > 0 ? static_cast<float>(model.layers[0].tokens - 1)
                                                  : 1.0F);
        }
        EXPECT_LT(part->Label(index), model.classes) << model.name;
      }
    }
    EXPECT_TRUE(data.train->is_generated()) << model.name;
    EXPECT_EQ(data.train->size(), kMany) << model.name;
  }
}

TEST(Generated, SamplesAreTheSameOnEveryPlatform) {
  const std::map<std::string, uint64_t> golden = {
      {"softmax-784-10", 17136604350880930204U}, {"softmax-64-10", 17747100796452471125U},
      {"svhn-cnn", 15237711232409660002U},       {"motion", 4069018746787541541U},
      {"char-lstm-small", 6121234067588865239U}, {"ova-logistic", 8010837086807267873U},
  };
  for (const auto& [name, value] : golden) {
    EXPECT_EQ(Fingerprint(*SyntheticFor(FindModel(name.c_str()), kMany).train), value) << name;
  }
  EXPECT_EQ(Fingerprint(*SyntheticFor(&kLinear, kMany).train), 1270726608908887144U);
  EXPECT_EQ(Fingerprint(*SyntheticFor(&kDetector, kMany).train), 18102469011666058954U);
}

TEST(Generated, ASampleDoesNotDependOnTheNumberOfSamples) {
  const ModelInfo* model = FindModel("softmax-64-10");
  const TrainTest small = SyntheticFor(model, 1);
  const TrainTest large = SyntheticFor(model, kMany);
  EXPECT_EQ(small.train->size(), 60000U);
  EXPECT_EQ(Features(*small.train, 59999), Features(*large.train, 59999));
  EXPECT_NE(Features(*large.train, 1), Features(*large.train, 0));
  EXPECT_NE(Features(*large.test, 0), Features(*large.train, 0));
}

TEST(Generated, ClassesAreDrawnAlike) {
  const SharedDataset data = SyntheticFor(FindModel("softmax-64-10"), kMany).train;
  std::vector<int> counts(10);
  for (size_t i = 0; i < 10000; ++i) ++counts[data->Label(i)];
  EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 900);
  EXPECT_LT(*std::max_element(counts.begin(), counts.end()), 1100);
}

// The class whose mean of the first samples is nearest.
double NearestMeanAccuracy(const TrainTest& data, size_t classes) {
  constexpr size_t kSamples = 2000;
  const size_t inputs = data.train->input_size();
  std::vector<std::vector<double>> means(classes, std::vector<double>(inputs));
  std::vector<double> counts(classes);
  for (size_t i = 0; i < kSamples; ++i) {
    const std::vector<float> x = Features(*data.train, i);
    const uint32_t label = data.train->Label(i);
    counts[label] += 1;
    for (size_t j = 0; j < inputs; ++j) means[label][j] += x[j];
  }
  size_t correct = 0;
  for (size_t i = 0; i < 500; ++i) {
    const std::vector<float> x = Features(*data.test, i);
    std::vector<double> distance(classes);
    for (size_t k = 0; k < classes; ++k) {
      for (size_t j = 0; j < inputs; ++j) {
        distance[k] += std::pow(x[j] - means[k][j] / counts[k], 2);
      }
    }
    const auto nearest = std::min_element(distance.begin(), distance.end());
    correct += nearest - distance.begin() == data.test->Label(i) ? 1 : 0;
  }
  return static_cast<double>(correct) / 500;
}

TEST(Generated, ClassesCanBeToldApartButNotAll) {
  for (const char* name : {"softmax-784-10", "softmax-64-10", "motion", "ova-logistic"}) {
    const ModelInfo* model = FindModel(name);
    const double accuracy = NearestMeanAccuracy(SyntheticFor(model, kMany), model->classes);
    EXPECT_GT(accuracy, 2.0 / model->classes) << name;
    EXPECT_LT(accuracy, 0.999) << name;
  }
}

TEST(Generated, TargetsFollowFromTheFeatures) {
  const SharedDataset data = SyntheticFor(&kLinear, kMany).train;
  ASSERT_EQ(data->info().targets, 2U);
  EXPECT_EQ(data->info().classes, 0U);
  // Signs that explain each target up to its noise: one of 2^6 choices does.
  for (uint32_t k = 0; k < 2; ++k) {
    double best = 1e9;
    for (uint32_t signs = 0; signs < 64; ++signs) {
      double worst = 0;
      for (size_t i = 0; i < 50; ++i) {
        const std::vector<float> x = Features(*data, i);
        float target[2];
        data->CopyTarget(i, target);
        double sum = 0;
        for (size_t j = 0; j < 6; ++j) sum += (signs >> j & 1) != 0 ? x[j] : -x[j];
        worst = std::max(worst, std::abs(sum / std::sqrt(6.0) - target[k]));
      }
      best = std::min(best, worst);
    }
    EXPECT_LE(best, 0.0501);
    EXPECT_GT(best, 0.03);
  }
}

TEST(Generated, IidSharesOfItTakeItsSamplesInOrder) {
  const SharedDataset data = SyntheticFor(FindModel("softmax-64-10"), 50000000).train;
  const Partition partition = MakePartition("iid", *data, 1000000, 50, Key());
  const DeviceIndices last = partition.DeviceSamples(999999);
  EXPECT_EQ(last.size(), 50U);
  EXPECT_EQ(last[49], 49999999U);
  EXPECT_THROW(MakePartition("iid", *data, 1000001, 50, Key()), std::invalid_argument);
}

TEST(Generated, TheTestSamplesAreStored) {
  const SharedDataset test = SyntheticFor(FindModel("softmax-64-10"), kMany).test;
  EXPECT_FALSE(test->is_generated());
  EXPECT_EQ(test->size(), 10000U);
  EXPECT_EQ(BytesOf(*test).size(), 640000U);
}

}  // namespace
}  // namespace sotto::server
