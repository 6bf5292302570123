// When a node publishes: the table of policies, and what deep-q learns. All keys are fixed, so no
// test can fail by chance.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "sotto/policy/deep_q.h"
#include "sotto/policy/policies.h"
#include "sotto/policy/q_network.h"
#include "sotto/policy/replay_memory.h"
#include "sotto/random.h"
#include "unit/sdk/peers.h"

namespace sotto {
namespace {

Key KeyOf(uint8_t seed) {
  Key key;
  key.bytes[0] = seed;
  return key;
}

constexpr uint8_t kJobId[16] = {1, 2, 3};

double ZeroLoss(void*, Span<const float>) { return 0; }

SharePolicyContext ContextOf(uint8_t seed, size_t parameters = 3) {
  SharePolicyContext context;
  context.secret = KeyOf(seed);
  context.job_id = kJobId;
  context.parameters = parameters;
  context.public_loss = ZeroLoss;
  return context;
}

std::string WhyRefused(const std::string& text, const SharePolicyContext& context = ContextOf(1)) {
  try {
    MakeSharePolicy(text, context);
  } catch (const std::invalid_argument& refused) {
    return refused.what();
  }
  return "";
}

// A situation of a model of three parameters that moves with the step.
struct Moment {
  PrivateSituation now;
  float global[3];
  float local[3];

