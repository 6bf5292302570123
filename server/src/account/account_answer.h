// The answer of `sotto account`: an epsilon with its meaning, as text and as JSON. Part of
// sotto::server/account.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "account/account_options.h"
#include "plans/statement.h"

namespace sotto::server {

// An epsilon of ideal rounds or of a fleet.
struct Answer {
  privacy::AccountedEpsilon accounted;
  std::optional<privacy::Statement> fleet;
  double accounted_noise_multiplier = 0.0;  // of a fleet's first round
  // The figures beside the epsilon: a fleet's headline; of ideal rounds only those figures are set.
  privacy::Claim strength = {};
  // R of a fleet of passes whose size is known (plans/turns.h).
  std::optional<double> signal_to_noise = std::nullopt;
  double devices_times_cohort = 0.0;          // at which it would be 1
  std::vector<std::string> assumptions = {};  // of a fleet of passes: DescribeAssumptions()
};

// Both throw std::invalid_argument.
Answer AnswerBy(const AccountOptions& options, privacy::Accountant accountant);
Answer OfFleet(const privacy::Plan& plan);
Answer OfRounds(const AccountOptions& options, const std::vector<privacy::GaussianRounds>& rounds,
                privacy::Accountant accountant);

// What an epsilon of these options means. It stands beside every epsilon in the output.
nlohmann::ordered_json Meaning(const AccountOptions& options);

// The same as a line for people.
std::string MeaningText(const AccountOptions& options);

void AddAnswer(const Answer& answer, nlohmann::ordered_json& json);
std::string AnswerText(const AccountOptions& options, const Answer& answer);

// The beginning of a comparison: what an epsilon of these options means, and no accountant yet.
nlohmann::ordered_json StartComparison(const AccountOptions& options);

// Adds a row for each accountant. Returns the rows as text.
std::string AddAccountants(const AccountOptions& options, nlohmann::ordered_json* comparison);

}  // namespace sotto::server
