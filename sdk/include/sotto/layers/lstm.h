// Long short-term memory over a sequence, as PyTorch's nn.LSTM. Part of sotto/nn.
//
//   a[t] = (W_ih x[t] + b_ih) + (W_hh h[t-1] + b_hh)   four blocks of `units`: i, f, g, o
//   i, f, o = 1 / (1 + e^-a),  g = tanh(a)
//   c[t] = f c[t-1] + i g
//   h[t] = o tanh(c[t])                                h[-1] = c[-1] = 0
//
// Source: Hochreiter and Schmidhuber, Neural Computation 9 (1997); the forget gate f is from
// Gers, Schmidhuber and Cummins, Neural Computation 12 (2000).
//
// Input: a sequence {1, length, channels}. Output: h of every step, {1, length, units}, so that
// layers stack; or h of the last step, {1, 1, units}.
//
// Parameters: W_ih row-major [4 units][channels], W_hh [4 units][units], b_ih [4 units], b_hh
// [4 units]. Weights start at Glorot's bound for a row of both matrices. Biases start at zero, but
// the forget gate's in b_ih at 1, so that a net remembers from the start (Jozefowicz, Zaremba and
// Sutskever, ICML 2015).
//
// Back: through all steps of the window, from the last to the first (truncated backpropagation
// through time: a sample begins without the state of the one before). dh and dc are the deltas of
// h[t] and c[t]; dh holds the output's delta plus W_hh^T da[t+1], dc what f passes down.
//   dc += dh o (1 - tanh(c)^2)
//   da_i = dc g i (1 - i)               da_f = dc c[t-1] f (1 - f)
//   da_g = dc i (1 - g^2)               da_o = dh tanh(c) o (1 - o)
//   dx[t] = W_ih^T da[t]                dc[t-1] = dc f
// A gradient sums over the samples, within each over its steps from the last to the first.
//
// Memory: the four gates and c are kept, 5 units a step, in float32 20 bytes a unit and step (32
// units, 40 steps: 25.6 kB); h comes again from o and c. To keep h and c alone and compute the
// gates again would take 8 bytes, and a third more multiplications. On the way back da replaces the
// gates. Scratch: 5 units.
#pragma once

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void LstmForward(const LayerCall& call);
void LstmAddGradient(const LayerCall& call, Real* gradient);
void LstmInputDelta(const LayerCall& call);

}  // namespace internal

enum class LstmOutput : uint8_t {
  kSequence,  // h of every step
  kLast,      // h of the last step
};

namespace internal {

constexpr LayerPlan LstmPlan(uint32_t units, LstmOutput output, const Shape& input) {
  const uint32_t gates = 4 * units;
  const uint32_t steps = output == LstmOutput::kSequence ? input.width : 1;
  LayerPlan plan;
  plan.info = {LayerKind::kLstm, input, {1, steps, units}, {}};
  plan.functions = {LstmForward, LstmAddGradient, LstmInputDelta};
  plan.weights = gates * (input.channels + units);
  plan.biases = 2 * gates;
  plan.fan_in = input.channels + units;
  plan.split = input.channels;
  plan.start = {plan.weights + units, units, 1.0f};
  plan.kept = input.width * (gates + units);
  plan.scratch = gates + units;
  return plan;
}

}  // namespace internal

template <uint32_t units, LstmOutput output>
struct Lstm {
  static_assert(units >= 1, "a layer has at least one output");

  static constexpr bool Fits(const Shape& input) { return input.height == 1; }

  static constexpr LayerPlan Plan(const Shape& input) {
    return internal::LstmPlan(units, output, input);
  }
};

}  // namespace nn
}  // namespace sotto
