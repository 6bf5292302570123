#include "data/patterns.h"

#include <algorithm>

namespace sotto::server {
namespace {

constexpr size_t kVariants = 3;  // prototypes of a class; with several, no linear model is perfect

// These constants set the difficulty. They were tuned by training a logistic regression.
constexpr int kBackground = 112;     // grey levels; darker values become black
constexpr int kGain = 384;           // of the rest, in 1/256
constexpr int kMinBrightness = 128;  // of a sample, in 1/256
constexpr int kNoiseWeight = 128;    // of a value's noise, in 1/256

uint8_t ToByte(int x) { return static_cast<uint8_t>(std::clamp(x, 0, 255)); }

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

}  // namespace sotto::server
