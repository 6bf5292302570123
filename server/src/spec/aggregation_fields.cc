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
          "how the noisy sum becomes an update: its mean; that, smoothed; or shrunk by what "
          "the noise tells")
          .OneOfNames(EstimatorNames())
          .ByDefault("mean; laplacian with --smoothing")
          .StoredUnlessDefault(),
      Row("smoothing", Learns::kNothing, &AggregationOptions::smoothing,
          "Laplacian smoothing factor of DP-Fed-LS; helps when noise dominates; auto: a small "
          "one where it does, from the noise alone, else 0")
          .Within(kFactorOrNone)
          .OrWord("auto", &JobRequest::smoothing_auto),
      Row("smoothing-order", Learns::kNothing, &AggregationOptions::smoothing_order,
          "order of the axes in which a tensor is flattened, outputs O, inputs I, rows H, "
          "columns W; natural: as parameters lie, OHWI; OIHW is PyTorch's")
          .OneOfNames(Orders())
          .StoredUnlessDefault(),
      Row("smoothing-axes", Learns::kNothing, &JobRequest::smoothing_axes,
          "1: along the flattened tensor; 2: along rows and columns of each kernel, and of the "
          "image that a dense layer sees")
          .Within({1, 2})
          .ByDefault("1; with --smoothing auto 2 if there is an image")
          .RunsWith(&AggregationOptions::smoothing_axes)
          .StoredUnlessDefault()
          .Shown(),
      Row("smoothing-image", Learns::kNothing, &AggregationOptions::smoothing_image,
          "HEIGHTxWIDTH or HEIGHTxWIDTHxCHANNELS of a sample, for a model that does not know "
          "it")
          .ByDefault("the model's")
          .StoredUnlessDefault(),
  };
}

Fields ServerOptimiser() {
  return {
      Row("server-optimiser", Learns::kNothing, &AggregationOptions::server_optimiser,
          "how an update moves the model")
          .OneOfNames(OptimiserNames())
          .StoredUnlessDefault(),
      Row("server-learning-rate", Learns::kNothing, &AggregationOptions::server_learning_rate,
          "factor of the update; adam needs a small one, for example 0.01")
          .Within(kFactor),
      Row("server-momentum", Learns::kNothing, &AggregationOptions::server_momentum,
          "of --server-optimiser momentum")
          .Within(kBelowOne)
          .Needs("server-optimiser")
          .StoredUnlessDefault(),
      Row("adam-beta1", Learns::kNothing, &AggregationOptions::adam_beta1,
          "decay of adam's mean of updates")
          .Within(kBelowOne)
          .Needs("server-optimiser")
          .StoredUnlessDefault(),
      Row("adam-beta2", Learns::kNothing, &AggregationOptions::adam_beta2,
          "decay of adam's mean of their squares")
          .Within(kBelowOne)
          .Needs("server-optimiser")
          .StoredUnlessDefault(),
      Row("adam-epsilon", Learns::kNothing, &AggregationOptions::adam_epsilon,
          "added to the root of that mean")
          .Within({1e-12, 1e6})
          .Unit("model units")
          .Needs("server-optimiser")
          .StoredUnlessDefault(),
      Row("grid", Learns::kNothing, &AggregationOptions::grid,
          "the released models lie on a grid of this many deviations of the noise in them, so "
          "that devices download a few kilobytes; what rounding takes away is made up for in "
          "the next round; 0: exact models, which are downloaded as float32")
          .Within({0, kMostGridFactor})
          .StoredUnlessDefault()
          .KeptFrom(0.0)
          .Shown(),
      Row("average", Learns::kNothing, &AggregationOptions::average,
          "average of all models, kept beside the last one: none, uniform, or geometric:RATIO, "
          "in which each model has RATIO times the weight of the one before")
          .StoredUnlessDefault(),
  };
}

}  // namespace sotto::server::job_fields
