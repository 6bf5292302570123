#include "codec/codecs.h"

#include <algorithm>
#include <stdexcept>

#include "codec/exact_codec.h"
#include "codec/gaussian_float32.h"
#include "codec/lrq_codec.h"
#include "codec/quantized_binomial.h"
#include "codec/quantized_gaussian.h"

namespace sotto::server {
namespace {

template <class Codec>
std::unique_ptr<const UpdateCodec> Make(const TrainTask& task) {
  return std::make_unique<Codec>(task);
}

constexpr DitherKind kGaussian = DitherKind::kGaussian;
constexpr DitherKind kUniform = DitherKind::kUniform;

// clang-format off
// name, note,
//   noise, accounted, certified, servable, by_name, same_noise, without_noise, coded, dither, make
constexpr CodecInfo kCodecs[] = {
    {"gau-lrq", "private: Gaussian noise by quantization, with a certificate",
     true, true, true, true, true, false, "uniform-dither", true, kGaussian, Make<LrqCodec>},
    {"uniform-dither", "gau-lrq's code with a fine uniform dither, NO PRIVACY",
     false, false, false, true, false, false, "uniform-dither", true, kUniform, Make<LrqCodec>},
    {"none", "exact float32 updates, NO PRIVACY",
     false, false, false, true, true, true, "none", false, kUniform, Make<ExactCodec>},
    {"float32", "baseline: floating-point Gaussian noise, sent as float32",
     true, true, false, false, true, true, nullptr, false, kUniform, Make<baseline::GaussianFloat32>},
    {"qg", "baseline: the noise of float32, then quantized",
     true, true, false, false, true, false, nullptr, false, kUniform, Make<baseline::QuantizedGaussian>},
    {"bq", "baseline: quantized, then binomial noise",
     true, false, false, false, true, false, nullptr, false, kUniform, Make<baseline::QuantizedBinomial>},
};
// clang-format on

}  // namespace

std::vector<uint8_t> UpdateCodec::Encode(const Key&, Span<const int32_t>) const {
  throw std::logic_error("devices encode the updates of this codec themselves");
}

Span<const CodecInfo> Codecs() { return kCodecs; }

const CodecInfo* FindCodec(const std::string& name) {
  const auto* found = std::find_if(std::begin(kCodecs), std::end(kCodecs),
                                   [&](const CodecInfo& codec) { return name == codec.name; });
  return found == std::end(kCodecs) ? nullptr : found;
}

const CodecInfo& RequireCodec(const std::string& name) {
  if (const CodecInfo* codec = FindCodec(name)) return *codec;
  std::string names;
  for (const CodecInfo& codec : kCodecs) names += std::string(" ") + codec.name;
  throw std::invalid_argument("there is no mechanism '" + name + "'; there are:" + names);
}

std::vector<std::string> CodecNames() {
  std::vector<std::string> names;
  for (const CodecInfo& codec : kCodecs) {
    if (codec.by_name) names.emplace_back(codec.name);
  }
  return names;
}

std::vector<std::string> ServableCodecNames() {
  std::vector<std::string> names;
  for (const CodecInfo& codec : kCodecs) {
    if (codec.by_name && codec.servable) names.emplace_back(codec.name);
  }
  return names;
}

}  // namespace sotto::server
