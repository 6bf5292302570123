#include "codec/codecs.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "codec/exact_codec.h"
#include "codec/gaussian_float32.h"
#include "codec/lrq_codec.h"
#include "codec/own_codec.h"
#include "codec/quantized_binomial.h"
#include "codec/quantized_gaussian.h"
#include "sotto/options/open_table.h"
#include "sotto/research/methods.h"

namespace sotto::server {
namespace {

template <class Codec>
std::unique_ptr<const UpdateCodec> Make(const TrainTask& task) {
  return std::make_unique<Codec>(task);
}

constexpr DitherKind kGaussian = DitherKind::kGaussian;
constexpr DitherKind kUniform = DitherKind::kUniform;

posix::OpenTable<CodecInfo>& Table() {
  // clang-format off
  // name, note,
  //   noise, accounted, certified, servable, by_name, same_noise, without_noise, coded, dither,
  //   make
  static const CodecInfo kBuiltIn[] = {
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
  static posix::OpenTable<CodecInfo> table("mechanism", kBuiltIn,
                                           [](const CodecInfo& codec) { return codec.name; });
  return table;
}

}  // namespace

std::vector<uint8_t> UpdateCodec::Encode(const Key&, Span<const int32_t>) const {
  throw std::logic_error("devices encode the updates of this codec themselves");
}

void AddCodec(const OwnCodec& own) {
  const bool states = own.noise.has_value();
  if (states && !(own.noise->stretch > 0 && own.noise->deviation >= own.noise->stretch &&
                  std::isfinite(own.noise->deviation))) {
    throw std::invalid_argument(
        std::string("the mechanism '") + own.name +
        "' states a noise below its stretch: the plan's epsilon would be too "
        "small for it; scale the noise up, or state none");
  }
  CodecInfo row = {
      own.name, own.note, states, states, false, false, true, false, states ? nullptr : own.name,
      false,    kUniform, nullptr};
  row.own = std::make_shared<const OwnCodec>(own);
  row.make = [kept = row.own](const TrainTask& task) {
    return std::make_unique<baseline::OwnUpdateCodec>(*kept, task);
  };
  Table().Add(row);
}

Span<const CodecInfo> Codecs() { return Table().rows(); }

const CodecInfo* FindCodec(const std::string& name) {
  const Span<const CodecInfo> all = Codecs();
  const auto* found = std::find_if(all.begin(), all.end(),
                                   [&](const CodecInfo& codec) { return name == codec.name; });
  return found == all.end() ? nullptr : found;
}

const CodecInfo& RequireCodec(const std::string& name) {
  if (const CodecInfo* codec = FindCodec(name)) return *codec;
  std::string names;
  for (const CodecInfo& codec : Codecs()) names += std::string(" ") + codec.name;
  throw std::invalid_argument("there is no mechanism '" + name + "'; there are:" + names);
}

std::vector<std::string> CodecNames() {
  std::vector<std::string> names;
  for (const CodecInfo& codec : Codecs()) {
    if (codec.by_name) names.emplace_back(codec.name);
  }
  return names;
}

std::vector<std::string> ServableCodecNames() {
  std::vector<std::string> names;
  for (const CodecInfo& codec : Codecs()) {
    if (codec.by_name && codec.servable) names.emplace_back(codec.name);
  }
  return names;
}

}  // namespace sotto::server
