// The arithmetic of nets in float32, as net_batch.h takes it. Part of sotto/nn; private to the SDK.
#pragma once

#include "base/exact_arithmetic.h"
#include "nn/momentum.h"
#include "nn/net_batch.h"
#include "nn/tokens.h"

namespace sotto::nn {

struct FloatNet : FloatArithmetic {
  static constexpr bool kHasGradientOptions = true;
  static bool CanStep(const SgdStep&, size_t) { return true; }
  static Status Prepare(const ModelInfo& model, Span<const float> sample) {
    const uint32_t tokens = model.layers[0].tokens;
    return tokens > 0 && !AreTokens(sample, tokens) ? Status::kOutOfRange : Status::kOk;
  }
  static Status PrepareTarget(Span<float>) { return Status::kOk; }
  static float Errors(const LossPlan& loss, Span<float> outputs, const Target& target) {
    return loss.errors(outputs, target);
  }
  static void Shrink(const SgdStep& step, const WorkingParameters& working) {
    nn::Shrink(step, working);
  }
  static void Slow(const SgdStep& step, const WorkingParameters& working) {
    SlowVelocity(step, working);
  }
  static void MoveByVelocity(float rate, const WorkingParameters& working) {
    nn::MoveByVelocity(rate, working);
  }
  static bool* saturated() { return nullptr; }
};

}  // namespace sotto::nn
