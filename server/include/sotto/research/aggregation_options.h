// The parameters with which a job turns a sum of updates into the next model. Part of sotto::lab.
//
// A plain value: any thread may read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sotto::server {

struct AggregationOptions {
  double server_learning_rate = 1.0;  // eta_g, > 0
  double smoothing = 0.0;             // lambda_s of Laplacian smoothing, in [0, 1e6]; 0: none

  // A name in the table of estimators, or NAME:VALUE; absent: laplacian with smoothing, else mean.
  std::optional<std::string> estimator = std::nullopt;
  // The order in which a tensor is flattened before it is smoothed: "natural", as the parameters
  // lie, or a permutation of the letters OHWI (estimator.h).
  std::string smoothing_order = "natural";
  // 1: along the flattened tensor; 2: tensors over an image along its rows and columns.
  uint32_t smoothing_axes = 1;
  // The shape of a sample if the model does not know it, for example "28x28".
  std::optional<std::string> smoothing_image = std::nullopt;

  // A name in the table of optimisers, or NAME:VALUE.
  std::string server_optimiser = "sgd";
  double server_momentum = 0.9;  // of momentum, in [0, 1)
  double adam_beta1 = 0.9;       // of adam: decay of the mean of updates, in [0, 1)
  double adam_beta2 = 0.99;      // decay of the mean of their squares, in [0, 1)
  double adam_epsilon = 1e-3;    // added to the root of that mean, model units; > 0

  // c of the grid of the released models, see --grid; 0: they are exact. A request has
  // kDefaultGrid unless it names another; a job that began before there was a grid has 0.
  double grid = 0.0;

  // Which average of the models is kept beside the last one: see --average.
  std::string average = "none";
};

}  // namespace sotto::server
