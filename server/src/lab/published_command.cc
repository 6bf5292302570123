#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "account/account_answer.h"
#include "accounting/figures.h"
#include "lab/commands.h"
#include "plans/calibration.h"
#include "published/asymptotic.h"
#include "published/comparison.h"
#include "views/figures.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

// A plan, and what only the training of Noisy-FedAvg has; its other settings are the plan's.
struct PublishedOptions : AccountOptions {
  std::optional<int64_t> devices;  // m
  std::optional<double> smoothness;
  std::optional<double> constant;

  // True if the options describe rounds, and not the training of Noisy-FedAvg alone.
  bool describes_rounds() const {
    return noise_multiplier || !schedule.empty() || is_fleet() || !devices;
  }
};

template <typename Value>
Value Required(const std::optional<Value>& value, const char* option) {
  if (value) return *value;
  throw std::invalid_argument(
      fmt::format("--devices describes Noisy-FedAvg and needs {} too; leave --devices out to "
                  "compare the rounds of --noise-multiplier alone",
                  option));
}

privacy::NoisyMethods NoisyMethodsOf(const PublishedOptions& o) {
  privacy::NoisyMethods methods;
  privacy::NoisyTraining& training = methods.training;
  training.devices = *o.devices;
  training.participants = training.devices;
  training.rounds = Required(o.rounds, "--rounds");
  training.local_steps = Required(o.local_steps, "--local-steps");
  training.learning_rate = static_cast<double>(Required(o.learning_rate, "--learning-rate"));
  if (!(o.gradient_clip > 0)) Required(std::optional<double>(), "--gradient-clip");
  training.gradient_clip_l2 = static_cast<double>(o.gradient_clip);
  training.noise_sigma = Required(o.noise_sigma, "--noise-sigma");
  methods.smoothness = Required(o.smoothness, "--smoothness");
  if (o.proximal > 0) methods.proximal = static_cast<double>(o.proximal);
  methods.constant = o.constant;
  return methods;
}

// Rounds like the first one of the options.
privacy::GaussianRounds FirstRounds(const AccountOptions& o) {
  AccountOptions alike = o;
  alike.noise_decay = 1;
  alike.gradient_clip = 0;
  if (!o.is_fleet()) return RoundsOf(alike, AccountQuestion::kEpsilon).front();
  const privacy::Plan plan = NoisyFleetPlan(o, privacy::Accountant());
  return {privacy::Accounted(plan.sampling), plan.NoiseMultiplier(), plan.SamplingRate(),
          plan.rounds};
}

void AddRounds(const PublishedOptions& o, std::vector<privacy::PublishedFigure>* figures) {
  if (!o.schedule.empty()) {
    throw std::invalid_argument(
        "published figures are for rounds of one schedule of Gau-LRQ; give --noise-multiplier, "
        "--rate, --rounds and --noise-decay instead of --schedule");
  }
  privacy::GaussianRounds rounds = FirstRounds(o);
  if (rounds.sampling == privacy::Sampling::kNone) {
    throw std::invalid_argument(
        "the figures of DP-Fed-LS and Gau-LRQ are for sampled rounds; give --sampling uniform or "
        "poisson, or describe Noisy-FedAvg by --devices");
  }
  const double tau = o.noise_decay;
  if (tau == 1) figures->push_back(privacy::CompareDpFedLs(rounds, DeltaOf(o)));
  if (!o.cohort) return;
  rounds.noise_multiplier /= privacy::DynamicNoiseFactors(rounds.rounds, tau).front();
  for (privacy::PublishedFigure& figure :
       privacy::CompareGauLrq(rounds, *o.cohort, tau, o.dimension.value_or(0), DeltaOf(o))) {
    figures->push_back(std::move(figure));
  }
}

std::string EpsilonCell(const std::optional<double>& epsilon) {
  return epsilon && std::isfinite(*epsilon) ? privacy::EpsilonText(*epsilon, privacy::kFineDecimals)
                                            : "-";
}

nlohmann::ordered_json EpsilonToJson(const std::optional<double>& epsilon) {
  return epsilon ? FigureToJson(*epsilon) : nlohmann::ordered_json(nullptr);
}

