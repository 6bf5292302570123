#include "data/synthetic.h"

#include <algorithm>

#include "data/generated.h"

namespace sotto::server {
namespace {

constexpr uint32_t kClasses = 10;
constexpr nn::Shape kImage = nn::ShapeOf(28, 28, 1);
constexpr size_t kLeastTestSize = 1000;
constexpr size_t kMostTestValues = size_t{64} << 20;

SharedDataset MakePart(const Patterns& patterns, size_t size, uint64_t seed, uint64_t stream) {
  SampleInfo info;
  info.shape = patterns.shape();
  info.classes = patterns.classes();
  StoredSamples samples;
  samples.bytes.resize(size * kImage.size());
  samples.labels.resize(size);
  for (size_t i = 0; i < size; ++i) {
    samples.labels[i] = static_cast<uint32_t>(i % kClasses);
    patterns.Draw(samples.labels[i], PatternRandom(seed, stream + i),
                  samples.bytes.data() + i * kImage.size());
  }
  return std::make_shared<StoredDataset>("synthetic", info, std::move(samples));
}

// What a model takes. A vector of 784 values in ten classes is taken for an image.
SampleInfo InfoOf(const ModelInfo* model) {
  SampleInfo info;
  info.shape = kImage;
  info.classes = kClasses;
  if (model == nullptr) return info;
  const nn::LayerPlan& first = model->layers[0];
  const bool is_image = model->inputs == kImage.size() && first.tokens == 0;
  info.shape = is_image ? kImage : model->SampleShape();
  info.tokens = first.tokens;
  info.classes = model->classes;
  info.class_names.assign(model->class_names.begin(), model->class_names.end());
  info.targets = model->loss.target == nn::TargetKind::kVector ? model->outputs : 0;
  return info;
}

}  // namespace

TrainTest MakeSynthetic(const SyntheticOptions& options) {
  const Patterns patterns(kImage, kClasses, options.seed);
  return {MakePart(patterns, options.train_size, options.seed, pattern_stream::kStoredTrain),
          MakePart(patterns, options.test_size, options.seed, pattern_stream::kStoredTest)};
}

TrainTest GenerateSynthetic(const SampleInfo& info, const SyntheticOptions& options) {
  const auto maker = std::make_shared<const SampleMaker>(info, options.seed);
  const auto train =
      std::make_shared<GeneratedDataset>(maker, options.train_size, pattern_stream::kTrain);
  const GeneratedDataset test(maker, options.test_size, pattern_stream::kTest);
  return {train, Store(test)};
}

TrainTest SyntheticFor(const ModelInfo* model, uint64_t samples) {
  const SampleInfo info = InfoOf(model);
  SyntheticOptions options;
  if (info.shape == kImage && info.classes == kClasses && samples <= options.train_size) {
    return MakeSynthetic(options);
  }
  options.train_size = std::max<size_t>(options.train_size, samples);
  options.test_size =
      std::clamp(kMostTestValues / info.shape.size(), kLeastTestSize, options.test_size);
  return GenerateSynthetic(info, options);
}

}  // namespace sotto::server
