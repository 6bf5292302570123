#include "sim/noise_decay.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include "codec/codecs.h"
#include "sim/simulation_request.h"

namespace sotto::server {
namespace {

void RequireUndecided(const SimulationRequest& request) {
  if (request.job.plan.schedule.noise_decay != 1) {
    throw std::invalid_argument("--noise-decay-from finds what --noise-decay says: leave one out");
  }
  if (!request.resume.empty()) {
    throw std::invalid_argument(
        "--noise-decay-from: a simulation that goes on has its decay already; give it as "
        "--noise-decay");
  }
}

// The same training without privacy on the public samples.
SimulationRequest DryRun(const SimulationRequest& request) {
  SimulationRequest dry;
  dry.job.model = request.job.model;
  dry.opened_model = request.opened_model;
  dry.initial_model = request.initial_model;
  dry.job.training = request.job.training;
  dry.job.learning_rate_schedule = request.job.learning_rate_schedule;
  dry.learning_rate_decay = request.learning_rate_decay;
  dry.clip_from_steps = request.clip_from_steps;
  dry.job.aggregation = request.job.aggregation;
  dry.job.process.threads = request.job.process.threads;
  dry.job.plan.sampling = request.job.plan.sampling;
  dry.job.plan.cohort = request.job.plan.cohort;
  dry.job.plan.rounds = request.job.plan.rounds;
  dry.job.plan.order = request.job.plan.order;
  dry.participations = request.participations;
  dry.given = request.given;
  FindNamed("none", &dry.job.codec);
  dry.data = *request.noise_decay_from;
  dry.fleet.devices = request.fleet.devices;
  dry.fleet.samples_per_device = request.fleet.samples_per_device;
  dry.fleet.partition = "iid-overlap";
  dry.seed = request.seed;
  dry.evaluate_every = static_cast<uint32_t>(request.job.plan.rounds);
  return dry;
}

}  // namespace

NoiseDecay EstimateNoiseDecay(const SimulationRequest& request) {
  RequireUndecided(request);
  const SimulationRequest dry = DryRun(request);
  const SimulationResult result =
      Simulate(MakeSimulation(dry), OpenDataOf(dry), [](const RoundReport&) {});
  NoiseDecay found;
  found.first_loss = result.initial->loss;
  found.last_loss = result.last->loss;
  found.rounds = static_cast<int64_t>(result.rounds.size());
  const double ratio = found.last_loss / found.first_loss;
  if (found.rounds == 0 || !(ratio > 0) || !std::isfinite(ratio)) {
    throw std::runtime_error(fmt::format(
        "--noise-decay-from {}: the loss went from {:g} to {:g} in {} rounds, which tells no decay",
        dry.data, found.first_loss, found.last_loss, found.rounds));
  }
  found.tau = std::min(1.0, std::pow(ratio, 1 / static_cast<double>(found.rounds)));
  return found;
}

SimulationRequest WithNoiseDecay(const SimulationRequest& request) {
  SimulationRequest decided = request;
  if (!request.noise_decay_from) return decided;
  decided.job.plan.schedule.noise_decay = EstimateNoiseDecay(request).tau;
  decided.noise_decay_from.reset();
  return decided;
}

}  // namespace sotto::server
