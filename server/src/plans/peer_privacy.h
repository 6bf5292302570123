// The privacy statement of nodes without a server: what their publications tell everybody.
//
// sotto/peer_job.h has the rules and lemmas 1 to 6: how far a neighbour moves what a node adds to a
// publication. Here are the composition, the claims and the noise that a wanted epsilon needs.
//
// Notation. S is the sensitivity of one publication and n its noise, both in units of 2^-20; rho =
// S^2 / (2 n^2), as PeerReleaseRhoQ40() rounds it up; the node's own ledger counts the same number.
//   Lemma 7. A publication is k = base + u + noise in integers, clamped. base and the clamping
//     depend on no data but what is public. The noise is discrete Gaussian of parameter n in each
//     parameter, so k is rho-zCDP (Canonne, Kamath, Steinke, "The Discrete Gaussian for
//     Differential Privacy", 2020, Theorem 14). The exact curve of Gaussian differential privacy
//     holds for continuous noise and is not used: here it is a figure for comparison.
//   Lemma 8. Whether a node publishes at a step follows from public numbers and from coins that no
//     data enter. So, given all that was public before, a step is either silent or a publication of
//     at most rho, or of 0 if the unit is not in it. If these add up to at most R on every path,
//     then all of them together are R-zCDP, however others chose what they published in between
//     (Feldman and Zrnic, "Individual Privacy Accounting via a Renyi Filter", 2021, Section 3).
//   Lemma 9. Unit sample: R = rho times the passes in which the node published (lemma 4), added up
//     over the nodes on which the sample lies. Among M nodes the worst sample lies on those with
//     the most such passes.
//   Lemma 10. Unit device: R = rho times the publications of the node. Such a job covers one sample
//     too, for any model: lemma 4 needs no convexity to say that a sample enters one publication a
//     pass, and |u| <= clip_l2 bounds its effect. So lemma 9 holds with the rho of such a job.
//   Lemma 11. R-zCDP is (epsilon, delta)-DP for the epsilon of the improved conversion of the curve
//     R * order (accounting/conversion.h).
// The claims hold against everybody together: all other nodes, whatever they do and tell each
// other, the directory, the relay, observers of the network and users of the models. No party is
// trusted, other than the nodes on which the unit lies. The number of a node's samples is public:
// neighbours differ in their contents.
//
// A policy that looks at private data has no claim: no noise covers what its decisions tell.
//
// Pure functions, safe from any thread. Part of sotto::server/plans.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plans/claim.h"
#include "sotto/peer_job.h"

namespace sotto::privacy {

// What one node published.
struct PeerNode {
  int64_t passes = 0;    // in which it published at least once; [0, releases]
  int64_t releases = 0;  // publications in all
};

// The training that the nodes share.
struct PeerTraining {
  const ModelInfo* model = nullptr;
  PeerJob job;
  bool policy_inputs_are_public = true;  // SharePolicy::has_public_inputs()
  int64_t copies = 1;                    // nodes on which one sample may lie, >= 1
  double delta = 1e-5;                   // (0, 1)
};

// A kind of claim about publications, one for each unit.
struct PeerClaimKind {
  Unit unit;
  const char* json_field;  // of its epsilon
  const char* about;       // "one sample"
  std::vector<Assumption> assumptions;
};

// All kinds. Adversary kPublic, view kPublications, adjacency kReplaceOne, trust mode
// kPrivateNoise.
const std::vector<PeerClaimKind>& PeerClaimKinds();
const PeerClaimKind& PeerKind(Unit unit);

// The claims of a training, the job's own unit first, or why there is none.
struct PeerStatement {
  std::vector<Claim> claims;
  std::string refusal;  // one sentence; empty if there are claims
  // What the claims rest on. Without claims sensitivity and rho are 0.
  int64_t nodes = 0;
  int64_t copies = 1;
  int64_t passes = 0;          // the most of a node
  int64_t releases = 0;        // the most of a node
  double sensitivity_q20 = 0;  // S
  uint32_t noise_q20 = 0;      // n
  double release_rho = 0;      // of one publication
  double rho = 0;              // R of the first claim
  // Epsilon of the first claim at the same delta if the noise were continuous, where it is exact.
  // For comparison: no claim.
  double continuous_epsilon = 0;
};

// The most that a node of this job publishes: all its passes, and most_releases for the unit
// device. For the unit sample the number of publications in a pass does not matter.
PeerNode PlannedPeer(const PeerJob& job);

// The statement for these nodes. A claim assumes kStopFixedBeforehand if the nodes published less
// than they were allowed to.
//   nodes  all that take part; not empty
// Throws std::invalid_argument for numbers out of range, for a node that published more than the
// job allows, and for a job that the model does not suit: unit sample and not convex, or too large
// a learning rate.
PeerStatement StatePeers(const PeerTraining& training, const std::vector<PeerNode>& nodes);

// The smallest noise_q20 with which the first claim of these nodes is at most the target. The job's
// own noise is ignored.
//   target_epsilon  in (0, 10^6]
// Throws as StatePeers() does; std::invalid_argument for what has no claim; UnattainableEpsilon
// (calibration.h) if 2^26 is not enough.
uint32_t CalibratePeerNoise(const PeerTraining& training, const std::vector<PeerNode>& nodes,
                            double target_epsilon);

// The epsilon of R-zCDP, lemma 11; an upper bound. +infinity for an infinite rho.
double ZcdpEpsilon(double rho, double delta);

}  // namespace sotto::privacy
