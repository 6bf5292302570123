// The decay of the noise, tau, from a training on public data. Part of sotto::server/sim.
//
// Gau-LRQ estimates tau = (F_K / F_0)^(1/K) from the training loss F, which is private. Here F is
// the loss of a training without privacy on data that are public, before the first round. Tau is
// then a constant of the plan, and no device's data decide on it.
// Source: Yan, Li, Lan, Wu, Song, "Layered Randomized Quantization for Communication-Efficient and
// Privacy-Preserving Distributed Learning" (2023), below Equation 18.
//
// Reentrant: safe from any thread.
#pragma once

#include "sim/simulation_request.h"

namespace sotto::server {

struct NoiseDecay {
  double tau = 1.0;         // in (0, 1]; 1 if the loss did not fall
  double first_loss = 0.0;  // F_0, before training
  double last_loss = 0.0;   // F_K
  int64_t rounds = 0;       // K
};

// Trains the request's model with the request's cohorts, rounds and local training on the samples
// of request.noise_decay_from, dealt out anew and evenly, without noise. F is the loss on that
// data's test set. Takes as long as the simulation itself.
// Throws std::invalid_argument if the request has a decay already or goes on with an earlier
// simulation, std::runtime_error if the training diverged, and what OpenDataOf(), MakeSimulation()
// and Simulate() throw.
NoiseDecay EstimateNoiseDecay(const SimulationRequest& request);

// The request with the noise_decay that its noise_decay_from tells; without one the request itself.
// Throws as EstimateNoiseDecay() does.
SimulationRequest WithNoiseDecay(const SimulationRequest& request);

}  // namespace sotto::server
