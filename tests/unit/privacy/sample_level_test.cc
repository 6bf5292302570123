// The printed theorems about Noisy-FedAvg and Noisy-FedProx, and the losses that exceed them.
#include "published/sample_level.h"

#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <type_traits>

#include "accounting/gdp.h"
#include "plans/statement.h"

namespace sotto::privacy {
namespace {

// No printed value becomes a statement.
template <typename From, typename To>
constexpr bool kMixes = std::is_constructible_v<To, From> || std::is_assignable_v<To&, From>;

static_assert(!kMixes<PublishedMu, Statement> && !kMixes<PublishedMu, Guarantee>);
static_assert(!kMixes<PublishedMu, GaussianRounds> && !kMixes<PublishedMu, double>);

constexpr RateSchedule kSchedules[] = {RateSchedule::kConstant, RateSchedule::kCyclic,
                                       RateSchedule::kStagewise, RateSchedule::kContinuous};

// m = 20, K = 5, T = 40, eta = 0.1, V = 10, sigma = 3.
NoisyTraining Training() { return {20, 20, 40, 5, 0.1, 0.0, 10.0, 3.0}; }

NoisyFedAvg FedAvg(RateSchedule schedule) { return {Training(), schedule}; }

double Rate(const NoisyFedAvg& method, int64_t t, int64_t k) {
  const auto steps = static_cast<double>(method.training.local_steps);
  const auto round = static_cast<double>(t);
  const auto step = static_cast<double>(k);
  switch (method.schedule) {
    case RateSchedule::kConstant:
      return method.training.learning_rate;
    case RateSchedule::kCyclic:
      return method.training.learning_rate / (step + 1);
    case RateSchedule::kStagewise:
      return method.training.learning_rate / (round + 1);
    case RateSchedule::kContinuous:
      break;
  }
  return method.training.learning_rate / (round * steps + step + 1);
}

// The loss <g, w> with g = +-V on the one sample: the last model is Gaussian, so its mu is exact.
double LastModelOfLinearLoss(const NoisyFedAvg& method) {
  const NoisyTraining& training = method.training;
  const auto devices = static_cast<double>(training.devices);
  double distance = 0.0;
  for (int64_t t = 0; t < training.rounds; ++t) {
    for (int64_t k = 0; k < training.local_steps; ++k) {
      distance += Rate(method, t, k) * 2 * training.gradient_clip_l2 / devices;
    }
  }
  return distance * std::sqrt(devices / static_cast<double>(training.rounds)) /
         training.noise_sigma;
}

// The same loss, all the models.
double AllModelsOfLinearLoss(const NoisyFedAvg& method) {
  const NoisyTraining& training = method.training;
  double squares = 0.0;
  for (int64_t t = 0; t < training.rounds; ++t) {
    double rates = 0.0;
    for (int64_t k = 0; k < training.local_steps; ++k) rates += Rate(method, t, k);
    squares += rates * rates;
  }
  return std::sqrt(squares / static_cast<double>(training.devices)) * 2 *
         training.gradient_clip_l2 / training.noise_sigma;
}

// The device-level plan of the method, with exact noise and no colluder.
Plan PlanOf(const NoisyFedAvg& method, double proximal = 0) {
  constexpr LearningRateSchedule kRates[] = {
      LearningRateSchedule::kConstant, LearningRateSchedule::kInverseStep,
      LearningRateSchedule::kInverseRound, LearningRateSchedule::kInverseAllSteps};
  const NoisyTraining& training = method.training;
  Plan plan;
  plan.sampling = Sampling::kFull;
  plan.devices = plan.cohort = plan.planned_reports = training.devices;
  plan.rounds = training.rounds;
  plan.dimension = 1;
  plan.schedule.bound = {training.gradient_clip_l2,
                         proximal,
                         training.local_steps,
                         {training.learning_rate, 1.0, kRates[static_cast<int>(method.schedule)]}};
  plan.clip_l2 = BoundOf(plan.schedule.bound, 0);
  plan.noise_sigma = training.noise_sigma;
  plan.colluders = 0;
  plan.delta = 1e-5;
  return plan;
}

double Mu(const Plan& plan) {
  double square = 0;
  for (int64_t t = 0; t < plan.rounds; ++t) {
    square += std::pow(plan.AccountedNoiseMultiplier(t), -2);
  }
  return std::sqrt(square);
}

TEST(SampleLevelTest, NoLinearLossTellsMoreThanTheDeviceLevelPlan) {
  for (const RateSchedule schedule : kSchedules) {
    for (const int64_t rounds : {1, 2, 40, 200}) {
      for (const int64_t steps : {1, 2, 7, 100}) {
        NoisyFedAvg method = FedAvg(schedule);
        method.training.rounds = rounds;
        method.training.local_steps = steps;
        const double bound = Mu(PlanOf(method)) * (1 + 1e-10);  // the sums' rounding
        EXPECT_LE(LastModelOfLinearLoss(method), bound) << Name(schedule);
        EXPECT_LE(AllModelsOfLinearLoss(method), bound) << Name(schedule);
      }
    }
  }
}

TEST(SampleLevelTest, WithoutDecayOverRoundsALinearLossAttainsThePlansFigure) {
  for (const RateSchedule schedule : {RateSchedule::kConstant, RateSchedule::kCyclic}) {
    const Plan plan = PlanOf(FedAvg(schedule));
    const double mu = LastModelOfLinearLoss(FedAvg(schedule));
    EXPECT_NEAR(mu, Mu(plan), 1e-11 * mu);
    EXPECT_NEAR(Account(plan, plan.rounds).epsilon(), GdpEpsilon(mu, 1e-5), 1e-7);
  }
}

TEST(SampleLevelTest, ThePrintedConvergentValuesAreExceededByALinearLoss) {
  const double smoothness = 1.0;  // a linear loss is smooth for any
  EXPECT_GT(LastModelOfLinearLoss(FedAvg(RateSchedule::kConstant)),
            1.5 * PublishedNoisyFedAvg(FedAvg(RateSchedule::kConstant), smoothness, 1).value);
  // Where the printed value leaves out the rate, a rate of 1.
  NoisyFedAvg cyclic = FedAvg(RateSchedule::kCyclic);
  cyclic.training.learning_rate = 1.0;
  EXPECT_GT(LastModelOfLinearLoss(cyclic),
            1.5 * PublishedNoisyFedAvg(cyclic, smoothness, 1.543).value);
}

TEST(SampleLevelTest, ThePrintedProximalValueIsExceededByALinearLoss) {
  // With so many steps the local model reaches average - g / alpha.
  NoisyFedProx method = {Training(), 2.0};
  method.training.local_steps = 1000;
  const double distance = 40 * 2 * 10.0 / (2.0 * 20);
  const double exact = distance * std::sqrt(20.0 / 40) / 3.0;
  EXPECT_GT(exact, 1.5 * PublishedNoisyFedProx(method, 1.0).value);
  NoisyFedAvg steps = FedAvg(RateSchedule::kConstant);
  steps.training = method.training;
  EXPECT_NEAR(exact, Mu(PlanOf(steps, 2.0)), 1e-11 * exact);
}

TEST(SampleLevelTest, StagewiseAndContinuousHoldAsPrinted) {
  const NoisyFedAvg stagewise = FedAvg(RateSchedule::kStagewise);
  EXPECT_GE(PublishedNoisyFedAvg(stagewise, 1, 1).value, Mu(PlanOf(stagewise)));
  NoisyFedAvg method = FedAvg(RateSchedule::kContinuous);
  method.training.learning_rate = 1.0;
  const double harmonic = 1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4 + 1.0 / 5;
  EXPECT_GE(PublishedNoisyFedAvg(method, 1, harmonic).value, Mu(PlanOf(method)));
}

// What the paper's V / alpha leaves on the table.
TEST(SampleLevelTest, TheRecursionIsFarTighterThanVOverAlpha) {
  NoisyFedAvg method = FedAvg(RateSchedule::kConstant);
  EXPECT_GT(method.training.gradient_clip_l2 / 0.01, 200 * PlanOf(method, 0.01).clip_l2);
}

TEST(SampleLevelTest, PublishedValuesFollowThePrintedFormulas) {
  const double unit = 2 * 10.0 / (std::sqrt(20.0) * 3.0);
  const auto root = [](double r, double rounds) {
    const double power = std::pow(r, rounds);
    return std::sqrt((r + 1) / (r - 1) * (power - 1) / (power + 1));
  };
  EXPECT_NEAR(PublishedNoisyFedAvg(FedAvg(RateSchedule::kConstant), 0.3, 1).value,
              unit * 0.1 * 5 * root(std::pow(1 + 0.1 * 0.3, 5), 40), 1e-12);
  EXPECT_NEAR(PublishedNoisyFedAvg(FedAvg(RateSchedule::kCyclic), 0.3, 1.4).value,
              unit * 1.4 * std::log(6.0) * root(std::pow(6.0, 1.4 * 0.1 * 0.3), 40), 1e-12);
  EXPECT_NEAR(PublishedNoisyFedAvg(FedAvg(RateSchedule::kContinuous), 0.3, 1.2).value,
              unit * 1.2 * std::sqrt(2 - 1.0 / 40), 1e-12);
  EXPECT_NEAR(PublishedNoisyFedProx({Training(), 2.0}, 0.3).value,
              unit / 2 * std::sqrt((4 - 0.3) / 0.3) *
                  std::sqrt((std::pow(2.0, 40) - std::pow(1.7, 40)) /
                            (std::pow(2.0, 40) + std::pow(1.7, 40))),
              1e-12);
}

TEST(SampleLevelTest, PublishedValuesStayFiniteWhereThePowersDoNot) {
  NoisyFedAvg method = FedAvg(RateSchedule::kConstant);
  method.training.rounds = 1000000000;
  EXPECT_TRUE(std::isfinite(PublishedNoisyFedAvg(method, 10, 1).value));
  EXPECT_TRUE(std::isfinite(PublishedNoisyFedAvg(method, 1e-12, 1).value));
}

TEST(SampleLevelTest, AnAssumptionThatDoesNotHoldThrows) {
  NoisyFedAvg method = FedAvg(RateSchedule::kConstant);
  method.training.participants = 19;
  EXPECT_THROW(PublishedNoisyFedAvg(method, 1, 1.2), std::invalid_argument);
  method = FedAvg(RateSchedule::kConstant);
  method.training.momentum = 0.9;
  EXPECT_THROW(PublishedNoisyFedAvg(method, 1, 1.2), std::invalid_argument);
  // alpha <= 1 / eta; L < alpha.
  EXPECT_THROW(PublishedNoisyFedProx({Training(), 10.1}, 1), std::invalid_argument);
  EXPECT_THROW(PublishedNoisyFedProx({Training(), 2.0}, 2.0), std::invalid_argument);
}

TEST(SampleLevelTest, BadArgumentsThrow) {
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    NoisyFedAvg method = FedAvg(RateSchedule::kCyclic);
    method.training.learning_rate = bad;
    EXPECT_THROW(PublishedNoisyFedAvg(method, 1, 1.2), std::invalid_argument);
    method = FedAvg(RateSchedule::kCyclic);
    method.training.gradient_clip_l2 = bad;
    EXPECT_THROW(PublishedNoisyFedAvg(method, 1, 1.2), std::invalid_argument);
    method = FedAvg(RateSchedule::kCyclic);
    method.training.noise_sigma = bad;
    EXPECT_THROW(PublishedNoisyFedAvg(method, 1, 1.2), std::invalid_argument);
    EXPECT_THROW(PublishedNoisyFedProx({Training(), bad}, 1), std::invalid_argument);
    EXPECT_THROW(PublishedNoisyFedAvg(FedAvg(RateSchedule::kCyclic), bad, 1.2),
                 std::invalid_argument);
    EXPECT_THROW(PublishedNoisyFedAvg(FedAvg(RateSchedule::kCyclic), 1, bad),
                 std::invalid_argument);
    EXPECT_THROW(PublishedNoisyFedAvg(FedAvg(RateSchedule::kContinuous), 1, bad),
                 std::invalid_argument);
    EXPECT_THROW(PublishedNoisyFedProx({Training(), 2.0}, bad), std::invalid_argument);
  }
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, int64_t{2000000000}}) {
    NoisyFedAvg method = FedAvg(RateSchedule::kConstant);
    method.training.rounds = bad;
    EXPECT_THROW(PublishedNoisyFedAvg(method, 1, 1.2), std::invalid_argument);
    method = FedAvg(RateSchedule::kConstant);
    method.training.local_steps = bad;
    EXPECT_THROW(PublishedNoisyFedAvg(method, 1, 1.2), std::invalid_argument);
    method = FedAvg(RateSchedule::kConstant);
    method.training.devices = method.training.participants = bad;
    EXPECT_THROW(PublishedNoisyFedAvg(method, 1, 1.2), std::invalid_argument);
  }
}

}  // namespace
}  // namespace sotto::privacy
