// The options of `sotto account` and the rounds or the plan that they describe. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_ACCOUNT_OPTIONS_H_
#define SOTTO_CLI_ACCOUNT_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accounting/accountant.h"
#include "plans/plan.h"

namespace CLI {
class App;
}

namespace sotto::server {

// As the user typed them.
struct AccountOptions {
  std::string sampling = "uniform";
  std::optional<double> noise_multiplier;
  std::optional<double> rate;
  std::optional<int64_t> rounds;
  std::string schedule;  // a CSV file of rows Z,Q,T instead of the three
  std::optional<double> delta;
  std::optional<double> epsilon;  // the target of `sigma` and `rounds`
  std::string accountant = "best";
  std::string json;

  // With these the figure is that of a fleet: colluders' noise is taken away, the encoder's
  // certificate and the Poisson cap are charged.
  std::optional<int64_t> cohort;
  int64_t colluders = 1;
  std::optional<int64_t> dimension;

  bool is_fleet() const { return cohort.has_value(); }
};

// What a subcommand is asked for and therefore does not take as an option.
enum class AccountQuestion { kEpsilon, kNoise, kRounds };

// Declares the options on a command; `options` must outlive the parse.
void AddAccountOptions(CLI::App& command, AccountQuestion question, AccountOptions& options);

privacy::Sampling SamplingOf(const AccountOptions& options);

// The required options by name. Throw std::invalid_argument where one is missing.
double DeltaOf(const AccountOptions& options);
double TargetOf(const AccountOptions& options);
double NoiseMultiplierOf(const AccountOptions& options);

// The rounds that the options or the schedule's rows describe, each row a group. In a question for
// noise or rounds the asked value is 1 (with a schedule: the rows as they are).
// Throws std::invalid_argument for a missing or bad value and std::runtime_error for a file that
// cannot be read.
std::vector<privacy::GaussianRounds> RoundsOf(const AccountOptions& options,
                                              AccountQuestion question);

// The fleet's plan without its noise; the clipping bound is 1. Throws std::invalid_argument.
privacy::Plan FleetPlan(const AccountOptions& options, AccountQuestion question);

}  // namespace sotto::server

#endif  // SOTTO_CLI_ACCOUNT_OPTIONS_H_
