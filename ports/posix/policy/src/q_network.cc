#include "sotto/policy/q_network.h"

#include <cmath>

namespace sotto {
namespace {

// The part of a row that leads into the hidden unit, times a vector of the same size.
double Dot(const float* row, const std::vector<double>& vector) {
  double sum = 0;
  for (size_t i = 0; i < vector.size(); ++i) sum += row[i] * vector[i];
  return sum;
}

float DrawWithin(double bound, RandomStream& random) {
  return static_cast<float>(bound * (random.NextU32() * 0x1p-31 - 1.0));
}

double XavierBound(size_t fan_in, size_t fan_out) {
  return std::sqrt(6.0 / static_cast<double>(fan_in + fan_out));
}

}  // namespace

QValues::QValues(size_t inputs) {
  for (std::vector<double>& slopes : slopes_) slopes.resize(inputs + 1);
}

double QValues::Of(Span<const float> state, size_t action) const {
  const std::vector<double>& slopes = slopes_[action];
  double sum = slopes[state.size()];
  for (size_t i = 0; i < state.size(); ++i) sum += slopes[i] * state[i];
  return sum;
}

size_t QValues::Best(Span<const float> state) const { return Of(state, 1) > Of(state, 0) ? 1 : 0; }

QNetwork::QNetwork(size_t inputs, size_t hidden, RandomStream& random)
    : inputs_(inputs),
      hidden_(hidden),
      weights_(hidden * row_size() + kQActions),
      first_moment_(weights_.size()),
      second_moment_(weights_.size()),
      values_(inputs),
      gradient_(row_size()) {
  for (std::vector<double>& pull : pull_) pull.resize(inputs + 1);
  const double in_bound = XavierBound(inputs, hidden);
  const double out_bound = XavierBound(hidden, kQActions);
  for (size_t k = 0; k < hidden; ++k) {
    float* row = weights_.data() + k * row_size();
    for (size_t i = 0; i < inputs; ++i) row[i] = DrawWithin(in_bound, random);
    for (size_t a = 0; a < kQActions; ++a) row[inputs + 1 + a] = DrawWithin(out_bound, random);
  }
  UpdateValues();
}

// Adds up error * (state, 1) by action.
void QNetwork::SetPull(Span<const QSample> batch) {
  for (std::vector<double>& pull : pull_) pull.assign(inputs_ + 1, 0.0);
  for (const QSample& sample : batch) {
    const double error = values_.Of(sample.state, sample.action) - sample.target;
    const double scale = 2.0 * error / static_cast<double>(batch.size());
    std::vector<double>& pull = pull_[sample.action];
    for (size_t i = 0; i < inputs_; ++i) pull[i] += scale * sample.state[i];
    pull[inputs_] += scale;
  }
}

// A slope is the sum over hidden units of weight in times weight out, so each of the two has the
// other one times the pull as its gradient.
void QNetwork::SetRowGradient(const float* row) {
  const float* out = row + inputs_ + 1;
  for (size_t i = 0; i <= inputs_; ++i) {
    gradient_[i] = static_cast<float>(pull_[0][i] * out[0] + pull_[1][i] * out[1]);
  }
  for (size_t a = 0; a < kQActions; ++a) {
    gradient_[inputs_ + 1 + a] = static_cast<float>(Dot(row, pull_[a]));
  }
}

// Moves the weights from number `first` on.
void QNetwork::MoveByAdam(size_t first, const AdamOptions& adam, Span<const float> gradient) {
  const double t = adam_steps_;
  const float rate =
      static_cast<float>(adam.rate / (1.0 - std::pow(static_cast<double>(adam.beta1), t)));
  const float root =
      static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(static_cast<double>(adam.beta2), t)));
  for (size_t i = 0; i < gradient.size(); ++i) {
    float& m = first_moment_[first + i];
    float& v = second_moment_[first + i];
    m = adam.beta1 * m + (1.0f - adam.beta1) * gradient[i];
    v = adam.beta2 * v + (1.0f - adam.beta2) * gradient[i] * gradient[i];
    weights_[first + i] -= rate * m / (std::sqrt(v) * root + adam.epsilon);
  }
}

void QNetwork::Learn(Span<const QSample> batch, const AdamOptions& adam) {
  SetPull(batch);
  ++adam_steps_;
  for (size_t k = 0; k < hidden_; ++k) {
    SetRowGradient(weights_.data() + k * row_size());
    MoveByAdam(k * row_size(), adam, {gradient_.data(), gradient_.size()});
  }
  float bias_gradient[kQActions];
  for (size_t a = 0; a < kQActions; ++a) bias_gradient[a] = static_cast<float>(pull_[a][inputs_]);
  MoveByAdam(hidden_ * row_size(), adam, bias_gradient);
  UpdateValues();
}

void QNetwork::UpdateValues() {
  for (size_t a = 0; a < kQActions; ++a) {
    std::vector<double>& slopes = values_.slopes_[a];
    slopes.assign(inputs_ + 1, 0.0);
    for (size_t k = 0; k < hidden_; ++k) {
      const float* row = weights_.data() + k * row_size();
      const double out = row[inputs_ + 1 + a];
      for (size_t i = 0; i <= inputs_; ++i) slopes[i] += out * row[i];
    }
    slopes[inputs_] += weights_[hidden_ * row_size() + a];
  }
}

}  // namespace sotto
