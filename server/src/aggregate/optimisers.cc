// The optimisers `sgd`, `momentum` and `adam`. Part of sotto::server/aggregate.
//
// Let u be the update of round t = 1, 2, ..., w the parameters and eta the server's learning rate.
//   sgd       w += eta u
//   momentum  v <- beta v + u,  w += eta v                                (v begins at 0)
//   adam      m <- beta1 m + (1 - beta1) u,  s <- beta2 s + (1 - beta2) u^2    (both begin at 0)
//             w += eta (m / (1 - beta1^t)) / (sqrt(s / (1 - beta2^t)) + epsilon)
// Each coordinate is computed in double and rounded to float32 once. v, m and s are kept as
// float32, 4 bytes a parameter each, and the powers of beta1 and beta2 as double: so a resumed job
// makes the same bytes. Sources: Hsu, Qi, Brown, "Measuring the Effects of Non-Identical Data
// Distribution" (2019), for momentum on a server; Kingma and Ba, "Adam" (2015); Reddi et al.,
// "Adaptive Federated Optimization" (2021), from which the defaults of beta1, beta2 and epsilon
// are.
#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "aggregate/kept_state.h"
#include "sotto/research/aggregation_options.h"
#include "sotto/research/optimiser.h"

namespace sotto::server {
namespace {

// An optimiser that works coordinate by coordinate and keeps `vectors` numbers for each.
class Coordinatewise : public Optimiser {
 public:
  bool Step(Span<const float> update, Span<float> parameters) override {
    if (update.size() != parameters.size()) {
      throw std::invalid_argument("update and parameters must have the model's size");
    }
    KeptState<float> next = Begun(update.size());
    NextScalars(next.scalars);
    std::vector<float> moved(parameters.begin(), parameters.end());
    for (size_t j = 0; j < moved.size(); ++j) {
      const double step = Move(static_cast<double>(update[j]), j, next);
      moved[j] = static_cast<float>(static_cast<double>(moved[j]) + learning_rate_ * step);
      if (!std::isfinite(moved[j]) || !IsFinite(next, j)) return false;
    }
    std::copy(moved.begin(), moved.end(), parameters.begin());
    kept_ = std::move(next);
    return true;
  }

  std::vector<uint8_t> State() const override { return kept_.ToBytes(owner_); }

  void Restore(ByteSpan state) override {
    if (!kept_.Restore(owner_, state).empty()) Optimiser::Restore(state);
  }

 protected:
  Coordinatewise(StateOwner owner, double learning_rate, KeptState<float> first)
      : owner_(owner), learning_rate_(learning_rate), kept_(std::move(first)) {}

 private:
  // The scalars of the next step.
  virtual void NextScalars(std::vector<double>&) const {}
  // Returns the direction of coordinate j, and changes `kept` to the state of the next step.
  virtual double Move(double update, size_t j, KeptState<float>& kept) const = 0;

  // The state, for n coordinates.
  KeptState<float> Begun(size_t n) const {
    KeptState<float> kept = kept_;
    for (std::vector<float>& each : kept.vectors) {
      if (each.empty()) each.resize(n);
      if (each.size() != n) {
        throw std::invalid_argument("the optimiser's state belongs to a model of another size");
      }
    }
    return kept;
  }

  static bool IsFinite(const KeptState<float>& kept, size_t j) {
    return std::all_of(kept.vectors.begin(), kept.vectors.end(),
                       [j](const std::vector<float>& each) { return std::isfinite(each[j]); });
  }

  StateOwner owner_;
  double learning_rate_;
  KeptState<float> kept_;
};

class Sgd : public Coordinatewise {
 public:
  explicit Sgd(double learning_rate) : Coordinatewise(StateOwner::kNone, learning_rate, {{}, {}}) {}

 private:
  double Move(double update, size_t, KeptState<float>&) const override { return update; }
};

class Momentum : public Coordinatewise {
 public:
  explicit Momentum(const AggregationOptions& options)
      : Coordinatewise(StateOwner::kMomentum, options.server_learning_rate, {{}, {{}}}),
        decay_(options.server_momentum) {}

 private:
  double Move(double update, size_t j, KeptState<float>& kept) const override {
    float& velocity = kept.vectors[0][j];
    velocity = static_cast<float>(decay_ * static_cast<double>(velocity) + update);
    return static_cast<double>(velocity);
  }

  double decay_;
};

class Adam : public Coordinatewise {
 public:
  explicit Adam(const AggregationOptions& options)
      : Coordinatewise(StateOwner::kAdam, options.server_learning_rate, {{1.0, 1.0}, {{}, {}}}),
        decays_{options.adam_beta1, options.adam_beta2},
        epsilon_(options.adam_epsilon) {}

 private:
  void NextScalars(std::vector<double>& powers) const override {
    for (size_t i = 0; i < 2; ++i) powers[i] *= decays_[i];
  }

  double Move(double update, size_t j, KeptState<float>& kept) const override {
    const double moments[] = {update, update * update};
    double means[2];
    for (size_t i = 0; i < 2; ++i) {
      float& mean = kept.vectors[i][j];
      mean = static_cast<float>(decays_[i] * static_cast<double>(mean) +
                                (1 - decays_[i]) * moments[i]);
      means[i] = static_cast<double>(mean) / (1 - kept.scalars[i]);
    }
    return means[0] / (std::sqrt(means[1]) + epsilon_);
  }

  double decays_[2];
  double epsilon_;
};

void RequireRate(const AggregationOptions& options) {
  if (std::isfinite(options.server_learning_rate) && options.server_learning_rate > 0) return;
  throw std::invalid_argument("the server's learning rate is finite and positive");
}

void RequireDecay(double decay, const char* option) {
  if (decay >= 0 && decay < 1) return;
  throw std::invalid_argument(std::string(option) + " is in [0, 1)");
}

}  // namespace

std::unique_ptr<Optimiser> MakeSgd(const AggregationOptions& options) {
  RequireRate(options);
  return std::make_unique<Sgd>(options.server_learning_rate);
}

std::unique_ptr<Optimiser> MakeMomentum(const AggregationOptions& options) {
  RequireRate(options);
  RequireDecay(options.server_momentum, "--server-momentum");
  return std::make_unique<Momentum>(options);
}

std::unique_ptr<Optimiser> MakeAdam(const AggregationOptions& options) {
  RequireRate(options);
  RequireDecay(options.adam_beta1, "--adam-beta1");
  RequireDecay(options.adam_beta2, "--adam-beta2");
  if (!(options.adam_epsilon > 0 && std::isfinite(options.adam_epsilon))) {
    throw std::invalid_argument("--adam-epsilon is above 0 and finite");
  }
  return std::make_unique<Adam>(options);
}

}  // namespace sotto::server
