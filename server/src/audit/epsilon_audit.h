// An empirical lower bound on the epsilon of a job, beside what the job claims. Part of
// sotto::server/audit.
//
// A claim is an upper bound. If the measured lower bound is above it, then the build breaks its
// claim: its noise is too small, a bound is not enforced, or the accountant is wrong. The reverse
// does not hold: a claim that no measurement contradicts is not proved.
//
// Reentrant: safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "audit/canary.h"
#include "audit/epsilon_bound.h"
#include "plans/claim.h"
#include "round/job_config.h"

namespace sotto::server {

// What was asked of the job's noise, before anything was calibrated: one of the two.
struct AskedPrivacy {
  std::optional<double> noise_multiplier;
  double epsilon = 0;
};

struct EpsilonAuditOptions {
  uint32_t repeats = 100000;  // releases of each of the two fleets; even, at least 1000
  double error = 1e-3;        // the probability that a sound build is called one that is not
  int threads = 1;
  std::vector<double> deltas = {1e-3, 0.01, 0.03, 0.1, 0.2, 0.3};  // beside the plan's
};

struct EpsilonTest {
  MeasuredEpsilon measured;
  double claimed = 0;  // at the same delta: the job's upper bound
  // The epsilon that no attack on this fleet and canary exceeds: how near to the claim a
  // measurement can come. For several rounds of uniform cohorts it is below the claim, which covers
  // both directions of every round at once; a fleet has one of them.
  double reachable = 0;

  bool is_violated() const { return measured.epsilon_lower > claimed; }
};

struct EpsilonAudit {
  privacy::Claim claim;  // at the plan's delta, against the adversary of the view
  privacy::Plan plan;
  std::vector<EpsilonTest> tests;  // one for each delta; the first is the plan's
  uint64_t drawn = 0;              // updates of the canary
  uint64_t refused = 0;            // of these
  // Estimates without a confidence: how far the canary moved what the adversary sees, and the
  // deviation of the noise there, both in sensitivities. The noise on one update is the device's
  // own and the quantizer's together.
  double shift = 0;
  double noise_multiplier = 0;
  // What is wrong, for people; empty: nothing was found.
  std::vector<std::string> violations;
};

// Audits one job: canary.h draws what the adversary sees.
//   config  valid; its codec is accounted
//   view    kOneUpdate needs private noise in the plan
// Throws std::invalid_argument for options out of range, and what DrawReleases() throws.
EpsilonAudit AuditEpsilon(const JobConfig& config, CanaryView view, const AskedPrivacy& asked,
                          const EpsilonAuditOptions& options, const Key& key,
                          const std::function<void(double)>& done);

}  // namespace sotto::server
