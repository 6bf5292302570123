#include "cli/account_published.h"

#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "cli/figures.h"
#include "published/asymptotic.h"

namespace sotto::server {
namespace {

constexpr int kDecimals = 4;  // of an epsilon

template <typename Value>
Value Required(const std::optional<Value>& value, const char* option) {
  if (value) return *value;
  throw std::invalid_argument(
      fmt::format("--devices describes Noisy-FedAvg and needs {} too; leave --devices out to "
                  "compare the rounds "
                  "of --noise-multiplier alone",
                  option));
}

std::optional<double> IfSet(double value) {
  return value > 0 ? std::optional<double>(value) : std::nullopt;
}

privacy::NoisyMethods NoisyMethodsOf(const AccountOptions& o) {
  const privacy::StepBound& bound = o.terms.bound;
  privacy::NoisyMethods methods;
  privacy::NoisyTraining& training = methods.training;
  training.devices = *o.devices;
  training.participants = training.devices;
  training.rounds = Required(o.rounds, "--rounds");
  if (bound.steps > 0) training.local_steps = bound.steps;
  if (bound.steps <= 0) Required(std::optional<int64_t>(), "--local-steps");
  training.learning_rate = Required(IfSet(static_cast<double>(o.learning_rate)), "--learning-rate");
  training.gradient_clip_l2 =
      Required(IfSet(static_cast<double>(o.gradient_clip)), "--gradient-clip");
  training.noise_sigma = Required(o.noise_sigma, "--noise-sigma");
  methods.smoothness = Required(o.smoothness, "--smoothness");
  methods.proximal = IfSet(static_cast<double>(o.proximal));
  methods.constant = o.constant;
  return methods;
}

// Rounds like the first one of the options.
privacy::GaussianRounds FirstRounds(const AccountOptions& o) {
  AccountOptions alike = o;
  alike.terms = {};
  alike.gradient_clip = 0;
  if (!o.is_fleet()) return RoundsOf(alike, AccountQuestion::kEpsilon).front();
  const privacy::Plan plan = NoisyFleetPlan(o, privacy::Accountant());
  return {privacy::Accounted(plan.sampling), plan.NoiseMultiplier(), plan.SamplingRate(),
          plan.rounds};
}

void AddRounds(const AccountOptions& o, std::vector<privacy::PublishedFigure>* figures) {
  if (!o.schedule.empty()) {
    throw std::invalid_argument(
        "--published compares rounds of one schedule of Gau-LRQ; give --noise-multiplier, --rate, "
        "--rounds and --noise-decay instead of --schedule");
  }
  privacy::GaussianRounds rounds = FirstRounds(o);
  if (rounds.sampling == privacy::Sampling::kNone) {
    throw std::invalid_argument(
        "--published: the figures of DP-Fed-LS and Gau-LRQ are for sampled rounds; give --sampling "
        "uniform or poisson, or describe Noisy-FedAvg by --devices");
  }
  const double tau = o.terms.noise_decay;
  if (tau == 1) figures->push_back(privacy::CompareDpFedLs(rounds, DeltaOf(o)));
  if (!o.cohort) return;
  rounds.noise_multiplier /= privacy::DynamicNoiseFactors(rounds.rounds, tau).front();
  for (privacy::PublishedFigure& figure :
       privacy::CompareGauLrq(rounds, *o.cohort, tau, o.dimension.value_or(0), DeltaOf(o))) {
    figures->push_back(std::move(figure));
  }
}

std::string EpsilonCell(const std::optional<double>& epsilon) {
  return epsilon && std::isfinite(*epsilon) ? privacy::EpsilonText(*epsilon, kDecimals) : "-";
}

nlohmann::ordered_json EpsilonToJson(const std::optional<double>& epsilon) {
  return epsilon ? Finite(*epsilon) : nlohmann::ordered_json(nullptr);
}

}  // namespace

void AddPublishedOptions(CLI::App& command, AccountOptions& o) {
  constexpr char kPublished[] = "What papers print";
  constexpr char kNoisy[] = "What papers print of Noisy-FedAvg and Noisy-FedProx";
  CLI::Option* published =
      command.add_flag("--published", o.published,
                       "also the figures of the papers, each beside a sound one and a verdict");
  published->group(kPublished);
  CLI::Option* devices =
      command.add_option("--devices", o.devices,
                         "all take part in every round, m; with --noise-sigma, --rounds and the "
                         "options of rounds that differ");
  devices->needs(published)->group(kNoisy);
  const auto add = [&](const char* name, auto& value, const char* help) {
    command.add_option(name, value, help)->needs(devices)->group(kNoisy);
  };
  add("--smoothness", o.smoothness, "of the loss, L");
  add("--constant", o.constant,
      "c of Theorem 12 (b) and z of 12 (d); default: the least for which the rates are covered");
}

bool DescribesRounds(const AccountOptions& o) {
  return o.noise_multiplier || !o.schedule.empty() || o.is_fleet() || !o.devices;
}

std::vector<privacy::PublishedFigure> PublishedFigures(const AccountOptions& o) {
  std::vector<privacy::PublishedFigure> figures;
  if (DescribesRounds(o)) AddRounds(o, &figures);
  if (!o.devices) return figures;
  for (privacy::PublishedFigure& figure :
       privacy::CompareNoisyMethods(NoisyMethodsOf(o), DeltaOf(o))) {
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::string DescribePublished(const AccountOptions& o,
                              const std::vector<privacy::PublishedFigure>& figures) {
  std::string text = fmt::format(
      "published epsilons at delta {}, exact Gaussian noise, no colluders; sound: proved above; at "
      "least: proved below\n  {:<46} {:>10} {:>10} {:>10}  verdict\n",
      privacy::DeltaText(DeltaOf(o)), "", "published", "sound", "at least");
  for (const privacy::PublishedFigure& figure : figures) {
    text +=
        fmt::format("  {:<46} {:>10} {:>10} {:>10}  {}\n", figure.source,
                    EpsilonCell(figure.epsilon), EpsilonCell(figure.sound_epsilon),
                    figure.at_least ? privacy::LowerBoundText(*figure.at_least, kDecimals) : "-",
                    privacy::Name(figure.verdict));
    for (const std::string& line : {figure.error, figure.note}) {
      if (!line.empty()) text += "      " + line + "\n";
    }
  }
  if (o.devices) {
    text +=
        "  of Noisy-FedAvg and Noisy-FedProx ours holds for a whole device, replace-one; the "
        "papers "
        "claim theirs for one sample\n";
  }
  return text;
}

nlohmann::ordered_json PublishedToJson(const std::vector<privacy::PublishedFigure>& figures) {
  auto json = nlohmann::ordered_json::array();
  for (const privacy::PublishedFigure& figure : figures) {
    json.push_back({{"source", figure.source},
                    {"published_epsilon", EpsilonToJson(figure.epsilon)},
                    {"sound_epsilon", Finite(figure.sound_epsilon)},
                    {"epsilon_lower", EpsilonToJson(figure.at_least)},
                    {"verdict", privacy::Name(figure.verdict)},
                    {"note", figure.note},
                    {"error", figure.error}});
  }
  return json;
}

}  // namespace sotto::server
