#include "experiment/attack_runs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include "audit/membership.h"
#include "sim/noise_decay.h"
#include "sotto/options/numbers.h"

namespace sotto::server {
namespace {

constexpr char kSamples[] = "audit-samples";

// The settings of the training alone.
Settings TrainingOf(Settings settings) {
  settings.erase(kSamples);
  return settings;
}

uint32_t SamplesOf(const Settings& settings) {
  const auto found = settings.find(kSamples);
  const std::string text = found == settings.end() ? "10000" : found->second;
  const std::optional<uint64_t> count = posix::ParseCount(text);
  if (count && *count >= 2 && *count <= std::numeric_limits<uint32_t>::max()) {
    return static_cast<uint32_t>(*count);
  }
  throw std::invalid_argument(fmt::format("--{} {}: expected a count from 2", kSamples, text));
}

Outcome OutcomeOf(const MembershipAudit& audit) {
  Outcome outcome;
  for (const MembershipRound& round : audit.rounds) {
    outcome.series["round"].push_back(round.rounds);
    outcome.series["auc"].push_back(round.auc.area);
    outcome.series["loss_of_members"].push_back(round.loss_of_members);
    outcome.series["loss_of_others"].push_back(round.loss_of_others);
  }
  if (audit.rounds.empty()) return outcome;
  const std::vector<double>& areas = outcome.series["auc"];
  const MembershipRound& last = audit.rounds.back();
  outcome.figures = {{"auc", last.auc.area},
                     {"auc_most", *std::max_element(areas.begin(), areas.end())},
                     {"auc_lower", last.auc.lower},
                     {"auc_upper", last.auc.upper},
                     {"advantage", last.auc.advantage}};
  if (last.claim && std::isfinite(last.claim->epsilon)) {
    outcome.figures["epsilon"] = last.claim->epsilon;
  }
  return outcome;
}

}  // namespace

bool IsMembershipOption(const std::string& name) {
  return name == kSamples || IsSimulationOption(name);
}

void CheckMembership(const Settings& settings) {
  static_cast<void>(SamplesOf(settings));
  static_cast<void>(RequestOf(TrainingOf(settings)));
}

Outcome RunMembership(const Settings& settings, const RunContext& context) {
  const SimulationRequest request = RequestOf(TrainingOf(settings));
  SimulationConfig config = MakeSimulation(WithNoiseDecay(request));
  config.threads = 1;
  config.stop = context.stop;
  return OutcomeOf(AuditMembership(config, context.samples.Open(request), SamplesOf(settings),
                                   context.stop, [](const MembershipRound&) {}));
}

std::string MembershipCommand(const Settings& settings) {
  return "sotto-lab audit membership" + ArgumentsOf(settings);
}

}  // namespace sotto::server
