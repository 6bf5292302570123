// The table of what is claimed against whom. Statements, text for people, JSON, ledger and
// PRIVACY.md show its rows and have no list of their own.
//
// A new adversary, or a new view of an old one, is a row in ClaimKinds() with the function that
// states its guarantee; its enumerator and name are in claim.h. Pure functions, safe from any
// thread. Part of sotto::server/plans.
#ifndef SOTTO_PLANS_CLAIM_KINDS_H_
#define SOTTO_PLANS_CLAIM_KINDS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "accounting/guarantee.h"
#include "plans/claim.h"
#include "plans/composition.h"
#include "plans/plan.h"

namespace sotto::privacy {

// What jobs have let out, from which each adversary's guarantee is stated.
struct Disclosure {
  Plan plan;                        // of the present job
  std::vector<SpentRounds> before;  // earlier jobs on the same devices
  Composition releases;             // of all jobs
  int64_t updates = 0;              // of one device in the present job: one for each attempt
};

struct ClaimKind {
  Adversary adversary;
  View view;
  const char* json_field;  // in JSON results: its epsilon
  const char* against;     // for people, after an epsilon
  // The trust mode in which it can be claimed; absent: every one.
  std::optional<TrustMode> only_in;
  bool counts_updates;  // its figure depends on Disclosure::updates
  Adjacency (*adjacency)(Sampling sampling);
  std::vector<Assumption> assumptions;  // in the order of the enumeration
  Guarantee (*guarantee)(const Disclosure& disclosure);

  bool ExistsIn(TrustMode trust_mode) const { return !only_in || *only_in == trust_mode; }
};

// All kinds, in the order of every statement. The first is the headline: (public, releases).
const std::vector<ClaimKind>& ClaimKinds();

// The kind of this adversary and view; nullptr if there is none.
const ClaimKind* FindKind(Adversary adversary, View view);

// The claim of this kind that the guarantee earns the plan.
Claim MakeClaim(const ClaimKind& kind, const Plan& plan, const Guarantee& guarantee);

}  // namespace sotto::privacy

#endif  // SOTTO_PLANS_CLAIM_KINDS_H_
