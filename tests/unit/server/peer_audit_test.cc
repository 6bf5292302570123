// The audit of nodes without a server: sound policies keep their claim, deep-q tells.
#include "audit/peer_audit.h"

#include <gtest/gtest.h>
#include <stdexcept>

#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

PeerAudit Audit(const std::string& share, PeerRule rule = PeerRule::kAverage,
                uint32_t publication_steps = 1) {
  PeerAuditOptions options;
  options.share = share;
  options.rule = rule;
  options.publication_steps = publication_steps;
  options.repeats = 4000;
  options.keys = 200;
  options.error = 1e-8;
  return AuditPeers(options, posix::RunKey(7), [](double) {});
}

// A sound build fails with a probability of 1e-8: options.error.
TEST(PeerAudit, PublicPoliciesKeepTheirClaim) {
  for (const char* share : {"coin:0.5", "always", "period:3", "deep-q-public"}) {
    for (const PeerRule rule : {PeerRule::kAverage, PeerRule::kAccumulate}) {
      const PeerAudit audit = Audit(share, rule);
      EXPECT_TRUE(audit.violations.empty()) << share;
      ASSERT_FALSE(audit.tests.empty()) << share;
      EXPECT_NEAR(audit.tests[0].claimed, 4, 0.01) << share;
      EXPECT_EQ(audit.keys_apart, 0u) << share;
      EXPECT_EQ(audit.keys, 200u);
      EXPECT_LE(audit.shift, 1.0 + 0.1) << share;  // the mean of 4,000 draws
      EXPECT_GT(audit.shift, 0.7) << share;
    }
  }
}

TEST(PeerAudit, HandOverKeepsItsClaim) {
  const PeerAudit audit = Audit("always", PeerRule::kShared, 8);
  EXPECT_TRUE(audit.violations.empty());
  ASSERT_FALSE(audit.tests.empty());
  EXPECT_NEAR(audit.tests[0].claimed, 4, 0.01);
  EXPECT_GT(audit.tests[1].measured.epsilon_lower, 0.1);
  EXPECT_LE(audit.shift, 1.0 + 0.1);
  EXPECT_GT(audit.shift, 0.6);
  EXPECT_THROW(Audit("always", PeerRule::kAverage, 8), std::invalid_argument);
}

// The noise gives epsilon 4. A lower bound of 0 would find nothing.
TEST(PeerAudit, ItsCanaryTellsSomething) {
  const PeerAudit audit = Audit("always");
  EXPECT_GT(audit.tests[1].measured.epsilon_lower, 0.3);
}

TEST(PeerAudit, DeepQTellsAndClaimsNothing) {
  const PeerAudit audit = Audit("deep-q");
  EXPECT_TRUE(audit.tests.empty());
  EXPECT_TRUE(audit.statement.claims.empty());
  EXPECT_FALSE(audit.statement.refusal.empty());
  EXPECT_GT(audit.keys_apart_in_all, 100u);
  ASSERT_GT(audit.keys_apart, 0u);
  EXPECT_GT(audit.decisions.front().epsilon_lower, 3);
}

TEST(PeerAudit, RepeatsOnAnyNumberOfThreads) {
  PeerAuditOptions options;
  options.repeats = 1000;
  options.keys = 5;
  const auto run = [&](int threads) {
    options.threads = threads;
    return AuditPeers(options, posix::RunKey(3), [](double) {});
  };
  const PeerAudit one = run(1);
  const PeerAudit three = run(3);
  EXPECT_EQ(one.shift, three.shift);
  EXPECT_EQ(one.tests[2].measured.epsilon_lower, three.tests[2].measured.epsilon_lower);
}

TEST(PeerAudit, RefusesAPolicyThatDoesNotPublish) {
  EXPECT_THROW(Audit("never"), std::invalid_argument);
  EXPECT_THROW(Audit("period:9"), std::invalid_argument);
  EXPECT_THROW(Audit("often"), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::server
