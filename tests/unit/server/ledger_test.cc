// Tests of the claims for all devices of a store (store/ledger.h), on records made by hand. No
// store is opened.
#include "store/ledger.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace sotto::server {
namespace {

using privacy::Adversary;
using privacy::Claim;
using privacy::View;

Claim ClaimOf(Adversary adversary, View view, double epsilon) {
  Claim claim;
  claim.adversary = adversary;
  claim.view = view;
  claim.epsilon = epsilon;
  claim.delta = 1e-5;
  claim.trust_mode = privacy::TrustMode::kPrivateNoise;
  return claim;
}

// A job with one release after `attempts` attempts, and the four claims of private noise:
// `epsilon`, two, three and four times that.
JobLedger JobOf(int64_t number, std::vector<int64_t> before, double epsilon, int64_t attempts = 1) {
  JobLedger ledger;
  ledger.job.number = number;
  ledger.job.attempts = attempts;
  ledger.trust_mode = privacy::TrustMode::kPrivateNoise;
  ledger.before = std::move(before);
  LedgerEntry entry;
  entry.job = number;
  entry.attempts = attempts;
  entry.claims = {ClaimOf(Adversary::kPublic, View::kReleases, epsilon),
                  ClaimOf(Adversary::kNetwork, View::kReleasesAndParticipants, 2 * epsilon),
                  ClaimOf(Adversary::kServer, View::kEveryUpdate, 3 * epsilon),
                  ClaimOf(Adversary::kServer, View::kOneUpdate, 4 * epsilon)};
  ledger.releases = {entry};
  return ledger;
}

const ClaimForAll& Of(const std::vector<ClaimForAll>& claims, View view) {
  for (const ClaimForAll& claim : claims) {
    if (claim.kind->view == view) return claim;
  }
  ADD_FAILURE() << "no such kind";
  return claims.front();
}

double EpsilonForAll(const std::vector<JobLedger>& jobs, View view) {
  const std::vector<ClaimForAll> claims = ClaimsForAll(jobs);
  const privacy::CombinedClaim& combined = Of(claims, view).combined;
  EXPECT_TRUE(combined.claim) << combined.refusal;
  return combined.claim ? combined.claim->epsilon : -1;
}

TEST(Ledger, WithoutReleasesNothingIsClaimed) {
  EXPECT_TRUE(EntriesThatCoverAll({}).empty());
  EXPECT_TRUE(ClaimsForAll({}).empty());
}

TEST(Ledger, TheLastJobCoversTheJobsThatItComposesWith) {
  const std::vector<JobLedger> jobs = {JobOf(1, {}, 5), JobOf(2, {1}, 3)};
  EXPECT_EQ(EntriesThatCoverAll(jobs).size(), 1U);
  EXPECT_EQ(EpsilonForAll(jobs, View::kReleases), 3);
  EXPECT_EQ(EpsilonForAll(jobs, View::kEveryUpdate), 9);
}

TEST(Ledger, JobsOnDifferentDevicesGiveTheLargestFigure) {
  const std::vector<JobLedger> jobs = {JobOf(1, {}, 5), JobOf(2, {}, 3)};
  EXPECT_EQ(EntriesThatCoverAll(jobs).size(), 2U);
  EXPECT_EQ(EpsilonForAll(jobs, View::kReleases), 5);
  EXPECT_EQ(EpsilonForAll(jobs, View::kReleasesAndParticipants), 10);
}

// A later job composes the releases of earlier jobs, but its claim on one update is its own.
TEST(Ledger, TheClaimOnOneUpdateIsTheLargestOfAllJobsAlsoIfTheyCompose) {
  EXPECT_EQ(EpsilonForAll({JobOf(1, {}, 5), JobOf(2, {1}, 3)}, View::kOneUpdate), 20);
}

TEST(Ledger, AnAttemptAfterTheLastReleaseLeavesNoTotalAgainstTheServer) {
  std::vector<JobLedger> jobs = {JobOf(1, {}, 5, 2), JobOf(2, {}, 3, 1)};
  jobs[0].job.attempts = 4;
  const std::vector<ClaimForAll> claims = ClaimsForAll(jobs);
  for (const View view : {View::kEveryUpdate, View::kOneUpdate}) {
    const privacy::CombinedClaim& combined = Of(claims, view).combined;
    EXPECT_FALSE(combined.claim);
    EXPECT_EQ(combined.refusal, "job 1 made 2 attempts after its last release");
  }
  EXPECT_EQ(EpsilonForAll(jobs, View::kReleases), 5);
}

TEST(Ledger, AKindThatOneJobLacksHasNoTotal) {
  std::vector<JobLedger> jobs = {JobOf(1, {}, 5), JobOf(2, {}, 3)};
  jobs[1].releases[0].claims.pop_back();
  const std::vector<ClaimForAll> claims = ClaimsForAll(jobs);
  EXPECT_EQ(Of(claims, View::kOneUpdate).combined.refusal, "job 2 claims nothing of this kind");
  EXPECT_EQ(EpsilonForAll(jobs, View::kEveryUpdate), 15);
}

// Job 2 made the larger claim and job 1 assumes more colluders: no figure is about both.
TEST(Ledger, JobsThatDifferInColludersOrTrustModeHaveNoFigureForAll) {
  std::vector<JobLedger> jobs = {JobOf(1, {}, 5), JobOf(2, {}, 3)};
  for (Claim& claim : jobs[1].releases[0].claims) claim.colluders = 2;
  for (const ClaimForAll& one : ClaimsForAll(jobs)) {
    EXPECT_FALSE(one.combined.claim);
    EXPECT_EQ(one.combined.refusal, "the claims differ in colluders: 0 and 2");
  }
  jobs = {JobOf(1, {}, 5), JobOf(2, {}, 3)};
  for (Claim& claim : jobs[1].releases[0].claims) {
    claim.trust_mode = privacy::TrustMode::kTrustedServer;
  }
  for (const ClaimForAll& one : ClaimsForAll(jobs)) EXPECT_FALSE(one.combined.claim);
}

// A job with private noise composes a job that trusted the server: of both only the weaker mode
// holds. The claim on one update is of private noise alone.
TEST(Ledger, AComposedClaimTrustsTheServerIfOneOfItsJobsDid) {
  std::vector<JobLedger> jobs = {JobOf(1, {}, 5), JobOf(2, {1}, 7)};
  const auto trust_of = [&](View view) {
    return Of(ClaimsForAll(jobs), view).combined.claim->trust_mode;
  };
  EXPECT_EQ(trust_of(View::kReleases), privacy::TrustMode::kPrivateNoise);
  jobs[0].trust_mode = privacy::TrustMode::kTrustedServer;
  for (const View view : {View::kReleases, View::kReleasesAndParticipants, View::kEveryUpdate}) {
    EXPECT_EQ(trust_of(view), privacy::TrustMode::kTrustedServer);
  }
  EXPECT_EQ(trust_of(View::kOneUpdate), privacy::TrustMode::kPrivateNoise);
}

// What the server has seen counts for it, released or not.
TEST(Ledger, TheClaimsAgainstTheServerCoverAttemptsAfterTheLastReleaseAndJobsWithoutOne) {
  std::vector<JobLedger> jobs = {JobOf(1, {}, 5, 2), JobOf(2, {1}, 3, 1)};
  jobs[1].job.attempts = 4;
  jobs[1].after_attempts = {ClaimOf(Adversary::kServer, View::kEveryUpdate, 30),
                            ClaimOf(Adversary::kServer, View::kOneUpdate, 12)};
  EXPECT_EQ(EpsilonForAll(jobs, View::kReleases), 3);
  EXPECT_EQ(EpsilonForAll(jobs, View::kEveryUpdate), 30);
  EXPECT_EQ(EpsilonForAll(jobs, View::kOneUpdate), 20);
  jobs[1].releases.clear();
  EXPECT_EQ(EpsilonForAll(jobs, View::kReleases), 5) << "it released nothing";
  EXPECT_EQ(EpsilonForAll(jobs, View::kEveryUpdate), 30);
}

}  // namespace
}  // namespace sotto::server
