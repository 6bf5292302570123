#include "views/report.h"

#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "aggregate/methods.h"
#include "base/counted.h"
#include "export/parameters.h"
#include "plans/statement.h"
#include "sotto/bytes.h"
#include "sotto/model/model_text.h"
#include "sotto/version.h"
#include "traffic/planned_download.h"
#include "traffic/traffic.h"
#include "views/claims_output.h"
#include "views/figures.h"
#include "views/round_output.h"
#include "views/training_warnings.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

// The fields that follow from who reported, and what. Of a served job they are the operator's: no
// claim against the public covers them.
Json OperatorFields(const privacy::Plan& plan) {
  Json fields = Json::array();
  for (const auto& [figure, field] : SimulatedFigures(kReport)) {
    if (figure->AudienceOf(plan) == Audience::kOperator) {
      fields.push_back(fmt::format("rounds.{}", field));
    }
  }
  for (const char* of_all : {"wall_seconds", "bytes_up_per_device_round", "bits_per_coordinate"}) {
    fields.push_back(of_all);
  }
  return fields;
}

Json AccuracyToJson(const std::optional<Evaluation>& evaluation) {
  const auto accuracy = evaluation ? evaluation->accuracy() : std::nullopt;
  return accuracy ? Json(*accuracy) : Json(nullptr);
}

Json EvaluationOrNull(const std::optional<Evaluation>& evaluation, const SampleInfo& test) {
  return evaluation ? EvaluationToJson(*evaluation, test) : Json(nullptr);
}

double BitsPerCoordinate(const JobConfig& job, const SimulationResult& result) {
  return 8 * result.BytesUpPerDeviceRound() / job.model->parameters;
}

Json RoundToJson(const JobConfig& job, const RoundReport& report, const SampleInfo& test) {
  const RoundOutcome& outcome = report.outcome;
  Json json = {{"round", outcome.round + 1}, {"attempt", outcome.attempt}};
  json["accuracy"] = AccuracyToJson(report.evaluation);
  AddNullEpsilons(json);
  if (job.codec->accounted) AddEpsilons(outcome.spent.claims, json);
  const RoundFacts facts = {&outcome, nullptr, &job.plan, !job.codec->noise};
  for (const auto& [figure, field] : SimulatedFigures(kReport)) {
    json[field] = ValueToJson(figure->Read(facts));
  }
  json["evaluation"] =
      report.evaluation ? EvaluationToJson(*report.evaluation, test) : Json(nullptr);
  json["average_evaluation"] = report.average_evaluation
                                   ? EvaluationToJson(*report.average_evaluation, test)
                                   : Json(nullptr);
  return json;
}

double FinalClip(const JobConfig& job, const SimulationResult& result) {
  return result.rounds.empty() ? job.plan.clip_l2 : result.rounds.back().outcome.next_clip_l2;
}

// Null without adaptive clipping.
Json AdaptiveClipToJson(const JobConfig& job, const SimulationResult& result) {
  if (!job.clip_schedule) return nullptr;
  const privacy::NoiseSplit split = privacy::SplitNoise(job.plan);
  return {{"quantile", job.clip_schedule->quantile},
          {"learning_rate", job.clip_schedule->learning_rate},
          {"final_clip_l2", FinalClip(job, result)},
          {"update_noise_multiplier", split.update_noise_multiplier},
          {"bit_noise_multiplier", split.bit_noise_multiplier},
          {"bit_sum_deviation", split.bit_sum_deviation}};
}

std::string DescribeClipping(const JobConfig& job, const SimulationResult& result) {
  if (!job.clip_schedule) return "";
  const privacy::NoiseSplit split = privacy::SplitNoise(job.plan);
  return fmt::format(
      "  clipping       adaptive, toward the {:.2f} quantile: C {:.4g} at first, {:.4g} at the "
      "end\n"
      "                 noise on the number of devices not clipped: deviation {:.2f}; of the "
      "noise\n"
      "                 multiplier, {:.4f} is left to the updates and {:.4f} to these bits\n",
      job.clip_schedule->quantile, job.plan.clip_l2, FinalClip(job, result),
      split.bit_sum_deviation, split.update_noise_multiplier, split.bit_noise_multiplier);
}