std::vector<posix::Field<PublishedOptions>> NoisyFields() {
  using Row = posix::Field<PublishedOptions>;
  return {
      Row("devices", &PublishedOptions::devices,
          "devices of the fleet, m, which all take part in every round; use it with --noise-sigma, "
          "--rounds and the options of rounds that differ"),
      Row("smoothness", &PublishedOptions::smoothness, "smoothness of the loss, L")
          .Needs("devices"),
      Row("constant", &PublishedOptions::constant, "c of Theorem 12 (b) and z of 12 (d)")
          .ByDefault("the least for which the rates are covered")
          .Needs("devices"),
  };
}

std::vector<privacy::PublishedFigure> PublishedFigures(const PublishedOptions& o) {
  std::vector<privacy::PublishedFigure> figures;
  if (o.describes_rounds()) AddRounds(o, &figures);
  if (!o.devices) return figures;
  for (privacy::PublishedFigure& figure :
       privacy::CompareNoisyMethods(NoisyMethodsOf(o), DeltaOf(o))) {
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::string DescribePublished(const PublishedOptions& o,
                              const std::vector<privacy::PublishedFigure>& figures) {
  std::string text = fmt::format(
      "published epsilons at delta {}, exact Gaussian noise, no colluders; sound: proved above; at "
      "least: proved below\n  {:<46} {:>10} {:>10} {:>10}  verdict\n",
      privacy::DeltaText(DeltaOf(o)), "", "published", "sound", "at least");
  for (const privacy::PublishedFigure& figure : figures) {
    text += fmt::format(
        "  {:<46} {:>10} {:>10} {:>10}  {}\n", figure.source, EpsilonCell(figure.epsilon),
        EpsilonCell(figure.sound_epsilon),
        figure.at_least ? privacy::LowerBoundText(*figure.at_least, privacy::kFineDecimals) : "-",
        privacy::Name(figure.verdict));
    for (const std::string& line : {figure.error, figure.note}) {
      if (!line.empty()) text += "      " + line + "\n";
    }
  }
  if (o.devices) {
    text +=
        "  of Noisy-FedAvg and Noisy-FedProx ours holds for a whole device, replace-one; the "
        "papers claim theirs for one sample\n";
  }
  return text;
}

nlohmann::ordered_json PublishedToJson(const std::vector<privacy::PublishedFigure>& figures) {
  auto json = nlohmann::ordered_json::array();
  for (const privacy::PublishedFigure& figure : figures) {
    json.push_back({{"source", figure.source},
                    {"published_epsilon", EpsilonToJson(figure.epsilon)},
                    {"sound_epsilon", FigureToJson(figure.sound_epsilon)},
                    {"epsilon_lower", EpsilonToJson(figure.at_least)},
                    {"verdict", privacy::Name(figure.verdict)},
                    {"note", figure.note},
                    {"error", figure.error}});
  }
  return json;
}

void RunPublished(const PublishedOptions& o) {
  RequireOutput(o.json);
  AccountOptions meant = o;
  if (!o.describes_rounds()) meant.sampling = privacy::Sampling::kFull;
  nlohmann::ordered_json comparison = StartComparison(meant);
  const std::string sound = o.describes_rounds() ? AddAccountants(o, &comparison) : "";
  const std::vector<privacy::PublishedFigure> figures = PublishedFigures(o);
  comparison["published"] = PublishedToJson(figures);
  PrintResults(o.json, sound + DescribePublished(o, figures), comparison);
}

}  // namespace

posix::Command PublishedCommand() {
  return posix::CommandFor<PublishedOptions>(
             "published", "print the epsilons of papers, each beside a sound one and a verdict")
      .Takes(AccountFields(),
             posix::Both(TakenBy(AccountQuestion::kEpsilon), posix::Without({"accountant"})))
      .Takes(posix::Under("What papers print of Noisy-FedAvg and Noisy-FedProx", NoisyFields()))
      .Footer(
          "Example: sotto-lab published --sampling uniform --noise-multiplier 1 --rate 0.05 "
          "--rounds 30 --delta 1e-5")
      .Runs(RunPublished);
}

}  // namespace sotto::server
