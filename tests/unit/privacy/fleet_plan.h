// The plan with which the tests of accounts begin.
#pragma once

#include <cmath>
#include <cstdint>

#include "plans/plan.h"

namespace sotto::privacy {

// 30 rounds of 50 of 1,000 devices, with the encoder's certificate and without noise.
//   poisson_cap  on the draw; uniform cohorts have none
inline Plan FleetPlan(Sampling sampling, int64_t poisson_cap) {
  Plan plan;
  plan.sampling = sampling;
  plan.devices = 1000;
  plan.cohort = 50;
  plan.planned_reports = sampling == Sampling::kPoisson ? poisson_cap : plan.cohort;
  plan.rounds = 30;
  plan.dimension = 7850;
  plan.clip_l2 = 0.4;
  plan.delta = std::pow(1000.0, -1.1);
  plan.certificate = {1e-8, 3e-22, 9.7};
  return plan;
}

}  // namespace sotto::privacy
