#include "cli/account_published.h"

#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "cli/figures.h"

namespace sotto::server {
namespace {

constexpr int kDecimals = 4;  // of an epsilon

template <typename Value>
Value Required(const std::optional<Value>& value, const char* option) {
  if (value) return *value;
  throw std::invalid_argument(fmt::format(
      "--noise-sigma describes Noisy-FedAvg and needs {} too; leave --noise-sigma out to compare "
      "the rounds of --noise-multiplier alone",
      option));
}

privacy::NoisyMethods NoisyMethodsOf(const AccountOptions& o) {
  privacy::NoisyMethods methods;
  privacy::NoisyTraining& training = methods.training;
  training.devices = Required(o.devices, "--devices");
  training.participants = training.devices;
  training.rounds = Required(o.rounds, "--rounds");
  training.local_steps = Required(o.local_steps, "--local-steps");
  training.learning_rate = Required(o.local_rate, "--learning-rate");
  training.gradient_clip_l2 = Required(o.gradient_clip, "--gradient-clip");
  training.noise_sigma = *o.noise_sigma;
  methods.smoothness = Required(o.smoothness, "--smoothness");
  methods.proximal = o.proximal;
  methods.constant = o.constant;
  return methods;
}

void AddRounds(const AccountOptions& o, std::vector<privacy::PublishedFigure>* figures) {
  if (!o.schedule.empty()) {
    throw std::invalid_argument(
        "--published compares rounds that are all alike; give --noise-multiplier, --rate and "
        "--rounds instead of --schedule");
  }
  const privacy::GaussianRounds rounds = RoundsOf(o, AccountQuestion::kEpsilon).front();
  if (rounds.sampling == privacy::Sampling::kNone) {
    throw std::invalid_argument(
        "--published: the figures of DP-Fed-LS and Gau-LRQ are for sampled rounds; give --sampling "
        "uniform or poisson");
  }
  figures->push_back(privacy::CompareDpFedLs(rounds, DeltaOf(o)));
  if (!o.cohort) return;
  for (privacy::PublishedFigure& figure : privacy::CompareGauLrq(
           rounds, *o.cohort, o.noise_decay, o.dimension.value_or(0), DeltaOf(o))) {
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
  command
      .add_option("--noise-decay", o.noise_decay,
                  "tau of Gau-LRQ's schedule: sigma falls by tau^(1/4) a round; 1: constant")
      ->capture_default_str()
      ->needs(published)
      ->group(kPublished);
  CLI::Option* sigma = command.add_option("--noise-sigma", o.noise_sigma,
                                          "deviation of a device's noise, sigma, model units");
  sigma->needs(published)->group(kNoisy);
  const auto add = [&](const char* name, auto& value, const char* help) {
    command.add_option(name, value, help)->needs(sigma)->group(kNoisy);
  };
  add("--devices", o.devices, "all take part in every round, m");
  add("--local-steps", o.local_steps, "steps of SGD a round, K");
  add("--learning-rate", o.local_rate, "the first step's, mu");
  add("--gradient-clip", o.gradient_clip, "bound on a gradient's norm, V");
  add("--smoothness", o.smoothness, "of the loss, L");
  add("--proximal", o.proximal, "alpha of Noisy-FedProx");
  add("--constant", o.constant,
      "c of Theorem 12 (b) and z of 12 (d); default: the least for which the rates are covered");
}

bool DescribesRounds(const AccountOptions& o) {
  return o.noise_multiplier || !o.schedule.empty() || !o.noise_sigma;
}

std::vector<privacy::PublishedFigure> PublishedFigures(const AccountOptions& o) {
  std::vector<privacy::PublishedFigure> figures;
  if (DescribesRounds(o)) AddRounds(o, &figures);
  if (!o.noise_sigma) return figures;
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
  if (o.noise_sigma) {
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
