#include "formulas/formulas.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <stdexcept>

#include "accounting/accountant.h"
#include "formulas/f_dp_formulas.h"
#include "formulas/formula_settings.h"
#include "formulas/smoothing_formulas.h"
#include "published/asymptotic.h"
#include "published/closed_forms.h"

namespace sotto::server {
namespace {

privacy::ClosedFormRounds ClosedRoundsOf(const Settings& settings) {
  privacy::ClosedFormRounds rounds;
  rounds.sampling = privacy::SamplingByName(settings.at("sampling"));
  rounds.rate = RealParameter(settings, "rate");
  rounds.rounds = CountParameter(settings, "rounds");
  rounds.delta = RealParameter(settings, "delta");
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
  const double epsilon = RealParameter(settings, "epsilon");
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

// A line through points by least squares.
struct Line {
  double slope;
  double intercept;
};
Line LineThrough(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double products = 0;
  double squares = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    products += (x[i] - mean_x) * (y[i] - mean_y);
    squares += (x[i] - mean_x) * (x[i] - mean_x);
  }
  return {products / squares, mean_y - products / squares * mean_x};
}

// DP-Fed-LS, the caption of Figure E.8: lines of ln(nu / C) over ln(epsilon), by the theorem and by
// its accountant, whose sum moves by `sensitivity` clipping bounds.
Outcome ClosedFormLine(const Settings& settings) {
  constexpr int kPoints = 9;
  const privacy::ClosedFormRounds rounds = ClosedRoundsOf(settings);
  const double least = RealParameter(settings, "epsilon-least");
  const double ratio = RealParameter(settings, "epsilon-most") / least;
  std::vector<double> logs;
  std::vector<double> theorem;
  std::vector<double> accountant;
  Outcome outcome;
  for (int i = 0; i < kPoints; ++i) {
    const double epsilon = least * std::pow(ratio, i / (kPoints - 1.0));
    const double sensitivity = RealParameter(settings, "sensitivity");
    logs.push_back(std::log(epsilon));
    accountant.push_back(std::log(NoiseBy("rdp-classic", rounds, epsilon) * sensitivity));
    try {
      const double z = privacy::ClosedFormForEpsilon(rounds, epsilon).noise_multiplier;
      theorem.push_back(std::log(z * SensitivityOf(rounds)));
    } catch (const privacy::InfeasibleClosedForm& error) {
      outcome.note = fmt::format("the theorem has no noise for this: {}", error.what());
      return outcome;
    }
  }
  const Line by_theorem = LineThrough(logs, theorem);
  const Line by_accountant = LineThrough(logs, accountant);
  outcome.figures = {{"slope", by_theorem.slope},
                     {"intercept", by_theorem.intercept},
                     {"slope_moments", by_accountant.slope},
                     {"intercept_moments", by_accountant.intercept},
                     {"factor", std::exp(by_theorem.intercept - by_accountant.intercept)}};
  return outcome;
}

// Epsilon of a noise nu, if the sum moves by at most `sensitivity` clipping bounds.
Outcome EpsilonOfNoise(const Settings& settings) {
  const privacy::ClosedFormRounds rounds = ClosedRoundsOf(settings);
  const double z = RealParameter(settings, "nu-over-clip") / RealParameter(settings, "sensitivity");
  Outcome outcome;
  outcome.figures["epsilon_moments"] = AccountedBy("rdp-classic", rounds, z);
  outcome.figures["epsilon_sound"] = AccountedBy("best", rounds, z);
  return outcome;
}

// Gau-LRQ, Lemma 4 and Figure 6: sigma_k of the dynamic schedule.
Outcome DynamicNoise(const Settings& settings) {
  const int64_t rounds = CountParameter(settings, "rounds");
  const privacy::AsymptoticPlan plan = {
      RealParameter(settings, "clip"), CountParameter(settings, "devices"),
      CountParameter(settings, "cohort"), RealParameter(settings, "delta")};
  const double constant =
      privacy::AsymptoticConstantNoise(plan, rounds, RealParameter(settings, "epsilon")).sigma;
  const double cohort = RealParameter(settings, "cohort");
  std::vector<privacy::GaussianRounds> ideal;
  Outcome outcome;
  for (const double factor :
       privacy::DynamicNoiseFactors(rounds, RealParameter(settings, "noise-decay"))) {
    const double sigma = constant * factor;
    outcome.series["round"].push_back(static_cast<double>(outcome.series["round"].size() + 1));
    outcome.series["sigma"].push_back(sigma);
    ideal.push_back({privacy::Sampling::kPoisson, sigma * std::sqrt(cohort) / plan.clip_l2,
                     cohort / RealParameter(settings, "devices"), 1});
  }
  const std::vector<double>& sigmas = outcome.series["sigma"];
  outcome.figures["sigma_first"] = sigmas.front();
  outcome.figures["sigma_last"] = sigmas.back();
  outcome.figures["ratio"] = sigmas.front() / sigmas.back();
  outcome.figures["epsilon_lemma4"] = privacy::AsymptoticEpsilonOf(plan, sigmas).value;
  outcome.figures["epsilon_sound"] = privacy::AccountFor(ideal, plan.delta).epsilon;
  return outcome;
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
      {"noisy-descent",
       "path of a logistic regression with two weights under noisy gradients, smoothed",
       {"points", "steps", "learning-rate", "gradient-noise", "smoothing"},
       NoisyDescent},
      {"effective-dimension",
       "how much of the dimension smoothing leaves, by the eigenvalues of its inverse",
       {"parameters", "smoothing"},
       EffectiveDimension},
      {"closed-form",
       "noise that DP-Fed-LS's theorems and accountants ask for",
       {"sampling", "rate", "rounds", "delta", "epsilon"},
       ClosedForm},
      {"closed-form-line",
       "lines of the noise over epsilon, by DP-Fed-LS's theorems and by accountants",
       {"sampling", "rate", "rounds", "delta", "epsilon-least", "epsilon-most", "sensitivity"},
       ClosedFormLine},
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
      {"f-dp-step",
       "how far one round of local steps takes two twins apart, as printed and by its recursion",
       {"method", "devices", "round", "local-steps", "learning-rate", "gradient-clip", "smoothness",
        "proximal"},
       FdpStep},
      {"rates",
       "the learning rates of a schedule over all local steps",
       {"method", "rounds", "local-steps", "learning-rate"},
       RatesOfSchedule},
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
