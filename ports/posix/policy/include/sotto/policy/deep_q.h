// deep-q: a node learns when to publish. Part of sotto::policy.
//
// Algorithm 2 of "Decentralized Differentially Private Without-Replacement Stochastic Gradient
// Descent" (Jin, He, Dai). Before each step t the learner sees the state s_t and the reward of its
// last action, and
//   1. stores the transition (s_(t-1), a_(t-1), r_(t-1), s_t)
//   2. draws a batch of stored transitions j and takes one step of Adam on (y_j - Q(s_j, a_j))^2,
//      y_j = r_j, plus discount * max_a Q'(s_(j+1), a) unless the run ends at s_(j+1): Eq. (7)
//   3. every C such steps copies Q to the target function Q'
//   4. acts at random with probability Exploration(), else by the largest Q(s_t, a)
// The paper leaves open, and here is:
//   discount        0.99; the paper prints one symbol for it and for the rate 0.01
//   target period   C = 10
//   first batch     once the memory holds a whole batch; drawn without replacement
//   end of the run  s of the node's last step
//   one-vs-all      one policy for all outputs of a model, not one for each
//
// Two policies share the learner. They differ in type, by what they see:
//   DeepQPolicy        the paper's: the node's own model and its loss. SharePolicy::Private
//   PublicDeepQPolicy  nothing but public numbers, so its claim holds. SharePolicy::Public
//
// Draws of step t are a function of the key and t. What was learned is not saved: after a reset the
// learner begins anew, and may decide otherwise than it would have. Asked again about the same
// step, it answers the same and learns nothing.
//
// Memory of a model of n parameters: about 128 * 12 n + 20 * 8 n bytes, 1.7 kB a parameter; see
// q_network.h, replay_memory.h. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/crypto.h"
#include "sotto/policy/q_network.h"
#include "sotto/policy/replay_memory.h"
#include "sotto/share_policy.h"
#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

struct DeepQOptions {
  size_t hidden = 128;             // units; >= 1
  AdamOptions adam;                // rate 0.01
  size_t memory = 20;              // transitions; >= batch
  size_t batch = 10;               // transitions of one step of Adam; >= 1
  double discount = 0.99;          // of later rewards; [0, 1]
  uint32_t target_period = 10;     // steps of Adam between two copies to the target; >= 1
  double first_exploration = 1.0;  // probability of a random action at step 0; [0, 1]
  double last_exploration = 0.1;   // and from the middle of the run on; [0, 1]

  // Throws std::invalid_argument for a number outside its range.
  void Validate() const;
};

// The probability of a random action: linear over the first half of the node's steps.
double Exploration(const DeepQOptions& options, uint32_t step, uint32_t steps);

class DeepQLearner {
 public:
  //   inputs  numbers of a state, >= 1
  //   key     decides the initial weights, batches and random actions; derived under
  //           key_label::kPeerPolicy for this purpose alone
  // Throws std::invalid_argument, see Validate(), and std::runtime_error if the cryptographic
  // library fails.
  DeepQLearner(size_t inputs, const Key& key, const DeepQOptions& options = {});

  // One step of Algorithm 2.
  //   step    of `steps`; it rises, by more than 1 after a publication of several steps. A smaller
  //           one begins a new history
  //   state   [inputs]
  //   reward  of the action before; not read at the first step of a history
  // Returns kOk; kInvalidArgument for a state of another size; kNotFinite if state or reward is
  // not finite (nothing was learned); kCryptoFailed.
  Status Step(uint32_t step, uint32_t steps, Span<const float> state, double reward, bool* share);

  // True if the last action was drawn at random.
  bool has_explored() const { return has_explored_; }
  size_t remembered() const { return memory_.size(); }
  uint32_t learned_steps() const { return learned_steps_; }
  const QNetwork& network() const { return network_; }
  const QValues& target() const { return target_; }

 private:
  Status LearnFrom(RandomStream& random);

  DeepQOptions options_;
  Key key_;
  QNetwork network_;
  QValues target_;
  ReplayMemory memory_;
  uint32_t learned_steps_ = 0;
  bool has_history_ = false;  // of the next four
  uint32_t last_step_ = 0;
  std::vector<float> last_state_;
  size_t last_action_ = 0;
  bool has_explored_ = false;
  std::vector<size_t> drawn_;     // [memory]
  std::vector<QSample> samples_;  // [batch]
};

// State: w_L and its loss on the next batch. Reward: minus the loss of w_L on the batch before.
// Private: no epsilon can be stated for a node that publishes by it.
class DeepQPolicy {
 public:
  //   parameters  of the model; key and failures as in DeepQLearner
  DeepQPolicy(size_t parameters, const Key& key, const DeepQOptions& options = {});
  DeepQPolicy(const DeepQPolicy&) = delete;
  DeepQPolicy& operator=(const DeepQPolicy&) = delete;

  SharePolicy policy() { return SharePolicy::Private(Decide, this); }
  const DeepQLearner& learner() const { return learner_; }

 private:
  static Status Decide(void* context, const PrivateSituation& now, bool* share);

  DeepQLearner learner_;
  std::vector<float> state_;
};

// The loss of a published model on data that everybody may know, never on a node's own.
//   global  [parameters]
using PublicLoss = double (*)(void* context, Span<const float> global);

// State: w_G, step / steps, local_steps / steps and the public loss of w_G. Reward: minus that
// loss. All of it, and so all that is ever learned, is public.
class PublicDeepQPolicy {
 public:
  //   loss  called once for each version of w_G; it and its context outlive the policy
  PublicDeepQPolicy(size_t parameters, const Key& key, PublicLoss loss, void* loss_context,
                    const DeepQOptions& options = {});
  PublicDeepQPolicy(const PublicDeepQPolicy&) = delete;
  PublicDeepQPolicy& operator=(const PublicDeepQPolicy&) = delete;

  SharePolicy policy() { return SharePolicy::Public(Decide, this); }
  const DeepQLearner& learner() const { return learner_; }

 private:
  static Status Decide(void* context, const PublicSituation& now, bool* share);
  double LossOf(const PublicSituation& now);

  DeepQLearner learner_;
  std::vector<float> state_;
  PublicLoss loss_;
  void* loss_context_;
  bool has_loss_ = false;  // of the next two
  uint32_t version_ = 0;
  double version_loss_ = 0;
};

}  // namespace sotto