const char* PrivacyNote(const JobConfig& job, bool seeded) {
  if (job.codec->own != nullptr) {
    return job.codec->accounted ? "own codec: epsilon rests on its author's statement, unproved"
                                : "own codec that states no noise: NO PRIVACY, no epsilon";
  }
  if (!job.codec->servable) {
    return job.codec->accounted ? "baseline: epsilon assumes ideal noise, no certificate"
                                : "baseline: privacy not accounted";
  }
  if (!job.codec->certified) return "NO PRIVACY";
  return seeded ? "seeded: not private" : "";
}

// Adds the fields of the devices' own noise; adds nothing if they add none.
void AddPrivateNoise(const privacy::Plan& plan, const privacy::Statement& spent, Json& json) {
  const privacy::Claim* against_server =
      spent.Find(privacy::Adversary::kServer, privacy::View::kEveryUpdate);
  if (against_server == nullptr) return;
  json["adjacency_server"] = privacy::Name(against_server->adjacency);
  json["private_noise_multiplier"] = spent.private_noise_multiplier;
  json["private_noise_sigma"] = plan.PrivateNoiseSigma();
}

// Adds the claims and the fields that stand beside every epsilon; nulls without a statement.
void AddPrivacy(const JobConfig& job, const SimulationResult& result, bool seeded, Json& json) {
  AddNullEpsilons(json);
  json["claims"] = Json::array();
  for (const char* field :
       {"delta", "adjacency", "adjacency_server", "unit", "trust_mode", "private_noise_multiplier",
        "private_noise_sigma", "colluders", "accountant", "noise_sigma", "noise_multiplier",
        "accounted_noise_multiplier", "noise_certificate", "certificate_eta", "certificate_tau",
        "certificate_range"}) {
    json[field] = nullptr;
  }
  json["private"] = job.codec->certified && !seeded;
  json["privacy_note"] = PrivacyNote(job, seeded);
  if (job.codec->noise) {
    json["noise_sigma"] = job.plan.noise_sigma;
    json["noise_multiplier"] = job.plan.NoiseMultiplier();
  }
  if (!job.codec->accounted) return;
  const privacy::Statement& spent = result.spent;
  const privacy::Claim headline = spent.Headline();
  AddEpsilons(spent.claims, json);
  json["claims"] = ClaimsToJson(spent.claims);
  json["delta"] = headline.delta;
  json["adjacency"] = privacy::Name(headline.adjacency);
  json["unit"] = privacy::Name(headline.unit);
  json["trust_mode"] = privacy::Name(headline.trust_mode);
  AddPrivateNoise(job.plan, spent, json);
  json["colluders"] = headline.colluders;
  json["accountant"] = headline.accountant;
  json["accounted_noise_multiplier"] = job.plan.AccountedNoiseMultiplier();
  if (!job.codec->certified) return;
  json["noise_certificate"] = "sotto inspect certificate";
  json["certificate_eta"] = job.plan.certificate.eta;
  json["certificate_tau"] = job.plan.certificate.tau;
  json["certificate_range"] = job.plan.certificate.range;
}

// The last of these rounds, if rounds differ.
std::string DescribeSchedule(const privacy::Plan& plan, int64_t rounds) {
  if (plan.schedule.IsConstant() || rounds < 2) return "";
  const privacy::RoundTerms last = plan.schedule.TermsOf(rounds - 1);
  const double decay = plan.schedule.noise_decay;
  const std::string tau = decay == 1 ? "" : fmt::format("                 noise decay {}\n", decay);
  return tau + fmt::format(
                   "                 at the end noise multiplier {:.4f} ({:.4f}), sigma {:.5f}, C "
                   "{:.4g}\n",
                   plan.NoiseMultiplier(rounds - 1), plan.AccountedNoiseMultiplier(rounds - 1),
                   plan.noise_sigma * last.noise_factor, plan.clip_l2 * last.clip_factor);
}

