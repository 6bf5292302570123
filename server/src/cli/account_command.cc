#include "cli/account_command.h"

#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/account_ledger.h"
#include "cli/account_options.h"
#include "cli/json_output.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kEpsilonHelp[] =
    "Example: sotto account epsilon --sampling poisson --noise-multiplier 1 --rate 0.05 --rounds "
    "100 "
    "--delta 1e-5";

Json Finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string EpsilonText(double epsilon) {
  return std::isfinite(epsilon) ? fmt::format("{:.4f}", epsilon) : "infinite";
}

// What an epsilon means, beside every one that is printed.
Json Meaning(const AccountOptions& o) {
  const privacy::Sampling sampling = SamplingOf(o);
  return {{"delta", DeltaOf(o)},
          {"adjacency", privacy::Name(privacy::PairedAdjacency(sampling))},
          {"sampling", privacy::Name(sampling)},
          {"unit", privacy::Name(privacy::Unit::kDevice)},
          {"trust_mode", privacy::Name(privacy::TrustMode::kTrustedServer)}};
}

void Add(const privacy::AccountedEpsilon& result, Json& json) {
  json["epsilon"] = Finite(result.epsilon);
  if (result.epsilon_lower) json["epsilon_lower"] = Finite(*result.epsilon_lower);
  json["winner"] = result.winner;
  json["is_upper_bound"] = result.is_upper_bound;
  json["numeric_error"] = Finite(result.numeric_error);
}

void Print(const AccountOptions& o, const std::string& text, const Json& json) {
  fmt::print(IsStandardOutput(o.json) ? stderr : stdout, "{}", text);
  WriteJson(o.json, json);
}

void RunEpsilon(const AccountOptions& o) {
  const privacy::AccountedEpsilon result = privacy::AccountFor(
      RoundsOf(o, AccountQuestion::kEpsilon), DeltaOf(o), privacy::AccountantByName(o.accountant));
  Json json = Meaning(o);
  json["accountant"] = o.accountant;
  Add(result, json);
  Print(
      o,
      fmt::format("epsilon {} at delta {:.3g} by {}{}\n", EpsilonText(result.epsilon), DeltaOf(o),
                  result.winner, result.is_upper_bound ? "" : ": approximate, not an upper bound"),
      json);
}

}  // namespace

void AddAccountCommand(CLI::App& app) {
  CLI::App& account = *app.add_subcommand("account", "privacy arithmetic: epsilon, noise, rounds");
  account.require_subcommand(1);
  const auto o = std::make_shared<AccountOptions>();
  CLI::App& epsilon = *account.add_subcommand("epsilon", "what the rounds of a plan cost");
  AddAccountOptions(epsilon, AccountQuestion::kEpsilon, *o);
  epsilon.add_option("--accountant", o->accountant, "how to account")
      ->capture_default_str()
      ->check(CLI::IsMember({"best", "rdp", "rdp-classic", "pld", "gdp"}));
  epsilon.footer(kEpsilonHelp);
  epsilon.callback([o] { RunEpsilon(*o); });
  AddAccountLedgerCommand(account);
}

}  // namespace sotto::server
