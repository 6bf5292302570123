#include "experiment/run_kinds.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include "audit/audit_request.h"
#include "audit/membership.h"
#include "audit/twins.h"
#include "formulas/formulas.h"
#include "formulas/spectra.h"
#include "plans/claim.h"
#include "sim/noise_decay.h"
#include "sim/peer_request.h"
#include "sim/simulation.h"
#include "sotto/model/model_text.h"
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

// "accuracy_early" is the first one that was taken after a tenth of the rounds.
void PutEarly(double rounds, Outcome* outcome) {
  const std::vector<double>& at = outcome->series["round"];
  const auto early = std::find_if(at.begin(), at.end(), [&](double r) { return r >= rounds / 10; });
  if (early == at.end()) return;
  Put("accuracy_early", outcome->series["accuracy"][static_cast<size_t>(early - at.begin())],
      outcome);
}

void PutRounds(const std::vector<RoundReport>& rounds, Outcome* outcome) {
  for (const RoundReport& report : rounds) {
    if (!report.evaluation) continue;
    outcome->series["round"].push_back(report.outcome.round + 1);
    outcome->series["accuracy"].push_back(report.evaluation->accuracy().value_or(0));
    outcome->series["loss"].push_back(report.evaluation->loss);
    outcome->series["noise_sigma"].push_back(report.outcome.noise_sigma);
  }
  PutEarly(static_cast<double>(rounds.size()), outcome);
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

// If the policy never publishes, the accuracy is the mean over the nodes' own models.
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

// The settings that `is_own` does not take.
Settings Without(Settings settings, bool (*is_own)(const std::string& name)) {
  for (auto each = settings.begin(); each != settings.end();) {
    each = is_own(each->first) ? settings.erase(each) : std::next(each);
  }
  return settings;
}

// Of `sotto-lab audit membership`.
constexpr char kSamples[] = "audit-samples";

bool IsAuditSamples(const std::string& name) { return name == kSamples; }

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
  return IsAuditSamples(name) || IsSimulationOption(name);
}

void CheckMembership(const Settings& settings) {
  static_cast<void>(SamplesOf(settings));
  static_cast<void>(RequestOf(Without(settings, IsAuditSamples)));
}

void RehearseMembership(const Settings& settings, const RunContext& context) {
  static_cast<void>(Prepare(WithFleet(RequestOf(Without(settings, IsAuditSamples))), context));
}

Outcome RunMembership(const Settings& settings, const RunContext& context) {
  const Prepared prepared =
      Prepare(WithFleet(RequestOf(Without(settings, IsAuditSamples))), context);
  return OutcomeOf(AuditMembership(prepared.config, prepared.data, SamplesOf(settings),
                                   context.stop, [](const MembershipRound&) {}));
}

std::string MembershipCommand(const Settings& settings) {
  return "sotto-lab audit membership" + ArgumentsOf(settings);
}

// Of `sotto-lab audit sensitivity`: the rows of its table.
bool IsTwinOption(const std::string& name) {
  const std::vector<Field<SensitivityRequest>>& fields = SensitivityFields();
  return std::any_of(fields.begin(), fields.end(),
                     [&](const Field<SensitivityRequest>& field) { return name == field.name; });
}

TwinOptions TwinsOf(const Settings& settings) {
  SensitivityRequest request;
  for (const Field<SensitivityRequest>& field : SensitivityFields()) {
    const auto setting = settings.find(field.name);
    if (setting == settings.end()) continue;
    Give(field, request, posix::ParseValue(field, setting->second));
  }
  return request.twins;
}

bool IsSensitivityOption(const std::string& name) {
  return IsTwinOption(name) || IsSimulationOption(name);
}

void CheckSensitivity(const Settings& settings) {
  static_cast<void>(TwinsOf(settings));
  static_cast<void>(RequestOf(Without(settings, IsTwinOption)));
}

