#include "evaluation/evaluation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include "base/parallel.h"

namespace sotto::server {
namespace {

// log(1 + e^x)
double SoftPlus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

double CrossEntropy(Span<const float> scores, uint32_t label) {
  const auto highest = static_cast<double>(*std::max_element(scores.begin(), scores.end()));
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score) - highest);
  return std::log(sum) + highest - static_cast<double>(scores[label]);
}

double OneVsAllLoss(Span<const float> outputs, uint32_t label) {
  double loss = 0;
  for (uint32_t k = 0; k < outputs.size(); ++k) {
    const bool is_its_class = outputs.size() == 1 ? label == 1 : label == k;
    const auto output = static_cast<double>(outputs[k]);
    loss += SoftPlus(is_its_class ? -output : output);
  }
  return loss;
}

double MeanSquare(Span<const float> outputs, Span<const float> target) {
  double sum = 0;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const double error = static_cast<double>(outputs[k]) - static_cast<double>(target[k]);
    sum += error * error;
  }
  return sum / static_cast<double>(outputs.size());
}

// The samples from `first` to before `end`.
struct Piece {
  size_t first = 0;
  size_t end = 0;
};

// Evaluates samples one after the other, with memory of its own.
class Evaluator {
 public:
  Evaluator(const ModelInfo& model, Span<const float> parameters, const Dataset& data)
      : model_(model),
        parameters_(parameters),
        data_(data),
        features_(model.inputs),
        target_(model.classes > 0 ? 0 : model.outputs),
        scratch_(model.predict_floats(model)),
        outputs_(model.outputs) {
    sum_.classes.resize(model.classes);
  }

  // The loss is the sum over the piece.
  Evaluation Sum(const Piece& piece) {
    for (size_t i = piece.first; i < piece.end; ++i) Add(i);
    sum_.samples = piece.end - piece.first;
    return sum_;
  }

 private:
  static Span<float> Memory(std::vector<float>& floats) { return {floats.data(), floats.size()}; }

  void Add(size_t index) {
    data_.CopyFeatures(index, Memory(features_));
    if (model_.loss.target == nn::TargetKind::kInput) target_ = features_;
    if (model_.loss.target == nn::TargetKind::kVector) data_.CopyTarget(index, Memory(target_));
    model_.predict(model_, parameters_, Memory(features_), Memory(scratch_), Memory(outputs_));
    const uint32_t label = data_.Label(index);
    sum_.loss += LossOf(model_, Memory(outputs_), label, Memory(target_));
    if (model_.classes == 0) return;
    ++sum_.classes[label].total;
    if (PredictedLabel(Memory(outputs_)) == label) ++sum_.classes[label].correct;
  }

  const ModelInfo& model_;
  Span<const float> parameters_;
  const Dataset& data_;
  std::vector<float> features_;
  std::vector<float> target_;
  std::vector<float> scratch_;
  std::vector<float> outputs_;
  Evaluation sum_;
};

// The evaluation of all samples from that of each piece, in the order of the pieces.
Evaluation Total(const ModelInfo& model, const std::vector<Evaluation>& pieces) {
  Evaluation total;
  total.classes.resize(model.classes);
  for (const Evaluation& piece : pieces) {
    total.samples += piece.samples;
    total.loss += piece.loss;
    for (size_t k = 0; k < total.classes.size(); ++k) {
      total.classes[k].correct += piece.classes[k].correct;
      total.classes[k].total += piece.classes[k].total;
    }
  }
  if (total.samples > 0) total.loss /= static_cast<double>(total.samples);
  return total;
}

}  // namespace

uint64_t Evaluation::correct() const {
  uint64_t all = 0;
  for (const ClassCount& each : classes) all += each.correct;
  return all;
}

std::optional<double> Evaluation::accuracy() const {
  if (classes.empty()) return std::nullopt;
  if (samples == 0) return 0.0;
  return static_cast<double>(correct()) / static_cast<double>(samples);
}

std::optional<double> Evaluation::mean_squared_error() const {
  return classes.empty() ? std::optional<double>(loss) : std::nullopt;
}

uint32_t PredictedLabel(Span<const float> outputs) {
  if (outputs.size() == 1) return outputs[0] > 0 ? 1 : 0;
  return static_cast<uint32_t>(std::max_element(outputs.begin(), outputs.end()) - outputs.begin());
}

double LossOf(const ModelInfo& model, Span<const float> outputs, uint32_t label,
              Span<const float> target) {
  switch (model.loss.kind) {
    case nn::LossKind::kSoftmaxCrossEntropy:
      return CrossEntropy(outputs, label);
    case nn::LossKind::kOneVsAll:
      return OneVsAllLoss(outputs, label);
    case nn::LossKind::kMeanSquaredError:
      return MeanSquare(outputs, target);
  }
  return 0;
}

void RequireEvaluable(const ModelInfo& model, const Dataset& data) {
  const SampleInfo& info = data.info();
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(fmt::format("{}: {}", data.name(), why));
  };
  if (data.input_size() != model.inputs) {
    refuse(fmt::format("its samples have {} numbers, and model {} takes {}", data.input_size(),
                       model.name, model.inputs));
  }
  const uint32_t tokens = model.layers[0].tokens;
  if (tokens > 0 && (info.tokens == 0 || info.tokens > tokens)) {
    refuse(fmt::format("its samples are {}, and model {} takes tokens below {}",
                       info.tokens == 0 ? "no tokens" : fmt::format("tokens below {}", info.tokens),
                       model.name, tokens));
  }
  if (model.classes > 0 && info.classes == 0) {
    refuse(fmt::format("its samples have no labels, and model {} tells {} classes apart",
                       model.name, model.classes));
  }
  if (info.classes > model.classes && model.classes > 0) {
    refuse(fmt::format("its labels name {} classes, and model {} has {}", info.classes, model.name,
                       model.classes));
  }
  if (model.loss.target == nn::TargetKind::kVector && info.targets != model.outputs) {
    refuse(fmt::format("its samples have {} target numbers, and model {} has {} outputs",
                       info.targets, model.name, model.outputs));
  }
}

std::optional<Evaluation> EvaluateUnlessStopped(const ModelInfo& model,
                                                Span<const float> parameters, const Dataset& data,
                                                int threads,
                                                const std::function<bool()>& must_stop) {
  std::vector<Evaluation> pieces((data.size() + kSamplesPerPiece - 1) / kSamplesPerPiece);
  std::atomic<bool> is_stopped{false};
  ParallelFor(threads, pieces.size(), [&](size_t i, int) {
    if (must_stop && must_stop()) is_stopped = true;
    if (is_stopped) return;
    const size_t first = i * kSamplesPerPiece;
    const Piece piece = {first, std::min(first + kSamplesPerPiece, data.size())};
    pieces[i] = Evaluator(model, parameters, data).Sum(piece);
  });
  if (is_stopped) return std::nullopt;
  return Total(model, pieces);
}

Evaluation Evaluate(const ModelInfo& model, Span<const float> parameters, const Dataset& data,
                    int threads) {
  return *EvaluateUnlessStopped(model, parameters, data, threads, nullptr);
}

}  // namespace sotto::server
