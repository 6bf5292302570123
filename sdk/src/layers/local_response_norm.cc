#include "sotto/layers/local_response_norm.h"

#include <cmath>

#include "base/exact_arithmetic.h"

namespace sotto::nn::internal {
namespace {

constexpr Real kBeta = Real{3} / Real{4};

// alpha / size.
Real Weight(const LayerInfo& info) {
  return Real{1} / (Real{10000} * static_cast<Real>(info.size));
}

// Sum of term(i) over the channels in the window around c.
template <class Term>
Real SumAround(const LayerInfo& info, size_t c, Term term) {
  const size_t half = info.size / 2;
  const size_t end = c + half < info.input.channels ? c + half + 1 : info.input.channels;
  Real sum{0};
  for (size_t i = c > half ? c - half : 0; i < end; ++i) sum += term(i);
  return sum;
}

// s of channel c at a position. x [channels]
Real Energy(const LayerInfo& info, const Real* x, size_t c) {
  return Real{1} + Weight(info) * SumAround(info, c, [x](size_t i) { return x[i] * x[i]; });
}

// s^-beta.
Real Power(Real s) {
  const Real root = std::sqrt(s);
  return Real{1} / (root * std::sqrt(root));
}

// x <- its delta, at one position. With p = s^-beta,
//   d x[c] = delta[c] p[c] - 2 beta alpha / size x[c] (sum of delta[i] x[i] p[i] / s[i])
void PositionDelta(const LayerInfo& info, const Real* delta, Real* x, Real* scratch) {
  const size_t channels = info.input.channels;
  Real* direct = scratch;
  Real* shared = scratch + channels;
  for (size_t c = 0; c < channels; ++c) {
    const Real s = Energy(info, x, c);
    direct[c] = delta[c] * Power(s);
    shared[c] = direct[c] * x[c] / s;
  }
  const Real scale = Real{2} * kBeta * Weight(info);
  for (size_t c = 0; c < channels; ++c) {
    const Real sum = SumAround(info, c, [shared](size_t i) { return shared[i]; });
    x[c] = direct[c] - scale * x[c] * sum;
  }
}

}  // namespace

void LocalResponseNormForward(const LayerCall& call) {
  const size_t channels = call.info.input.channels;
  for (size_t i = 0; i < call.info.input.size(); i += channels) {
    const Real* x = call.input + i;
    for (size_t c = 0; c < channels; ++c) {
      call.output[i + c] = x[c] * Power(Energy(call.info, x, c));
    }
  }
}

void LocalResponseNormInputDelta(const LayerCall& call) {
  for (size_t i = 0; i < call.info.input.size(); i += call.info.input.channels) {
    PositionDelta(call.info, call.output + i, call.input + i, call.scratch);
  }
}

}  // namespace sotto::nn::internal
