#include "store/ledger.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <string>
#include <utility>

#include "base/counted.h"
#include "plans/statement.h"
#include "spec/configuration.h"
#include "store/history.h"
#include "store/recovery.h"

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

// The last claims of one job, or the reason why it has none of a kind.
struct LastClaims {
  const JobLedger* job;

  int64_t number() const { return job->job.number; }
  int64_t UnclaimedAttempts() const {
    return job->job.attempts - (job->releases.empty() ? 0 : job->releases.back().attempts);
  }
  bool Has(const privacy::ClaimKind& kind) const {
    return (!job->releases.empty() &&
            privacy::FindClaim(job->releases.back().claims, kind) != nullptr) ||
           privacy::FindClaim(job->after_attempts, kind) != nullptr;
  }
  // Null: refusal() says why.
  const privacy::Claim* Find(const privacy::ClaimKind& kind) const {
    const bool counts_attempts = kind.adversary == privacy::Adversary::kServer;
    if (counts_attempts && UnclaimedAttempts() > 0) {
      return privacy::FindClaim(job->after_attempts, kind);
    }
    return job->releases.empty() ? nullptr : privacy::FindClaim(job->releases.back().claims, kind);
  }
  std::string Refusal(const privacy::ClaimKind& kind) const {
    if (!Has(kind)) return fmt::format("job {} claims nothing of this kind", number());
    return fmt::format("job {} made {} after its last release", number(),
                       Counted(UnclaimedAttempts(), "attempt"));
  }
};

// The jobs that a claim of this kind must cover. A server sees the updates of every attempt; all
// others see releases.
std::vector<LastClaims> JobsUnder(const privacy::ClaimKind& kind,
                                  const std::vector<JobLedger>& jobs) {
  std::vector<LastClaims> under;
  for (const JobLedger& job : jobs) {
    const bool is_seen = kind.adversary == privacy::Adversary::kServer && job.job.attempts > 0;
    if (is_seen || !job.releases.empty()) under.push_back({&job});
  }
  return under;
}

bool ComposesWith(const JobLedger& job, int64_t other) {
  return std::find(job.before.begin(), job.before.end(), other) != job.before.end();
}

// The jobs whose claims cover all of `jobs`: the last one alone if it composes with all others.
std::vector<LastClaims> JobsThatCover(const privacy::ClaimKind& kind,
                                      const std::vector<JobLedger>& jobs) {
  std::vector<LastClaims> under = JobsUnder(kind, jobs);
  const bool last_covers_all =
      !under.empty() && std::all_of(under.begin(), under.end() - 1, [&](const LastClaims& other) {
        return ComposesWith(*under.back().job, other.number());
      });
  if (last_covers_all) under.erase(under.begin(), under.end() - 1);
  return under;
}

// True if one of the jobs trusts the server. A later job's claim composes it and has that job's own
// trust mode.
bool TrustsServer(const std::vector<LastClaims>& jobs) {
  return std::any_of(jobs.begin(), jobs.end(), [](const LastClaims& job) {
    return job.job->trust_mode == privacy::TrustMode::kTrustedServer;
  });
}

// The claim on one update covers its job alone, so every job must make it. Every other claim covers
// its job and the jobs before it.
ClaimForAll CombineKind(const privacy::ClaimKind& kind, const std::vector<JobLedger>& jobs) {
  std::vector<privacy::Claim> claims;
  const std::string lost = jobs.empty() ? "" : jobs.back().not_for_all;
  const bool is_of_one_job = kind.view == privacy::View::kOneUpdate;
  if (!lost.empty() && !is_of_one_job) return {&kind, {std::nullopt, lost}};
  for (const LastClaims& job : is_of_one_job ? JobsUnder(kind, jobs) : JobsThatCover(kind, jobs)) {
    const privacy::Claim* claim = job.Find(kind);
    if (claim == nullptr) return {&kind, {std::nullopt, job.Refusal(kind)}};
    claims.push_back(*claim);
  }
  ClaimForAll all{&kind, privacy::CombineClaims(claims)};
  if (all.combined.claim && !is_of_one_job && TrustsServer(JobsUnder(kind, jobs))) {
    all.combined.claim->trust_mode = privacy::TrustMode::kTrustedServer;
  }
  return all;
}

// See JobLedger::after_attempts. Only private noise has claims against the server, and its plan is
// the same in every round.
std::vector<privacy::Claim> ClaimsAfterAttempts(const History& history, const JobLedger& ledger) {
  const privacy::Plan plan = PlanOf(history, ledger.job);
  if (LastClaims{&ledger}.UnclaimedAttempts() <= 0 ||
      plan.Trust() != privacy::TrustMode::kPrivateNoise) {
    return {};
  }
  std::vector<privacy::SpentRounds> before = SpentByJobsBefore(history, ledger.job);
  std::vector<privacy::SpentRounds> phases = SpentBy(history, ledger.job);
  const privacy::SpentRounds last = phases.back();
  phases.pop_back();
  before.insert(before.end(), phases.begin(), phases.end());
  privacy::Statement statement = privacy::Account(last.plan, 0, before);
  privacy::RestateUpdates(last.plan, last.updates, before, &statement);
  std::vector<privacy::Claim> claims;
  for (const privacy::Claim& claim : statement.claims) {
    if (claim.adversary == privacy::Adversary::kServer) claims.push_back(claim);
  }
  return claims;
}

