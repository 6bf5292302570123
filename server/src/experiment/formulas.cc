#include "experiment/formulas.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <random>
#include <stdexcept>

#include "accounting/accountant.h"
#include "accounting/gdp.h"
#include "aggregate/smoothing.h"
#include "published/asymptotic.h"
#include "published/closed_forms.h"
#include "published/comparison.h"
#include "published/sample_level.h"
#include "sotto/options/numbers.h"

namespace sotto::server {
namespace {

const std::string& TextOf(const Settings& settings, const std::string& name) {
  return settings.at(name);
}

double RealOf(const Settings& settings, const std::string& name) {
  const std::optional<double> value = posix::ParseReal(settings.at(name));
  if (value && std::isfinite(*value)) return *value;
  throw std::invalid_argument(fmt::format("{} = {}: expected a number", name, settings.at(name)));
}

int64_t CountOf(const Settings& settings, const std::string& name) {
  const std::optional<uint64_t> value = posix::ParseCount(settings.at(name));
  if (value && *value > 0 && *value < (uint64_t{1} << 40)) return static_cast<int64_t>(*value);
  throw std::invalid_argument(
      fmt::format("{} = {}: expected a count above 0", name, settings.at(name)));
}

// Standard normal deviates, the same on every machine: the polar method of Marsaglia.
class Normals {
 public:
  explicit Normals(uint64_t seed) : bits_(seed) {}

  double Next() {
    for (;;) {
      const double a = Uniform();
      const double b = Uniform();
      const double s = a * a + b * b;
      if (s > 0 && s < 1) return a * std::sqrt(-2 * std::log(s) / s);
    }
  }

 private:
  double Uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-52 - 1; }

  std::mt19937_64 bits_;
};

double MeanSquare(const std::vector<float>& values, const std::vector<double>& truth) {
  double sum = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    const double error = double{values[i]} - truth[i];
    sum += error * error;
  }
  return sum / static_cast<double>(truth.size());
}

// DP-Fed-LS, Figure 1: y = sin x at evenly spaced points of [0, length], noise nu on each.
Outcome SmoothSine(const Settings& settings) {
  const auto points = static_cast<size_t>(CountOf(settings, "points"));
  if (points < 2 || points > 1000000) throw std::invalid_argument("points: expected 2 to 10^6");
  const double step = RealOf(settings, "length") / static_cast<double>(points - 1);
  const double nu = RealOf(settings, "nu");
  Normals normals(static_cast<uint64_t>(CountOf(settings, "seed")));
  std::vector<double> truth(points);
  std::vector<float> noisy(points);
  Outcome outcome;
  for (size_t i = 0; i < points; ++i) {
    truth[i] = std::sin(step * static_cast<double>(i));
    noisy[i] = static_cast<float>(truth[i] + nu * normals.Next());
    outcome.series["x"].push_back(step * static_cast<double>(i));
  }
  std::vector<float> smooth = noisy;
  SmoothLaplacian({smooth.data(), smooth.size()}, RealOf(settings, "smoothing"));
  const double before = MeanSquare(noisy, truth);
  const double after = MeanSquare(smooth, truth);
  outcome.figures["mse_noisy"] = before;
  outcome.figures["mse_smooth"] = after;
  if (before > 0) {
    outcome.figures["reduction"] = (before - after) / before;
    outcome.figures["mse_ratio"] = after / before;
  }
  outcome.series["y"] = truth;
  outcome.series["noisy"].assign(noisy.begin(), noisy.end());
  outcome.series["smooth"].assign(smooth.begin(), smooth.end());
  return outcome;
}

privacy::ClosedFormRounds ClosedRoundsOf(const Settings& settings) {
  privacy::ClosedFormRounds rounds;
  rounds.sampling = privacy::SamplingByName(TextOf(settings, "sampling"));
  rounds.rate = RealOf(settings, "rate");
  rounds.rounds = CountOf(settings, "rounds");
  rounds.delta = RealOf(settings, "delta");
  return rounds;
}

// nu / C of a noise multiplier 1: the sensitivity of the sum.
double SensitivityOf(const privacy::ClosedFormRounds& rounds) {
  return privacy::SensitivityFactor(privacy::PairedAdjacency(rounds.sampling));
}

double AccountedBy(const char* accountant, const privacy::ClosedFormRounds& rounds, double z) {
  const privacy::GaussianRounds ideal = {rounds.sampling, z, rounds.rate, rounds.rounds};
  return privacy::AccountFor({ideal}, rounds.delta, privacy::Accountant(accountant)).epsilon;
}