  Moment(uint32_t step, uint32_t steps) {
    for (size_t i = 0; i < 3; ++i) {
      global[i] = 0.01f * static_cast<float>((step * (i + 3)) % 17);
      local[i] = global[i] + 0.1f;
    }
    now.step = step;
    now.steps = steps;
    now.version = step / 4;
    now.global = global;
    now.local = local;
    now.loss = 1.0f / static_cast<float>(step + 1);
    now.loss_on_last = now.loss * 0.9f;
  }
};

std::vector<bool> Decisions(const std::string& text, uint32_t steps,
                            const SharePolicyContext& context) {
  const auto owned = MakeSharePolicy(text, context);
  std::vector<bool> decisions;
  for (uint32_t step = 0; step < steps; ++step) {
    bool share = false;
    const Moment moment(step, steps);
    EXPECT_EQ(owned->policy().Decide(moment.now, &share), Status::kOk) << text << " " << step;
    decisions.push_back(share);
  }
  return decisions;
}

int CountShares(const std::vector<bool>& decisions) {
  int count = 0;
  for (const bool share : decisions) count += share ? 1 : 0;
  return count;
}

TEST(SharePolicies, WrongTextsAreRefusedWithWhatIsExpected) {
  for (const char* text : {"", "coins", "Never", " never", "deep", "deep-q-privat"}) {
    EXPECT_NE(WhyRefused(text).find(SharePolicyNames()), std::string::npos) << text;
    EXPECT_THROW(FindSharePolicy(text), std::invalid_argument) << text;
  }
  EXPECT_NE(WhyRefused("coins:0.1").find("did you mean coin?"), std::string::npos);
  for (const char* text : {"never:", "never:1", "always:0.5"}) {
    EXPECT_NE(WhyRefused(text).find("without a value"), std::string::npos) << text;
  }
  for (const char* text : {"coin:", "coin:0", "coin:1.1", "coin:-0.1", "coin:nan", "coin:1e-10",
                           "coin:0.1:", "coin:inf", "coin: 0.1"}) {
    EXPECT_NE(WhyRefused(text).find("coin:P with a number from 2^-32 to 1"), std::string::npos)
        << text;
  }
  EXPECT_NE(WhyRefused("period").find("expected period:K"), std::string::npos);
  for (const char* text :
       {"period:", "period:0", "period:1.5", "period:4294967296", "period:1e3"}) {
    EXPECT_NE(WhyRefused(text).find("a whole number from 1"), std::string::npos) << text;
  }
  for (const char* text : {"deep-q:1.01", "deep-q-public:-1", "deep-q:"}) {
    EXPECT_NE(WhyRefused(text).find("DISCOUNT with a number from 0 to 1"), std::string::npos)
        << text;
  }
}

TEST(SharePolicies, DeepQNeedsASmallModelAndPublicDataIfItIsPublic) {
  SharePolicyContext context = ContextOf(1);
  context.parameters = kMostDeepQParameters + 1;
  EXPECT_NE(WhyRefused("deep-q", context).find("1 to 65536"), std::string::npos);
  EXPECT_NE(WhyRefused("deep-q-public", context), "");
  EXPECT_EQ(WhyRefused("coin:0.1", context), "");
  context = ContextOf(1);
  context.public_loss = nullptr;
  EXPECT_NE(WhyRefused("deep-q-public", context).find("needs public data"), std::string::npos);
  EXPECT_EQ(WhyRefused("deep-q", context), "");
}

TEST(SharePolicies, TheTableNamesEveryRowAndEachRowMakesThePolicyThatItDescribes) {
  const std::string table = SharePoliciesTable();
  for (const SharePolicyInfo& info : AllSharePolicies()) {
    EXPECT_NE(table.find(std::string("| `") + info.name), std::string::npos) << info.name;
    EXPECT_NE(SharePolicyNames().find(info.name), std::string::npos) << info.name;
    const bool is_default = info.value == nullptr || info.default_value != nullptr;
    const std::string text = is_default ? info.name : std::string(info.name) + ":3";
    EXPECT_STREQ(FindSharePolicy(text).name, info.name);
    const auto owned = MakeSharePolicy(text, ContextOf(1));
    EXPECT_EQ(owned->policy().has_public_inputs(), info.has_public_inputs()) << text;
  }
  EXPECT_NE(table.find("| `coin[:P]` |"), std::string::npos) << table;
  EXPECT_NE(table.find("| `period:K` |"), std::string::npos) << table;
  EXPECT_EQ(std::stod(FindSharePolicy("deep-q").default_value), DeepQOptions().discount);
}

TEST(SharePolicies, OnlyPrivateDeepQStatesNoEpsilonAndSaysWhy) {
  for (const SharePolicyInfo& info : AllSharePolicies()) {
    EXPECT_EQ(info.has_public_inputs(), std::string(info.name) != "deep-q") << info.name;
  }
  const std::string why = FindSharePolicy("deep-q").why_no_epsilon;
  EXPECT_NE(why.find("no epsilon is stated"), std::string::npos);
}

TEST(SharePolicies, NeverAlwaysCoinAndPeriodPublishWhenTheySay) {
  constexpr int kSteps = 1000;
  EXPECT_EQ(CountShares(Decisions("never", kSteps, ContextOf(1))), 0);
  EXPECT_EQ(CountShares(Decisions("always", kSteps, ContextOf(1))), kSteps);
  EXPECT_EQ(CountShares(Decisions("coin:1", kSteps, ContextOf(1))), kSteps);
  EXPECT_EQ(CountShares(Decisions("period:7", kSteps, ContextOf(1))), kSteps / 7);
  // Standard deviations 9.5 and 15.8.
  EXPECT_NEAR(CountShares(Decisions("coin:0.1", kSteps, ContextOf(1))), 100, 60);
  EXPECT_NEAR(CountShares(Decisions("coin", kSteps, ContextOf(1))), 500, 100);
}

TEST(SharePolicies, TheSameSecretAndJobDecideTheSameAndOthersDoNot) {
  for (const char* text : {"coin", "deep-q", "deep-q-public"}) {
    const std::vector<bool> decisions = Decisions(text, 300, ContextOf(1));
    EXPECT_EQ(Decisions(text, 300, ContextOf(1)), decisions) << text;
    EXPECT_NE(Decisions(text, 300, ContextOf(2)), decisions) << text;
    SharePolicyContext other_job = ContextOf(1);
    const uint8_t id[16] = {9};
    other_job.job_id = id;
    EXPECT_NE(Decisions(text, 300, other_job), decisions) << text;
  }
}

// A plain net in double, layer by layer, with the gradients of the chain rule.
struct PlainNet {
  size_t inputs, hidden;
  std::vector<double> weights, m, v;
  int steps = 0;

  explicit PlainNet(const QNetwork& net)
      : inputs(net.inputs()),
        hidden(net.hidden()),
        weights(net.weights().begin(), net.weights().end()),
        m(weights.size()),
        v(weights.size()) {}

