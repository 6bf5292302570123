// From an integer sum to the next model. Part of sotto::server/aggregate.
#ifndef SOTTO_AGGREGATE_SERVER_STEP_H_
#define SOTTO_AGGREGATE_SERVER_STEP_H_

#include <cstdint>

#include "sotto/nn.h"
#include "sotto/span.h"

namespace sotto::server {

struct ServerStepOptions {
  // Model units that one unit of the sum stands for; > 0.
  double unit = 0.0;
  // What the sum is divided by: the planned cohort (uniform) or q N (Poisson), never the number
  // that reported. > 0.
  double divisor = 0.0;
  double learning_rate = 1.0;  // of the server, eta_g; > 0
  double smoothing = 0.0;      // lambda_s, see smoothing.h; each tensor on its own
};

// parameters += learning_rate * A^-1 (sum * unit / divisor)      DP-Fed-LS, Algorithm 1
//   sum, parameters  [model.parameters]
// False, and the parameters are unchanged, if one of them would not be finite. Throws
// std::invalid_argument for sizes or options out of range.
[[nodiscard]] bool ApplyServerStep(const ModelInfo& model, Span<const int64_t> sum,
                                   const ServerStepOptions& options, Span<float> parameters);

}  // namespace sotto::server

#endif  // SOTTO_AGGREGATE_SERVER_STEP_H_
