// `sotto account compare --published`: what papers print beside the sound figures. Part of
// sotto::server/cli.
//
//   Gau-LRQ, DP-Fed-LS       for the rounds that the options of every question describe; Gau-LRQ
//                            also needs --cohort
//   Noisy-FedAvg and -FedProx  for the training that options of their own describe
#ifndef SOTTO_CLI_ACCOUNT_PUBLISHED_H_
#define SOTTO_CLI_ACCOUNT_PUBLISHED_H_

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/account_options.h"
#include "published/comparison.h"

namespace sotto::server {

// Declares --published and the options that go with it.
void AddPublishedOptions(CLI::App& command, AccountOptions& options);

// True if the options describe rounds, and not the training of Noisy-FedAvg alone.
bool DescribesRounds(const AccountOptions& options);

// The figures for what the options describe. Throws std::invalid_argument if that is nothing, or if
// a value is missing or out of range.
std::vector<privacy::PublishedFigure> PublishedFigures(const AccountOptions& options);

std::string DescribePublished(const AccountOptions& options,
                              const std::vector<privacy::PublishedFigure>& figures);
nlohmann::ordered_json PublishedToJson(const std::vector<privacy::PublishedFigure>& figures);

}  // namespace sotto::server

#endif  // SOTTO_CLI_ACCOUNT_PUBLISHED_H_