// Both lists are in the order of the rounds.
void AddRecorded(JobLedger* ledger) {
  auto record = ledger->attempts.begin();
  for (LedgerEntry& release : ledger->releases) {
    record = std::find_if(record, ledger->attempts.end(), [&](const RoundRecord& each) {
      return each.round > release.round || (each.released && each.round == release.round);
    });
    if (record == ledger->attempts.end()) return;
    if (record->round == release.round) release.recorded = FiguresOfRecord(record->figures);
  }
}

}  // namespace

LedgerEntry EntryOf(int64_t job, const ReleaseRecord& record, bool seeded) {
  LedgerEntry entry;
  entry.job = job;
  entry.round = record.round;
  entry.mechanism = record.codec->name;
  entry.plan = PlanOfRound(record);
  // One coordinate in place of all extra ones, as the ledger has it.
  entry.plan.clip_bit_scale = entry.plan.ExtraScale();
  entry.plan.accuracy_scale = 0;
  entry.reported = record.reported;
  entry.noise_multiplier = record.spent.noise_multiplier;
  entry.accounted_noise_multiplier = record.spent.accounted_noise_multiplier;
  entry.attempts = record.attempts;
  entry.charged_rounds = record.spent.rounds;
  entry.earlier_rounds = record.spent.earlier_rounds;
  entry.numeric_error = record.spent.numeric_error();
  entry.seeded = seeded;
  entry.claims = ClaimsToKeep(record);
  return entry;
}

void AddPairs(const History& history, const JobEntry& job, std::vector<privacy::Claim>* claims) {
  std::vector<privacy::SpentRounds> all = SpentByJobsBefore(history, job);
  const std::vector<privacy::SpentRounds> phases = SpentBy(history, job);
  all.insert(all.end(), phases.begin(), phases.end());
  privacy::Statement statement;
  statement.claims = std::move(*claims);
  privacy::AddPairs(std::move(all), &statement);
  *claims = std::move(statement.claims);
}

void AddPairs(Store& store, std::vector<JobLedger>* jobs) {
  const History history = store.ReadHistory();
  for (JobLedger& ledger : *jobs) {
    if (!ledger.releases.empty()) AddPairs(history, ledger.job, &ledger.releases.back().claims);
  }
}

// Reads the releases first. Then the history contains the job of each release, even if another
// process writes meanwhile.
std::vector<JobLedger> ReadLedger(Store& store) {
  const std::vector<LedgerEntry> releases = store.Ledger();
  const std::vector<StoredEvaluation> evaluations = store.Evaluations();
  const std::vector<RoundRecord> attempts = store.RoundRecords();
  const History history = store.ReadHistory();
  std::vector<JobLedger> jobs;
  for (const JobEntry& job : history.jobs) {
    JobLedger ledger;
    ledger.job = job;
    const privacy::Plan plan = PlanOf(history, job);
    const JobExtension now = PlanNow(history.store, job);
    ledger.rounds = now.rounds;
    ledger.epsilon_budget = now.epsilon_budget;
    ledger.trust_mode = plan.Trust();
    ledger.before = JobsBefore(history, job);
    ledger.halt = HaltOf(history, job);
    ledger.end = EndOf(history, job);
    ledger.turns = TurnsOf(history, job);
    ledger.recovery = DescribeRecovery(history, job);
    if (&job == &history.jobs.back()) ledger.not_for_all = WhyNotForAll(history);
    std::copy_if(releases.begin(), releases.end(), std::back_inserter(ledger.releases),
                 [&](const LedgerEntry& entry) { return entry.job == job.number; });
    std::copy_if(evaluations.begin(), evaluations.end(), std::back_inserter(ledger.evaluations),
                 [&](const StoredEvaluation& each) { return each.job == job.number; });
    std::copy_if(attempts.begin(), attempts.end(), std::back_inserter(ledger.attempts),
                 [&](const RoundRecord& each) { return each.job == job.number; });
    AddRecorded(&ledger);
    ledger.after_attempts = ClaimsAfterAttempts(history, ledger);
    jobs.push_back(std::move(ledger));
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
    return ComposesWith(*of_last, entry->job);
  });
  return covers_all ? std::vector<const LedgerEntry*>{last.back()} : last;
}

std::vector<ClaimForAll> ClaimsForAll(const std::vector<JobLedger>& jobs) {
  std::vector<ClaimForAll> claims;
  for (const privacy::ClaimKind& kind : privacy::ClaimKinds()) {
    const std::vector<LastClaims> covering = JobsThatCover(kind, jobs);
    const bool is_claimed = std::any_of(covering.begin(), covering.end(),
                                        [&](const LastClaims& job) { return job.Has(kind); });
    if (is_claimed) claims.push_back(CombineKind(kind, jobs));
  }
  return claims;
}

}  // namespace sotto::server
