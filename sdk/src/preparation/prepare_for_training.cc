#include "base/exact_arithmetic.h"
#include "sotto/preparation.h"

namespace sotto::nn {

void PrepareForTraining(Span<const PreparationStep> steps, float* memory,
                        Span<const uint32_t> random) {
  for (const PreparationStep& step : steps) {
    const size_t n = step.input.size();
    const size_t words = step.is_random ? kRandomWords : 0;
    step.apply({step, {memory, n}, memory + n, random.first(words)});
    random = random.subspan(words, random.size() - words);
  }
}

}  // namespace sotto::nn
