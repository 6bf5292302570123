// An evaluation as text for people and as JSON. Part of sotto::server/views.
//
// `sotto simulate`, `sotto serve` and `sotto model evaluate` print the same words. Pure functions.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "evaluation/evaluation.h"

namespace sotto::server {

// "accuracy 0.8123, loss 0.5512", or "mean squared error 0.0123".
std::string DescribeEvaluation(const Evaluation& evaluation);

// The accuracy of each class that has samples: "shirt 0.41, coat 0.73"; of more than twelve classes
// the five worst ones. Empty if the target is no class.
//   info  of the test set: the names of the classes
std::string DescribeClasses(const Evaluation& evaluation, const SampleInfo& info);

// {"samples", "loss", "accuracy", "mean_squared_error", "classes"}. What does not apply is null,
// and so is a loss that is not finite. `classes` is a list of {"class", "correct", "total"}.
nlohmann::ordered_json EvaluationToJson(const Evaluation& evaluation, const SampleInfo& info);

}  // namespace sotto::server
