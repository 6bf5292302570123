// The table of claims: one row for each pair of adversary and view.
//
// Statements, text for people, JSON, ledger and PRIVACY.md show the rows of this table and have no
// other list. To add an adversary, or a view of an adversary, add a row to ClaimKinds() with
// the function that states its guarantee. Its enumerator and its name belong in claim.h and
// claim.cc. Pure functions, safe from any thread. Part of sotto::server/plans.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "accounting/guarantee.h"
#include "plans/claim.h"
#include "plans/composition.h"
#include "plans/plan.h"

namespace sotto::privacy {

// The outputs of jobs. Each adversary's guarantee is stated from them.
struct Disclosure {
  Plan plan;                        // of the present job
  std::vector<SpentRounds> before;  // earlier jobs on the same devices
  Composition releases;             // of all jobs
  int64_t rounds = 0;               // released by the present job
  int64_t updates = 0;              // of one device in the present job: one for each attempt
};

struct ClaimKind {
  Adversary adversary;
  View view;
  const char* json_field;  // the field of its epsilon in JSON results
  const char* against;     // the words after an epsilon in text for people
  // The only trust mode in which the claim exists; absent: it exists in every mode.
  std::optional<TrustMode> only_in;
  bool only_sampled;    // it exists only where the public does not know who takes part
  bool counts_updates;  // its figure depends on Disclosure::updates
  Adjacency (*adjacency)(Sampling sampling);
  // In the order of the enumeration. MakeClaim() adapts them to jobs that close rounds early.
  std::vector<Assumption> assumptions;
  Guarantee (*guarantee)(const Disclosure& disclosure);

  bool ExistsIn(const Plan& plan) const;
};

// All kinds, in the order of every statement. The first is the headline: (public, releases).
const std::vector<ClaimKind>& ClaimKinds();

// The kind of this adversary and view; nullptr if there is none.
const ClaimKind* FindKind(Adversary adversary, View view);

// The claim of this kind among the claims; nullptr if there is none.
const Claim* FindClaim(const std::vector<Claim>& claims, const ClaimKind& kind);

// The claim of this kind that the guarantee gives for the disclosure. It assumes that the stop was
// fixed beforehand if the disclosure's rounds are not exactly one whole plan, see adaptivity.h.
//
// An adversary that is assumed not to know the participants knows them if a plan says
// participants_known. Its claim then rests on other assumptions:
//   - kTimesTellNothing, because the time of a release follows from the times of reports, and these
//     must not depend on the devices' data;
//   - kParticipationIsSecret only if a job without participants_known, in which some devices stay
//     out of a round, is part of the figure.
//
// A claim on releases of kPasses is the job's limit and needs no stop that was fixed, if no job was
// before. It rests on kOthersReportIndependently; on kAvailabilityIndependentOfOwnData, except
// against people who see models under Order::kFixed; and on kTimesTellNothing where rounds close as
// soon as all have reported and no report has a time (Plan::timed_reports).
//
// Where all updates of the job and of those before it have one length (Plan::too_long), a claim
// that rests on kLengthsAndTimesTellNothing rests on kTimesTellNothing instead.
Claim MakeClaim(const ClaimKind& kind, const Disclosure& disclosure, const Guarantee& guarantee);

}  // namespace sotto::privacy