// The least noise multiplier for which the accountant's epsilon is at most this one, to 1e-9
// relative.
double NoiseBy(const char* accountant, const privacy::ClosedFormRounds& rounds, double epsilon) {
  double low = 1e-3;
  double high = 1e6;
  while (high / low > 1 + 1e-9) {
    const double middle = std::sqrt(low * high);
    (AccountedBy(accountant, rounds, middle) <= epsilon ? high : low) = middle;
  }
  return high;
}

// DP-Fed-LS, Theorems 1 and 2, Figure E.8: nu / C that they ask for, and that accountants do.
Outcome ClosedForm(const Settings& settings) {
  const privacy::ClosedFormRounds rounds = ClosedRoundsOf(settings);
  const double sensitivity = SensitivityOf(rounds);
  const double epsilon = RealOf(settings, "epsilon");
  Outcome outcome;
  const double moments = NoiseBy("rdp-classic", rounds, epsilon) * sensitivity;
  outcome.figures["nu_over_clip_moments"] = moments;
  try {
    const double z = privacy::ClosedFormForEpsilon(rounds, epsilon).noise_multiplier;
    outcome.figures["nu_over_clip"] = z * sensitivity;
    outcome.figures["noise_multiplier"] = z;
    outcome.figures["epsilon_sound"] = AccountedBy("best", rounds, z);
    outcome.figures["ratio"] = z * sensitivity / moments;
  } catch (const privacy::InfeasibleClosedForm& error) {
    outcome.note = fmt::format("the theorem has no noise for this: {}", error.what());
  }
  return outcome;
}

// Epsilon of a noise nu, if the sum moves by at most `sensitivity` clipping bounds.
Outcome EpsilonOfNoise(const Settings& settings) {
  const privacy::ClosedFormRounds rounds = ClosedRoundsOf(settings);
  const double z = RealOf(settings, "nu-over-clip") / RealOf(settings, "sensitivity");
  Outcome outcome;
  outcome.figures["epsilon_moments"] = AccountedBy("rdp-classic", rounds, z);
  outcome.figures["epsilon_sound"] = AccountedBy("best", rounds, z);
  return outcome;
}

// Gau-LRQ, Lemma 4 and Figure 6: sigma_k of the dynamic schedule.
Outcome DynamicNoise(const Settings& settings) {
  const int64_t rounds = CountOf(settings, "rounds");
  const privacy::AsymptoticPlan plan = {RealOf(settings, "clip"), CountOf(settings, "devices"),
                                        CountOf(settings, "cohort"), RealOf(settings, "delta")};
  const double constant =
      privacy::AsymptoticConstantNoise(plan, rounds, RealOf(settings, "epsilon")).sigma;
  const double cohort = RealOf(settings, "cohort");
  std::vector<privacy::GaussianRounds> ideal;
  Outcome outcome;
  for (const double factor :
       privacy::DynamicNoiseFactors(rounds, RealOf(settings, "noise-decay"))) {
    const double sigma = constant * factor;
    outcome.series["round"].push_back(static_cast<double>(outcome.series["round"].size() + 1));
    outcome.series["sigma"].push_back(sigma);
    ideal.push_back({privacy::Sampling::kPoisson, sigma * std::sqrt(cohort) / plan.clip_l2,
                     cohort / RealOf(settings, "devices"), 1});
  }
  const std::vector<double>& sigmas = outcome.series["sigma"];
  outcome.figures["sigma_first"] = sigmas.front();
  outcome.figures["sigma_last"] = sigmas.back();
  outcome.figures["ratio"] = sigmas.front() / sigmas.back();
  outcome.figures["epsilon_lemma4"] = privacy::AsymptoticEpsilonOf(plan, sigmas).value;
  outcome.figures["epsilon_sound"] = privacy::AccountFor(ideal, plan.delta).epsilon;
  return outcome;
}

privacy::NoisyTraining TrainingOf(const Settings& settings) {
  privacy::NoisyTraining training;
  training.devices = training.participants = CountOf(settings, "devices");
  training.rounds = CountOf(settings, "rounds");
  training.local_steps = CountOf(settings, "local-steps");
  training.learning_rate = RealOf(settings, "learning-rate");
  training.gradient_clip_l2 = RealOf(settings, "gradient-clip");
  training.noise_sigma = RealOf(settings, "noise-sigma");
  return training;
}

privacy::RateSchedule ScheduleOf(const std::string& name) {
  for (const auto schedule :
       {privacy::RateSchedule::kConstant, privacy::RateSchedule::kCyclic,
        privacy::RateSchedule::kStagewise, privacy::RateSchedule::kContinuous}) {
    if (name == privacy::Name(schedule)) return schedule;
  }
  throw std::invalid_argument(
      fmt::format("method {}: expected constant, cyclic, stagewise, continuous or proximal", name));
}