// How strong the headline is, and the other claims.
std::string DescribeOthers(const privacy::Statement& spent) {
  std::string text;
  for (const std::string& line : DescribeHowStrong(spent.Headline())) {
    text += fmt::format("                 {}\n", line);
  }
  for (const std::string& other :
       DescribeOtherClaims(spent.claims, privacy::kDecimals, Beside::kStrength)) {
    text += fmt::format("                 epsilon {}\n", other);
  }
  return text;
}

std::string DescribeEpsilon(const privacy::Plan& plan, const privacy::Statement& spent) {
  const privacy::Claim headline = spent.Headline();
  std::string text = fmt::format(
      "  privacy        epsilon {} at delta {}: what the released models tell about one {}\n",
      privacy::EpsilonText(headline.epsilon), privacy::DeltaText(headline.delta),
      privacy::Name(headline.unit));
  text += DescribeOthers(spent);
  if (plan.sampling == privacy::Sampling::kPasses) {
    const std::string owners = DescribeOwners(plan, {}, {});
    if (!owners.empty()) text += fmt::format("                 {}\n", owners);
  }
  text += fmt::format("                 {} adjacency; {} sampling, {} of {}; {}; accountant {}\n",
                      privacy::Name(headline.adjacency), privacy::Name(spent.sampling), plan.cohort,
                      Counted(plan.devices, "device"), Counted(spent.rounds, "round"),
                      headline.accountant);
  text += fmt::format("                 noise multiplier {} ({} without {}); sigma {} a device{}\n",
                      Digits(plan.NoiseMultiplier(), 4), Digits(plan.AccountedNoiseMultiplier(), 4),
                      Counted(headline.colluders, "colluder"), Digits(plan.noise_sigma, 5),
                      plan.clip_bit_scale == 0 && plan.schedule.IsConstant() ? "" : " at first");
  text += DescribeSchedule(plan, spent.rounds);
  if (std::isinf(headline.epsilon)) {
    text +=
        "                 so little noise gives no guarantee: assume that the models tell "
        "everything\n"
        "                 about a device\n";
  }
  return text;
}

std::string DescribeTrust(const privacy::Plan& plan, const privacy::Statement& spent) {
  const privacy::TrustMode trust_mode = spent.Headline().trust_mode;
  if (trust_mode != privacy::TrustMode::kPrivateNoise) {
    return fmt::format(
        "                 trust mode {}: the noise protects the released models; no epsilon\n"
        "                 holds against the server, which has the devices' keys\n",
        privacy::Name(trust_mode));
  }
  return fmt::format(
      "                 trust mode {}: devices add their own noise, sigma {:.5f}, private\n"
      "                 noise multiplier {:.4f}; only the figures against the server count it\n",
      privacy::Name(trust_mode), plan.PrivateNoiseSigma(), spent.private_noise_multiplier);
}

// The settings beside the noise on which the meaning of an epsilon depends.
std::string DescribeLimits(const privacy::Plan& plan, const privacy::Statement& spent) {
  if (plan.too_long > 0) {
    return DescribeTrust(plan, spent) +
           "                 all uploads have one length, so their lengths tell nothing\n";
  }
  return DescribeTrust(plan, spent) +
         fmt::format("                 lengths of uploads tell more: they follow the updates{}\n",
                     plan.Trust() == privacy::TrustMode::kPrivateNoise
                         ? " and the devices' own noise"
                         : ", without noise");
}

// A codec of another program: its author's word.
std::string DescribeOwnLimits(const OwnCodec& own, const privacy::Statement& spent) {
  return fmt::format(
      "                 own codec {}: UNPROVED; its author states Gaussian noise of at least {:g}\n"
      "                 of this sigma behind a stretch of at most {:g}. If that holds and the "
      "noise\n"
      "                 is ideal, the figure does; nothing here checks it: no guarantee\n"
      "                 trust mode {}\n",
      own.name, own.noise->deviation, own.noise->stretch,
      privacy::Name(spent.Headline().trust_mode));
}

