// Tests of stores of every version: each frozen schema, and files that programs of each version
// wrote.
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

#include "plans/statement.h"
#include "store/open_store.h"
#include "store/sqlite_schema.h"
#include "store/sqlite_version4.h"
#include "store/sqlite_versions.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

class StoreVersionsTest : public SqliteStoreTest {
 protected:
  // The text of every table and index, by name.
  std::vector<std::string> Schema() const {
    std::vector<std::string> schema;
    Database database(path_);
    Statement row(database, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name");
    while (row.Step()) {
      schema.push_back(row.Text(0) + " " + row.Text(1) + " " + row.Text(2) + " " + row.Text(3));
    }
    return schema;
  }

  int64_t Version() const { return Database(path_).Integer("PRAGMA user_version"); }

  void CreateEmpty(const SchemaVersion& version) const {
    WriteRaw("");
    Database database(path_);
    database.Run(TablesOf(version.version).c_str());
    if (version.version >= 4) BeginChain(database, 0);
    database.Run(("PRAGMA application_id = 1399813236; PRAGMA user_version = " +
                  std::to_string(version.version))
                     .c_str());
  }

  void WriteVector(const std::string& name) const {
    WriteRaw("");
    std::ifstream file(SOTTO_VECTORS "/" + name);
    const std::string sql((std::istreambuf_iterator<char>(file)), {});
    ASSERT_FALSE(sql.empty());
    RunSql(sql.c_str());
  }
};

TEST_F(StoreVersionsTest, AreNumberedFromOneAndTheLastIsThatOfNewStores) {
  for (int64_t i = 0; i < kSchemaVersion; ++i) EXPECT_EQ(kSchemaVersions[i].version, i + 1);
  { SqliteStore store(path_, kCreate); }
  EXPECT_EQ(Version(), kSchemaVersion);
}

TEST_F(StoreVersionsTest, EachSchemaConvertsToThatOfANewStore) {
  { SqliteStore store(path_, kCreate); }
  const std::vector<std::string> expected = Schema();
  ASSERT_GE(expected.size(), 7u);
  for (const SchemaVersion& version : kSchemaVersions) {
    if (version.version == kSchemaVersion) break;
    CreateEmpty(version);
    { SqliteStore store(path_); }
    EXPECT_EQ(Version(), kSchemaVersion);
    EXPECT_EQ(Schema(), expected) << "from version " << version.version;
  }
}

// The text in the program is that of the files: it was not changed since.
TEST_F(StoreVersionsTest, EachFrozenSchemaIsThatOfTheFilesOfItsTime) {
  const char* const files[] = {"store_v1.sql", "store_v2.sql", "store_v3.sql",
                               "store_v4.sql", "store_v5.sql", "store_v6.sql"};
  for (int64_t i = 0; i < kSchemaVersion - 1; ++i) {
    CreateEmpty(kSchemaVersions[i]);
    const std::vector<std::string> expected = Schema();
    WriteVector(files[i]);
    EXPECT_EQ(Schema(), expected) << files[i];
  }
}

// A store of version 2: a job of private noise and a job of two colluders on the same four devices,
// then, with two of them replaced, a job of adaptive clipping under Poisson sampling. Two of its
// four rounds are released, and a third one's first attempt was open when the program was killed.
class Version2Test : public StoreVersionsTest {
 protected:
  Version2Test() { WriteVector("store_v2.sql"); }
};

TEST_F(Version2Test, KeepsItsDevicesItsJobsAndItsModel) {
  SqliteStore store(path_);
  EXPECT_EQ(store.LoadDevices().size(), 4u);
  const History history = store.ReadHistory();
  ASSERT_EQ(history.devices.size(), 6u);
  EXPECT_EQ(history.devices[0].id, "old-000000");
  EXPECT_TRUE(history.devices[0].seeded);
  EXPECT_TRUE(history.devices[0].revoked.has_value());
  ASSERT_EQ(history.jobs.size(), 3u);
  EXPECT_EQ(history.jobs[2].devices, (std::vector<int64_t>{3, 4, 5, 6}));
  EXPECT_EQ(JobsBefore(history, history.jobs[2]), (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(history.jobs[1].seeded);
  const JobState state = *Load(store);
  EXPECT_EQ(state.next_round, 2u);
  EXPECT_EQ(state.next_attempt, 1u);
  EXPECT_EQ(state.attempts, 3u);
  EXPECT_EQ(state.surcharge, 0u);
  EXPECT_EQ(state.parameters.size(), 650u);
  EXPECT_TRUE(state.optimiser_state.empty());
  EXPECT_NEAR(state.clip_l2, 0.3361, 1e-4);
}

TEST_F(Version2Test, ItsFiguresAreClaims) {
  SqliteStore store(path_);
  const std::vector<LedgerEntry> ledger = store.Ledger();
  ASSERT_EQ(ledger.size(), 5u);
  const size_t claims[] = {4, 4, 2, 2, 2};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(ledger[i].claims.size(), claims[i]) << i;
  EXPECT_EQ(EpsilonOf(ledger[1]), 0.9015235523715748);
  EXPECT_EQ(EpsilonOf(ledger[1], privacy::View::kReleasesAndParticipants), 2.7423195213541565);
  EXPECT_NEAR(EpsilonOf(ledger[1], privacy::View::kEveryUpdate), 7.13446638507041, 1e-13);
  EXPECT_NEAR(EpsilonOf(ledger[1], privacy::View::kOneUpdate), 3.93305780596152, 1e-13);
  EXPECT_TRUE(std::isinf(EpsilonOf(ledger[2])));
  EXPECT_EQ(Released(ledger[2]).colluders, 2);
  EXPECT_EQ(Released(ledger[4]).adjacency, privacy::Adjacency::kAddRemove);
}

// The converted claims equal the claims that this program would write for the same plan.
TEST_F(Version2Test, ItsClaimsMeanWhatThoseOfTodayMean) {
  SqliteStore store(path_);
  for (const LedgerEntry& entry : store.Ledger()) {
    privacy::Plan plan = entry.plan;
    plan.rounds = 1;  // a part of a plan would rest on one more assumption
    const std::vector<privacy::Claim> today = privacy::Account(plan, 1).claims;
    ASSERT_EQ(entry.claims.size(), today.size());
    for (size_t i = 0; i < today.size(); ++i) {
      const privacy::Claim& claim = entry.claims[i];
      EXPECT_EQ(claim.adversary, today[i].adversary);
      EXPECT_EQ(claim.view, today[i].view);
      EXPECT_EQ(claim.unit, today[i].unit);
      EXPECT_EQ(claim.adjacency, today[i].adjacency);
      EXPECT_EQ(claim.sensitivity, today[i].sensitivity);
      EXPECT_EQ(claim.colluders, today[i].colluders);
      EXPECT_EQ(claim.trust_mode, today[i].trust_mode);
      EXPECT_EQ(claim.delta, today[i].delta);
      EXPECT_EQ(claim.assumptions, today[i].assumptions);
    }
  }
}

// The facts of each release give a figure again. It may be larger than the one that the old program
// stated: colluders choose who of them is drawn (plans/composition.h), and several jobs compose
// under a filter (plans/adaptivity.h).
TEST_F(Version2Test, ItsFactsAreEnoughToAccountAgain) {
  SqliteStore store(path_);
  const std::vector<LedgerEntry> ledger = store.Ledger();
  const History history = store.ReadHistory();
  for (const LedgerEntry& entry : ledger) {
    const JobEntry& job = history.jobs.at(static_cast<size_t>(entry.job - 1));
    const privacy::Statement again =
        privacy::Account(entry.plan, entry.charged_rounds, SpentBefore(history, &job));
    EXPECT_EQ(again.earlier_rounds, entry.earlier_rounds);
    EXPECT_NEAR(again.noise_multiplier, entry.noise_multiplier, 1e-6);
    if (std::isinf(EpsilonOf(entry))) {
      EXPECT_TRUE(std::isinf(again.epsilon()));
    } else {
      EXPECT_GE(again.epsilon(), EpsilonOf(entry) - 1e-5);
      EXPECT_LE(again.epsilon(), 2 * EpsilonOf(entry));
    }
  }
}

// A store of version 3: the same three jobs, written by a program of that version. Two of the last
// job's four rounds are released.
class Version3Test : public StoreVersionsTest {
 protected:
  Version3Test() { WriteVector("store_v3.sql"); }
};

TEST_F(Version3Test, KeepsItsDevicesItsJobsItsLedgerAndItsModel) {
  SqliteStore store(path_);
  EXPECT_EQ(store.LoadDevices().size(), 4u);
  const History history = store.ReadHistory();
  ASSERT_EQ(history.devices.size(), 6u);
  EXPECT_TRUE(history.devices[0].revoked.has_value());
  EXPECT_TRUE(history.devices[1].revoked.has_value());
  EXPECT_FALSE(history.devices[2].revoked.has_value());
  EXPECT_TRUE(history.devices[3].seeded);
  ASSERT_EQ(history.jobs.size(), 3u);
  EXPECT_EQ(history.jobs[1].devices, (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(history.jobs[2].devices, (std::vector<int64_t>{3, 4, 5, 6}));
  const JobState state = *Load(store);
  EXPECT_EQ(state.next_round, 2u);
  EXPECT_EQ(state.next_attempt, 0u);
  EXPECT_EQ(state.attempts, 2u);
  EXPECT_EQ(state.parameters.size(), 650u);
  EXPECT_NEAR(state.clip_l2, 0.408801764249802, 1e-14);
  const std::vector<LedgerEntry> ledger = store.Ledger();
  ASSERT_EQ(ledger.size(), 5u);
  EXPECT_EQ(EpsilonOf(ledger[1]), 0.9015235523715748);
  EXPECT_EQ(EpsilonOf(ledger[2], privacy::View::kOneUpdate), 3.9330578059615213);
  EXPECT_EQ(EpsilonOf(ledger[4]), 3.4767530940786036);
  EXPECT_EQ(ledger[4].plan.sampling, privacy::Sampling::kPoisson);
}

TEST_F(Version3Test, IsInspectedWithoutBeingConverted) {
  const StoreReport report = InspectStore(path_);
  EXPECT_EQ(report.version, 3);
  EXPECT_FALSE(report.is_chained);
  EXPECT_EQ(Version(), 3);
  { SqliteStore store(path_); }
  // The store, six devices, three jobs and their devices, five attempts, five releases with their
  // models, two revocations.
  EXPECT_EQ(InspectStore(path_).records, 1 + 6 + 3 * 2 + 5 + 5 * 2 + 2);
  EXPECT_EQ(Database(path_).Integer("SELECT former_version FROM store"), 3);
}

// A program of version 3 kept a write-ahead log, which may lie beside the file after a kill.
TEST_F(Version3Test, IsReadWithItsLogAndKeepsNoneAfterwards) {
  RunSql("PRAGMA journal_mode = WAL");
  EXPECT_EQ(InspectStore(path_).version, 3);
  { SqliteStore store(path_); }
  EXPECT_EQ(Database(path_).Text("PRAGMA journal_mode"), "delete");
  EXPECT_FALSE(std::filesystem::exists(path_ + "-wal"));
}

// A store of version 4, whose records are chained: a job of one round, a job of adaptive clipping
// with two of its four rounds released and a third one's attempt open, and a job that was killed in
// its first round. One of four devices is revoked. No device took part: every round is noise alone.
class Version4Test : public StoreVersionsTest {
 protected:
  Version4Test() { WriteVector("store_v4.sql"); }

  static constexpr char kHead[] =
      "6d6b18d6df5fb386fee620ab159ba67c1aec1209b56968f5697b19e4e4c28140";
};

// Receipts that devices hold name these hashes.
TEST_F(Version4Test, KeepsTheHashesOfItsRecords) {
  const StoreReport before = InspectStore(path_);
  EXPECT_EQ(before.version, 4);
  EXPECT_TRUE(before.is_chained);
  EXPECT_EQ(before.records, 23);
  EXPECT_EQ(before.head, kHead);
  EXPECT_EQ(Version(), 4);
  { SqliteStore store(path_); }
  const StoreReport report = InspectStore(path_);
  EXPECT_EQ(report.version, kSchemaVersion);
  EXPECT_EQ(report.records, 23);
  EXPECT_EQ(report.head, kHead);
  ASSERT_EQ(report.models.size(), 2u);
  EXPECT_EQ(report.models[0].rounds, (std::vector<int64_t>{0}));
  EXPECT_EQ(report.models[1].rounds, (std::vector<int64_t>{0, 1}));
}

TEST_F(Version4Test, KeepsItsLedgerAndItsModels) {
  SqliteStore store(path_);
  EXPECT_EQ(store.LoadDevices().size(), 3u);
  const std::vector<LedgerEntry> ledger = store.Ledger();
  ASSERT_EQ(ledger.size(), 3u);
  EXPECT_NEAR(EpsilonOf(ledger[2]), 2.513, 1e-3);
  const StoredModel model = store.ReadModel(2, 0);
  EXPECT_EQ(model.parameters.size(), 650u);
  EXPECT_NEAR(model.next_clip_l2, 0.4421, 1e-4);
}

// Its program did not store the model with which a job begins, which was all zeros.
TEST_F(Version4Test, AJobThatReleasedNothingResumesWithoutAModel) {
  SqliteStore store(path_);
  EXPECT_TRUE(store.ListModels(3).empty());
  const JobState state = *Load(store);
  EXPECT_TRUE(state.parameters.empty());
  EXPECT_EQ(state.next_round, 0u);
  EXPECT_EQ(state.next_attempt, 1u);
}

TEST_F(Version4Test, ADamagedOneIsRefusedAndNotConverted) {
  RunSql("UPDATE releases SET parameters = zeroblob(2600) WHERE job = 1");
  EXPECT_TRUE(Says(RefusalOf([&] { InspectStore(path_); }), "the model of round 1 of job 1"));
  EXPECT_TRUE(Says(Refusal(), "the model of round 1 of job 1"));
  EXPECT_EQ(Version(), 4);
}

// A store of version 5: a job of two rounds, and a job of adaptive clipping with four of its forty
// rounds released, which keeps one model. One of five devices is revoked. No device took part.
class Version5Test : public StoreVersionsTest {
 protected:
  Version5Test() { WriteVector("store_v5.sql"); }

  static constexpr char kHead[] =
      "d8f13faa613054078295edcbc239e6cb2b63db71dff7a2a499a91882d160b4e7";
};

TEST_F(Version5Test, KeepsTheHashesOfItsRecordsAndTakesEvaluations) {
  const StoreReport before = InspectStore(path_);
  EXPECT_EQ(before.version, 5);
  EXPECT_EQ(before.records, 32);
  EXPECT_EQ(before.head, kHead);
  EXPECT_EQ(before.evaluations, 0);
  EXPECT_EQ(Version(), 5) << "inspecting changes nothing";
  { SqliteStore store(path_); }
  const StoreReport report = InspectStore(path_);
  EXPECT_EQ(report.version, kSchemaVersion);
  EXPECT_EQ(report.records, 32);
  EXPECT_EQ(report.head, kHead);
  EXPECT_EQ(report.releases, 6);
  ASSERT_EQ(report.models.size(), 2u);
  EXPECT_EQ(report.models[0].rounds, (std::vector<int64_t>{kFirstModel, 0, 1}));
  EXPECT_EQ(report.models[1].rounds, (std::vector<int64_t>{3}));
}

TEST_F(Version5Test, ADamagedOneIsRefusedAndNotConverted) {
  RunSql("UPDATE releases SET reported = 1 WHERE job = 1 AND round = 0");
  EXPECT_TRUE(Says(Refusal(), "the release of round 1 of job 1"));
  EXPECT_EQ(Version(), 5);
}

// A store of version 6: a job of two evaluated rounds, and a job of adaptive clipping of which
// seven rounds are released and an attempt at the eighth was open when its program was killed.
class Version6Test : public StoreVersionsTest {
 protected:
  Version6Test() { WriteVector("store_v6.sql"); }
};

TEST_F(Version6Test, KeepsTheHashesOfItsRecordsAndItsFleetMayChange) {
  const StoreReport before = InspectStore(path_);
  EXPECT_EQ(before.version, 6);
  EXPECT_EQ(before.records, 43);
  EXPECT_EQ(Version(), 6) << "inspecting changes nothing";
  {
    SqliteStore store(path_);
    const History history = store.ReadHistory();
    EXPECT_TRUE(history.jobs[1].fleets.empty());
    EXPECT_EQ(history.jobs[1].first_devices.size(), 4u);
    EXPECT_EQ(PlanNow(history.store, history.jobs[1]).rounds, 40);
    EXPECT_FALSE(store.IsPaused());
  }
  const StoreReport report = InspectStore(path_);
  EXPECT_EQ(report.version, kSchemaVersion);
  EXPECT_EQ(report.records, 43);
  EXPECT_EQ(report.head, before.head);
  EXPECT_EQ(report.evaluations, 2);
  SqliteStore(path_).AddDevices({{"late", {{9}}}}, false);
  EXPECT_EQ(InspectStore(path_).records, 44);
}

TEST_F(StoreVersionsTest, EachVersionBeginsAChainWhenItIsConverted) {
  for (const char* file : {"store_v1.sql", "store_v2.sql", "store_v2_apart.sql", "store_v3.sql"}) {
    WriteVector(file);
    { SqliteStore store(path_); }
    const StoreReport report = InspectStore(path_);
    EXPECT_TRUE(report.is_chained) << file;
    EXPECT_EQ(report.version, kSchemaVersion) << file;
    EXPECT_GT(report.releases, 0) << file;
  }
}

TEST_F(StoreVersionsTest, ClaimsAndOptimiserStateAreKept) {
  SqliteStore store(path_, kCreate);
  store.BeginJob(RecordOf(SmallConfig()));
  store.CommitAttempt({0, 0, {}});
  const uint8_t optimiser_state[] = {0, 1, 255};
  privacy::Claim claim;
  claim.adversary = privacy::Adversary::kServer;
  claim.view = privacy::View::kOneUpdate;
  claim.adjacency = privacy::Adjacency::kAddRemove;
  claim.sensitivity = 1;
  claim.colluders = 3;
  claim.trust_mode = privacy::TrustMode::kPrivateNoise;
  claim.epsilon = 1.0 / 3;
  claim.delta = 1e-7;
  claim.accountant = "pld";
  claim.assumptions = {privacy::Assumption::kTimesTellNothing, privacy::Assumption::kNoiseIsIdeal};
  ReleaseRecord record;
  record.codec = FindCodec("gau-lrq");
  record.plan = SmallConfig().plan;
  record.spent.claims = {privacy::Claim(), claim};
  record.optimiser_state = optimiser_state;
  store.CommitRelease(record);
  const std::vector<privacy::Claim> claims = store.Ledger().at(0).claims;
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_TRUE(std::isinf(claims[0].epsilon));
  EXPECT_TRUE(claims[0].assumptions.empty());
  EXPECT_EQ(claims[1].adversary, claim.adversary);
  EXPECT_EQ(claims[1].view, claim.view);
  EXPECT_EQ(claims[1].adjacency, claim.adjacency);
  EXPECT_EQ(claims[1].sensitivity, claim.sensitivity);
  EXPECT_EQ(claims[1].colluders, claim.colluders);
  EXPECT_EQ(claims[1].trust_mode, claim.trust_mode);
  EXPECT_EQ(claims[1].epsilon, claim.epsilon);
  EXPECT_EQ(claims[1].delta, claim.delta);
  EXPECT_EQ(claims[1].accountant, claim.accountant);
  EXPECT_EQ(claims[1].assumptions, claim.assumptions);
  EXPECT_EQ(Load(store)->optimiser_state, (std::vector<uint8_t>{0, 1, 255}));
}

TEST_F(StoreVersionsTest, AWordThatNoClaimHasIsRefused) {
  {
    SqliteStore store(path_, kCreate);
    store.BeginJob(RecordOf(SmallConfig()));
    store.CommitAttempt({0, 0, {}});
    Release(store, 0, 0);
  }
  Forge("UPDATE claims SET view = 'everything'");
  SqliteStore store(path_);
  EXPECT_TRUE(Says(RefusalOf([&] { store.Ledger(); }), "everything"));
}

}  // namespace
}  // namespace sotto::server