  size_t In(size_t k, size_t i) const { return k * (inputs + 3) + i; }
  size_t Out(size_t k, size_t a) const { return k * (inputs + 3) + inputs + 1 + a; }
  size_t OutBias(size_t a) const { return hidden * (inputs + 3) + a; }

  double Hidden(size_t k, Span<const float> s) const {
    double h = weights[In(k, inputs)];
    for (size_t i = 0; i < inputs; ++i) h += weights[In(k, i)] * s[i];
    return h;
  }

  double Value(Span<const float> s, size_t a) const {
    double q = weights[OutBias(a)];
    for (size_t k = 0; k < hidden; ++k) q += weights[Out(k, a)] * Hidden(k, s);
    return q;
  }

  void AddGradient(const QSample& sample, double of_value, std::vector<double>& gradient) const {
    gradient[OutBias(sample.action)] += of_value;
    for (size_t k = 0; k < hidden; ++k) {
      gradient[Out(k, sample.action)] += of_value * Hidden(k, sample.state);
      const double of_hidden = of_value * weights[Out(k, sample.action)];
      for (size_t i = 0; i < inputs; ++i) gradient[In(k, i)] += of_hidden * sample.state[i];
      gradient[In(k, inputs)] += of_hidden;
    }
  }

  void Learn(const std::vector<QSample>& batch) {
    std::vector<double> gradient(weights.size());
    for (const QSample& sample : batch) {
      const double error = Value(sample.state, sample.action) - sample.target;
      AddGradient(sample, 2 * error / static_cast<double>(batch.size()), gradient);
    }
    ++steps;
    for (size_t i = 0; i < weights.size(); ++i) {
      m[i] = 0.9 * m[i] + 0.1 * gradient[i];
      v[i] = 0.999 * v[i] + 0.001 * gradient[i] * gradient[i];
      const double m_hat = m[i] / (1 - std::pow(0.9, steps));
      const double v_hat = v[i] / (1 - std::pow(0.999, steps));
      weights[i] -= 0.01 * m_hat / (std::sqrt(v_hat) + 1e-8);
    }
  }
};

struct Batch {
  std::vector<std::vector<float>> states;
  std::vector<QSample> samples;

