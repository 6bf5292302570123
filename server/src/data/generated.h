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

#include "data/patterns.h"
#include "sotto/data/dataset.h"

namespace sotto::server {

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
