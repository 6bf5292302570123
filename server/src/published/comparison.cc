#include "published/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "accounting/accountant.h"
#include "accounting/arguments.h"
#include "accounting/gdp.h"
#include "base/names.h"
#include "published/asymptotic.h"
#include "published/closed_forms.h"

namespace sotto::privacy {
namespace {

// Covers the rounding errors of sums of up to kMaxSteps terms.
constexpr double kRounding = 1e-9;
constexpr double kMaxSteps = 1e8;

void Judge(PublishedFigure* figure) {
  if (!figure->epsilon) return;
  if (figure->at_least && *figure->at_least > *figure->epsilon * (1 + kRounding)) {
    figure->verdict = Verdict::kRefuted;
  } else if (*figure->epsilon >= figure->sound_epsilon * (1 - kRounding)) {
    figure->verdict = Verdict::kHolds;
  } else {
    figure->verdict = Verdict::kOpen;
  }
}

PublishedFigure SoundFigure(const char* source, const std::vector<GaussianRounds>& rounds,
                            double delta) {
  const AccountedEpsilon sound = AccountFor(rounds, delta);
  PublishedFigure figure;
  figure.source = source;
  figure.sound_epsilon = sound.epsilon;
  figure.at_least = sound.epsilon_lower;
  return figure;
}

ClosedFormRounds ClosedFormOf(const GaussianRounds& rounds, double delta) {
  return {rounds.sampling, rounds.sampling_rate, rounds.rounds, delta};
}

// nu / C at a noise multiplier.
double NuOf(Sampling sampling, double noise_multiplier) {
  return (sampling == Sampling::kUniform ? 2 : 1) * noise_multiplier;
}

// The parts in a row; numbers with four digits.
template <class... Part>
std::string Text(const Part&... parts) {
  std::ostringstream text;
  text.precision(4);
  (text << ... << parts);
  return text.str();
}

std::string NoiseForOurs(const GaussianRounds& rounds, double epsilon, double delta) {
  const double ours = NuOf(rounds.sampling, rounds.noise_multiplier);
  try {
    const ClosedForm form = ClosedFormForEpsilon(ClosedFormOf(rounds, delta), epsilon);
    return Text("loose: for epsilon ", epsilon,
                " it asks nu = ", NuOf(rounds.sampling, form.noise_multiplier), " C where ", ours,
                " C is enough");
  } catch (const InfeasibleClosedForm& error) {
    return Text("loose: for epsilon ", epsilon, ", which nu = ", ours,
                " C gives, no noise meets its conditions: ", error.what());
  }
}

// The deviation of one device's noise in clipping bounds.
double SigmaOverClip(const GaussianRounds& rounds, int64_t cohort) {
  return NuOf(rounds.sampling, rounds.noise_multiplier) / std::sqrt(static_cast<double>(cohort));
}

std::vector<GaussianRounds> WithFactors(const GaussianRounds& rounds,
                                        const std::vector<double>& factors) {
  std::vector<GaussianRounds> all;
  for (const double factor : factors) {
    all.push_back(rounds);
    all.back().rounds = 1;
    all.back().noise_multiplier = rounds.noise_multiplier * factor;
  }
  return all;
}

double RateAt(const NoisyTraining& training, RateSchedule schedule, int64_t t, int64_t k) {
  const auto step = static_cast<double>(k + 1);
  switch (schedule) {
    case RateSchedule::kConstant:
      return training.learning_rate;
    case RateSchedule::kCyclic:
      return training.learning_rate / step;
    case RateSchedule::kStagewise:
      return training.learning_rate / static_cast<double>(t + 1);
    case RateSchedule::kContinuous:
      break;
  }
  return training.learning_rate /
         (static_cast<double>(t) * static_cast<double>(training.local_steps) + step);
}

// C_t: how far one device's update can be from its start.
double SensitivityOf(const NoisyTraining& training, RateSchedule schedule, double proximal,
                     int64_t t) {
  double distance = 0;
  for (int64_t k = 0; k < training.local_steps; ++k) {
    const double rate = RateAt(training, schedule, t, k);
    distance = std::fabs(1 - proximal * rate) * distance + training.gradient_clip_l2 * rate;
  }
  return distance;
}

bool RoundsDiffer(RateSchedule schedule) {
  return schedule == RateSchedule::kStagewise || schedule == RateSchedule::kContinuous;
}

struct Theorem {
  const char* source;
  RateSchedule schedule;
  const char* if_refuted;
  const char* if_it_holds;
};

constexpr char kLinear[] =
    "a loss that is linear in the model is L-smooth for every L, and exceeds it";
constexpr char kAtTheseValues[] =
    "at these values; as a formula it is no bound: with more rounds it falls below composition";
constexpr char kComposition[] = "a composition: it holds";

constexpr Theorem kTheorems[] = {
    {"Noisy-FedAvg, Theorem 12 (a), constant rate", RateSchedule::kConstant, kLinear,
     kAtTheseValues},
    {"Noisy-FedAvg, Theorem 12 (b), cyclic rate", RateSchedule::kCyclic, kLinear, kAtTheseValues},
    {"Noisy-FedAvg, Theorem 12 (c), stage-wise rate", RateSchedule::kStagewise, "", kComposition},
    {"Noisy-FedAvg, Theorem 12 (d), continuous rate", RateSchedule::kContinuous,
     "its constant z must be at least eta (1 + 1/2 + ... + 1/K), and grows with K", kComposition},
};

// The least constants for which the sums of rates that (b) and (d) replace are covered.
double ConstantFor(RateSchedule schedule, const NoisyMethods& methods) {
  if (methods.constant) return *methods.constant;
  if (schedule == RateSchedule::kCyclic) return 1 / std::log(2.0);
  double harmonic = 0;
  for (int64_t k = methods.training.local_steps; k >= 1; --k) {
    harmonic += 1 / static_cast<double>(k);
  }
  return std::max(std::nextafter(1.0, 2.0), methods.training.learning_rate * harmonic);
}

// A figure from the paper's mu, which is a function that may throw std::invalid_argument.
template <class Printed>
PublishedFigure CompareMu(const Theorem& theorem, const ComposedMu& composed, double delta,
                          Printed printed) {
  PublishedFigure figure;
  figure.source = theorem.source;
  figure.sound_epsilon = GdpEpsilon(composed.all_models, delta);
  figure.at_least = GdpEpsilon(composed.last_model_of_linear_loss * (1 - kRounding), delta);
  try {
    figure.epsilon = GdpEpsilon(printed().value, delta);
  } catch (const std::invalid_argument& error) {
    figure.error = error.what();
  }
  Judge(&figure);
  if (figure.verdict == Verdict::kRefuted) figure.note = theorem.if_refuted;
  if (figure.verdict == Verdict::kHolds) figure.note = theorem.if_it_holds;
  return figure;
}

PublishedFigure CompareFedProx(const NoisyMethods& methods, double delta) {
  const Theorem theorem = {"Noisy-FedProx, Theorem 15, constant rate", RateSchedule::kConstant,
                           kLinear, kAtTheseValues};
  const NoisyFedProx method = {methods.training, *methods.proximal};
  PublishedFigure figure =
      CompareMu(theorem, ComposeNoisy(methods.training, RateSchedule::kConstant, *methods.proximal),
                delta, [&] { return PublishedNoisyFedProx(method, methods.smoothness); });
  // Beyond that rate steps overshoot, and a linear loss no longer attains C_t.
  if (*methods.proximal * methods.training.learning_rate > 1) figure.at_least.reset();
  return figure;
}

}  // namespace

const char* Name(Verdict verdict) {
  constexpr Named<Verdict> kNames[] = {{Verdict::kHolds, "holds"},
                                       {Verdict::kRefuted, "refuted"},
                                       {Verdict::kOpen, "open"},
                                       {Verdict::kNone, "none"}};
  return NameIn(kNames, verdict);
}

PublishedFigure CompareDpFedLs(const GaussianRounds& rounds, double delta) {
  const bool is_uniform = rounds.sampling == Sampling::kUniform;
  PublishedFigure figure =
      SoundFigure(is_uniform ? "DP-Fed-LS, Theorem 1, uniform" : "DP-Fed-LS, Theorem 2, Poisson",
                  {rounds}, delta);
  try {
    figure.epsilon =
        ClosedFormForNoise(ClosedFormOf(rounds, delta), rounds.noise_multiplier).epsilon;
  } catch (const InfeasibleClosedForm& error) {
    figure.error = error.what();
  }
  Judge(&figure);
  if (figure.sound_epsilon > 0 && std::isfinite(figure.sound_epsilon)) {
    figure.note = NoiseForOurs(rounds, figure.sound_epsilon, delta);
  }
  return figure;
}

std::vector<PublishedFigure> CompareGauLrq(const GaussianRounds& rounds, int64_t cohort, double tau,
                                           int64_t dimension, double delta) {
  Require(Accounted(rounds.sampling) != Sampling::kNone, "sampling", Name(rounds.sampling),
          "uniform or poisson");
  Require(rounds.sampling_rate > 0 && rounds.sampling_rate <= 1, "rate", rounds.sampling_rate,
          "in (0, 1]");
  const auto devices =
      static_cast<int64_t>(std::llround(static_cast<double>(cohort) / rounds.sampling_rate));
  const AsymptoticPlan plan = {1.0, devices, cohort, delta};
  const double sigma = SigmaOverClip(rounds, cohort);
  const std::vector<double> factors = DynamicNoiseFactors(rounds.rounds, tau);
  std::vector<double> sigmas;
  for (const double factor : factors) sigmas.push_back(sigma * factor);
  const char* const misses =
      rounds.sampling == Sampling::kUniform
          ? "it drops the constants of the moments accountant and its conditions, and a cohort of "
            "fixed size has sensitivity 2C"
          : "it drops the constants of the moments accountant and its conditions";

  std::vector<PublishedFigure> figures;
  PublishedFigure figure = SoundFigure("Gau-LRQ, Lemma 1", {rounds}, delta);
  figure.epsilon =
      AsymptoticEpsilonOf(plan, std::vector<double>(static_cast<size_t>(rounds.rounds), sigma))
          .value;
  figure.note = misses;
  figures.push_back(figure);
  if (tau < 1) {
    figure = SoundFigure("Gau-LRQ, Lemma 4", WithFactors(rounds, factors), delta);
    figure.epsilon = AsymptoticEpsilonOf(plan, sigmas).value;
    figure.note = Text(
        "as Lemma 1; it gives every tau the same epsilon, which is false: compare the sound "
        "figures");
    figures.push_back(figure);
  }
  if (dimension > 0) {
    // sigma^2 = 20 d C^2 K B / (N^2 epsilon^2 delta^2), the privacy error of Lemma 7 for one
    // device.
    figure = {};
    figure.source = "Gau-LRQ, Lemma 7, of BQ-SGD";
    figure.sound_epsilon = std::numeric_limits<double>::infinity();
    figure.epsilon = std::sqrt(20 * static_cast<double>(dimension) *
                               static_cast<double>(rounds.rounds) * static_cast<double>(cohort)) /
                     (static_cast<double>(devices) * sigma * delta);
    figure.note =
        "of binomial noise of this variance, for which there is no sound figure here; far above "
        "the figure of Gaussian noise because its analysis is loose: variance grows as d / delta^2";
    figures.push_back(figure);
  }
  for (PublishedFigure& each : figures) {
    if (std::isfinite(each.sound_epsilon)) Judge(&each);
    if (std::isinf(each.sound_epsilon)) each.verdict = Verdict::kOpen;
  }
  return figures;
}

ComposedMu ComposeNoisy(const NoisyTraining& training, RateSchedule schedule, double proximal) {
  const auto rounds = static_cast<double>(training.rounds);
  const bool differ = RoundsDiffer(schedule);
  Require((differ ? rounds : 1) * static_cast<double>(training.local_steps) <= kMaxSteps,
          "rounds times local_steps", rounds * static_cast<double>(training.local_steps),
          "at most 10^8 where rounds differ");
  double sum = 0;
  double squares = 0;
  for (int64_t t = 0; t < (differ ? training.rounds : 1); ++t) {
    const double clip = SensitivityOf(training, schedule, proximal, t);
    sum += clip;
    squares += clip * clip;
  }
  if (!differ) {
    sum *= rounds;
    squares *= rounds;
  }
  const double unit = 2 / (training.noise_sigma * std::sqrt(static_cast<double>(training.devices)));
  return {unit * std::sqrt(squares) * (1 + kRounding), unit * sum / std::sqrt(rounds)};
}

std::vector<PublishedFigure> CompareNoisyMethods(const NoisyMethods& methods, double delta) {
  NoisyFedAvg method = {methods.training, RateSchedule::kConstant};
  method.Validate();
  std::vector<PublishedFigure> figures;
  for (const Theorem& theorem : kTheorems) {
    method.schedule = theorem.schedule;
    const double constant = ConstantFor(theorem.schedule, methods);
    figures.push_back(
        CompareMu(theorem, ComposeNoisy(methods.training, theorem.schedule, 0), delta,
                  [&] { return PublishedNoisyFedAvg(method, methods.smoothness, constant); }));
  }
  if (methods.proximal) figures.push_back(CompareFedProx(methods, delta));
  return figures;
}

}  // namespace sotto::privacy
