#include "data/generated.h"

#include <algorithm>
#include <cmath>

namespace sotto::server {
namespace {

constexpr uint32_t kHiddenClasses = 10;
constexpr float kByteScale = 1 / 255.F;
constexpr double kTargetNoise = 0.05;  // at most, in each direction

// Tokens of which a class has more than others: at least one, at most a sixteenth of the
// vocabulary.
uint32_t Favourites(uint32_t tokens) { return std::max(1U, tokens / 16); }

// One favourite token of a class, always the same.
uint32_t Favourite(uint64_t seed, uint32_t label, uint32_t index, uint32_t tokens) {
  const uint64_t stream = (uint64_t{label} << 32 | index) + (uint64_t{1} << 63);
  return PatternRandom(seed, stream).Below(tokens);
}

}  // namespace

SampleMaker::SampleMaker(const SampleInfo& info, uint64_t seed)
    : info_(info), seed_(seed), classes_(info.classes == 0 ? kHiddenClasses : info.classes) {
  if (info.tokens == 0) patterns_.emplace(info.shape, classes_, seed);
  PatternRandom random(seed, pattern_stream::kWeights);
  signs_.resize(size_t{info.targets} * info.shape.size());
  for (int8_t& sign : signs_) sign = random.Below(2) == 0 ? 1 : -1;
}

PatternRandom SampleMaker::StreamOf(uint64_t stream, uint32_t* label) const {
  PatternRandom random(seed_, stream);
  *label = random.Below(classes_);
  return random;
}

uint32_t SampleMaker::Label(uint64_t stream) const {
  uint32_t label = 0;
  static_cast<void>(StreamOf(stream, &label));
  return label;
}

void SampleMaker::Features(uint64_t stream, Span<float> out) const {
  uint32_t label = 0;
  const PatternRandom random = StreamOf(stream, &label);
  if (!patterns_) {
    DrawTokens(label, random, out);
    return;
  }
  thread_local std::vector<uint8_t> bytes;
  bytes.resize(out.size());
  patterns_->Draw(label, random, bytes.data());
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(bytes[i]) * kByteScale;
}

void SampleMaker::DrawTokens(uint32_t label, PatternRandom random, Span<float> out) const {
  for (float& token : out) {
    const bool is_favourite = random.Below(2) == 0;
    token = static_cast<float>(
        is_favourite ? Favourite(seed_, label, random.Below(Favourites(info_.tokens)), info_.tokens)
                     : random.Below(info_.tokens));
  }
}

// Each target has a deviation of about 1 / 4, however many features there are. Whole numbers are
// summed, then scaled once.
void SampleMaker::Target(uint64_t stream, Span<float> out) const {
  uint32_t label = 0;
  const PatternRandom random = StreamOf(stream, &label);
  const size_t inputs = info_.shape.size();
  std::vector<uint8_t> bytes(inputs);
  if (patterns_) patterns_->Draw(label, random, bytes.data());
  PatternRandom noise(seed_, ~stream);
  const double scale = 1 / (255 * std::sqrt(static_cast<double>(inputs)));
  for (size_t k = 0; k < out.size(); ++k) {
    int64_t sum = 0;
    for (size_t j = 0; j < inputs; ++j) sum += signs_[k * inputs + j] * bytes[j];
    const int centred = static_cast<int>(noise.Below(2 * 65536 + 1)) - 65536;
    out[k] =
        static_cast<float>(static_cast<double>(sum) * scale + centred * (kTargetNoise / 65536));
  }
}

GeneratedDataset::GeneratedDataset(std::shared_ptr<const SampleMaker> maker, size_t size,
                                   uint64_t stream)
    : Dataset("synthetic", maker->info()), maker_(std::move(maker)), size_(size), stream_(stream) {}

SharedDataset Store(const Dataset& data) {
  const SampleInfo& info = data.info();
  StoredSamples samples;
  std::vector<float> features(data.input_size());
  std::vector<float> target(info.targets);
  for (size_t i = 0; i < data.size(); ++i) {
    data.CopyFeatures(i, {features.data(), features.size()});
    if (info.tokens > 0) {
      samples.numbers.insert(samples.numbers.end(), features.begin(), features.end());
    } else {
      for (const float x : features) {
        samples.bytes.push_back(static_cast<uint8_t>(std::lround(x * 255)));
      }
    }
    if (info.classes > 0) samples.labels.push_back(data.Label(i));
    if (info.targets > 0) data.CopyTarget(i, {target.data(), target.size()});
    samples.targets.insert(samples.targets.end(), target.begin(), target.end());
  }
  return std::make_shared<StoredDataset>(data.name(), info, std::move(samples));
}

}  // namespace sotto::server
