#include "formulas/f_dp_formulas.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include "accounting/gdp.h"
#include "formulas/formula_settings.h"
#include "published/comparison.h"
#include "published/sample_level.h"

namespace sotto::server {
namespace {

constexpr char kProximal[] = "proximal";

privacy::RateSchedule ScheduleOf(const std::string& name) {
  for (const auto schedule :
       {privacy::RateSchedule::kConstant, privacy::RateSchedule::kCyclic,
        privacy::RateSchedule::kStagewise, privacy::RateSchedule::kContinuous}) {
    if (name == privacy::Name(schedule)) return schedule;
  }
  throw std::invalid_argument(
      fmt::format("method {}: expected constant, cyclic, stagewise, continuous or proximal", name));
}

privacy::NoisyTraining NoisyTrainingOf(const Settings& settings) {
  privacy::NoisyTraining training;
  training.devices = training.participants = CountParameter(settings, "devices");
  training.rounds = CountParameter(settings, "rounds");
  training.local_steps = CountParameter(settings, "local-steps");
  training.learning_rate = RealParameter(settings, "learning-rate");
  training.gradient_clip_l2 = RealParameter(settings, "gradient-clip");
  training.noise_sigma = RealParameter(settings, "noise-sigma");
  return training;
}

// 1 + 1/2 + ... + 1/n
double Harmonic(int64_t n) {
  double sum = 0;
  for (int64_t k = 1; k <= n; ++k) sum += 1 / static_cast<double>(k);
  return sum;
}

// What the paper leaves open: z >= eta H_K makes Theorem 12 (d) a composition; the cyclic c is the
// largest that may be needed, 1 / ln 2.
double ConstantOf(privacy::RateSchedule schedule, double rate, int64_t steps) {
  if (schedule != privacy::RateSchedule::kContinuous) return 1 / std::log(2.0);
  return std::max(1 + 1e-9, rate * Harmonic(steps));
}

// eta_(k,t), with t and k from 0.
double RateOf(privacy::RateSchedule schedule, double rate, double steps, double t, double k) {
  switch (schedule) {
    case privacy::RateSchedule::kConstant:
      return rate;
    case privacy::RateSchedule::kCyclic:
      return rate / (k + 1);
    case privacy::RateSchedule::kStagewise:
      return rate / (t + 1);
    case privacy::RateSchedule::kContinuous:
      break;
  }
  return rate / (t * steps + k + 1);
}

// How far apart the models of two twins are after the local steps of a round: `rho` times as far as
// before, and `gamma` further.
struct Step {
  double rho = 1;
  double gamma = 0;
};

struct StepSetting {
  double rate = 0;
  int64_t steps = 0;
  double round = 0;
  double unit = 0;  // 2 V / m
  double smoothness = 0;
};

StepSetting StepSettingOf(const Settings& settings) {
  return {RealParameter(settings, "learning-rate"), CountParameter(settings, "local-steps"),
          static_cast<double>(CountParameter(settings, "round")) - 1,
          2 * RealParameter(settings, "gradient-clip") /
              static_cast<double>(CountParameter(settings, "devices")),
          RealParameter(settings, "smoothness")};
}

// Table 3's rows.
Step PrintedStep(const StepSetting& s, privacy::RateSchedule schedule) {
  const auto steps = static_cast<double>(s.steps);
  const double constant = ConstantOf(schedule, s.rate, s.steps);
  const double next = s.round + 1;
  switch (schedule) {
    case privacy::RateSchedule::kConstant:
      return {std::pow(1 + s.rate * s.smoothness, steps), s.unit * s.rate * steps};
    case privacy::RateSchedule::kCyclic:
      return {std::pow(1 + steps, constant * s.rate * s.smoothness),
              constant * s.unit * std::log1p(steps)};
    case privacy::RateSchedule::kStagewise:
      return {std::pow(1 + s.rate * s.smoothness / next, steps), s.unit * s.rate * steps / next};
    case privacy::RateSchedule::kContinuous:
      break;
  }
  const double growth = (next + 1) / next;
  return {std::pow(growth, constant * s.rate * s.smoothness), constant * s.unit * std::log(growth)};
}

// The recursions of the proofs: a step expands a distance by 1 + eta L at most, and a sample moves
// it by eta 2V / m at most.
Step ComputedStep(const StepSetting& s, privacy::RateSchedule schedule) {
  Step step;
  for (int64_t k = 0; k < s.steps; ++k) {
    const double rate =
        RateOf(schedule, s.rate, static_cast<double>(s.steps), s.round, static_cast<double>(k));
    step.rho *= 1 + rate * s.smoothness;
    step.gamma += rate * s.unit;
  }
  return step;
}

Step PrintedProximalStep(const StepSetting& s, double proximal) {
  return {proximal / (proximal - s.smoothness), s.unit / proximal};
}

Step ComputedProximalStep(const StepSetting& s, double proximal) {
  Step step;
  for (int64_t k = 0; k < s.steps; ++k) {
    step.rho = (1 - s.rate * (proximal - s.smoothness)) * step.rho + s.rate * proximal;
    step.gamma = (1 - s.rate * proximal) * step.gamma + s.rate * s.unit;
  }
  return step;
}

// Theorem 15 wants these, and Lemma 22 holds under them alone.
double ProximalOf(const Settings& settings, const StepSetting& s) {
  const double proximal = RealParameter(settings, kProximal);
  if (proximal > s.smoothness && proximal * s.rate <= 1) return proximal;
  throw std::invalid_argument(
      fmt::format("proximal {}: expected more than smoothness {} and at most 1 / learning-rate",
                  proximal, s.smoothness));
}

}  // namespace

Outcome FdpBound(const Settings& settings) {
  const privacy::NoisyTraining training = NoisyTrainingOf(settings);
  const double smoothness = RealParameter(settings, "smoothness");
  double printed = 0;
  double sound = 0;
  if (settings.at("method") == kProximal) {
    const privacy::NoisyFedProx method = {training, RealParameter(settings, kProximal)};
    printed = privacy::PublishedNoisyFedProx(method, smoothness).value;
    sound = privacy::ComposeNoisy(training, privacy::RateSchedule::kConstant, method.proximal)
                .all_models;
  } else {
    const privacy::NoisyFedAvg method = {training, ScheduleOf(settings.at("method"))};
    const double constant =
        ConstantOf(method.schedule, training.learning_rate, training.local_steps);
    printed = privacy::PublishedNoisyFedAvg(method, smoothness, constant).value;
    sound = privacy::ComposeNoisy(training, method.schedule, 0).all_models;
  }
  const double delta = RealParameter(settings, "delta");
  return {{{"mu_printed", printed},
           {"mu_sound", sound},
           {"epsilon_printed", privacy::GdpEpsilon(printed, delta)},
           {"epsilon_sound", privacy::GdpEpsilon(sound, delta)},
           {"ratio", sound / printed}},
          {},
          "",
          false};
}

Outcome FdpStep(const Settings& settings) {
  const StepSetting s = StepSettingOf(settings);
  Step printed;
  Step computed;
  if (settings.at("method") == kProximal) {
    const double proximal = ProximalOf(settings, s);
    printed = PrintedProximalStep(s, proximal);
    computed = ComputedProximalStep(s, proximal);
  } else {
    const privacy::RateSchedule schedule = ScheduleOf(settings.at("method"));
    printed = PrintedStep(s, schedule);
    computed = ComputedStep(s, schedule);
  }
  return {{{"rho_printed", printed.rho},
           {"rho_computed", computed.rho},
           {"rho_ratio", computed.rho / printed.rho},
           {"gamma_printed", printed.gamma},
           {"gamma_computed", computed.gamma},
           {"gamma_ratio", computed.gamma / printed.gamma}},
          {},
          "",
          false};
}

Outcome RatesOfSchedule(const Settings& settings) {
  const privacy::RateSchedule schedule = ScheduleOf(settings.at("method"));
  const int64_t rounds = CountParameter(settings, "rounds");
  const int64_t steps = CountParameter(settings, "local-steps");
  if (rounds * steps > 100000)
    throw std::invalid_argument("rounds times local-steps: at most 10^5");
  Outcome outcome;
  double sum = 0;
  for (int64_t i = 0; i < rounds * steps; ++i) {
    const double rate =
        RateOf(schedule, RealParameter(settings, "learning-rate"), static_cast<double>(steps),
               static_cast<double>(i / steps), static_cast<double>(i % steps));
    outcome.series["step"].push_back(static_cast<double>(i + 1));
    outcome.series["rate"].push_back(rate);
    sum += rate;
  }
  outcome.figures = {{"sum", sum}, {"last", outcome.series["rate"].back()}};
  return outcome;
}

}  // namespace sotto::server
