#include "evaluation/evaluation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <stdexcept>

#include "base/parallel.h"
#include "sotto/blocks.h"
#include "sotto/personal.h"
#include "sotto/posix/check.h"
#include "sotto/predict.h"
#include "sotto/preparation.h"

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

// Adds the outputs for samples of a piece to its evaluation; the loss is the sum over the piece.
class Tally {
 public:
  Tally(const ModelInfo& model, const Dataset& data)
      : model_(model), data_(data), target_(TargetFloats(model)) {
    sum_.classes.resize(model.classes);
  }

  void Add(size_t index, Span<const float> outputs) {
    ReadTarget(index);
    const uint32_t label = data_.Label(index);
    ++sum_.samples;
    sum_.loss += LossOf(model_, outputs, label, {target_.data(), outputs.size()});
    if (model_.classes == 0) return;
    ++sum_.classes[label].total;
    if (PredictedClass(model_, outputs) == label) ++sum_.classes[label].correct;
  }

  const Evaluation& sum() const { return sum_; }

 private:
  // An autoencoder's target is the sample as its net gets it: prepared.
  void ReadTarget(size_t index) {
    if (model_.loss.target == nn::TargetKind::kVector) {
      data_.CopyTarget(index, {target_.data(), model_.outputs});
    }
    if (model_.loss.target != nn::TargetKind::kInput) return;
    data_.CopyFeatures(index, {target_.data(), model_.inputs});
    nn::Prepare(model_.preparation, target_.data());
  }

  static size_t TargetFloats(const ModelInfo& model) {
    return model.loss.target == nn::TargetKind::kInput
               ? nn::PreparationFloats(model.preparation, model.SampleShape())
               : model.outputs;
  }

  const ModelInfo& model_;
  const Dataset& data_;
  std::vector<float> target_;
  Evaluation sum_;
};

Evaluation EvaluatePiece(const ModelInfo& model, Span<const float> parameters, const Dataset& data,
                         const Piece& piece) {
  const size_t most = BlockPredictor::Samples(model, piece.end - piece.first);
  std::vector<float> scratch(BlockPredictor::ScratchFloats(model, most));
  BlockPredictor predictor(model, parameters, most, {scratch.data(), scratch.size()});
  Tally tally(model, data);
  for (size_t first = piece.first; first < piece.end; first += most) {
    const size_t count = std::min(most, piece.end - first);
    for (size_t s = 0; s < count; ++s) data.CopyFeatures(first + s, predictor.features(s));
    predictor.Run(count);
    for (size_t s = 0; s < count; ++s) tally.Add(first + s, predictor.outputs(s));
  }
  return tally.sum();
}

// The parameters of a prediction.
class WithPersonal {
 public:
  WithPersonal(const ModelInfo& model, Span<const float> shared) : all_(shared) {
    if (model.personal == 0) return;
    own_.assign(shared.begin(), shared.end());
    own_.resize(model.trained());
    posix::Check(InitialPersonal(model, {own_.data() + shared.size(), model.personal}),
                 "the initial personal layers");
    all_ = {own_.data(), own_.size()};
  }
  WithPersonal(const WithPersonal&) = delete;
  WithPersonal& operator=(const WithPersonal&) = delete;

  Span<const float> all() const { return all_; }

 private:
  std::vector<float> own_;
  Span<const float> all_;
};

std::vector<Piece> PiecesOf(const Dataset& data) {
  std::vector<Piece> pieces;
  for (size_t first = 0; first < data.size(); first += kSamplesPerPiece) {
    pieces.push_back({first, std::min(first + kSamplesPerPiece, data.size())});
  }
  return pieces;
}

// The evaluation of all samples from each piece's evaluation, in the order of the pieces.
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

// A piece's evaluation as numbers for other ranks, and back: EvaluationOf() moves on behind it.
void AppendNumbers(const Evaluation& piece, std::vector<uint64_t>* numbers) {
  uint64_t loss = 0;
  std::memcpy(&loss, &piece.loss, sizeof(loss));
  numbers->insert(numbers->end(), {piece.samples, loss});
  for (const ClassCount& each : piece.classes) {
    numbers->insert(numbers->end(), {each.correct, each.total});
  }
}

Evaluation EvaluationOf(const ModelInfo& model, const uint64_t** next) {
  Evaluation piece;
  piece.samples = *(*next)++;
  std::memcpy(&piece.loss, (*next)++, sizeof(piece.loss));
  piece.classes.resize(model.classes);
  for (ClassCount& each : piece.classes) {
    each.correct = *(*next)++;
    each.total = *(*next)++;
  }
  return piece;
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

bool IsWorse(const Evaluation& before, const Evaluation& after) {
  const bool is_loss_higher = !(after.loss <= before.loss) && !std::isnan(before.loss);
  if (!after.accuracy() || !before.accuracy()) return is_loss_higher;
  const double p = *before.accuracy();
  const double q = *after.accuracy();
  const auto samples = static_cast<double>(std::max<uint64_t>(after.samples, 1));
  const double two_errors = 2 * std::sqrt((p * (1 - p) + q * (1 - q)) / samples);
  return q < p - two_errors || (q <= p + two_errors && is_loss_higher);
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
  const std::vector<Piece> pieces = PiecesOf(data);
  std::vector<Evaluation> sums(pieces.size());
  const WithPersonal model_parameters(model, parameters);
  std::atomic<bool> is_stopped{false};
  ParallelFor(threads, pieces.size(), [&](size_t i, int) {
    if (must_stop && must_stop()) is_stopped = true;
    if (!is_stopped) sums[i] = EvaluatePiece(model, model_parameters.all(), data, pieces[i]);
  });
  if (is_stopped) return std::nullopt;
  return Total(model, sums);
}

Evaluation Evaluate(const ModelInfo& model, Span<const float> parameters, const Dataset& data,
                    int threads) {
  return *EvaluateUnlessStopped(model, parameters, data, threads, nullptr);
}

Evaluation EvaluateTogether(const ModelInfo& model, Span<const float> parameters,
                            const Dataset& data, int threads, Ranks& ranks) {
  const std::vector<Piece> pieces = PiecesOf(data);
  std::vector<size_t> here;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (ranks.Has(i)) here.push_back(i);
  }
  const WithPersonal model_parameters(model, parameters);
  std::vector<Evaluation> sums(pieces.size());
  ParallelFor(threads, here.size(), [&](size_t i, int) {
    sums[here[i]] = EvaluatePiece(model, model_parameters.all(), data, pieces[here[i]]);
  });
  std::vector<uint64_t> mine;
  for (const size_t i : here) AppendNumbers(sums[i], &mine);
  const std::vector<std::vector<uint64_t>> all = ranks.GatherNumbers(mine);
  std::vector<const uint64_t*> next;
  for (const std::vector<uint64_t>& numbers : all) next.push_back(numbers.data());
  for (size_t i = 0; i < pieces.size(); ++i) {
    sums[i] = EvaluationOf(model, &next[i % ranks.count()]);
  }
  return Total(model, sums);
}

}  // namespace sotto::server