  Batch(size_t inputs, size_t size, RandomStream& random) {
    for (size_t j = 0; j < size; ++j) {
      states.emplace_back();
      for (size_t i = 0; i < inputs; ++i) {
        states[j].push_back(static_cast<float>(random.Below(2001)) / 1000 - 1);
      }
    }
    for (size_t j = 0; j < size; ++j) {
      samples.push_back({{states[j].data(), inputs},
                         j % 3 == 0 ? size_t{1} : 0,
                         -0.5 - 0.1 * static_cast<double>(j)});
    }
  }
};

TEST(QNetwork, AStepEqualsTheChainRuleAndAdamComputedPlainly) {
  RandomStream random(KeyOf(1), 0);
  QNetwork net(4, 5, random);
  PlainNet plain(net);
  for (int step = 0; step < 20; ++step) {
    const Batch batch(4, 6, random);
    const std::vector<float> before(net.weights().begin(), net.weights().end());
    net.Learn({batch.samples.data(), batch.samples.size()}, {});
    plain.Learn(batch.samples);
    for (size_t i = 0; i < plain.weights.size(); ++i) {
      ASSERT_NEAR(net.weights()[i], plain.weights[i], 2e-5) << step << " " << i;
      EXPECT_NE(net.weights()[i], before[i]) << step << " " << i;
    }
    for (const QSample& sample : batch.samples) {
      for (size_t a : {0, 1}) {
        EXPECT_NEAR(net.values().Of(sample.state, a), plain.Value(sample.state, a), 2e-4);
      }
    }
  }
}

TEST(QNetwork, WeightsStartWithinXaviersBoundsAndBiasesAtZero) {
  RandomStream random(KeyOf(1), 0);
  const QNetwork net(52, 128, random);
  EXPECT_EQ(net.weights().size(), 7042u);  // as the paper's net for 50 features
  double most_in = 0, most_out = 0;
  for (size_t k = 0; k < 128; ++k) {
    const Span<const float> row = net.weights().subspan(k * 55, 55);
    for (size_t i = 0; i < 52; ++i) most_in = std::max<double>(most_in, std::abs(row[i]));
    EXPECT_EQ(row[52], 0.0f);
    most_out = std::max<double>(most_out, std::max(std::abs(row[53]), std::abs(row[54])));
  }
  EXPECT_LE(most_in, std::sqrt(6.0 / 180));
  EXPECT_GT(most_in, 0.99 * std::sqrt(6.0 / 180));
  EXPECT_LE(most_out, std::sqrt(6.0 / 130));
  EXPECT_GT(most_out, 0.95 * std::sqrt(6.0 / 130));
  EXPECT_EQ(net.weights()[7040], 0.0f);
  EXPECT_EQ(net.weights()[7041], 0.0f);
}

TEST(ReplayMemory, KeepsTheNewestTransitions) {
  ReplayMemory memory(20, 2);
  for (int t = 0; t < 33; ++t) {
    const float state[] = {static_cast<float>(t), 0};
    const float next[] = {static_cast<float>(t + 1), 0};
    memory.Add({state, 1, -1.0 * t, next, false});
    EXPECT_EQ(memory.size(), std::min<size_t>(t + 1, 20));
  }
  double sum = 0;
  for (size_t i = 0; i < memory.size(); ++i) {
    EXPECT_EQ(memory[i].state[0], static_cast<float>(-memory[i].reward));
    EXPECT_EQ(memory[i].next[0], memory[i].state[0] + 1);
    EXPECT_GE(memory[i].state[0], 13.0f);
    sum += memory[i].state[0];
  }
  EXPECT_EQ(sum, (13 + 32) * 20 / 2.0);
}

TEST(DeepQ, ExplorationFallsFromOneToATenthOverTheFirstHalf) {
  const DeepQOptions options;
  EXPECT_DOUBLE_EQ(Exploration(options, 0, 1200), 1.0);
  EXPECT_DOUBLE_EQ(Exploration(options, 300, 1200), 0.55);
  EXPECT_NEAR(Exploration(options, 599, 1200), 1.0 - 0.9 * 599 / 600, 1e-12);
  EXPECT_DOUBLE_EQ(Exploration(options, 600, 1200), 0.1);
  EXPECT_DOUBLE_EQ(Exploration(options, 1199, 1200), 0.1);
  EXPECT_DOUBLE_EQ(Exploration(options, 0, 1), 1.0);
  EXPECT_DOUBLE_EQ(Exploration(options, 0, 0), 0.1);
}

// A learner whose state is one constant, and whose reward is given.
struct LearnerRun {
  DeepQLearner learner;
  uint32_t steps;
  uint32_t step = 0;
  bool share = false;

  LearnerRun(uint8_t seed, uint32_t count, const DeepQOptions& options = {})
      : learner(2, KeyOf(seed), options), steps(count) {}

