#include "export/onnx_features.h"

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace sotto::server {
namespace {

using nn::FrameSettings;
using nn::PreparationKind;
using nn::PreparationStep;

constexpr double kTurn = 6.283185307179586;

class Features {
 public:
  Features(const PreparationStep& step, OnnxGraph* graph)
      : step_(step), graph_(*graph), signal_(nn::SignalOf(step.input)) {}

  std::string Add(const std::string& value) {
    switch (step_.kind) {
      case PreparationKind::kDifference:
        return graph_.Add("Sub",
                          {Slice(value, 1, signal_.length), Slice(value, 0, signal_.length - 1)});
      case PreparationKind::kStats:
        return Stats(value);
      case PreparationKind::kSpectrum:
      case PreparationKind::kMel:
        return Frames(value);
      case PreparationKind::kDct:
        return Dct(value);
      default:
        throw std::logic_error("no feature of a signal");
    }
  }

 private:
  std::string Slice(const std::string& value, int64_t from, int64_t to) {
    return graph_.Add("Slice", {value, graph_.AddIntegers({from}), graph_.AddIntegers({to}),
                                graph_.AddIntegers({3})});
  }

  std::string Over(const char* reduce, const std::string& value) {
    return graph_.Add(reduce, {value},
                      {{"axes", std::vector<int64_t>{3}}, {"keepdims", int64_t{1}}});
  }

  std::string RootMeanSquare(const std::string& value) {
    return graph_.Add("Sqrt", {Over("ReduceMean", graph_.Add("Mul", {value, value}))});
  }

  std::string Stats(const std::string& value) {
    const std::string zero = graph_.AddFloats({1}, {0.0F});
    const std::string mean = Over("ReduceMean", value);
    const std::string deviation = RootMeanSquare(graph_.Add("Sub", {value, mean}));
    const std::string rms = RootMeanSquare(value);
    const std::string safe =
        graph_.Add("Where", {graph_.Add("Equal", {rms, zero}), graph_.AddFloats({1}, {1.0F}), rms});
    const std::string crest =
        graph_.Add("Div", {Over("ReduceMax", graph_.Add("Abs", {value})), safe});
    const std::string crosses =
        graph_.Add("Xor", {graph_.Add("Less", {Slice(value, 1, signal_.length), zero}),
                           graph_.Add("Less", {Slice(value, 0, signal_.length - 1), zero})});
    constexpr int64_t kFloat = 1;  // TensorProto::FLOAT
    const std::string crossings =
        Over("ReduceMean", graph_.Add("Cast", {crosses}, {{"to", kFloat}}));
    return graph_.Add("Concat", {mean, deviation, rms, crest, crossings}, {{"axis", int64_t{3}}});
  }

  // The real and imaginary part of each frequency, then their squares, weighed and summed by band.
  std::string Frames(const std::string& value) {
    const FrameSettings frames = nn::FrameSettingsOf(step_);
    const std::string rows = graph_.Reshape(value, {1, signal_.length});
    const std::string parts = graph_.Add("Conv", {rows, Rotations(frames)},
                                         {{"strides", std::vector<int64_t>{frames.hop}}});
    const std::string powers = graph_.Add("Mul", {parts, parts});
    const std::string bands = graph_.Add("MatMul", {Bands(frames), powers});
    const std::string logs =
        graph_.Add("Log", {graph_.Add("Add", {bands, graph_.AddFloats({1}, {0x1p-20F})})});
    return graph_.Reshape(graph_.Transpose(logs, {0, 2, 1}),
                          {signal_.axes, step_.output.height, frames.bands});
  }

  // [2 powers][1][window]. Weights whose mean is 0 take no notice of the frame's.
  std::string Rotations(const FrameSettings& frames) {
    const uint32_t powers = frames.transform() / 2 + 1;
    std::vector<float> weights;
    for (const double phase : {0.0, 0.25}) {  // cosine, sine
      for (uint32_t k = 0; k < powers; ++k) {
        std::vector<double> of_readings;
        for (uint32_t t = 0; t < frames.window; ++t) {
          const double window = 0.5 - 0.5 * std::cos(kTurn * t / frames.window);
          const uint64_t turn = uint64_t{k} * t % frames.transform();
          const double angle = static_cast<double>(turn) / frames.transform() - phase;
          of_readings.push_back(window * std::cos(kTurn * angle));
        }
        const double sum = std::accumulate(of_readings.begin(), of_readings.end(), 0.0);
        const double mean = frames.is_level() ? sum / frames.window : 0;
        for (const double weight : of_readings)
          weights.push_back(static_cast<float>(weight - mean));
      }
    }
    return graph_.AddFloats({2 * powers, 1, frames.window}, weights);
  }

  // [bands][2 powers]
  std::string Bands(const FrameSettings& frames) {
    const uint32_t powers = frames.transform() / 2 + 1;
    const double scale = 16.0 / (3.0 * frames.transform() * frames.window);
    std::vector<float> weights(size_t{2} * frames.bands * powers);
    for (uint32_t b = 0; b < frames.bands; ++b) {
      for (uint32_t k = 0; k < powers; ++k) {
        const auto weight = static_cast<float>(scale * WeightOf(frames, b, k));
        weights[size_t{2} * b * powers + k] = weight;
        weights[(size_t{2} * b + 1) * powers + k] = weight;
      }
    }
    return graph_.AddFloats({frames.bands, 2 * powers}, weights);
  }

  double WeightOf(const FrameSettings& frames, uint32_t b, uint32_t k) const {
    if (step_.kind == PreparationKind::kSpectrum) {
      const uint32_t half = frames.transform() / 2;
      return k > b * half / frames.bands && k <= (b + 1) * half / frames.bands ? 1 : 0;
    }
    const float* const starts = step_.second.data() + frames.starts_at() + b;
    const double rising = step_.second[frames.weights_at() + k];
    const auto at = static_cast<float>(k);
    if (at < starts[0] || at >= starts[2]) return 0;
    return at < starts[1] ? rising : 1 - rising;
  }

  std::string Dct(const std::string& value) {
    const nn::DctSettings dct = nn::DctSettingsOf(step_);
    std::vector<float> transposed;
    for (uint32_t b = 0; b < dct.bands; ++b) {
      for (uint32_t c = 0; c < dct.coefficients; ++c) {
        transposed.push_back(step_.second[size_t{c} * dct.bands + b]);
      }
    }
    return graph_.Add("MatMul",
                      {value, graph_.AddFloats({dct.bands, dct.coefficients}, transposed)});
  }

  const PreparationStep& step_;
  OnnxGraph& graph_;
  const nn::Signal signal_;
};

}  // namespace

std::string AddFeatures(const PreparationStep& step, const std::string& value, OnnxGraph* graph) {
  return Features(step, graph).Add(value);
}

}  // namespace sotto::server
