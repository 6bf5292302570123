#include "data/generated.h"

#include <algorithm>
#include <cmath>

namespace sotto::server {
namespace {

constexpr size_t kVariants = 3;  // prototypes of a class; with several, no linear model is perfect

// These constants set the difficulty. They were tuned by training a logistic regression.
constexpr int kBackground = 112;     // grey levels; darker values become black
constexpr int kGain = 384;           // of the rest, in 1/256
constexpr int kMinBrightness = 128;  // of a sample, in 1/256
constexpr int kNoiseWeight = 128;    // of a value's noise, in 1/256

uint8_t ToByte(int x) { return static_cast<uint8_t>(std::clamp(x, 0, 255)); }

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

// 28 pixels: a shift of up to 3, cells of 7.
Patterns::Side::Side(uint32_t size_)
    : size(size_),
      shift(size_ == 1 ? 0 : std::max<size_t>(1, size_ / 9)),
      canvas(size + 2 * shift),
      cell(std::max<size_t>(1, size_ / 4)),
      grid((canvas - 1) / cell + 2) {}

Patterns::Patterns(const nn::Shape& shape, uint32_t classes, uint64_t seed)
    : shape_(shape), classes_(classes), height_(shape.height), width_(shape.width) {
  PatternRandom random(seed, pattern_stream::kPatterns);
  prototypes_.resize(classes * kVariants * canvas_size());
  for (size_t i = 0; i < classes * kVariants; ++i) {
    DrawPrototype(random, prototypes_.data() + i * canvas_size());
  }
}

void Patterns::DrawPrototype(PatternRandom& random, uint8_t* canvas) const {
  std::vector<int> grid(height_.grid * width_.grid);
  for (uint32_t channel = 0; channel < shape_.channels; ++channel) {
    for (int& x : grid) x = static_cast<int>(random.Below(256));
    DrawChannel(grid, canvas + channel);
  }
}

// Bilinear interpolation of the grid, at each position of the canvas.
void Patterns::DrawChannel(const std::vector<int>& grid, uint8_t* canvas) const {
  const auto rows = static_cast<int>(height_.cell);
  const auto columns = static_cast<int>(width_.cell);
  for (size_t y = 0; y < height_.canvas; ++y) {
    for (size_t x = 0; x < width_.canvas; ++x) {
      const int* corner = &grid[y / height_.cell * width_.grid + x / width_.cell];
      const int down = static_cast<int>(y % height_.cell);
      const int right = static_cast<int>(x % width_.cell);
      const int* below = corner + width_.grid;
      const int top = (columns - right) * corner[0] + right * corner[1];
      const int bottom = (columns - right) * below[0] + right * below[1];
      const int above = ((rows - down) * top + down * bottom) / (rows * columns) - kBackground;
      canvas[(y * width_.canvas + x) * shape_.channels] = ToByte(above * kGain / 256);
    }
  }
}

// The noise of a value is the sum of two random bytes, centred. One random word serves four values
// of a row.
void Patterns::Draw(uint32_t label, PatternRandom random, uint8_t* out) const {
  const size_t prototype = label * kVariants + random.Below(kVariants);
  const size_t top = random.Below(static_cast<uint32_t>(2 * height_.shift + 1));
  const size_t left = random.Below(static_cast<uint32_t>(2 * width_.shift + 1));
  const int brightness = kMinBrightness + static_cast<int>(random.Below(257 - kMinBrightness));
  const size_t row_size = width_.size * shape_.channels;
  for (size_t y = 0; y < height_.size; ++y) {
    const uint8_t* row = prototypes_.data() + prototype * canvas_size() +
                         ((top + y) * width_.canvas + left) * shape_.channels;
    for (size_t i = 0; i < row_size; i += 4) {
      uint64_t word = random.Next();
      const size_t end = std::min(i + 4, row_size);
      for (size_t k = i; k < end; ++k, word >>= 16) {
        const int noise = static_cast<int>((word & 255) + (word >> 8 & 255)) - 255;
        // Divided, not shifted: the dividend may be negative.
        *out++ = ToByte((row[k] * brightness + noise * kNoiseWeight) / 256);
      }
    }
  }
}

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
