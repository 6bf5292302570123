// Figures and evaluations in JSON and text. Text of privacy figures is in accounting/figures.h.
// Part of sotto::server/views.
//
// All commands print the same words. Pure functions, safe from any thread.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "evaluation/evaluation.h"
#include "plans/device_accuracy.h"

namespace sotto::server {

// A figure in JSON. JSON has no infinite numbers: an infinite one is the text "Infinity" or
// "-Infinity", which JavaScript's Number() and Python's float() read. Not a number, such as the
// accuracy of a model without classes, is null, as all that is unknown or does not apply.
nlohmann::ordered_json FigureToJson(double figure);

// With this many decimals, or with three digits where decimals would leave fewer: "0.4229",
// "1.13e-05".
std::string Digits(double figure, int decimals);

// What devices said of the model with which a round began: null without evaluation on devices.
nlohmann::ordered_json DeviceAccuracyToJson(
    const std::optional<privacy::AccuracyEstimate>& estimate);

// "0.812 +- 0.071 on the devices before it"
std::string DescribeDeviceAccuracy(const privacy::AccuracyEstimate& estimate);

// A line of the ledger: what devices send beside their updates, within the same epsilon. Empty if
// they send nothing. A plan of the ledger has the joint scale of clip bit and accuracy as
// clip_bit_scale.
std::string DescribeExtras(const privacy::Plan& plan);

// "accuracy 0.8123, loss 0.5512", or "mean squared error 0.0123".
std::string DescribeEvaluation(const Evaluation& evaluation);

// The accuracy of each class that has samples: "shirt 0.41, coat 0.73"; of more than twelve classes
// the five worst ones. Empty if the target is no class.
//   info  of the test set: the names of the classes
std::string DescribeClasses(const Evaluation& evaluation, const SampleInfo& info);

// {"samples", "loss", "accuracy", "mean_squared_error", "classes"}. What does not apply is null,
// and so is a loss that is not a number. `classes` is a list of {"class", "correct", "total"}.
nlohmann::ordered_json EvaluationToJson(const Evaluation& evaluation, const SampleInfo& info);

}  // namespace sotto::server