std::string DescribeBaselineLimits(const JobConfig& job, const privacy::Statement& spent) {
  if (job.codec->own != nullptr) return DescribeOwnLimits(*job.codec->own, spent);
  return fmt::format(
      "                 baseline {}: gau-lrq's figures for this sigma, if the noise were "
      "ideal;\n"
      "                 floating-point noise has no certificate: to compare with, no "
      "guarantee\n"
      "                 trust mode {}\n",
      job.codec->name, privacy::Name(spent.Headline().trust_mode));
}

std::string DescribeShares(const SimulationConfig& config, const SimulationResult& result) {
  if (config.fleet.partition == kDefaultPartition) return "";
  const std::string empty =
      result.devices_without_samples == 0
          ? ""
          : fmt::format("; {} of {} without samples send zeros",
                        Counted(result.devices_without_samples, "device"), config.fleet.devices);
  return fmt::format("  samples        partition {}{}\n", config.fleet.partition, empty);
}

std::string DescribePrivacy(const JobConfig& job, const SimulationResult& result, bool seeded) {
  if (job.codec->own != nullptr && !job.codec->noise) {
    return fmt::format(
        "  privacy        NO PRIVACY: own codec {} states no noise, so no epsilon holds for it\n",
        job.codec->name);
  }
  if (!job.codec->noise) {
    return fmt::format("  privacy        NO PRIVACY: mechanism {}, nothing protects the updates\n",
                       job.codec->name);
  }
  if (!job.codec->accounted) {
    return fmt::format(
        "  privacy        not accounted: baseline {} has gau-lrq's noise variance for this plan,\n"
        "                 sigma {:.5f} a device, but not its distribution\n",
        job.codec->name, job.plan.noise_sigma);
  }
  const privacy::Statement& spent = result.spent;
  std::string text = DescribeEpsilon(job.plan, spent);
  text +=
      !job.codec->servable ? DescribeBaselineLimits(job, spent) : DescribeLimits(job.plan, spent);
  if (seeded) {
    text +=
        "                 seeded: not private; no epsilon against a person who knows the seed\n";
  }
  return text;
}

constexpr const char* kNotEvaluated = "not evaluated";

// The figures of the final model on the test set.
std::string DescribeTest(const SimulationResult& result, const SampleInfo& test) {
  if (!result.last)
    return "  accuracy       not known: --evaluate-every 0, no model was evaluated\n";
  const Evaluation& last = *result.last;
  const std::optional<Evaluation>& first = result.initial;
  if (const auto error = last.mean_squared_error()) {
    return fmt::format("  error          {:.6g} mean squared on the test set ({} before)\n", *error,
                       first ? fmt::format("{:.6g}", first->loss) : kNotEvaluated);
  }
  return fmt::format(
      "  accuracy       {:.4f} on the test set ({} before training)\n"
      "  loss           {:.4f} on the test set ({} before training)\n"
      "  by class       {}\n",
      *last.accuracy(),
      first ? fmt::format("{:.4f}", first->accuracy().value_or(0)) : kNotEvaluated, last.loss,
      first ? fmt::format("{:.4f}", first->loss) : kNotEvaluated, DescribeClasses(last, test));
}

std::string QuantilesText(const AccuracySpread& of) {
  std::string text;
  for (const double quantile : of.quantiles) text += fmt::format("  {:.4f}", quantile);
  return text;
}

