// Tests of the generated data set: its bytes never change, and it is neither too easy nor too hard
// to learn. Everything is seeded, so no test can fail by chance.
#include "data/synthetic.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "unit/stored_bytes.h"

namespace sotto::server {
namespace {

SyntheticOptions Small(uint64_t seed = 1) {
  SyntheticOptions options;
  options.train_size = 5000;
  options.test_size = 1000;
  options.seed = seed;
  return options;
}

// FNV-1a.
uint64_t Fingerprint(const std::vector<uint8_t>& bytes) {
  uint64_t hash = 0xCBF29CE484222325U;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001B3U;
  return hash;
}

// Multinomial logistic regression by plain SGD, one sample at a time.
class LogisticRegression {
 public:
  explicit LogisticRegression(const Dataset& data)
      : inputs_(data.input_size()), weights_(10, std::vector<float>(inputs_ + 1)), x_(inputs_ + 1) {
    x_[inputs_] = 1;  // for the bias
  }

  void TrainOnePass(const Dataset& data, float learning_rate) {
    for (size_t i = 0; i < data.size(); ++i) {
      std::vector<float> p = Logits(data, i);
      float sum = 0;
      for (float& logit : p) sum += logit = std::exp(logit);
      for (size_t k = 0; k < 10; ++k) {
        const float step = learning_rate * (p[k] / sum - (k == data.Label(i) ? 1.F : 0.F));
        for (size_t j = 0; j <= inputs_; ++j) weights_[k][j] -= step * x_[j];
      }
    }
  }

  double Accuracy(const Dataset& data) {
    int correct = 0;
    for (size_t i = 0; i < data.size(); ++i) {
      const std::vector<float> z = Logits(data, i);
      correct += std::max_element(z.begin(), z.end()) - z.begin() == data.Label(i);
    }
    return correct / static_cast<double>(data.size());
  }

 private:
  std::vector<float> Logits(const Dataset& data, size_t i) {
    data.CopyFeatures(i, {x_.data(), inputs_});
    std::vector<float> z(10);
    for (size_t k = 0; k < 10; ++k) {
      for (size_t j = 0; j <= inputs_; ++j) z[k] += weights_[k][j] * x_[j];
    }
    return z;
  }

  size_t inputs_;
  std::vector<std::vector<float>> weights_;
  std::vector<float> x_;
};

TEST(Synthetic, ItsBytesAreTheSameOnEveryPlatform) {
  const TrainTest data = MakeSynthetic(Small());
  EXPECT_EQ(Fingerprint(BytesOf(*data.train)), 260954808781775393U);
  EXPECT_EQ(Fingerprint(BytesOf(*data.test)), 13598475646975188928U);
}

TEST(Synthetic, HasTheShapeItPromises) {
  const TrainTest data = MakeSynthetic(Small());
  for (const SharedDataset& part : {data.train, data.test}) {
    EXPECT_TRUE(part->info().shape == nn::ShapeOf(28, 28, 1));
    EXPECT_EQ(part->info().classes, 10U);
    EXPECT_EQ(BytesOf(*part).size(), part->size() * 784);
    const std::vector<uint32_t> labels = LabelsOf(*part);
    for (uint32_t label = 0; label < 10; ++label) {
      EXPECT_EQ(static_cast<size_t>(std::count(labels.begin(), labels.end(), label)),
                part->size() / 10);
    }
  }
}

TEST(Synthetic, ASmallSetIsTheBeginningOfALargeOne) {
  SyntheticOptions options = Small();
  const TrainTest large = MakeSynthetic(options);
  options.train_size = 7;
  options.test_size = 0;
  const TrainTest small = MakeSynthetic(options);
  const std::vector<uint8_t> first = BytesOf(*small.train);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), BytesOf(*large.train).begin()));
  EXPECT_EQ(small.test->size(), 0U);
}

TEST(Synthetic, TrainingAndTestSamplesAndSeedsDiffer) {
  const TrainTest data = MakeSynthetic(Small());
  const std::vector<uint8_t> train = BytesOf(*data.train);
  const std::vector<uint8_t> test = BytesOf(*data.test);
  EXPECT_FALSE(std::equal(test.begin(), test.begin() + 784, train.begin()));
  EXPECT_NE(train, BytesOf(*MakeSynthetic(Small(2)).train));
}

TEST(Synthetic, LogisticRegressionLearnsMuchButNotAll) {
  for (const uint64_t seed : {uint64_t{1}, uint64_t{2}}) {
    const TrainTest data = MakeSynthetic(Small(seed));
    LogisticRegression model(*data.train);
    for (const float learning_rate : {0.02F, 0.01F, 0.005F}) {
      model.TrainOnePass(*data.train, learning_rate);
    }
    EXPECT_GT(model.Accuracy(*data.test), 0.75);
    EXPECT_LT(model.Accuracy(*data.test), 0.95);
  }
}

}  // namespace
}  // namespace sotto::server