// Convergent f-DP, Theorems 12 and 15 as printed, beside the composition that holds.
Outcome FdpBound(const Settings& settings) {
  const privacy::NoisyTraining training = TrainingOf(settings);
  const double smoothness = RealOf(settings, "smoothness");
  double printed = 0;
  double sound = 0;
  if (TextOf(settings, "method") == "proximal") {
    const privacy::NoisyFedProx method = {training, RealOf(settings, "proximal")};
    printed = privacy::PublishedNoisyFedProx(method, smoothness).value;
    sound = privacy::ComposeNoisy(training, privacy::RateSchedule::kConstant, method.proximal)
                .all_models;
  } else {
    const privacy::NoisyFedAvg method = {training, ScheduleOf(TextOf(settings, "method"))};
    // z >= eta H_K makes Theorem 12 (d) a composition; the cyclic c is the largest that may be
    // needed, 1 / ln 2.
    double constant = 1 / std::log(2.0);
    if (method.schedule == privacy::RateSchedule::kContinuous) {
      double harmonic = 0;
      for (int64_t k = 1; k <= training.local_steps; ++k) harmonic += 1 / static_cast<double>(k);
      constant = std::max(1 + 1e-9, training.learning_rate * harmonic);
    }
    printed = privacy::PublishedNoisyFedAvg(method, smoothness, constant).value;
    sound = privacy::ComposeNoisy(training, method.schedule, 0).all_models;
  }
  const double delta = RealOf(settings, "delta");
  return {{{"mu_printed", printed},
           {"mu_sound", sound},
           {"epsilon_printed", privacy::GdpEpsilon(printed, delta)},
           {"epsilon_sound", privacy::GdpEpsilon(sound, delta)},
           {"ratio", sound / printed}},
          {},
          "",
          false};
}

const Formula& FormulaOf(const Settings& settings) {
  const auto name = settings.find("formula");
  std::vector<std::string> names;
  for (const Formula& formula : Formulas()) {
    if (name != settings.end() && name->second == formula.name) return formula;
    names.emplace_back(formula.name);
  }
  throw std::invalid_argument(fmt::format("formula {}: expected one of {}",
                                          name == settings.end() ? "" : name->second,
                                          fmt::join(names, ", ")));
}

}  // namespace

const std::vector<Formula>& Formulas() {
  static const std::vector<Formula> kFormulas = {
      {"smooth-sine",
       "how much smoothing takes off the error of a noisy sine",
       {"points", "length", "nu", "smoothing"},
       SmoothSine},
      {"closed-form",
       "noise that DP-Fed-LS's theorems and accountants ask for",
       {"sampling", "rate", "rounds", "delta", "epsilon"},
       ClosedForm},
      {"epsilon-of-noise",
       "epsilon of a noise by accountants, for a sensitivity in clipping bounds",
       {"sampling", "rate", "rounds", "delta", "nu-over-clip", "sensitivity"},
       EpsilonOfNoise},
      {"dynamic-noise",
       "Gau-LRQ's falling noise, and what it costs",
       {"rounds", "devices", "cohort", "clip", "delta", "epsilon", "noise-decay"},
       DynamicNoise},
      {"f-dp",
       "f-DP bounds as printed, and the composition",
       {"method", "devices", "rounds", "local-steps", "learning-rate", "gradient-clip",
        "noise-sigma", "smoothness", "proximal", "delta"},
       FdpBound},
  };
  return kFormulas;
}

bool IsFormulaParameter(const std::string& name) {
  if (name == "formula" || name == "seed") return true;
  return std::any_of(Formulas().begin(), Formulas().end(), [&](const Formula& formula) {
    const auto& names = formula.parameters;
    return std::find(names.begin(), names.end(), name) != names.end();
  });
}

void CheckFormula(const Settings& settings) {
  const Formula& formula = FormulaOf(settings);
  const std::vector<std::string>& names = formula.parameters;
  for (const std::string& name : names) {
    if (settings.count(name) > 0) continue;
    throw std::invalid_argument(fmt::format("formula {} needs {}", formula.name, name));
  }
  for (const auto& [name, value] : settings) {
    const bool is_known = name == "formula" || name == "seed" ||
                          std::find(names.begin(), names.end(), name) != names.end();
    if (!is_known)
      throw std::invalid_argument(fmt::format("formula {} has no {}", formula.name, name));
  }
}

Outcome Compute(const Settings& settings) {
  CheckFormula(settings);
  return FormulaOf(settings).compute(settings);
}

}  // namespace sotto::server
