#include "data/synthetic.h"

#include <algorithm>
#include <array>

namespace sotto::server {
namespace {

constexpr size_t kClasses = 10;
constexpr size_t kVariants = 3;  // prototypes of a class; with several, no linear model is perfect
constexpr size_t kSide = 28;
constexpr size_t kMaxShift = 3;
constexpr size_t kCanvas = kSide + 2 * kMaxShift;

// Patterns are drawn on a coarse grid and interpolated, so they are smooth.
constexpr size_t kCell = 7;  // pixels
constexpr size_t kGrid = (kCanvas - 1) / kCell + 2;

// These constants set the difficulty. They were tuned by training a logistic regression.
constexpr int kBackground = 112;     // grey levels; darker values become black
constexpr int kGain = 384;           // of the rest, in 1/256
constexpr int kMinBrightness = 128;  // of a sample, in 1/256
constexpr int kNoiseWeight = 128;    // of a pixel's noise, in 1/256

using Grid = std::array<int, kGrid * kGrid>;
using Prototype = std::array<uint8_t, kCanvas * kCanvas>;
using Prototypes = std::array<Prototype, kClasses * kVariants>;

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). Not for
// secrets or privacy noise.
class Random {
 public:
  // Streams of one seed are unrelated to each other.
  Random(uint64_t seed, uint64_t stream) : state_(Mix(Mix(seed) + stream)) {}

  uint64_t Next() { return Mix(state_ += 0x9E3779B97F4A7C15U); }

  // Uniform on 0 .. bound - 1 but for a bias below bound / 2^32.
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>((Next() >> 32) * bound >> 32); }

 private:
  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

// Stream numbers: one for all prototypes, then one for each sample.
constexpr uint64_t kPrototypeStream = 0;
constexpr uint64_t kTrainStream = uint64_t{1} << 40;
constexpr uint64_t kTestStream = uint64_t{2} << 40;

uint8_t ToByte(int x) { return static_cast<uint8_t>(std::clamp(x, 0, 255)); }

Grid RandomGrid(Random& random) {
  Grid grid;
  for (int& x : grid) x = random.Below(256);
  return grid;
}

// Bilinear interpolation of the grid at a canvas pixel.
int Interpolate(const Grid& grid, size_t y, size_t x) {
  constexpr int cell = kCell;
  const int* corner = &grid[y / kCell * kGrid + x / kCell];
  const int down = static_cast<int>(y % kCell);
  const int right = static_cast<int>(x % kCell);
  const int top = (cell - right) * corner[0] + right * corner[1];
  const int bottom = (cell - right) * corner[kGrid] + right * corner[kGrid + 1];
  return ((cell - down) * top + down * bottom) / (cell * cell);
}

Prototype MakePrototype(Random& random) {
  const Grid grid = RandomGrid(random);
  Prototype prototype;
  for (size_t y = 0; y < kCanvas; ++y) {
    for (size_t x = 0; x < kCanvas; ++x) {
      const int above = Interpolate(grid, y, x) - kBackground;
      prototype[y * kCanvas + x] = ToByte(above * kGain / 256);
    }
  }
  return prototype;
}

Prototypes MakePrototypes(uint64_t seed) {
  Random random(seed, kPrototypeStream);
  Prototypes prototypes;
  for (Prototype& prototype : prototypes) prototype = MakePrototype(random);
  return prototypes;
}

// Writes kSide * kSide pixels. The noise of a pixel is the sum of two random bytes, centred.
void DrawSample(const Prototypes& prototypes, size_t label, Random random, uint8_t* pixels) {
  const Prototype& prototype = prototypes[label * kVariants + random.Below(kVariants)];
  const size_t top = random.Below(2 * kMaxShift + 1);
  const size_t left = random.Below(2 * kMaxShift + 1);
  const int brightness = kMinBrightness + static_cast<int>(random.Below(257 - kMinBrightness));
  static_assert(kSide % 4 == 0, "one random word serves four pixels of a row");
  for (size_t y = 0; y < kSide; ++y) {
    const uint8_t* row = prototype.data() + (top + y) * kCanvas + left;
    for (size_t x = 0; x < kSide; x += 4) {
      uint64_t word = random.Next();
      for (size_t k = x; k < x + 4; ++k, word >>= 16) {
        const int noise = static_cast<int>((word & 255) + (word >> 8 & 255)) - 255;
        // Divided, not shifted: the dividend may be negative.
        *pixels++ = ToByte((row[k] * brightness + noise * kNoiseWeight) / 256);
      }
    }
  }
}

SharedDataset MakePart(const Prototypes& prototypes, size_t size, uint64_t seed, uint64_t stream) {
  SampleInfo info;
  info.shape = nn::ShapeOf(kSide, kSide, 1);
  info.classes = kClasses;
  StoredSamples samples;
  samples.bytes.resize(size * kSide * kSide);
  samples.labels.resize(size);
  for (size_t i = 0; i < size; ++i) {
    samples.labels[i] = static_cast<uint32_t>(i % kClasses);
    DrawSample(prototypes, samples.labels[i], Random(seed, stream + i),
               samples.bytes.data() + i * kSide * kSide);
  }
  return std::make_shared<StoredDataset>("synthetic", info, std::move(samples));
}

}  // namespace

TrainTest MakeSynthetic(const SyntheticOptions& options) {
  const Prototypes prototypes = MakePrototypes(options.seed);
  return {MakePart(prototypes, options.train_size, options.seed, kTrainStream),
          MakePart(prototypes, options.test_size, options.seed, kTestStream)};
}

}  // namespace sotto::server
