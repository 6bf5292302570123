#include "store/ledger.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <string>

#include "base/counted.h"
#include "store/history.h"

namespace sotto::server {
namespace {

// The last entry of each job that has released anything.
std::vector<const LedgerEntry*> LastEntries(const std::vector<JobLedger>& jobs) {
  std::vector<const LedgerEntry*> last;
  for (const JobLedger& job : jobs) {
    if (!job.releases.empty()) last.push_back(&job.releases.back());
  }
  return last;
}

// Why the claims against the server leave something out: a server sees the updates of every
// attempt, and an attempt after a job's last release is in no entry. Empty if there is none.
std::string UnclaimedAttempts(const std::vector<JobLedger>& jobs) {
  for (const JobLedger& job : jobs) {
    const int64_t claimed = job.releases.empty() ? 0 : job.releases.back().attempts;
    if (job.job.attempts > claimed) {
      return fmt::format("job {} made {} after its last release", job.job.number,
                         Counted(job.job.attempts - claimed, "attempt"));
    }
  }
  return "";
}

// The claim on one update is of its own job alone, so every job must make it. All others are of the
// job and of those before it.
ClaimForAll CombineKind(const privacy::ClaimKind& kind, const std::vector<JobLedger>& jobs) {
  if (kind.adversary == privacy::Adversary::kServer) {
    const std::string unclaimed = UnclaimedAttempts(jobs);
    if (!unclaimed.empty()) return {&kind, {std::nullopt, unclaimed}};
  }
  const std::vector<const LedgerEntry*> entries =
      kind.view == privacy::View::kOneUpdate ? LastEntries(jobs) : EntriesThatCoverAll(jobs);
  std::vector<privacy::Claim> claims;
  for (const LedgerEntry* entry : entries) {
    const privacy::Claim* claim = privacy::FindClaim(entry->claims, kind);
    if (claim == nullptr) {
      return {&kind, {std::nullopt, fmt::format("job {} claims nothing of this kind", entry->job)}};
    }
    claims.push_back(*claim);
  }
  return {&kind, privacy::CombineClaims(claims)};
}

}  // namespace

// Reads the releases first. Then the history contains the job of each release, even if another
// process writes meanwhile.
std::vector<JobLedger> ReadLedger(Store& store) {
  const std::vector<LedgerEntry> releases = store.Ledger();
  const History history = store.ReadHistory();
  std::vector<JobLedger> jobs;
  for (const JobEntry& job : history.jobs) {
    jobs.push_back({job, PlanOf(history, job).rounds, JobsBefore(history, job), {}});
    std::copy_if(releases.begin(), releases.end(), std::back_inserter(jobs.back().releases),
                 [&](const LedgerEntry& entry) { return entry.job == job.number; });
  }
  return jobs;
}

std::vector<const LedgerEntry*> EntriesThatCoverAll(const std::vector<JobLedger>& jobs) {
  const std::vector<const LedgerEntry*> last = LastEntries(jobs);
  if (last.empty()) return last;
  const auto of_last = std::find_if(jobs.begin(), jobs.end(), [&](const JobLedger& job) {
    return job.job.number == last.back()->job;
  });
  const bool covers_all = std::all_of(last.begin(), last.end() - 1, [&](const LedgerEntry* entry) {
    return std::find(of_last->before.begin(), of_last->before.end(), entry->job) !=
           of_last->before.end();
  });
  return covers_all ? std::vector<const LedgerEntry*>{last.back()} : last;
}

std::vector<ClaimForAll> ClaimsForAll(const std::vector<JobLedger>& jobs) {
  const std::vector<const LedgerEntry*> entries = EntriesThatCoverAll(jobs);
  std::vector<ClaimForAll> claims;
  for (const privacy::ClaimKind& kind : privacy::ClaimKinds()) {
    const bool is_claimed =
        std::any_of(entries.begin(), entries.end(), [&](const LedgerEntry* entry) {
          return privacy::FindClaim(entry->claims, kind) != nullptr;
        });
    if (is_claimed) claims.push_back(CombineKind(kind, jobs));
  }
  return claims;
}

}  // namespace sotto::server