  void Step(double reward) {
    const float state[] = {0.5f, static_cast<float>(step % 5) / 5};
    ASSERT_EQ(learner.Step(step, steps, state, reward, &share), Status::kOk);
    ++step;
  }
};

TEST(DeepQ, ExploresAsOftenAsItsProbabilitySays) {
  constexpr uint32_t kSteps = 2000;
  LearnerRun run(3, kSteps);
  uint32_t explored[2] = {};
  uint32_t random_shares = 0;
  for (uint32_t t = 0; t < kSteps; ++t) {
    run.Step(-1.0);
    explored[t < kSteps / 2 ? 0 : 1] += run.learner.has_explored() ? 1 : 0;
    random_shares += run.learner.has_explored() && run.share ? 1 : 0;
  }
  // Expected 550 and 100; standard deviations 13 and 9.5. Half of them publish, deviation 12.7.
  EXPECT_NEAR(explored[0], 550, 80);
  EXPECT_NEAR(explored[1], 100, 60);
  EXPECT_NEAR(random_shares, (explored[0] + explored[1]) / 2.0, 80);
}

TEST(DeepQ, LearnsOnceTheMemoryHoldsABatchAndKeepsTwentyTransitions) {
  LearnerRun run(1, 100);
  for (uint32_t t = 0; t < 100; ++t) {
    run.Step(-1.0);
    EXPECT_EQ(run.learner.remembered(), std::min(t, 20u));
    EXPECT_EQ(run.learner.learned_steps(), t < 10 ? 0 : t - 9);
  }
}

TEST(DeepQ, TheTargetIsCopiedEveryTargetPeriodAndStaysBetween) {
  DeepQOptions options;
  options.target_period = 4;
  LearnerRun run(1, 100, options);
  const float probe[] = {1.0f, -1.0f};
  double held = run.learner.target().Of(probe, 0);
  EXPECT_EQ(held, run.learner.network().values().Of(probe, 0));
  int copies = 0;
  while (run.step < 60) {
    const uint32_t before = run.learner.learned_steps();
    run.Step(-1.0);
    if (run.learner.learned_steps() == before) continue;
    const bool is_due = run.learner.learned_steps() % 4 == 0;
    if (is_due) held = run.learner.network().values().Of(probe, 0);
    EXPECT_EQ(run.learner.target().Of(probe, 0), held);
    EXPECT_EQ(held == run.learner.network().values().Of(probe, 0), is_due);
    copies += is_due ? 1 : 0;
  }
  EXPECT_EQ(copies, 12);  // 50 steps of learning
}

// With a memory of one batch, the transitions that the learner learns from are known: all.
TEST(DeepQ, LearnsFromRewardsAndTheTargetsBestValuesUnlessTheRunEnds) {
  constexpr uint32_t kSteps = 24;
  for (const size_t batch : {1, 3}) {
    DeepQOptions options;
    options.memory = options.batch = batch;
    options.hidden = 6;
    options.target_period = 5;
    DeepQLearner learner(2, KeyOf(5), options);
    PlainNet plain(learner.network());
    PlainNet target = plain;
    RandomStream random(KeyOf(6), 0);
    const Batch drawn(2, kSteps, random);
    std::vector<size_t> actions;
    for (uint32_t t = 0; t < kSteps; ++t) {
      std::vector<QSample> samples;
      for (uint32_t j = t < batch ? t : t - static_cast<uint32_t>(batch); t >= batch && j < t;
           ++j) {
        const Span<const float> next = drawn.samples[j + 1].state;
        const double best = std::max(target.Value(next, 0), target.Value(next, 1));
        const double later = j + 2 == kSteps ? 0 : 0.99 * best;
        samples.push_back({drawn.samples[j].state, actions[j], -0.1 * (j % 4) + later});
      }
      if (!samples.empty()) plain.Learn(samples);
      if (!samples.empty() && plain.steps % 5 == 0) target = plain;
      bool share = false;
      const double reward = -0.1 * ((t + 3) % 4);  // of the transition t - 1
      ASSERT_EQ(learner.Step(t, kSteps, drawn.samples[t].state, reward, &share), Status::kOk);
      actions.push_back(share ? 1 : 0);
      for (size_t i = 0; i < plain.weights.size(); ++i) {
        ASSERT_NEAR(learner.network().weights()[i], plain.weights[i], 2e-5) << t << " " << i;
      }
    }
  }
}

TEST(DeepQ, LearnsToPublishWhereThatIsRewarded) {
  constexpr uint32_t kSteps = 1200;
  for (const double discount : {0.99, 0.01}) {
    for (const bool is_share_better : {true, false}) {
      DeepQOptions options;
      options.discount = discount;
      LearnerRun run(7, kSteps, options);
      uint32_t greedy = 0, right = 0;
      for (uint32_t t = 0; t < kSteps; ++t) {
        run.Step(run.share == is_share_better ? -0.1 : -1.0);
        if (t < kSteps / 2 || run.learner.has_explored()) continue;
        ++greedy;
        right += run.share == is_share_better ? 1 : 0;
      }
      EXPECT_GT(greedy, 450u);
      EXPECT_GT(right, greedy * 9 / 10) << discount << " " << is_share_better;
    }
  }
}

TEST(DeepQ, AskedAgainAboutAStepItAnswersTheSameAndLearnsNothing) {
  LearnerRun once(1, 60), twice(1, 60);
  for (uint32_t t = 0; t < 60; ++t) {
    once.Step(-0.1 * (t % 7));
    twice.Step(-0.1 * (t % 7));
    const bool share = twice.share;
    --twice.step;
    twice.Step(-9.0);
    EXPECT_EQ(twice.share, share);
    EXPECT_EQ(once.share, share);
  }
  EXPECT_EQ(twice.learner.learned_steps(), once.learner.learned_steps());
}

// A publication of several steps passes over some.
TEST(DeepQ, AStepBackStoresNoTransitionAndOneAheadDoes) {
  LearnerRun run(1, 100);
  run.Step(-1.0);
  run.Step(-1.0);
  EXPECT_EQ(run.learner.remembered(), 1u);
  run.step = 50;
  run.Step(-1.0);
  EXPECT_EQ(run.learner.remembered(), 2u);
  run.step = 10;
  run.Step(-1.0);
  EXPECT_EQ(run.learner.remembered(), 2u);
  run.Step(-1.0);
  EXPECT_EQ(run.learner.remembered(), 3u);
  LearnerRun after_reset(1, 100);
  after_reset.step = 1;
  after_reset.Step(-1.0);
  EXPECT_EQ(after_reset.learner.remembered(), 0u);
}

TEST(DeepQ, NumbersThatAreNotFiniteAndStatesOfAnotherSizeAreRefused) {
  DeepQLearner learner(2, KeyOf(1));
  bool share = true;
  const float good[] = {1, 2};
  const float bad[] = {1, NAN};
  EXPECT_EQ(learner.Step(0, 9, bad, 0, &share), Status::kNotFinite);
  EXPECT_EQ(learner.Step(0, 9, good, INFINITY, &share), Status::kNotFinite);
  EXPECT_EQ(learner.Step(0, 9, {good, 1}, 0, &share), Status::kInvalidArgument);
  EXPECT_TRUE(share);
  EXPECT_EQ(learner.remembered(), 0u);
  DeepQOptions options;
  options.memory = 9;
  EXPECT_THROW(DeepQLearner(2, KeyOf(1), options), std::invalid_argument);
  EXPECT_THROW(DeepQLearner(0, KeyOf(1)), std::invalid_argument);
}

// The state and the reward that a policy makes of a situation, by a learner of the same key.
TEST(DeepQ, ThePrivatePolicySeesTheOwnModelAndItsLosses) {
  DeepQPolicy policy(3, KeyOf(1));
  DeepQLearner learner(4, KeyOf(1));
  EXPECT_FALSE(policy.policy().has_public_inputs());
  for (uint32_t step = 0; step < 60; ++step) {
    const Moment moment(step, 60);
    bool share = false, expected = false;
    ASSERT_EQ(policy.policy().Decide(moment.now, &share), Status::kOk);
    const float state[] = {moment.local[0], moment.local[1], moment.local[2], moment.now.loss};
    ASSERT_EQ(learner.Step(step, 60, state, -moment.now.loss_on_last, &expected), Status::kOk);
    EXPECT_EQ(share, expected);
  }
  for (size_t i = 0; i < learner.network().weights().size(); ++i) {
    ASSERT_EQ(policy.learner().network().weights()[i], learner.network().weights()[i]);
  }
}

// A decision's type says what it may read: neither can be taken for the other.
static_assert(!std::is_convertible_v<PrivateDecision, PublicDecision>);
static_assert(!std::is_convertible_v<PublicDecision, PrivateDecision>);
static_assert(!std::is_convertible_v<const PublicSituation&, const PrivateSituation&>);

struct CountedLoss {
  int calls = 0;
  static double Of(void* context, Span<const float> global) {
    ++static_cast<CountedLoss*>(context)->calls;
    return 0.5 + global[0];
  }
};

TEST(DeepQ, ThePublicPolicyComputesItsLossOncePerVersion) {
  CountedLoss loss;
  PublicDeepQPolicy policy(3, KeyOf(1), CountedLoss::Of, &loss);
  DeepQLearner learner(6, KeyOf(1));
  EXPECT_TRUE(policy.policy().has_public_inputs());
  float global[] = {0.1f, 0.2f, 0.3f};
  for (uint32_t step = 0; step < 60; ++step) {
    PrivateSituation now;
    now.step = step;
    now.steps = 60;
    now.local_steps = step % 3;
    now.version = 2 * (step / 5);
    global[0] = 0.01f * static_cast<float>(now.version);
    now.global = global;
    bool share = false, expected = false;
    ASSERT_EQ(policy.policy().Decide(now, &share), Status::kOk);
    EXPECT_EQ(loss.calls, static_cast<int>(step / 5 + 1));
    const double public_loss = 0.5 + global[0];
    const float state[] = {global[0],
                           global[1],
                           global[2],
                           static_cast<float>(step / 60.0),
                           static_cast<float>(step % 3 / 60.0),
                           static_cast<float>(public_loss)};
    ASSERT_EQ(learner.Step(step, 60, state, -public_loss, &expected), Status::kOk);
    EXPECT_EQ(share, expected);
  }
  for (size_t i = 0; i < learner.network().weights().size(); ++i) {
    ASSERT_EQ(policy.learner().network().weights()[i], learner.network().weights()[i]);
  }
}

TEST(DeepQ, ThePublicPolicyDecidesTheSameWhateverIsPrivate) {
  CountedLoss loss;
  PublicDeepQPolicy one(3, KeyOf(1), CountedLoss::Of, &loss);
  PublicDeepQPolicy other(3, KeyOf(1), CountedLoss::Of, &loss);
  for (uint32_t step = 0; step < 200; ++step) {
    const Moment moment(step, 200);
    PrivateSituation changed = moment.now;
    const float local[] = {7, NAN, static_cast<float>(step)};
    changed.local = local;
    changed.loss = NAN;
    changed.loss_on_last = 1e9f;
    bool share = false, share_of_other = false;
    ASSERT_EQ(one.policy().Decide(moment.now, &share), Status::kOk);
    ASSERT_EQ(other.policy().Decide(changed, &share_of_other), Status::kOk);
    EXPECT_EQ(share, share_of_other);
  }
}

TEST(DeepQ, ThePublicPolicyRefusesALossThatIsNotFinite) {
  PublicDeepQPolicy policy(
      3, KeyOf(1), [](void*, Span<const float>) -> double { return NAN; }, nullptr);
  const Moment moment(0, 10);
  bool share = false;
  EXPECT_EQ(policy.policy().Decide(moment.now, &share), Status::kNotFinite);
  EXPECT_THROW(PublicDeepQPolicy(3, KeyOf(1), nullptr, nullptr), std::invalid_argument);
}

// The steps at which a node alone publishes, 80 of two passes.
std::vector<uint32_t> PublishedSteps(const std::string& text) {
  PeerJob job = QuietJob(PeerRule::kAverage);
  job.passes = 2;
  Peer peer(job, 1, 160);
  EXPECT_EQ(peer.Begin(), Status::kOk);
  SharePolicyContext context = ContextOf(1, peer.model.parameters);
  context.secret = peer.config.secret;
  context.job_id = peer.trainer.job_id();
  CountedLoss loss;
  context.public_loss = CountedLoss::Of;
  context.public_loss_context = &loss;
  const auto owned = MakeSharePolicy(text, context);
  std::vector<uint32_t> steps;
  while (!peer.trainer.is_done()) {
    const uint32_t step = peer.trainer.step();
    bool share = false;
    EXPECT_EQ(peer.trainer.Decide(owned->policy(), &share), Status::kOk) << text << " " << step;
    if (!share) {
      EXPECT_EQ(peer.trainer.LearnAlone(), Status::kOk);
      continue;
    }
    steps.push_back(step);
    EXPECT_EQ(peer.trainer.Publish(peer.trainer.head_version() + 1, 0), Status::kOk);
    EXPECT_EQ(peer.trainer.Adopt(true), Status::kOk);
  }
  const int versions = static_cast<int>(steps.size()) + 1;
  EXPECT_LE(loss.calls, FindSharePolicy(text).needs_public_loss ? versions : 0) << text;
  return steps;
}

TEST(SharePolicies, ANodePublishesByEachOfThem) {
  EXPECT_EQ(PublishedSteps("never").size(), 0u);
  EXPECT_EQ(PublishedSteps("always").size(), 80u);
  EXPECT_EQ(PublishedSteps("period:32"), (std::vector<uint32_t>{31, 63}));
  for (const char* text : {"coin:0.4", "deep-q", "deep-q:0.01", "deep-q-public"}) {
    const size_t published = PublishedSteps(text).size();
    EXPECT_GT(published, 10u) << text;
    EXPECT_LT(published, 70u) << text;
  }
}

}  // namespace
}  // namespace sotto
