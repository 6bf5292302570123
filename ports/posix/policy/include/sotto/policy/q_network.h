// The action-value function of deep-q, Q(s, a), for two actions: a net that learns by Adam. Part of
// sotto::policy.
//
// Fully connected, inputs - hidden - 2 outputs, with biases; all activations are linear, as in the
// paper. So the net is an affine function of the state, Q(s, a) = m_a . s + c_a, with m and c from
// the products of its layers. Values are computed from m and c, and a copy of the net that only
// gives values is a copy of them. Learning still moves the layers' own weights.
//
// Memory: 12 bytes a weight (weight and two moments of Adam) and 48 bytes an input; weights() are
// hidden * (inputs + 3) + 2. For 51 inputs and 128 hidden units: 6,914 weights, 85 kB.
//
// Sums have a fixed order and no fused multiply-add: the same calls give the same values on every
// CPU with IEEE arithmetic. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/random.h"
#include "sotto/span.h"

namespace sotto {

constexpr size_t kQActions = 2;  // 0: learn alone, 1: publish

// Numbers by action.
template <typename T>
using PerAction = std::array<T, kQActions>;

// An affine function of the state for each action.
class QValues {
 public:
  explicit QValues(size_t inputs);

  //   state [inputs]; action < kQActions
  double Of(Span<const float> state, size_t action) const;

  // The action of the largest value; of equal ones the first.
  size_t Best(Span<const float> state) const;

 private:
  friend class QNetwork;
  PerAction<std::vector<double>> slopes_;  // [inputs + 1], the last one for a constant 1
};

// Kingma and Ba 2015, Algorithm 1.
struct AdamOptions {
  float rate = 0.01f;  // > 0
  float beta1 = 0.9f;  // [0, 1)
  float beta2 = 0.999f;
  float epsilon = 1e-8f;  // > 0
};

// A state, the action that was taken in it, and the value that the net should give.
struct QSample {
  Span<const float> state;  // [inputs]
  size_t action = 0;
  double target = 0;
};

class QNetwork {
 public:
  // Weights drawn uniformly within sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010, Eq. (16):
  // Xavier); biases 0. The caller checks random.status().
  QNetwork(size_t inputs, size_t hidden, RandomStream& random);

  size_t inputs() const { return inputs_; }
  size_t hidden() const { return hidden_; }
  const QValues& values() const { return values_; }

  // One step of Adam on the mean over the batch of (Q(state, action) - target)^2.
  void Learn(Span<const QSample> batch, const AdamOptions& adam);

  // All weights. Row k < hidden has inputs + 1 weights into hidden unit k, the bias last, then its
  // weight out to each action. Behind the rows: the bias of each action.
  Span<const float> weights() const { return {weights_.data(), weights_.size()}; }

 private:
  size_t row_size() const { return inputs_ + 1 + kQActions; }
  void SetPull(Span<const QSample> batch);
  void SetRowGradient(const float* row);
  void MoveByAdam(size_t first, const AdamOptions& adam, Span<const float> gradient);
  void UpdateValues();

  size_t inputs_;
  size_t hidden_;
  std::vector<float> weights_;
  std::vector<float> first_moment_;   // of the gradient, as weights_
  std::vector<float> second_moment_;  // of its squares
  uint32_t adam_steps_ = 0;
  QValues values_;
  // The gradient of the loss by slopes_: all that the layers' gradients need.
  PerAction<std::vector<double>> pull_;
  std::vector<float> gradient_;  // [row_size()]
};

}  // namespace sotto