// A table of the accuracies on what devices hold out.
std::string DescribeByDevice(const SimulationResult& result) {
  if (!result.by_device) return "";
  const DeviceAccuracies& all = *result.by_device;
  std::string text = fmt::format(
      "  by device      accuracy on the held-out samples of {}\n"
      "                 {:<26}  mean  ",
      Counted(all.devices, "device"), "");
  for (const double share : AccuracySpread::kShares)
    text += fmt::format("  {:>4.0f} %", 100 * share);
  const auto row = [&](const std::string& name, const AccuracySpread& of) {
    text += fmt::format("\n                 {:<26}{:.4f}{}", name, of.mean, QuantilesText(of));
  };
  row(all.personal ? "initial personal layers" : "the model", all.global);
  if (all.personal) row("own personal layers", *all.personal);
  if (all.fine_tuned) {
    row(fmt::format("{} more", Counted(all.fine_tune_steps, "local step")), *all.fine_tuned);
  }
  return text + "\n";
}

// The values that no server has.
std::string DescribePersonal(const SimulationConfig& config, const SimulationResult& result) {
  const ModelInfo& model = *config.job.model;
  if (model.personal == 0) return "";
  std::string text = fmt::format(
      "  personal       {} of {} parameters stay on their device; figures on the test set are with "
      "the\n                 values that all devices start from\n",
      model.personal, model.trained());
  if (config.fleet.held_out == 0 && model.classes > 0) {
    text += "                 --held-out 0.2 would evaluate each device's own model\n";
  }
  return text + DescribeByDevice(result);
}

std::string DescribeAverage(const JobConfig& job, const SimulationResult& result) {
  if (!result.average_evaluation) return "";
  return fmt::format("  average        {} of the models' average ({})\n",
                     DescribeEvaluation(*result.average_evaluation), job.aggregation.average);
}

// How the mean update becomes a model; empty if it is added as it is.
std::string DescribeServerStep(const AggregationOptions& options) {
  const std::string estimator = ChooseEstimator(options).name;
  const std::string optimiser = ChooseOptimiser(options).name;
  if (estimator == "mean" && optimiser == "sgd") return "";
  std::string text = fmt::format("  server step    estimator {}", estimator);
  if (options.smoothing > 0) {
    text += fmt::format(", smoothing {:g} along {}", options.smoothing,
                        options.smoothing_axes == 1 ? "one axis" : "two axes");
  }
  return text + fmt::format("; optimiser {}, rate {:g}\n", optimiser, options.server_learning_rate);
}

Json ToJson(const std::optional<AccuracySpread>& of) {
  if (!of) return nullptr;
  Json json = {{"mean", of->mean}};
  for (size_t i = 0; i < of->quantiles.size(); ++i) {
    json[fmt::format("p{:.0f}", 100 * AccuracySpread::kShares[i])] = of->quantiles[i];
  }
  return json;
}

Json ByDeviceToJson(const std::optional<DeviceAccuracies>& all) {
  if (!all) return nullptr;
  return {{"devices", all->devices},
          {"global", ToJson(all->global)},
          {"personal", ToJson(all->personal)},
          {"fine_tune_steps", all->fine_tune_steps},
          {"fine_tuned", ToJson(all->fine_tuned)}};
}

// Of the round that measured errors; null if there is none, or the run did not come to it.
const ErrorHistogram* ErrorsIn(const SimulationResult& result) {
  if (result.rounds.empty() || !result.rounds.back().outcome.errors) return nullptr;
  return &*result.rounds.back().outcome.errors;
}

// Four decimals of a share, with its noise.
std::string ThresholdText(const FleetThreshold& found) {
  return fmt::format("{:.9g}: {:.4f} +- {:.4f} of the prediction errors are above it",
                     found.threshold, found.share_above, found.bar);
}

std::string DescribeThreshold(const SimulationConfig& config, const SimulationResult& result) {
  if (config.job.error_edges.empty()) return "";
  const ErrorHistogram* const errors = ErrorsIn(result);
  if (errors == nullptr) return "  threshold      not known: the last round has not measured it\n";
  const auto found = ThresholdOf(*errors, config.job.threshold_quantile);
  const std::string text =
      found ? ThresholdText(*found)
            : fmt::format(
                  "none: more than {:.4g} of the errors, or of the noise, are above every "
                  "edge",
                  1 - config.job.threshold_quantile);
  return fmt::format(
      "  threshold      {}\n"
      "                 from {} of the last round, each device counting alike{}\n",
      text, Counted(errors->counts.size(), "bin"),
      config.job.codec->noise ? "; within the epsilon" : "");
}

