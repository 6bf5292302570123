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

// The share of the most frequent class of the test samples: a model that names it whatever it sees
// has this accuracy.
void PutMajority(const Dataset& test, Outcome* outcome) {
  if (test.info().classes == 0 || test.size() == 0) return;
  std::vector<size_t> counts(test.info().classes, 0);
  for (size_t i = 0; i < test.size(); ++i) ++counts[test.Label(i)];
  const size_t most = *std::max_element(counts.begin(), counts.end());
  Put("majority_share", static_cast<double>(most) / static_cast<double>(test.size()), outcome);
}

// What a run of a simulation begins with. The configuration refers to the request's model.
struct Prepared {
  SimulationRequest request;
  SimulationConfig config;
  TrainTest data;
};
Prepared Prepare(SimulationRequest request, const RunContext& context) {
  SimulationConfig config = ConfigOf(request, context);
  TrainTest data = context.samples.Open(request);
  return {std::move(request), std::move(config), std::move(data)};
}

void RehearseSimulation(const Settings& settings, const RunContext& context) {
  static_cast<void>(Prepare(WithFleet(RequestOf(settings)), context));
}

Outcome RunSimulation(const Settings& settings, const RunContext& context) {
  const Prepared prepared = Prepare(WithFleet(RequestOf(settings)), context);
  const SimulationResult result =
      Simulate(prepared.config, prepared.data, [](const RoundReport&) {});
  Outcome outcome = OutcomeOf(prepared.config, result);
  PutMajority(*prepared.data.test, &outcome);
  return outcome;
}

std::string SimulationCommand(const Settings& settings) {
  return "sotto simulate" + ArgumentsOf(settings);
}

void CheckPeersSimulation(const Settings& settings) { CheckPeers(PeersRequestOf(settings)); }

void RehearsePeers(const Settings& settings, const RunContext& context) {
  const PeersRequest request = PeersRequestOf(settings);
  static_cast<void>(MakePeers(request, context.samples.Open(request)));
}

Outcome RunPeersSimulation(const Settings& settings, const RunContext& context) {
  const PeersRequest request = PeersRequestOf(settings);
  const TrainTest data = context.samples.Open(request);
  PeersPlan plan = MakePeers(request, data);
  plan.config.threads = 1;
  plan.config.stop = context.stop;
  Outcome outcome =
      PeersOutcomeOf(plan, SimulatePeers(plan.config, data, [](uint32_t, uint32_t) {}));
  PutMajority(*data.test, &outcome);
  return outcome;
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

void RehearseMembership(const Settings& settings, const RunContext& context) {
  static_cast<void>(Prepare(WithFleet(RequestOf(TrainingOf(settings))), context));
}

Outcome RunMembership(const Settings& settings, const RunContext& context) {
  const Prepared prepared = Prepare(WithFleet(RequestOf(TrainingOf(settings))), context);
  return OutcomeOf(AuditMembership(prepared.config, prepared.data, SamplesOf(settings),
                                   context.stop, [](const MembershipRound&) {}));
}

std::string MembershipCommand(const Settings& settings) {
  return "sotto-lab audit membership" + ArgumentsOf(settings);
}

Outcome RunFormula(const Settings& settings, const RunContext&) { return Compute(settings); }

void RehearseFormula(const Settings& settings, const RunContext&) { CheckFormula(settings); }

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
       RehearseSimulation, RunSimulation, SimulationCommand, SimulationInputs},
      {"peers", "a run of `sotto peers simulate`", false, IsPeersOption, CheckPeersSimulation,
       RehearsePeers, RunPeersSimulation, PeersCommandOf, PeersInputs},
      {"membership", "a run of `sotto-lab audit membership`", false, IsMembershipOption,
       CheckMembership, RehearseMembership, RunMembership, MembershipCommand, MembershipInputs},
      {"formula", "closed forms and computed bounds; `formula` names one of formulas.h", true,
       IsFormulaParameter, CheckFormula, RehearseFormula, RunFormula, NoCommand, NoInputs},
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
