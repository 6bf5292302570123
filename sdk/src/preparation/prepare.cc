#include "base/exact_arithmetic.h"
#include "sotto/preparation.h"

namespace sotto::nn {

void Prepare(Span<const PreparationStep> steps, float* memory) {
  for (const PreparationStep& step : steps) {
    const size_t n = step.input.size();
    if (!step.is_random) step.apply({step, {memory, n}, memory + n, {}});
  }
}

}  // namespace sotto::nn
