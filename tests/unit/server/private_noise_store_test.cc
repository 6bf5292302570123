// What the ledger says of trust mode private-noise.
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

JobConfig PrivateConfig() {
  JobConfig config = WithoutReports();
  config.plan.private_noise_multiplier = 0.5;
  return config;
}

RoundOutcome RunOneRound(SqliteStore& store, const JobConfig& config) {
  const DeviceRegistry registry = store.LoadDevices();
  Job job(config, registry, store, Key(), store.Load());
  EXPECT_TRUE(job.OpenRound());
  return job.CloseRound();
}

TEST_F(SqliteStoreTest, TheLedgerHoldsTheEpsilonAgainstTheServer) {
  SqliteStore store(path_, kCreate);
  store.AddDevices(SomeDevices(), false);
  const RoundOutcome outcome = RunOneRound(store, PrivateConfig());
  ASSERT_TRUE(outcome.released);
  const LedgerEntry entry = store.Ledger().at(0);
  EXPECT_EQ(entry.trust_mode, "private-noise");
  EXPECT_EQ(entry.private_noise_multiplier, 0.5);
  EXPECT_GT(entry.epsilon_server, 0.0);
  EXPECT_EQ(entry.epsilon_server, ServerEpsilon(outcome.spent));
  EXPECT_EQ(entry.epsilon_server_update, ServerUpdateEpsilon(outcome.spent));
}

TEST_F(SqliteStoreTest, ATrustedServerHasNoEpsilonInTheLedger) {
  {
    SqliteStore store(path_, kCreate);
    store.AddDevices(SomeDevices(), false);
    ASSERT_TRUE(RunOneRound(store, WithoutReports()).released);
    const LedgerEntry entry = store.Ledger().at(0);
    EXPECT_EQ(entry.private_noise_multiplier, 0.0);
    EXPECT_TRUE(std::isinf(entry.epsilon_server));
    EXPECT_TRUE(std::isinf(entry.epsilon_server_update));
  }
  EXPECT_EQ(Database(path_).Integer("SELECT count(*) FROM ledger WHERE epsilon_server IS NULL"), 1);
}

TEST_F(SqliteStoreTest, AJobKeepsItsPrivateNoise) {
  SqliteStore store(path_, kCreate);
  store.BeginJob(RecordOf(PrivateConfig()));
  store.BeginJob(RecordOf(PrivateConfig()));
  JobConfig other = PrivateConfig();
  other.plan.private_noise_multiplier = 0.4;
  EXPECT_TRUE(
      Says(RefusalOf([&] { store.BeginJob(RecordOf(other)); }), "private_noise_multiplier"));
  EXPECT_TRUE(Says(RefusalOf([&] { store.BeginJob(RecordOf(WithoutReports())); }), "trust_mode"));
}

}  // namespace
}  // namespace sotto::server
