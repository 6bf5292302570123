// A data set whose samples are made when they are read: see synthetic.h. Part of
// sotto::server/data.
//
// Constant after it was made: any number of threads may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sotto/data/dataset.h"
#include "sotto/layer.h"

namespace sotto::server {

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). Not for
// secrets or privacy noise.
class PatternRandom {
 public:
  // Streams of one seed are unrelated to each other.
  PatternRandom(uint64_t seed, uint64_t stream) : state_(Mix(Mix(seed) + stream)) {}

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

// Stream numbers of a seed: one for all patterns, then one for each sample.
namespace pattern_stream {
constexpr uint64_t kPatterns = 0;
constexpr uint64_t kWeights = 1;  // of targets
constexpr uint64_t kStoredTrain = uint64_t{1} << 40;
constexpr uint64_t kStoredTest = uint64_t{2} << 40;
constexpr uint64_t kTrain = uint64_t{3} << 40;
constexpr uint64_t kTest = uint64_t{4} << 40;
}  // namespace pattern_stream

// Random patterns of which samples are made. A class has kVariants prototypes: smooth random
// patterns of height x width x channels, with a margin to shift a window over them. Only integers
// are used, so a pattern has the same bytes on every platform.
class Patterns {
 public:
  Patterns(const nn::Shape& shape, uint32_t classes, uint64_t seed);

  const nn::Shape& shape() const { return shape_; }
  uint32_t classes() const { return classes_; }

  // Draws a sample of a class: a prototype shifted along height and width, with its brightness
  // scaled and noise on every value.
  //   label  below classes()
  //   out    [shape().size()] bytes
  void Draw(uint32_t label, PatternRandom random, uint8_t* out) const;

 private:
  // One axis of a prototype.
  struct Side {
    explicit Side(uint32_t size);
    size_t size;
    size_t shift;   // at most, in each direction
    size_t canvas;  // size and twice the shift
    size_t cell;    // of the coarse grid on which patterns are drawn
    size_t grid;    // its points
  };

  void DrawPrototype(PatternRandom& random, uint8_t* canvas) const;
  void DrawChannel(const std::vector<int>& grid, uint8_t* canvas) const;
  size_t canvas_size() const { return height_.canvas * width_.canvas * shape_.channels; }

  nn::Shape shape_;
  uint32_t classes_;
  Side height_;
  Side width_;
  std::vector<uint8_t> prototypes_;  // [classes][kVariants][canvas_size()]
};

// Makes samples from random streams.
class SampleMaker {
 public:
  SampleMaker(const SampleInfo& info, uint64_t seed);

  const SampleInfo& info() const { return info_; }

  // The class of a stream's sample, hidden if info().classes is 0.
  uint32_t Label(uint64_t stream) const;
  //   out  [info().shape.size()]
  void Features(uint64_t stream, Span<float> out) const;
  //   out  [info().targets]
  void Target(uint64_t stream, Span<float> out) const;

 private:
  PatternRandom StreamOf(uint64_t stream, uint32_t* label) const;
  void DrawTokens(uint32_t label, PatternRandom random, Span<float> out) const;

  SampleInfo info_;
  uint64_t seed_;
  uint32_t classes_;
  std::optional<Patterns> patterns_;  // none for tokens
  std::vector<int8_t> signs_;         // [targets][inputs], 1 or -1
};

class GeneratedDataset : public Dataset {
 public:
  //   stream  of sample 0; sample i has stream + i
  GeneratedDataset(std::shared_ptr<const SampleMaker> maker, size_t size, uint64_t stream);

  size_t size() const override { return size_; }
  void CopyFeatures(size_t index, Span<float> out) const override {
    maker_->Features(stream_ + index, out);
  }
  uint32_t Label(size_t index) const override {
    return info().classes == 0 ? 0 : maker_->Label(stream_ + index);
  }
  void CopyTarget(size_t index, Span<float> out) const override {
    maker_->Target(stream_ + index, out);
  }
  uint32_t Group(size_t) const override { return 0; }
  Span<const uint8_t> Bytes(size_t) const override { return {}; }
  bool is_generated() const override { return true; }

 private:
  std::shared_ptr<const SampleMaker> maker_;
  size_t size_;
  uint64_t stream_;
};

// The same samples in memory: bytes, or numbers if a feature is a token.
SharedDataset Store(const Dataset& data);

}  // namespace sotto::server
