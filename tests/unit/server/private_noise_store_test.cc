// Tests of the ledger in trust mode private-noise.
#include <cmath>

#include "unit/privacy/figures.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

// A round without any device is released all the same, as noise.
JobConfig WithoutReports() {
  JobConfig config = SmallConfig();
  config.min_devices = 0;
  return config;
}

JobConfig PrivateWithoutReports() {
  JobConfig config = WithoutReports();
  config.plan.private_noise_multiplier = 0.5;
  return config;
}

RoundOutcome RunOneRound(SqlStore& store, const JobConfig& config) {
  const DeviceRegistry registry = store.LoadDevices();
  Job job(config, registry, store, Key(), Load(store));
  EXPECT_TRUE(job.OpenRound());
  return job.CloseRound();
}

class PrivateNoiseStoreTest : public StoredTest {};

TEST_F(PrivateNoiseStoreTest, TheLedgerHoldsTheEpsilonAgainstTheServer) {
  SqlStore store(path_, kCreate);
  store.AddDevices(SomeDevices(), false);
  const RoundOutcome outcome = RunOneRound(store, PrivateWithoutReports());
  ASSERT_TRUE(outcome.released);
  const LedgerEntry entry = store.Ledger().at(0);
  EXPECT_EQ(Released(entry).trust_mode, privacy::TrustMode::kPrivateNoise);
  EXPECT_EQ(entry.plan.private_noise_multiplier, 0.5);
  EXPECT_GT(EpsilonOf(entry, privacy::View::kEveryUpdate), 0.0);
  EXPECT_EQ(EpsilonOf(entry, privacy::View::kEveryUpdate), ServerEpsilon(outcome.spent));
  EXPECT_EQ(EpsilonOf(entry, privacy::View::kOneUpdate), ServerUpdateEpsilon(outcome.spent));
}

TEST_F(PrivateNoiseStoreTest, ATrustedServerHasNoEpsilonInTheLedger) {
  {
    SqlStore store(path_, kCreate);
    store.AddDevices(SomeDevices(), false);
    ASSERT_TRUE(RunOneRound(store, WithoutReports()).released);
    const LedgerEntry entry = store.Ledger().at(0);
    EXPECT_EQ(entry.plan.private_noise_multiplier, 0.0);
    ASSERT_EQ(entry.claims.size(), 3u);
    EXPECT_EQ(entry.claims[0].adversary, privacy::Adversary::kPublic);
    EXPECT_EQ(entry.claims[1].adversary, privacy::Adversary::kNetwork);
    EXPECT_EQ(entry.claims[2].adversary, privacy::Adversary::kWatcher);
  }
  EXPECT_EQ(TablesOf(path_)->Integer("SELECT count(*) FROM claims WHERE adversary = 'server'"), 0);
}

TEST_F(PrivateNoiseStoreTest, AJobKeepsItsPrivateNoise) {
  SqlStore store(path_, kCreate);
  store.BeginJob(RecordOf(PrivateWithoutReports()));
  store.BeginJob(RecordOf(PrivateWithoutReports()));
  JobConfig other = PrivateWithoutReports();
  other.plan.private_noise_multiplier = 0.4;
  EXPECT_TRUE(
      Says(RefusalOf([&] { store.BeginJob(RecordOf(other)); }), "private_noise_multiplier"));
  EXPECT_TRUE(Says(RefusalOf([&] { store.BeginJob(RecordOf(WithoutReports())); }), "trust_mode"));
}

}  // namespace
}  // namespace sotto::server
