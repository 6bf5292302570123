#include "experiment/run_kinds.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include "audit/membership.h"
#include "experiment/formulas.h"
#include "plans/claim.h"
#include "sim/noise_decay.h"
#include "sim/peer_request.h"
#include "sim/simulation.h"
#include "sotto/options/numbers.h"

namespace sotto::server {
namespace {

void Put(const std::string& name, double value, Outcome* outcome) {
  if (std::isfinite(value)) outcome->figures[name] = value;
}

void PutEvaluation(const Evaluation& evaluation, Outcome* outcome) {
  Put("loss", evaluation.loss, outcome);
  if (evaluation.accuracy()) Put("accuracy", *evaluation.accuracy(), outcome);
  if (evaluation.mean_squared_error()) {
    Put("mean_squared_error", *evaluation.mean_squared_error(), outcome);
  }
}

void PutPrivacy(const SimulationConfig& config, const SimulationResult& result, Outcome* outcome) {
  if (!config.job.codec->accounted) return;
  Put("epsilon", result.spent.epsilon(), outcome);
  Put("delta", result.spent.Headline().delta, outcome);
  Put("epsilon_network",
      result.spent.EpsilonOf(privacy::Adversary::kNetwork, privacy::View::kReleasesAndParticipants),
      outcome);
  Put("epsilon_watcher",
      result.spent.EpsilonOf(privacy::Adversary::kWatcher, privacy::View::kReleasesAndParticipants),
      outcome);
  Put("noise_multiplier", result.spent.noise_multiplier, outcome);
}

void PutRounds(const std::vector<RoundReport>& rounds, Outcome* outcome) {
  for (const RoundReport& report : rounds) {
    if (!report.evaluation) continue;
    outcome->series["round"].push_back(report.outcome.round + 1);
    outcome->series["accuracy"].push_back(report.evaluation->accuracy().value_or(0));
    outcome->series["loss"].push_back(report.evaluation->loss);
    outcome->series["noise_sigma"].push_back(report.outcome.noise_sigma);
  }
}

Outcome OutcomeOf(const SimulationConfig& config, const SimulationResult& result) {
  Outcome outcome;
  if (result.last) PutEvaluation(*result.last, &outcome);
  PutPrivacy(config, result, &outcome);
  PutRounds(result.rounds, &outcome);
  Put("rounds", static_cast<double>(result.rounds.size()), &outcome);
  Put("bytes_up_per_device_round", result.BytesUpPerDeviceRound(), &outcome);
  Put("clip_l2", config.job.plan.clip_l2, &outcome);
  if (!result.rounds.empty()) {
    Put("noise_sigma", result.rounds.back().outcome.noise_sigma, &outcome);
  }
  if (result.gave_up) outcome.note = result.finish_reason;
  return outcome;
}

SimulationConfig ConfigOf(const SimulationRequest& request, const RunContext& context) {
  if (request.evaluate_every == 0) {
    throw std::invalid_argument(
        "evaluate-every 0 evaluates no model, and an experiment compares accuracies; name a number "
        "from 1 on, or rounds for the last model alone");
  }
  SimulationConfig config = MakeSimulation(WithNoiseDecay(request));
  config.threads = 1;
  config.stop = context.stop;
  return config;
}

// Of a policy that never publishes the accuracy is that of the nodes' own models, the mean.
void PutPeersEvaluation(const PeersResult& result, Outcome* outcome) {
  const PeersEvaluation& last = result.last();
  PutEvaluation(last.shared, outcome);
  Put("accuracy_own", last.mean_own, outcome);
  if (result.publications.empty()) Put("accuracy", last.mean_own, outcome);
  for (const PeersEvaluation& now : result.evaluations) {
    const bool is_alone = result.publications.empty();
    outcome->series["turn"].push_back(now.turn);
    outcome->series["accuracy"].push_back(is_alone ? now.mean_own
                                                   : now.shared.accuracy().value_or(0));
    outcome->series["accuracy_own"].push_back(now.mean_own);
  }
}

Outcome PeersOutcomeOf(const PeersPlan& plan, const PeersResult& result) {
  Outcome outcome;
  PutPeersEvaluation(result, &outcome);
  const privacy::PeerStatement statement = StatementOf(plan, result);
  if (!statement.claims.empty()) Put("epsilon", statement.claims.front().epsilon, &outcome);
  const auto publications = static_cast<double>(result.publications.size());
  const auto steps = static_cast<double>(result.steps());
  Put("publications", publications, &outcome);
  Put("published_share", steps == 0 ? 0 : publications / steps, &outcome);
  Put("bytes", static_cast<double>(result.bytes()), &outcome);
  Put("noise_sigma", plan.config.job.noise_q20 * 0x1p-20, &outcome);
  Put("delta", plan.training.delta, &outcome);
  outcome.note = statement.refusal;
  return outcome;
}

void CheckSimulation(const Settings& settings) { static_cast<void>(RequestOf(settings)); }

Outcome RunSimulation(const Settings& settings, const RunContext& context) {
  const SimulationRequest request = WithFleet(RequestOf(settings));
  const SimulationConfig config = ConfigOf(request, context);
  const TrainTest data = context.samples.Open(request);
  const SimulationResult result = Simulate(config, data, [](const RoundReport&) {});
  return OutcomeOf(config, result);
}

std::string SimulationCommand(const Settings& settings) {
  return "sotto simulate" + ArgumentsOf(settings);
}

void CheckPeersSimulation(const Settings& settings) { CheckPeers(PeersRequestOf(settings)); }

Outcome RunPeersSimulation(const Settings& settings, const RunContext& context) {
  const PeersRequest request = PeersRequestOf(settings);
  const TrainTest data = context.samples.Open(request);
  PeersPlan plan = MakePeers(request, data);
  plan.config.threads = 1;
  plan.config.stop = context.stop;
  return PeersOutcomeOf(plan, SimulatePeers(plan.config, data, [](uint32_t, uint32_t) {}));
}

std::string PeersCommandOf(const Settings& settings) {
  return "sotto peers simulate" + ArgumentsOf(settings);
}

// Of `sotto-lab audit membership`.
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

// Figures: "auc" of the last model with "auc_lower", "auc_upper" and "advantage", the largest "auc"
// of all as "auc_most", and "epsilon". Series: "round", "auc", "loss_of_members", "loss_of_others".
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

// Options of a simulation, and the number of samples.
bool IsMembershipOption(const std::string& name) {
  return name == kSamples || IsSimulationOption(name);
}

void CheckMembership(const Settings& settings) {
  static_cast<void>(SamplesOf(settings));
  static_cast<void>(RequestOf(TrainingOf(settings)));
}

Outcome RunMembership(const Settings& settings, const RunContext& context) {
  const SimulationRequest request = WithFleet(RequestOf(TrainingOf(settings)));
  return OutcomeOf(AuditMembership(ConfigOf(request, context), context.samples.Open(request),
                                   SamplesOf(settings), context.stop,
                                   [](const MembershipRound&) {}));
}

std::string MembershipCommand(const Settings& settings) {
  return "sotto-lab audit membership" + ArgumentsOf(settings);
}

Outcome RunFormula(const Settings& settings, const RunContext&) { return Compute(settings); }

std::string NoCommand(const Settings&) { return ""; }

std::vector<NamedInput> SimulationInputs(const Settings& settings) {
  return InputsOf(RequestOf(settings));
}
std::vector<NamedInput> PeersInputs(const Settings& settings) {
  return PeersInputsOf(PeersRequestOf(settings));
}
std::vector<NamedInput> MembershipInputs(const Settings& settings) {
  return InputsOf(RequestOf(TrainingOf(settings)));
}
std::vector<NamedInput> NoInputs(const Settings&) { return {}; }

}  // namespace

const std::vector<RunKind>& RunKinds() {
  static const std::vector<RunKind> kKinds = {
      {"simulation", "a run of `sotto simulate`", false, IsSimulationOption, CheckSimulation,
       RunSimulation, SimulationCommand, SimulationInputs},
      {"peers", "a run of `sotto peers simulate`", false, IsPeersOption, CheckPeersSimulation,
       RunPeersSimulation, PeersCommandOf, PeersInputs},
      {"membership", "a run of `sotto-lab audit membership`", false, IsMembershipOption,
       CheckMembership, RunMembership, MembershipCommand, MembershipInputs},
      {"formula", "closed forms and computed bounds; `formula` names one of formulas.h", true,
       IsFormulaParameter, CheckFormula, RunFormula, NoCommand, NoInputs},
  };
  return kKinds;
}

const RunKind& FindRunKind(const std::string& name) {
  std::string names;
  for (const RunKind& kind : RunKinds()) {
    if (name == kind.name) return kind;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
  }
  throw std::invalid_argument(fmt::format("kind {}: expected one of {}", name, names));
}

}  // namespace sotto::server
