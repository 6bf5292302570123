// How good a model is on a test set: loss, accuracy, the figures of each class, the error of a
// regression. Part of sotto::server/evaluation.
//
// An evaluation computes from a released model and from the caller's samples. So it is
// post-processing of the release: no epsilon grows by it. No epsilon covers what the figures tell
// about the test samples.
//
// Reentrant: safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ranks/ranks.h"
#include "sotto/data/dataset.h"
#include "sotto/model_info.h"

namespace sotto::server {

// The samples of one class.
struct ClassCount {
  uint64_t correct = 0;
  uint64_t total = 0;

  bool operator==(const ClassCount& other) const {
    return correct == other.correct && total == other.total;
  }
};

struct Evaluation {
  uint64_t samples = 0;
  // The mean over the samples of what a training minimises (sotto/loss.h). Not finite if an output
  // is not.
  double loss = 0;
  std::vector<ClassCount> classes;  // [model.classes]; empty: the target is no class

  uint64_t correct() const;
  // The share of samples whose label has the highest score, in [0, 1]; 0 without samples. Absent if
  // the target is no class.
  std::optional<double> accuracy() const;
  // Of a regression or an autoencoder: the mean of (output - target)^2 over outputs and samples.
  // Absent if the target is a class.
  std::optional<double> mean_squared_error() const;
};

// Whether a model is worse than another one, as far as the same test samples can tell.
//   classes     its accuracy is lower by more than two standard errors; or not higher by as much,
//               while its loss is higher
//   no classes  its loss is higher
// A loss that is not finite is higher than a finite one. The standard error is computed as if the
// two accuracies were independent. Chance alone makes the accuracy of an equal model lower by so
// much in about 2 of 100 comparisons.
bool IsWorse(const Evaluation& before, const Evaluation& after);

// Throws std::invalid_argument, naming the data set, if it does not fit the model: another number
// of features, no labels or more classes, another number of target numbers.
void RequireEvaluable(const ModelInfo& model, const Dataset& data);

// Evaluates a model. Personal layers, whose values are on the devices, are taken as all devices
// start with them (sotto/personal.h). The sums are made in a fixed order, so the result is the same
// on any number of threads. In a tie of scores the lower class wins.
//   parameters  [model.parameters]
//   data        fits the model, see RequireEvaluable()
//   threads     >= 1
//   must_stop   asked from all threads, every kSamplesPerPiece samples; null: never
// Absent if must_stop returned true.
std::optional<Evaluation> EvaluateUnlessStopped(const ModelInfo& model,
                                                Span<const float> parameters, const Dataset& data,
                                                int threads,
                                                const std::function<bool()>& must_stop);

// The same to its end.
Evaluation Evaluate(const ModelInfo& model, Span<const float> parameters, const Dataset& data,
                    int threads);

// The same by all ranks, each of which evaluates a part of the samples and gets the whole result.
// Throws RanksLost.
Evaluation EvaluateTogether(const ModelInfo& model, Span<const float> parameters,
                            const Dataset& data, int threads, Ranks& ranks);

constexpr size_t kSamplesPerPiece = 500;

// The loss of one sample, in double, from the scores: no small probability becomes zero.
//   label    of a model of classes
//   target   [model.outputs] of the others
double LossOf(const ModelInfo& model, Span<const float> outputs, uint32_t label,
              Span<const float> target);

}  // namespace sotto::server