void AddThreshold(const SimulationConfig& config, const SimulationResult& result, Json& json) {
  for (const char* name :
       {"threshold", "threshold_share_above", "threshold_bar", "error_histogram"}) {
    json[name] = nullptr;
  }
  const ErrorHistogram* const errors = ErrorsIn(result);
  if (errors == nullptr) return;
  json["error_histogram"] = {{"edges", errors->edges},
                             {"counts", errors->counts},
                             {"noise_deviation", errors->noise_deviation}};
  const auto found = ThresholdOf(*errors, config.job.threshold_quantile);
  if (!found) return;
  json["threshold"] = std::stod(fmt::format("{}", found->threshold));
  json["threshold_share_above"] = found->share_above;
  json["threshold_bar"] = found->bar;
}

Json WarningsToJson(const JobConfig& job, const SimulationResult& result) {
  Json warnings = Json::array();
  for (const std::string& each :
       {NoiseWarning(job), WorseWarning(job, result.initial, result.last)}) {
    if (!each.empty()) warnings.push_back(each);
  }
  return warnings;
}

}  // namespace

std::string DescribeRound(const SimulationConfig& config, const RoundReport& report) {
  std::string text =
      fmt::format("round {}/{}: {}{} reported", report.outcome.round + 1, config.job.plan.rounds,
                  report.evaluation ? DescribeEvaluation(*report.evaluation) + ", " : "",
                  report.outcome.reported);
  if (report.outcome.device_accuracy) {
    text += ", " + DescribeDeviceAccuracy(*report.outcome.device_accuracy);
  }
  if (report.failed_trainings != 0) {
    text += fmt::format(", {} of them zeros: training failed", report.failed_trainings);
  }
  if (report.saturated_trainings != 0) {
    text += fmt::format(", fixed point saturated in {}", report.saturated_trainings);
  }
  if (config.job.codec->accounted) {
    text += fmt::format(", epsilon {} at delta {}{}",
                        privacy::EpsilonText(report.outcome.spent.epsilon()),
                        privacy::DeltaText(report.outcome.spent.Headline().delta),
                        config.seed ? " (seeded: not private)" : "");
  }
  return text;
}

// What a participation costs on a link; `upload` bytes is its update.
std::string DescribeTraffic(const JobConfig& job, double upload) {
  if (!job.codec->servable) return "";
  const PlannedParticipation planned = PlanParticipation(job, upload, {});
  const Traffic total = planned.parts.Total();
  return fmt::format(
      "  both ways      {:.0f} bytes up, {:.0f} down, {:.0f} turns a participation, in messages of "
      "{} bytes;\n                 float32 both ways {:.0f} bytes ({:.1f}x)\n",
      total.up, total.down, total.turns, kBoardsFrame, planned.as_float32.Bytes(),
      planned.as_float32.Bytes() / total.Bytes());
}

std::string DescribeResult(const SimulationConfig& config, const SimulationResult& result,
                           const std::string& data_name, const SampleInfo& test) {
  const JobConfig& job = config.job;
  const double bytes = result.BytesUpPerDeviceRound();
  std::string text =
      fmt::format("\n{} on {}: {}\n", job.model->name, data_name, result.finish_reason);
  text += DescribeTest(result, test);
  text += DescribePersonal(config, result);
  if (job.model->personal == 0) text += DescribeByDevice(result);
  text += DescribeAverage(job, result);
  text += DescribeThreshold(config, result);
  text += DescribeShares(config, result);
  text += DescribeServerStep(job.aggregation);
  text += DescribePrivacy(job, result, config.seed.has_value());
  text += DescribeClipping(job, result);
  text +=
      fmt::format("  upload         {:.0f} bytes a device and round, {:.2f} bits a coordinate\n",
                  bytes, BitsPerCoordinate(job, result));
  text += DescribeTraffic(job, bytes);
  text += fmt::format("  wall time      {:.2f} s on {}\n", result.wall_seconds,
                      Counted(config.threads, "thread"));
  return text;
}

