// The ledger of a store: what its jobs have released, and the claims that hold for all its devices.
// Part of sotto::server/store.
//
// ReadLedger() reads. All other functions are pure functions over records. Safe from any thread;
// ReadLedger() as its store.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "plans/claim.h"
#include "plans/claim_kinds.h"
#include "round/job_log.h"
#include "store/records.h"
#include "store/store.h"

namespace sotto::server {

// A job and its releases.
struct JobLedger {
  JobEntry job;
  int64_t rounds = 0;                                                  // planned
  double epsilon_budget = std::numeric_limits<double>::infinity();     // that it has now
  privacy::TrustMode trust_mode = privacy::TrustMode::kTrustedServer;  // of its plan
  std::vector<int64_t> before;        // earlier jobs that share devices: the claims include theirs
  std::vector<LedgerEntry> releases;  // in the order of the rounds
  // The claims against the server after all attempts of the job, if some of them came after the
  // last release: the server has seen their updates, and no release counts them. Empty otherwise,
  // and if the job makes no claim against the server.
  std::vector<privacy::Claim> after_attempts;
  std::vector<StoredEvaluation> evaluations;  // of its releases, by round
  std::vector<RoundRecord> attempts;          // what was seen of them, released or not
  std::optional<HaltEntry> halt;              // why it opens no attempt
  std::optional<HaltEntry> end;               // how it ended; absent: it can go on
  JobTurns turns;
  std::string recovery;     // DescribeRecovery(); the operator's
  std::string not_for_all;  // WhyNotForAll(), of the last job
};

// The entry that a ledger has of this release.
//   job     its number
//   seeded  what its figures rest on derives from a seed: RestsOnSeededNoise()
LedgerEntry EntryOf(int64_t job, const ReleaseRecord& record, bool seeded);

// Gives the claims of a job their epsilons at other deltas (Claim::pairs). It takes two accounts of
// the job, so call it where claims are shown.
//   claims  after the job's last release
void AddPairs(const History& history, const JobEntry& job, std::vector<privacy::Claim>* claims);

// The same for the last release of each job. Throws as the store does.
void AddPairs(Store& store, std::vector<JobLedger>* jobs);

// The jobs of a store in the order of their numbers. Throws as the store does.
std::vector<JobLedger> ReadLedger(Store& store);

// The entries whose claims together cover every device of the store. The last entry of a job holds
// for the devices of the job and of all earlier jobs that it composes with. If it composes with all
// jobs, it alone covers all devices. Otherwise each device has the claims of its last job. The
// entries point into `jobs`.
std::vector<const LedgerEntry*> EntriesThatCoverAll(const std::vector<JobLedger>& jobs);

// One claim for all devices of a store, or the reason why there is none.
struct ClaimForAll {
  const privacy::ClaimKind* kind = nullptr;
  privacy::CombinedClaim combined;
};

// The combined claim of each kind that a job of the store has, in the order of every statement. The
// claims against the server cover every job that made an attempt, the others every job that
// released something. Where these jobs differ in trust mode, a claim that composes them says
// trusted-server: it asks no less of the server than each of its jobs did. A kind has no claim if
//   - a job that it must cover has no claim of this kind;
//   - the server has seen an attempt that no claim counts;
//   - CombineClaims() refuses the jobs' claims.
std::vector<ClaimForAll> ClaimsForAll(const std::vector<JobLedger>& jobs);

}  // namespace sotto::server
