#include "sotto/policy/deep_q.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "sotto/posix/check.h"
#include "sotto/random.h"

namespace sotto {
namespace {

// Streams of the key: number t for step t < steps, so never this one.
constexpr uint32_t kWeightsStream = UINT32_MAX;

constexpr size_t kPrivateInputs = 1;  // beside the parameters: the loss
constexpr size_t kPublicInputs = 3;   // step, local steps, public loss

bool IsProbability(double x) { return x >= 0 && x <= 1; }

bool IsFinite(Span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

QNetwork FirstNetwork(size_t inputs, const Key& key, const DeepQOptions& options) {
  options.Validate();
  if (inputs == 0) throw std::invalid_argument("deep-q: a state has at least one number");
  RandomStream random(key, kWeightsStream);
  QNetwork network(inputs, options.hidden, random);
  posix::Check(random.status(), "drawing the weights of deep-q");
  return network;
}

// A random number of 32 bits falls below it with the probability p.
bool Happens(double p, uint32_t bits) { return bits < p * 0x1p32; }

}  // namespace

void DeepQOptions::Validate() const {
  const bool is_adam_valid = adam.rate > 0 && adam.epsilon > 0 && adam.beta1 >= 0 &&
                             adam.beta1 < 1 && adam.beta2 >= 0 && adam.beta2 < 1;
  if (hidden == 0 || batch == 0 || memory < batch || target_period == 0 || !is_adam_valid ||
      !IsProbability(discount) || !IsProbability(first_exploration) ||
      !IsProbability(last_exploration)) {
    throw std::invalid_argument("deep-q: an option is out of its range");
  }
}

double Exploration(const DeepQOptions& options, uint32_t step, uint32_t steps) {
  const double half = steps / 2.0;
  if (step >= half) return options.last_exploration;
  return options.first_exploration +
         (options.last_exploration - options.first_exploration) * (step / half);
}

DeepQLearner::DeepQLearner(size_t inputs, const Key& key, const DeepQOptions& options)
    : options_(options),
      key_(key),
      network_(FirstNetwork(inputs, key_, options)),
      target_(network_.values()),
      memory_(options.memory, inputs),
      last_state_(inputs),
      drawn_(options.memory),
      samples_(options.batch) {}

// Draws a batch of the memory, takes a step of Adam on Eq. (7), and copies the target if it is due.
Status DeepQLearner::LearnFrom(RandomStream& random) {
  if (memory_.size() < options_.batch) return random.status();
  const size_t size = memory_.size();
  std::iota(drawn_.begin(), drawn_.end(), size_t{0});
  for (size_t j = 0; j < options_.batch; ++j) {
    std::swap(drawn_[j], drawn_[j + random.Below(static_cast<uint32_t>(size - j))]);
    const QTransition& transition = memory_[drawn_[j]];
    double target = transition.reward;
    if (!transition.is_terminal) {
      target += options_.discount * target_.Of(transition.next, target_.Best(transition.next));
    }
    samples_[j] = {transition.state, transition.action, target};
  }
  if (random.status() != Status::kOk) return random.status();
  network_.Learn({samples_.data(), samples_.size()}, options_.adam);
  if (++learned_steps_ % options_.target_period == 0) target_ = network_.values();
  return Status::kOk;
}

Status DeepQLearner::Step(uint32_t step, uint32_t steps, Span<const float> state, double reward,
                          bool* share) {
  if (state.size() != network_.inputs()) return Status::kInvalidArgument;
  if (!IsFinite(state) || !std::isfinite(reward)) return Status::kNotFinite;
  if (!has_history_ || step != last_step_) {
    RandomStream random(key_, step);
    const bool explores = Happens(Exploration(options_, step, steps), random.NextU32());
    const size_t random_action = random.Below(kQActions);
    if (has_history_ && step > last_step_) {
      const bool is_terminal = step + 1 >= steps;
      memory_.Add(
          {{last_state_.data(), last_state_.size()}, last_action_, reward, state, is_terminal});
    }
    if (Status s = LearnFrom(random); s != Status::kOk) return s;
    last_action_ = explores ? random_action : network_.values().Best(state);
    has_explored_ = explores;
    std::copy(state.begin(), state.end(), last_state_.begin());
    last_step_ = step;
    has_history_ = true;
  }
  *share = last_action_ == 1;
  return Status::kOk;
}

DeepQPolicy::DeepQPolicy(size_t parameters, const Key& key, const DeepQOptions& options)
    : learner_(parameters + kPrivateInputs, key, options), state_(parameters + kPrivateInputs) {}

Status DeepQPolicy::Decide(void* context, const PrivateSituation& now, bool* share) {
  auto& self = *static_cast<DeepQPolicy*>(context);
  if (now.local.size() + kPrivateInputs != self.state_.size()) return Status::kInvalidArgument;
  float* rest = std::copy(now.local.begin(), now.local.end(), self.state_.data());
  rest[0] = now.loss;
  const double reward = now.step > 0 ? -static_cast<double>(now.loss_on_last) : 0.0;
  return self.learner_.Step(now.step, now.steps, {self.state_.data(), self.state_.size()}, reward,
                            share);
}

PublicDeepQPolicy::PublicDeepQPolicy(size_t parameters, const Key& key, PublicLoss loss,
                                     void* loss_context, const DeepQOptions& options)
    : learner_(parameters + kPublicInputs, key, options),
      state_(parameters + kPublicInputs),
      loss_(loss),
      loss_context_(loss_context) {
  if (loss == nullptr) throw std::invalid_argument("deep-q-public needs a loss on public data");
}

double PublicDeepQPolicy::LossOf(const PublicSituation& now) {
  if (!has_loss_ || version_ != now.version) {
    version_loss_ = loss_(loss_context_, now.global);
    version_ = now.version;
    has_loss_ = true;
  }
  return version_loss_;
}

Status PublicDeepQPolicy::Decide(void* context, const PublicSituation& now, bool* share) {
  auto& self = *static_cast<PublicDeepQPolicy*>(context);
  if (now.global.size() + kPublicInputs != self.state_.size() || now.steps == 0) {
    return Status::kInvalidArgument;
  }
  const double loss = self.LossOf(now);
  const double steps = now.steps;
  float* rest = std::copy(now.global.begin(), now.global.end(), self.state_.data());
  rest[0] = static_cast<float>(now.step / steps);
  rest[1] = static_cast<float>(now.local_steps / steps);
  rest[2] = static_cast<float>(loss);
  return self.learner_.Step(now.step, now.steps, {self.state_.data(), self.state_.size()}, -loss,
                            share);
}

}  // namespace sotto
