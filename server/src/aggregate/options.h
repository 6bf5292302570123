// The parameters with which a job turns a sum of updates into the next model. Part of
// sotto::server/aggregate.
//
// A plain value: any thread may read it.
#ifndef SOTTO_AGGREGATE_OPTIONS_H_
#define SOTTO_AGGREGATE_OPTIONS_H_

namespace sotto::server {

struct AggregationOptions {
  double server_learning_rate = 1.0;  // eta_g, > 0
  double smoothing = 0.0;             // lambda_s of Laplacian smoothing, in [0, 1e6]; 0: none
};

}  // namespace sotto::server

#endif  // SOTTO_AGGREGATE_OPTIONS_H_
