// The options of `sotto account`, and the rounds or the plan that they describe. Part of
// sotto::server/account.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accounting/accountant.h"
#include "plans/plan.h"
#include "sotto/options/command.h"

namespace sotto::server {

// The options as the user typed them.
struct AccountOptions {
  privacy::Sampling sampling = privacy::Sampling::kUniform;
  std::optional<double> noise_multiplier;
  std::optional<double> rate;
  std::optional<int64_t> rounds;
  std::optional<int64_t> participations;  // K of passes; absent: from rounds and rate
  std::string schedule;                   // a CSV file of rows Z,Q,T instead of the three
  std::optional<double> delta;
  std::optional<double> epsilon;  // the target of `sigma` and `rounds`
  privacy::Accountant accountant;
  std::string json;
  std::string epsilon_csv;  // files of `profile`; empty: none
  std::string trade_off_csv;

  // With these options the figure is for a fleet: the colluders' noise is left out, and the
  // encoder's certificate and the Poisson cap are charged.
  std::optional<int64_t> cohort;
  int64_t colluders = 1;
  std::optional<int64_t> dimension;
  std::optional<double> clip;         // C of round 0; absent: 1, or what follows from the steps
  std::optional<double> noise_sigma;  // of one device in round 0, instead of noise_multiplier

  // How rounds differ. The noise multiplier belongs to round 0. Devices compute in these floats.
  double noise_decay = 1;
  float gradient_clip = 0;  // 0: the bound does not follow from steps
  float proximal = 0;
  std::optional<int64_t> local_steps;
  std::optional<float> learning_rate;
  double learning_rate_decay = 1;
  privacy::LearningRateSchedule rate_schedule = privacy::LearningRateSchedule::kConstant;

  bool is_fleet() const { return cohort.has_value(); }
  bool is_passes() const { return sampling == privacy::Sampling::kPasses; }
};

// The value that a command computes. It is not an option of that command.
enum class AccountQuestion { kEpsilon, kNoise, kRounds, kDelta, kProfile };

// The rows of all questions, and which of them a question takes.
std::vector<posix::Field<AccountOptions>> AccountFields();
posix::Pick TakenBy(AccountQuestion question);

// The values of required options. Each throws std::invalid_argument if its option is missing.
double DeltaOf(const AccountOptions& options);
double TargetOf(const AccountOptions& options);
double NoiseMultiplierOf(const AccountOptions& options);

// The rounds that the options or the rows of the schedule describe; each row is one group. If the
// question is for noise or rounds, that value is 1 in the result (with a schedule: the rows
// unchanged).
// Throws std::invalid_argument for a missing or bad value and std::runtime_error for a file that
// cannot be read.
std::vector<privacy::GaussianRounds> RoundsOf(const AccountOptions& options,
                                              AccountQuestion question);

// The rounds that so many turns of each device allow: with --rate floor(K / rate), otherwise K.
int64_t RoundsOfTurns(const AccountOptions& options, int64_t participations);

// The fleet's plan without its noise. Throws std::invalid_argument.
privacy::Plan FleetPlan(const AccountOptions& options, AccountQuestion question);

// The fleet's plan with the noise that the options name. Throws std::invalid_argument.
privacy::Plan NoisyFleetPlan(const AccountOptions& options, privacy::Accountant accountant);

// The plan as a job's devices carry it out: bound and noise are then float32 values. Only if the
// options name the bound; otherwise the plan is unchanged.
privacy::Plan AsOnDevices(const AccountOptions& options, const privacy::Plan& plan);

}  // namespace sotto::server