// Figures: "distance" after the last round, "distance_most" of all rounds, "one_round", the most
// that one release moved, and "bound", the least bound on it. Series: "round", "distance",
// "one_round".
Outcome OutcomeOf(const TwinAudit& audit) {
  Outcome outcome;
  for (const TwinRound& round : audit.rounds) {
    outcome.series["round"].push_back(round.rounds);
    outcome.series["distance"].push_back(round.distance);
    outcome.series["one_round"].push_back(round.one_round);
    const auto bound = outcome.figures.emplace("bound", round.bound).first;
    bound->second = std::min(bound->second, round.bound);
  }
  if (!audit.violations.empty()) outcome.note = audit.violations.front();
  if (audit.rounds.empty()) return outcome;
  const auto most = [&](const char* name) {
    const std::vector<double>& values = outcome.series[name];
    return *std::max_element(values.begin(), values.end());
  };
  Put("distance", audit.rounds.back().distance, &outcome);
  Put("distance_most", most("distance"), &outcome);
  Put("one_round", most("one_round"), &outcome);
  return outcome;
}

Prepared PrepareTwins(const Settings& settings, const RunContext& context) {
  return Prepare(WithFleet(RequestOf(Without(settings, IsTwinOption))), context);
}

void RehearseSensitivity(const Settings& settings, const RunContext& context) {
  static_cast<void>(PrepareTwins(settings, context));
}

Outcome RunSensitivity(const Settings& settings, const RunContext& context) {
  const Prepared prepared = PrepareTwins(settings, context);
  return OutcomeOf(AuditTwins(prepared.config, prepared.data, TwinsOf(settings), context.stop,
                              [](const TwinRound&) {}));
}

std::string SensitivityCommand(const Settings& settings) {
  return "sotto-lab audit sensitivity" + ArgumentsOf(settings);
}

// A simulation whose updates are looked at: without privacy.
bool IsSpectrumOption(const std::string& name) {
  return IsSpectraOption(name) || IsSimulationOption(name);
}

Settings SpectrumSimulationOf(const Settings& settings) {
  return Without(settings, IsSpectraOption);
}

void CheckSpectrum(const Settings& settings) {
  static_cast<void>(SpectraOptionsOf(settings));
  const SimulationRequest request = RequestOf(SpectrumSimulationOf(settings));
  if (!request.spectrum.empty()) return;
  throw std::invalid_argument("kind spectrum: give the option spectrum, a file for its command");
}

void RehearseSpectrum(const Settings& settings, const RunContext& context) {
  RehearseSimulation(SpectrumSimulationOf(settings), context);
}

Outcome RunSpectrum(const Settings& settings, const RunContext& context) {
  const Prepared prepared = Prepare(WithFleet(RequestOf(SpectrumSimulationOf(settings))), context);
  const SimulationResult result =
      Simulate(prepared.config, prepared.data, [](const RoundReport&) {});
  Outcome outcome = OutcomeOf(prepared.config, result);
  PutSpectra(SpectraOptionsOf(settings), prepared.config, result, &outcome);
  return outcome;
}

std::string SpectrumCommand(const Settings& settings) {
  return SimulationCommand(SpectrumSimulationOf(settings));
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
  return InputsOf(RequestOf(Without(settings, IsAuditSamples)));
}
std::vector<NamedInput> SensitivityInputs(const Settings& settings) {
  return InputsOf(RequestOf(Without(settings, IsTwinOption)));
}
std::vector<NamedInput> SpectrumInputs(const Settings& settings) {
  return InputsOf(RequestOf(SpectrumSimulationOf(settings)));
}
std::vector<NamedInput> NoInputs(const Settings&) { return {}; }

constexpr double kUnknownWork = -1;

double TrainingOfASample(const ModelInfo* model, const ModelInfo& otherwise) {
  const ModelInfo& info = model == nullptr ? otherwise : *model;
  return static_cast<double>(posix::MultiplyAccumulates(info).training);
}

