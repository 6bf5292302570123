#include "base/exact_arithmetic.h"
#include "sotto/preparation.h"

namespace sotto::nn {

void Prepare(Span<const PreparationStep> steps, const Shape& shape, Span<float> features) {
  for (const PreparationStep& step : steps) {
    if (!step.is_random) step.apply({step, shape, features, {}});
  }
}

}  // namespace sotto::nn