// Nulls for a codec that no device has.
void AddTraffic(const JobConfig& job, double upload, Json& json) {
  Json up, down, turns, as_float32;
  if (job.codec->servable) {
    const PlannedParticipation planned = PlanParticipation(job, upload, {});
    const Traffic total = planned.parts.Total();
    up = std::round(total.up);
    down = std::round(total.down);
    turns = total.turns;
    as_float32 = std::round(planned.as_float32.Bytes());
  }
  json["participation_bytes_up"] = up;
  json["participation_bytes_down"] = down;
  json["participation_turns"] = turns;
  json["participation_bytes_float32"] = as_float32;
}

nlohmann::ordered_json ResultToJson(const SimulationConfig& config, const SimulationResult& result,
                                    const std::string& data_name, const SampleInfo& test) {
  const JobConfig& job = config.job;
  Json json = {{"sotto_version", kVersion}, {"data", data_name}, {"model", job.model->name}};
  json["partition"] = config.fleet.partition;
  json["partition_seed"] =
      config.fleet.partition_seed ? Json(*config.fleet.partition_seed) : Json(nullptr);
  json["samples_per_device"] = config.fleet.samples_per_device;
  json["devices_without_samples"] = result.devices_without_samples;
  json["model_digest"] = posix::ModelDigestHex(*job.model);
  json["parameters"] = job.model->parameters;
  json["parameters_sha256"] =
      ParametersDigest({result.parameters.data(), result.parameters.size()});
  json["mechanism"] = job.codec->name;
  json["coding"] = !job.codec->servable ? Json(nullptr) : Json(Name(job.format().coding));
  json["padding"] = job.format().padding;
  json["accuracy"] = AccuracyToJson(result.last);
  json["initial_accuracy"] = AccuracyToJson(result.initial);
  json["evaluation"] = EvaluationOrNull(result.last, test);
  json["initial_evaluation"] = EvaluationOrNull(result.initial, test);
  json["personal_parameters"] = job.model->personal;
  json["held_out"] = config.fleet.held_out;
  json["by_device"] = ByDeviceToJson(result.by_device);
  json["average_accuracy"] = AccuracyToJson(result.average_evaluation);
  json["average_evaluation"] = EvaluationOrNull(result.average_evaluation, test);
  AddThreshold(config, result, json);
  AddPrivacy(job, result, config.seed.has_value(), json);
  json["sampling"] = privacy::Name(job.plan.sampling);
  json["devices"] = job.plan.devices;
  json["cohort"] = job.plan.cohort;
  json["planned_reports"] = job.plan.planned_reports;
  json["clip_l2"] = job.plan.clip_l2;
  json["adaptive_clip"] = AdaptiveClipToJson(job, result);
  json["smoothing"] = job.aggregation.smoothing;
  json["bytes_up_per_device_round"] = result.BytesUpPerDeviceRound();
  json["bytes_up_float32"] = 4 * job.model->parameters;
  AddTraffic(job, result.BytesUpPerDeviceRound(), json);
  json["bits_per_coordinate"] = BitsPerCoordinate(job, result);
  json["seed"] = config.seed ? Json(*config.seed) : Json(nullptr);
  json["threads"] = config.threads;
  json["wall_seconds"] = result.wall_seconds;
  json["finish_reason"] = result.finish_reason;
  json["warnings"] = WarningsToJson(job, result);
  json["operator_fields"] = OperatorFields(job.plan);
  json["rounds"] = Json::array();
  for (const RoundReport& report : result.rounds) {
    json["rounds"].push_back(RoundToJson(job, report, test));
  }
  return json;
}

}  // namespace sotto::server
