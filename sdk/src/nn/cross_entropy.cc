#include "nn/cross_entropy.h"

#include "sotto/num.h"

namespace sotto::nn {

float SoftmaxErrors(Span<float> scores, uint32_t label) {
  float largest = scores[0];
  for (const float score : scores) largest = score > largest ? score : largest;
  const float label_score = scores[label] - largest;
  float sum = 0.0f;
  for (float& score : scores) {
    score = Exp(score - largest);
    sum += score;
  }
  for (float& score : scores) score /= sum;
  scores[label] -= 1.0f;
  return Log(sum) - label_score;
}

}  // namespace sotto::nn
