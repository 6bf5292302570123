// For tests: codecs that break what a job claims. An audit must find each.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "codec/codecs.h"
#include "codec/gaussian_float32.h"
#include "codec/lrq_codec.h"
#include "sotto/bytes.h"

namespace sotto::server {

// The codec float32 with half its noise: it encodes the double and halves the sum.
class HalfTheNoise : public baseline::GaussianFloat32 {
 public:
  using GaussianFloat32::GaussianFloat32;

  double SumUnit() const override { return GaussianFloat32::SumUnit() / 2; }
  std::vector<uint8_t> Encode(const Key& key, Span<const int32_t> values) const override {
    std::vector<int32_t> doubled(values.begin(), values.end());
    for (int32_t& value : doubled) value *= 2;
    return GaussianFloat32::Encode(key, {doubled.data(), doubled.size()});
  }
};

// Devices send raw float32 updates, which nobody clips; the server adds the noise.
class Unbounded : public baseline::GaussianFloat32 {
 public:
  using GaussianFloat32::GaussianFloat32;

  Verdict Add(const UpdateOrigin& origin, ByteSpan encoded, Accumulator& sum) const override {
    std::vector<int32_t> values(sum.size());
    for (size_t j = 0; j < values.size(); ++j) {
      const auto value = static_cast<double>(FloatFromBits(LoadU32Le(encoded.data() + 4 * j)));
      values[j] = static_cast<int32_t>(std::lrint(value / noise_sigma() * 0x1p20));
    }
    Key key = origin.secret;
    key.bytes[0] = static_cast<uint8_t>(key.bytes[0] ^ task().round);
    for (int i = 0; i < 4; ++i) key.bytes[i + 1] ^= static_cast<uint8_t>(task().attempt >> (8 * i));
    const std::vector<uint8_t> noisy = Encode(key, {values.data(), values.size()});
    return GaussianFloat32::Add(origin, {noisy.data(), noisy.size()}, sum);
  }
};

template <class Codec>
std::unique_ptr<const UpdateCodec> MakeWeak(const TrainTask& task) {
  return std::make_unique<Codec>(task);
}

inline CodecInfo HalfNoiseCodec() {
  CodecInfo codec = RequireCodec("float32");
  codec.make = MakeWeak<HalfTheNoise>;
  return codec;
}

inline CodecInfo UnboundedCodec() {
  CodecInfo codec = RequireCodec("float32");
  codec.servable = true;
  codec.make = MakeWeak<Unbounded>;
  return codec;
}

// A model whose trainer does not project.
inline ModelInfo WithoutProjection(const ModelInfo& model) {
  ModelInfo unbounded = model;
  unbounded.project = [](Span<const float>, float, const WorkingParameters&, bool* was_outside) {
    *was_outside = false;
    return Status::kOk;
  };
  return unbounded;
}

}  // namespace sotto::server
