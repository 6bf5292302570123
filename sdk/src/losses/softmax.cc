#include "base/exact_arithmetic.h"
#include "nn/functions.h"
#include "sotto/loss.h"

namespace sotto::nn::internal {

Real SoftmaxErrors(Span<Real> outputs, const Target& target) {
  Real largest = outputs[0];
  for (const Real score : outputs) largest = score > largest ? score : largest;
  const Real label_score = outputs[target.label] - largest;
  Real sum{0};
  for (Real& score : outputs) {
    score = Exp(score - largest);
    sum += score;
  }
  for (Real& score : outputs) score /= sum;
  outputs[target.label] -= Real{1};
  return Log(sum) - label_score;
}

}  // namespace sotto::nn::internal
