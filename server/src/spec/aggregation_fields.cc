// The rows of what the server makes of a sum of updates. Part of sotto::server/spec.
#include <algorithm>
#include <string>
#include <vector>

#include "aggregate/methods.h"
#include "aggregate/released_grid.h"
#include "spec/job_fields.h"

namespace sotto::server::job_fields {
namespace {

// The orders in which a tensor can be flattened.
std::vector<std::string> Orders() {
  std::vector<std::string> orders = {"natural"};
  std::string letters = "HIOW";
  do {
    orders.push_back(letters);
  } while (std::next_permutation(letters.begin(), letters.end()));
  return orders;
}

}  // namespace

Fields Estimation() {
  return {
      Row("estimator", Learns::kNothing, &AggregationOptions::estimator,
          "how the noisy sum becomes an update; mean: its mean; laplacian: the mean, smoothed; the "
          "others shrink the mean according to the known noise")
          .OneOfNames(EstimatorNames())
          .ByDefault("mean; laplacian with --smoothing")
          .StoredUnlessDefault(),
      Row("smoothing", Learns::kNothing, &AggregationOptions::smoothing,
          "Laplacian smoothing factor of DP-Fed-LS; it helps where noise dominates; auto: a small "
          "factor where noise dominates, computed from the noise alone, else 0")
          .Within(kFactorOrNone)
          .OrWord("auto", &JobRequest::smoothing_auto),
      Row("smoothing-order", Learns::kNothing, &AggregationOptions::smoothing_order,
          "order of the axes in which a tensor is flattened, outputs O, inputs I, rows H, "
          "columns W; natural: as parameters lie, OHWI; OIHW is PyTorch's")
          .OneOfNames(Orders())
          .StoredUnlessDefault(),
      Row("smoothing-axes", Learns::kNothing, &JobRequest::smoothing_axes,
          "axes along which --smoothing works; 1: the flattened tensor; 2: rows and columns of "
          "each kernel, and of the image that a dense layer sees")
          .Within({1, 2})
          .ByDefault("1; with --smoothing auto 2 if there is an image")
          .RunsWith(&AggregationOptions::smoothing_axes)
          .StoredUnlessDefault()
          .Shown(),
      Row("smoothing-image", Learns::kNothing, &AggregationOptions::smoothing_image,
          "a sample's HEIGHTxWIDTH or HEIGHTxWIDTHxCHANNELS, for a model that does not state it")
          .ByDefault("the model's")
          .StoredUnlessDefault(),
  };
}

Fields ServerOptimiser() {
  return {
      Row("server-optimiser", Learns::kNothing, &AggregationOptions::server_optimiser,
          "rule by which the server applies an update to the model")
          .OneOfNames(OptimiserNames())
          .StoredUnlessDefault(),
      Row("server-learning-rate", Learns::kNothing, &AggregationOptions::server_learning_rate,
          "learning rate of the server's optimiser; adam needs a small one, for example 0.01")
          .Within(kFactor),
      Row("server-momentum", Learns::kNothing, &AggregationOptions::server_momentum,
          "momentum of --server-optimiser momentum")
          .Within(kBelowOne)
          .Needs("server-optimiser")
          .StoredUnlessDefault(),
      Row("adam-beta1", Learns::kNothing, &AggregationOptions::adam_beta1,
          "decay of adam's running mean of updates")
          .Within(kBelowOne)
          .Needs("server-optimiser")
          .StoredUnlessDefault(),
      Row("adam-beta2", Learns::kNothing, &AggregationOptions::adam_beta2,
          "decay of adam's running mean of squared updates")
          .Within(kBelowOne)
          .Needs("server-optimiser")
          .StoredUnlessDefault(),
      Row("adam-epsilon", Learns::kNothing, &AggregationOptions::adam_epsilon,
          "added to the square root of adam's mean of squares")
          .Within({1e-12, 1e6})
          .Unit("model units")
          .Needs("server-optimiser")
          .StoredUnlessDefault(),
      Row("grid", Learns::kNothing, &AggregationOptions::grid,
          "step of the grid to which released models are rounded, in deviations of their noise: "
          "devices then download a few kilobytes. The next round makes up for the rounding error; "
          "0: exact models, which devices download as float32")
          .Within({0, kMostGridFactor})
          .StoredUnlessDefault()
          .KeptFrom(0.0)
          .Shown(),
      Row("average", Learns::kNothing, &AggregationOptions::average,
          "average of all models, kept beside the last one: none, uniform, or geometric:RATIO, "
          "which gives each model RATIO times the weight of the previous one")
          .StoredUnlessDefault(),
  };
}

}  // namespace sotto::server::job_fields
