// An audit of nodes without a server: what one sample of a node changes in what others see of it.
// Part of sotto::server/audit.
//
// What runs is the product: the SDK's trainer with its store, its noise and its coder, and the
// policy. The canary is one sample, replaced by another one with as different a gradient as the
// bounds allow; it is in the node's first batch, so up to the first publication nothing else
// differs between the two nodes, and their order of samples, which no noise hides, is the same.
// Two things are measured:
//   publications  the first publication that carries the canary, along the canary's direction:
//                 a lower bound on epsilon (epsilon_bound.h), beside what is claimed
//   decisions     whether the node's decisions up to and with its first publication are others.
//                 No noise covers them. A policy with public inputs must decide alike; one that
//                 sees private losses does not, and its node has no claim
// The attacker knows the node's key, which decides order and coins: the claim rests on the noise
// alone.
//
// Reentrant: safe from any thread. Results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "audit/epsilon_audit.h"
#include "plans/peer_privacy.h"
#include "sotto/crypto.h"

namespace sotto::server {

struct PeerAuditOptions {
  std::string share = "coin:0.5";  // a policy of sotto/policy/policies.h that may publish
  PeerRule rule = PeerRule::kAverage;
  uint32_t publication_steps = 1;
  double epsilon = 4.0;  // for which the noise is calibrated
  double delta = 1e-5;
  uint32_t repeats = 100000;  // publications of each of the two nodes; even, at least 1000
  uint32_t keys = 200;        // nodes whose decisions are compared; >= 1
  double error = 1e-3;        // the probability that a sound build is called one that is not
  int threads = 1;
  std::vector<double> deltas = {1e-3, 0.01, 0.03, 0.1, 0.2, 0.3};  // beside `delta`
};

struct PeerAudit {
  privacy::PeerStatement statement;  // of one pass; for a private policy its refusal
  uint32_t noise_q20 = 0;
  std::vector<EpsilonTest> tests;  // of the publications; empty: nothing is claimed
  double shift = 0;                // how far the canary moves a publication, in sensitivities
  uint32_t keys = 0;               // nodes that were compared
  // Of them, those whose decisions up to the first publication the canary changes; and, of a
  // private policy, any decision under the same noise.
  uint32_t keys_apart = 0;
  uint32_t keys_apart_in_all = 0;
  // Of one of these nodes: a lower bound on epsilon from its decisions, at each delta. Empty: there
  // is none.
  std::vector<MeasuredEpsilon> decisions;
  std::vector<std::string> violations;  // for people; empty: nothing was found
};

// Throws std::invalid_argument for options out of range and for a policy that does not exist or
// does not publish within the audit's steps.
PeerAudit AuditPeers(const PeerAuditOptions& options, const Key& key,
                     const std::function<void(double)>& done);

}  // namespace sotto::server
