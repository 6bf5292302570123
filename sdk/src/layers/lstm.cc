#include "sotto/layers/lstm.h"

#include "base/exact_arithmetic.h"
#include "nn/functions.h"
#include "nn/kernels.h"

namespace sotto::nn::internal {
namespace {

// The parameters of a layer, or their gradient.
template <class Number>
struct Tensors {
  Number* w_ih;
  Number* w_hh;
  Number* b_ih;
  Number* b_hh;
};

// The layer's sizes, and its memory by step.
struct Sequence {
  explicit Sequence(const LayerCall& of)
      : call(of),
        channels(of.info.input.channels),
        units(of.info.output.channels),
        gates(4 * units),
        steps(of.info.input.width) {}

  template <class Number>
  Tensors<Number> Split(Number* parameters) const {
    Number* w_hh = parameters + gates * channels;
    Number* biases = w_hh + gates * units;
    return {parameters, w_hh, biases, biases + gates};
  }

  Real* Input(size_t t) const { return call.input + t * channels; }
  // i, f, g and o on the way forward, then the deltas of their sums.
  Real* Gates(size_t t) const { return call.kept + t * gates; }
  Real* Cells(size_t t) const { return call.kept + steps * gates + t * units; }
  Real CellBefore(size_t t, size_t u) const { return t == 0 ? Real{0} : Cells(t - 1)[u]; }

  bool HasOutput(size_t t) const { return call.info.output.width == steps || t + 1 == steps; }
  Real* Output(size_t t) const {
    return call.output + (call.info.output.width == steps ? t * units : 0);
  }

  const LayerCall& call;
  const size_t channels;
  const size_t units;
  const size_t gates;
  const size_t steps;
};

// The gates of step t.
//   h     [units] of the step before
//   sums  [gates] scratch
void ComputeGates(const Sequence& s, size_t t, const Real* h, Real* sums) {
  const Tensors<const Real> p = s.Split(s.call.parameters);
  Real* gates = s.Gates(t);
  nn::DenseForward(p.w_ih, p.b_ih, s.Input(t), s.channels, s.gates, gates);
  nn::DenseForward(p.w_hh, p.b_hh, h, s.units, s.gates, sums);
  AddScaled(Real{1}, sums, s.gates, gates);
  for (size_t j = 0; j < s.gates; ++j) {
    const bool is_g = j >= 2 * s.units && j < 3 * s.units;
    gates[j] = is_g ? HyperbolicTangent(gates[j]) : Logistic(gates[j]);
  }
}

// c of step t, and h.
void ComputeCells(const Sequence& s, size_t t, Real* h) {
  const Real* i = s.Gates(t);
  const Real* f = i + s.units;
  const Real* g = f + s.units;
  const Real* o = g + s.units;
  Real* c = s.Cells(t);
  for (size_t u = 0; u < s.units; ++u) {
    c[u] = f[u] * s.CellBefore(t, u) + i[u] * g[u];
    h[u] = o[u] * HyperbolicTangent(c[u]);
  }
}

void TanhOfCells(const Sequence& s, size_t t, Real* tanh_c) {
  for (size_t u = 0; u < s.units; ++u) tanh_c[u] = HyperbolicTangent(s.Cells(t)[u]);
}

// What the way back carries from step to step: four vectors of `units`.
struct Carried {
  Carried(Real* scratch, size_t units)
      : h_delta(scratch), c_delta(h_delta + units), tanh_c(c_delta + units), h(tanh_c + units) {}

  Real* h_delta;  // of step t
  Real* c_delta;  // of step t
  Real* tanh_c;   // of step t
  Real* h;        // of the step before
};

Real LogisticSlope(Real y) { return y * (Real{1} - y); }
Real TanhSlope(Real y) { return Real{1} - y * y; }

// The gates of step t become deltas, and c_delta becomes the delta of step t - 1.
void ComputeGateDeltas(const Sequence& s, size_t t, const Carried& carried) {
  Real* gates = s.Gates(t);
  for (size_t u = 0; u < s.units; ++u) {
    Real* unit = gates + u;
    const Real i = unit[0];
    const Real f = unit[s.units];
    const Real g = unit[2 * s.units];
    const Real o = unit[3 * s.units];
    const Real tanh_c = carried.tanh_c[u];
    const Real h_delta = carried.h_delta[u];
    const Real c_delta = carried.c_delta[u] + h_delta * o * TanhSlope(tanh_c);
    unit[0] = c_delta * g * LogisticSlope(i);
    unit[s.units] = c_delta * s.CellBefore(t, u) * LogisticSlope(f);
    unit[2 * s.units] = c_delta * i * TanhSlope(g);
    unit[3 * s.units] = h_delta * tanh_c * LogisticSlope(o);
    carried.c_delta[u] = c_delta * f;
  }
}

// tanh_c and h of step t, whose gates are still there.
void RecomputeOutput(const Sequence& s, size_t t, const Carried& carried) {
  TanhOfCells(s, t, carried.tanh_c);
  const Real* o = s.Gates(t) + 3 * s.units;
  for (size_t u = 0; u < s.units; ++u) carried.h[u] = o[u] * carried.tanh_c[u];
}

}  // namespace

void LstmForward(const LayerCall& call) {
  const Sequence s(call);
  Real* sums = call.scratch;
  Real* h = sums + s.gates;
  FillZero(s.units, h);
  for (size_t t = 0; t < s.steps; ++t) {
    ComputeGates(s, t, h, sums);
    ComputeCells(s, t, h);
    if (s.HasOutput(t)) Copy(h, s.units, s.Output(t));
  }
}

// At step 0 the state before is zero: it adds nothing and needs no delta.
void LstmAddGradient(const LayerCall& call, Real* gradient) {
  const Sequence s(call);
  const Tensors<const Real> p = s.Split(call.parameters);
  const Tensors<Real> sum = s.Split(gradient);
  const Carried carried(call.scratch, s.units);
  FillZero(s.units, carried.h_delta);
  FillZero(s.units, carried.c_delta);
  TanhOfCells(s, s.steps - 1, carried.tanh_c);
  for (size_t t = s.steps; t-- > 0;) {
    if (s.HasOutput(t)) AddScaled(Real{1}, s.Output(t), s.units, carried.h_delta);
    ComputeGateDeltas(s, t, carried);
    const Real* deltas = s.Gates(t);
    AddOuterProduct(deltas, s.gates, s.Input(t), s.channels, sum.w_ih);
    AddScaled(Real{1}, deltas, s.gates, sum.b_ih);
    AddScaled(Real{1}, deltas, s.gates, sum.b_hh);
    if (t == 0) break;
    RecomputeOutput(s, t - 1, carried);
    AddOuterProduct(deltas, s.gates, carried.h, s.units, sum.w_hh);
    TransposedProduct(p.w_hh, deltas, s.units, s.gates, carried.h_delta);
  }
}

void LstmInputDelta(const LayerCall& call) {
  const Sequence s(call);
  const Real* w_ih = s.Split(call.parameters).w_ih;
  for (size_t t = 0; t < s.steps; ++t) {
    TransposedProduct(w_ih, s.Gates(t), s.channels, s.gates, s.Input(t));
  }
}

}  // namespace sotto::nn::internal
