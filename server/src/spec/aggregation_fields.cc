// The rows of what the server makes of a sum of updates. Part of sotto::server/spec.
#include <algorithm>
#include <string>
#include <vector>

#include "aggregate/methods.h"
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
      Row("estimator",
          "how the noisy sum becomes an update: its mean; that, smoothed; or shrunk by what the "
          "noise tells")
          .In(Group::kRounds)
          .OneOfNames(EstimatorNames())
          .ByDefault("mean; laplacian with --smoothing")
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.estimator; }),
      Row("smoothing",
          "Laplacian smoothing factor of DP-Fed-LS; helps when noise dominates; auto: a small one "
          "where it does, from the noise alone, else 0")
          .In(Group::kRounds)
          .Within(kFactorOrNone)
          .Stands(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.smoothing; })
          .OrWord(
              "auto", [](auto& request) -> auto& { return request.smoothing_auto; }),
      Row("smoothing-order",
          "order of the axes in which a tensor is flattened, outputs O, inputs I, rows H, columns "
          "W; natural: as parameters lie, OHWI; OIHW is PyTorch's")
          .In(Group::kRounds)
          .OneOfNames(Orders())
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.smoothing_order; }),
      Row("smoothing-axes",
          "1: along the flattened tensor; 2: along rows and columns of each kernel, and of the "
          "image that a dense layer sees")
          .In(Group::kRounds)
          .Within({1, 2})
          .ByDefault("1; with --smoothing auto 2 if there is an image")
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.smoothing_axes; })
          .Reads(
              [](const JobRecord& job) { return ToValue(job.config.aggregation.smoothing_axes); })
          .StoredIf([](const JobConfig& job) { return job.aggregation.smoothing_axes != 1; })
          .Shown(),
      Row("smoothing-image",
          "HEIGHTxWIDTH or HEIGHTxWIDTHxCHANNELS of a sample, for a model that does not know it")
          .In(Group::kRounds)
          .ByDefault("the model's")
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.smoothing_image; }),
  };
}

Fields ServerOptimiser() {
  return {
      Row("server-optimiser", "how an update moves the model")
          .In(Group::kRounds)
          .OneOfNames(OptimiserNames())
          .StandsUnlessDefault(
              Learns::kNothing,
              [](auto& job) -> auto& { return job.aggregation.server_optimiser; }),
      Row("server-learning-rate", "factor of the update; adam needs a small one, for example 0.01")
          .In(Group::kRounds)
          .Within(kFactor)
          .Stands(
              Learns::kNothing,
              [](auto& job) -> auto& { return job.aggregation.server_learning_rate; }),
      Row("server-momentum", "of --server-optimiser momentum")
          .In(Group::kRounds)
          .Within(kBelowOne)
          .Needs("server-optimiser")
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.server_momentum; }),
      Row("adam-beta1", "decay of adam's mean of updates")
          .In(Group::kRounds)
          .Within(kBelowOne)
          .Needs("server-optimiser")
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.adam_beta1; }),
      Row("adam-beta2", "decay of adam's mean of their squares")
          .In(Group::kRounds)
          .Within(kBelowOne)
          .Needs("server-optimiser")
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.adam_beta2; }),
      Row("adam-epsilon", "added to the root of that mean")
          .In(Group::kRounds)
          .Within({1e-12, 1e6})
          .Unit("model units")
          .Needs("server-optimiser")
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.adam_epsilon; }),
      Row("average",
          "average of all models, kept beside the last one: none, uniform, or geometric:RATIO, in "
          "which each model has RATIO times the weight of the one before")
          .In(Group::kRounds)
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.average; }),
  };
}

}  // namespace sotto::server::job_fields