// A device for each group has as many samples as the file says.
double WorkOfSimulation(const Settings& settings, const ModelInfo* model) {
  const SimulationRequest request = RequestOf(settings);
  if (request.fleet.partition == "group") return kUnknownWork;
  const TrainingOptions& training = request.job.training;
  const privacy::Plan& plan = request.job.plan;
  const bool is_full = plan.sampling == privacy::Sampling::kNone;
  const double devices = is_full ? request.fleet.devices : static_cast<double>(plan.cohort);
  const double samples = training.local_steps > 0
                             ? 1.0 * training.local_steps * training.batch_size
                             : 1.0 * training.local_epochs * request.fleet.samples_per_device;
  return static_cast<double>(plan.rounds) * devices * samples *
         TrainingOfASample(model, *request.job.model);
}
double WorkOfMembership(const Settings& settings, const ModelInfo* model) {
  return WorkOfSimulation(Without(settings, IsAuditSamples), model);
}
double WorkOfSensitivity(const Settings& settings, const ModelInfo* model) {
  return (1.0 + TwinsOf(settings).pairs) * WorkOfSimulation(Without(settings, IsTwinOption), model);
}
double WorkOfSpectrum(const Settings& settings, const ModelInfo* model) {
  return WorkOfSimulation(SpectrumSimulationOf(settings), model);
}
// Nodes without a server take a step of a linear model a batch: their policies cost more.
double WorkOfPeers(const Settings& settings, const ModelInfo* model) {
  const PeersRequest request = PeersRequestOf(settings);
  return 1.0 * request.peers * request.fleet.samples_per_device * request.nodes.passes *
         TrainingOfASample(model, *request.job.model);
}
double NoWork(const Settings&, const ModelInfo*) { return 0; }

}  // namespace

const std::vector<RunKind>& RunKinds() {
  static const std::vector<RunKind> kKinds = {
      {"simulation",
       "a run of `sotto simulate`",
       false,
       {"accuracy", "accuracy_early", "bytes_up_per_device_round", "clip_l2", "delta", "epsilon",
        "epsilon_network", "epsilon_watcher", "loss", "majority_share", "mean_squared_error",
        "noise_multiplier", "noise_sigma", "rounds"},
       {"accuracy", "loss", "noise_sigma", "round"},
       IsSimulationOption,
       CheckSimulation,
       RehearseSimulation,
       RunSimulation,
       SimulationCommand,
       SimulationInputs,
       WorkOfSimulation},
      {"peers",
       "a run of `sotto peers simulate`",
       false,
       {"accuracy", "accuracy_own", "bytes", "delta", "epsilon", "loss", "majority_share",
        "mean_squared_error", "noise_sigma", "publications", "published_share"},
       {"accuracy", "accuracy_own", "turn"},
       IsPeersOption,
       CheckPeersSimulation,
       RehearsePeers,
       RunPeersSimulation,
       PeersCommandOf,
       PeersInputs,
       WorkOfPeers},
      {"membership",
       "a run of `sotto-lab audit membership`",
       false,
       {"advantage", "auc", "auc_lower", "auc_most", "auc_upper", "epsilon"},
       {"auc", "loss_of_members", "loss_of_others", "round"},
       IsMembershipOption,
       CheckMembership,
       RehearseMembership,
       RunMembership,
       MembershipCommand,
       MembershipInputs,
       WorkOfMembership},
      {"sensitivity",
       "a run of `sotto-lab audit sensitivity`",
       false,
       {"bound", "distance", "distance_most", "one_round"},
       {"distance", "one_round", "round"},
       IsSensitivityOption,
       CheckSensitivity,
       RehearseSensitivity,
       RunSensitivity,
       SensitivityCommand,
       SensitivityInputs,
       WorkOfSensitivity},
      {"spectrum",
       "the Fourier spectra of exact updates in a run of `sotto simulate`: spectra.h",
       false,
       {},
       {},
       IsSpectrumOption,
       CheckSpectrum,
       RehearseSpectrum,
       RunSpectrum,
       SpectrumCommand,
       SpectrumInputs,
       WorkOfSpectrum},
      {"formula",
       "closed forms and computed bounds; `formula` names one of formulas.h",
       true,
       {},
       {},
       IsFormulaParameter,
       CheckFormula,
       RehearseFormula,
       RunFormula,
       NoCommand,
       NoInputs,
       NoWork},
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
