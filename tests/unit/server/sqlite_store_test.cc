// Tests of the SQLite store: what it keeps of devices, jobs and ledgers, and how a job resumes from
// it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "backends/sql_store.h"
#include "plans/statement.h"
#include "sotto/bytes.h"
#include "sotto/posix/run_key.h"
#include "unit/privacy/figures.h"
#include "unit/server/requests.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

class SqliteStoreTest : public StoredTest {};

TEST_F(SqliteStoreTest, DevicesAreKeptInTheirOrder) {
  SqlStore(path_, kCreate).AddDevices(SomeDevices(), false);
  SqlStore store(path_);
  const DeviceRegistry registry = store.LoadDevices();
  ASSERT_EQ(registry.size(), kSmallDevices);
  for (uint32_t i = 0; i < registry.size(); ++i) {
    EXPECT_EQ(registry[i].id, "small-" + std::to_string(i));
    EXPECT_EQ(registry[i].secret.bytes[0], i);
  }
  EXPECT_EQ(store.FindDevice("small-3").secret.bytes[0], 3);
  EXPECT_FALSE(store.ListDevices()[0].seeded);
}

TEST_F(SqliteStoreTest, ARevokedDeviceIsNotEligibleAndItsNameAndSecretStayTaken) {
  SqlStore store(path_, kCreate);
  store.AddDevices(SomeDevices(3), false);
  store.RevokeDevice("small-1");
  const DeviceRegistry registry = store.LoadDevices();
  ASSERT_EQ(registry.size(), 2u);
  EXPECT_EQ(registry[1].id, "small-2");
  EXPECT_TRUE(store.ListDevices()[1].revoked.has_value());
  EXPECT_FALSE(store.ListDevices()[2].revoked.has_value());
  EXPECT_TRUE(Says(RefusalOf([&] { store.FindDevice("small-1"); }), "revoked"));
  EXPECT_TRUE(Says(RefusalOf([&] { store.RevokeDevice("small-1"); }), "revoked"));
  EXPECT_TRUE(Says(RefusalOf([&] { store.RevokeDevice("stranger"); }), "no device stranger"));
  Device device = SomeDevices(3)[1];
  EXPECT_TRUE(Says(RefusalOf([&] { store.AddDevices({device}, false); }), "already"));
  device.id = "new";
  EXPECT_TRUE(Says(RefusalOf([&] { store.AddDevices({device}, false); }), "same secret"));
}

TEST_F(SqliteStoreTest, DevicesAreAddedAllOrNone) {
  SqlStore store(path_, kCreate);
  store.AddDevices(SomeDevices(1), false);
  std::vector<Device> devices = SomeDevices(3);
  devices.erase(devices.begin());
  devices.push_back({"small-0", {}});
  EXPECT_TRUE(Says(RefusalOf([&] { store.AddDevices(devices, false); }), "small-0"));
  devices.back().id = "not a name";
  EXPECT_THROW(store.AddDevices(devices, false), std::invalid_argument);
  devices.pop_back();
  store.RequireNew(devices);
  EXPECT_EQ(store.ListDevices().size(), 1u);
  store.AddDevices(devices, false);
  EXPECT_EQ(store.ListDevices().size(), 3u);
}

// How often a pattern is in this process's memory outside the stack, of which no program knows what
// a compiler left there. The pattern comes with each bit inverted, and is not itself a copy.
size_t CopiesInMemory(const std::string& inverted) {
  std::string pattern = inverted;
  for (char& c : pattern) c = static_cast<char>(~c);
  std::vector<char> bytes(size_t{1} << 25);
  std::ifstream maps("/proc/self/maps");
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  EXPECT_GE(memory, 0);
  size_t copies = 0;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0;
    unsigned long long end = 0;
    char may[5] = {};
    if (std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, may) != 3 || may[1] != 'w')
      continue;
    if (line.find("[stack]") != std::string::npos || end - begin > bytes.size()) continue;
    if (reinterpret_cast<uintptr_t>(bytes.data()) - begin < end - begin) continue;
    const ssize_t size = pread(memory, bytes.data(), end - begin, static_cast<off_t>(begin));
    const std::string_view read(bytes.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));
    for (size_t at = 0; (at = read.find(pattern, at)) != std::string_view::npos; ++at) {
      const auto found = static_cast<uintptr_t>(begin + at);
      copies += found != reinterpret_cast<uintptr_t>(pattern.data());
    }
  }
  close(memory);
  SecureWipe(bytes.data(), bytes.size());
  SecureWipe(pattern.data(), pattern.size());
  return copies;
}

// Everything that a server does with its store reads pages that hold secrets, or an index of them.
// SECURITY.md S20.
TEST_F(SqliteStoreTest, TheRegistryHasTheOnlyCopyOfASecret) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers keep freed memory as it was";
#endif
  std::string inverted;
  {
    std::vector<Device> devices = SomeDevices(2);
    devices[1].secret = posix::RunKey(std::nullopt);
    for (const uint8_t byte : devices[1].secret.bytes) inverted += static_cast<char>(~byte);
    SqlStore(path_, kCreate).AddDevices(devices, false);
  }
  EXPECT_EQ(CopiesInMemory(inverted), 0u);
  SqlStore store(path_);
  const DeviceRegistry registry = store.LoadDevices();
  EXPECT_EQ(CopiesInMemory(inverted), 1u) << "after the reading of the devices";
  store.ReadHistory();
  store.BeginJob(RecordOf(SmallConfig()));
  EXPECT_EQ(CopiesInMemory(inverted), 1u) << "after the beginning of the job";
  store.CommitAttempt({0, 0, {0, 1}});
  Release(store, 0, 0);
  store.ReadModel(1, 0);
  store.Ledger();
  EXPECT_EQ(CopiesInMemory(inverted), 1u) << "after a release";
  EXPECT_EQ(registry.size(), 2u);
  Key renewed = posix::RunKey(std::nullopt);
  std::string other;
  for (const uint8_t byte : renewed.bytes) other += static_cast<char>(~byte);
  SqlStore(path_).RotateDevice("small-1", renewed);
  SecureWipe(renewed.bytes, sizeof(renewed.bytes));
  const SharedDevices changed = registry.Changed(store.TakeChanges());
  EXPECT_EQ(CopiesInMemory(other), 1u) << "after a rotation";
  EXPECT_EQ(CopiesInMemory(inverted), 1u) << "the former registry has the former secret";
}

TEST_F(SqliteStoreTest, OnlyTheOwnerMayReadTheFileAndItsJournal) {
  SqlStore store(path_, kCreate);
  store.AddDevices(SomeDevices(), false);
  for (const std::string& path : {path_, path_ + "-journal"}) {
    struct stat info {};
    ASSERT_EQ(stat(path.c_str(), &info), 0) << path;
    EXPECT_EQ(info.st_mode & 0777, 0600u) << path;
  }
}

// SECURITY.md S20.
TEST_F(SqliteStoreTest, AFileThatOthersMayReadIsRefused) {
  SqlStore(path_, kCreate).AddDevices(SomeDevices(), false);
  for (const mode_t mode : {0640, 0604, 0660}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    EXPECT_TRUE(Says(Refusal(), "chmod 600 " + path_));
    EXPECT_TRUE(Says(Refusal(kCreate), "chmod 600 " + path_));
  }
}

TEST_F(SqliteStoreTest, AJobResumesWhereItsLastCommitLeftIt) {
  const JobConfig config = SmallConfig();
  {
    SqlStore store(path_, kCreate);
    EXPECT_FALSE(Load(store).has_value());
    store.BeginJob(RecordOf(config));
    EXPECT_EQ(Load(store)->next_round, 0u);
    EXPECT_EQ(Load(store)->next_attempt, 0u);
    EXPECT_EQ(Load(store)->parameters, FirstModel());
    store.CommitAttempt({0, 0, {1, 2}});
    store.CommitAttempt({0, 1, {3, 4}});
    EXPECT_EQ(Load(store)->next_attempt, 2u);
    Release(store, 0, 1);
    EXPECT_EQ(Load(store)->next_attempt, 0u);
    store.CommitAttempt({1, 0, {5}});
  }
  SqlStore store(path_);
  const std::optional<JobState> state = Load(store);
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(std::memcmp(state->job_id, kJobId, kJobIdSize), 0);
  EXPECT_EQ(state->next_round, 1u);
  EXPECT_EQ(state->next_attempt, 1u);
  EXPECT_EQ(state->attempts, 3u);
  EXPECT_EQ(state->parameters, ModelOf(0));
  EXPECT_EQ(ParametersOf(store, 0), ModelOf(0));
  EXPECT_TRUE(Says(RefusalOf([&] { ParametersOf(store, 1); }), "the model of round 2"));
}

TEST_F(SqliteStoreTest, ParametersAreKeptBitForBitAsLittleEndianFloats) {
  const float values[] = {1.0f, -0.0f, 1e-45f, std::numeric_limits<float>::infinity()};
  SqlStore store(path_, kCreate);
  store.BeginJob(RecordOf(SmallConfig()));
  store.CommitAttempt({0, 0, {0x01020304}});
  ReleaseRecord record;
  record.parameters = values;
  store.CommitRelease(record);
  const std::vector<float> kept = ParametersOf(store, 0);
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_EQ(std::memcmp(kept.data(), values, sizeof(values)), 0);
}

TEST_F(SqliteStoreTest, ThePersistedBytesAreThoseOfVersionNine) {
  {
    SqlStore store(path_, kCreate);
    store.AddDevices(SomeDevices(2), true);
    store.BeginJob(RecordOf(SmallConfig()));
    store.CommitAttempt({0, 0, {0x01020304}});
    const float values[] = {1.0f};
    ReleaseRecord record;
    record.parameters = values;
    store.CommitRelease(record);
  }
  SqliteDatabase file(path_);
  EXPECT_EQ(file.Integer("PRAGMA user_version"), 9);
  EXPECT_EQ(file.Integer("PRAGMA application_id"), 0x536f7474);
  // Behind the cohort 32 random bytes: nobody finds it from the record's hash.
  EXPECT_EQ(file.Text("SELECT hex(substr(cohort, 1, 4)) FROM attempts"), "04030201");
  EXPECT_EQ(file.Integer("SELECT length(cohort) FROM attempts"), 36);
  EXPECT_EQ(file.Text("SELECT hex(parameters) FROM models WHERE round = 0"), "0000803F");
  EXPECT_EQ(file.Text("SELECT group_concat(id) FROM devices WHERE seeded"), "small-0,small-1");
  EXPECT_EQ(file.Text("SELECT hex(job_id) FROM jobs"), "7369787465656E2062797465732E2E2E");
}

TEST_F(SqliteStoreTest, ClaimsAndOptimiserStateAreKept) {
  SqlStore store(path_, kCreate);
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

TEST_F(SqliteStoreTest, AWordThatNoClaimHasIsRefused) {
  {
    SqlStore store(path_, kCreate);
    store.BeginJob(RecordOf(SmallConfig()));
    store.CommitAttempt({0, 0, {}});
    Release(store, 0, 0);
  }
  Forge("UPDATE claims SET view = 'everything'");
  SqlStore store(path_);
  EXPECT_TRUE(Says(RefusalOf([&] { store.Ledger(); }), "everything"));
}

TEST_F(SqliteStoreTest, TheLedgerHoldsWhatAJobSpent) {
  SqlStore store(path_, kCreate);
  store.AddDevices(SomeDevices(), false);
  const DeviceRegistry registry = store.LoadDevices();
  JobConfig config = SmallConfig();
  config.plan.certificate = {1e-9, 1e-21, 9.5};
  Job job(config, registry, store, Key(), Load(store));
  ASSERT_TRUE(job.OpenRound());
  for (const uint32_t index : job.cohort()) {
    EXPECT_EQ(SmallDevice(registry[index], index, *config.model).Run(job, index), Status::kOk);
  }
  const RoundOutcome outcome = job.CloseRound();
  ASSERT_EQ(store.Ledger().size(), 1u);
  const LedgerEntry entry = store.Ledger()[0];
  EXPECT_EQ(entry.round, 0u);
  EXPECT_EQ(entry.mechanism, "gau-lrq");
  EXPECT_EQ(entry.plan.noise_sigma, config.plan.noise_sigma);
  EXPECT_EQ(entry.job, 1);
  EXPECT_EQ(entry.plan.clip_l2, config.plan.clip_l2);
  EXPECT_EQ(entry.plan.devices, kSmallDevices);
  EXPECT_EQ(entry.plan.cohort, 4);
  EXPECT_EQ(entry.plan.planned_reports, 4);
  EXPECT_EQ(entry.reported, 4);
  EXPECT_EQ(entry.plan.dimension, 650);
  EXPECT_EQ(entry.plan.certificate.eta, config.plan.certificate.eta);
  EXPECT_EQ(entry.plan.certificate.tau, config.plan.certificate.tau);
  EXPECT_EQ(entry.plan.certificate.range, config.plan.certificate.range);
  EXPECT_EQ(entry.attempts, 1);
  EXPECT_EQ(entry.charged_rounds, 1);
  EXPECT_EQ(entry.earlier_rounds, 0);
  EXPECT_EQ(entry.numeric_error, outcome.spent.numeric_error());
  EXPECT_EQ(entry.noise_multiplier, outcome.spent.noise_multiplier);
  EXPECT_EQ(entry.accounted_noise_multiplier, outcome.spent.accounted_noise_multiplier);
  EXPECT_EQ(entry.plan.colluders, 1);
  EXPECT_EQ(Released(entry).colluders, 1);
  EXPECT_EQ(Released(entry).adjacency, privacy::Adjacency::kReplaceOne);
  EXPECT_EQ(entry.plan.sampling, privacy::Sampling::kUniform);
  EXPECT_EQ(Released(entry).unit, privacy::Unit::kDevice);
  EXPECT_EQ(Released(entry).trust_mode, privacy::TrustMode::kTrustedServer);
  EXPECT_EQ(Released(entry).accountant, outcome.spent.Headline().accountant);
  EXPECT_EQ(Released(entry).delta, config.plan.delta);
  EXPECT_EQ(EpsilonOf(entry), outcome.spent.epsilon());
  EXPECT_EQ(EpsilonOf(entry, privacy::View::kReleasesAndParticipants),
            NetworkEpsilon(outcome.spent));
  EXPECT_FALSE(entry.seeded);
}

TEST_F(SqliteStoreTest, WithoutPrivacyTheLedgersEpsilonIsInfinite) {
  SqlStore store(path_, kCreate);
  store.BeginJob(RecordOf(SmallConfig()));
  store.CommitAttempt({0, 0, {}});
  store.CommitRelease({});
  EXPECT_TRUE(std::isinf(EpsilonOf(store.Ledger()[0])));
  EXPECT_TRUE(std::isinf(EpsilonOf(store.Ledger()[0], privacy::View::kReleasesAndParticipants)));
  EXPECT_EQ(store.Ledger()[0].mechanism, "none");
}

// Once a seeded device took part, all later figures of the job rest on its noise too.
TEST_F(SqliteStoreTest, TheLedgerCallsSeededWhatASeededJobOrDeviceTookPartIn) {
  SqlStore store(path_, kCreate);
  std::vector<Device> devices = SomeDevices(2);
  store.AddDevices({devices[0]}, false);
  store.BeginJob(RecordOf(SmallConfig()));
  for (uint32_t round = 0; round < 3; ++round) store.CommitAttempt({round, 0, {}});
  ReleaseRecord record;
  store.CommitRelease(record);
  store.AddDevices({devices[1]}, true);
  record.round = 1;
  store.CommitRelease(record);
  store.RevokeDevice(devices[1].id);
  record.round = 2;
  store.CommitRelease(record);
  const std::vector<LedgerEntry> ledger = store.Ledger();
  EXPECT_FALSE(ledger[0].seeded);
  EXPECT_TRUE(ledger[1].seeded);
  EXPECT_TRUE(ledger[2].seeded);
  store.AllowNewJob();
  store.BeginJob(OtherRecordOf(SmallConfig()));
  store.CommitAttempt({0, 0, {}});
  record.round = 0;
  store.CommitRelease(record);
  EXPECT_TRUE(store.Ledger()[3].seeded) << "it composes with the first job";
}

TEST_F(SqliteStoreTest, TheLedgerCallsASeededJobsReleasesSeeded) {
  SqlStore store(path_, kCreate);
  store.BeginJob(RecordOf(SmallConfig()));
  store.CommitAttempt({0, 0, {}});
  ReleaseRecord record;
  record.seeded = true;
  store.CommitRelease(record);
  EXPECT_TRUE(store.Ledger()[0].seeded);
}

TEST_F(SqliteStoreTest, NoAttemptAndNoReleaseIsCommittedTwiceNorOutOfNothing) {
  SqlStore store(path_, kCreate);
  EXPECT_FALSE(Load(store).has_value());
  EXPECT_THROW(store.CommitAttempt({0, 0, {1}}), std::runtime_error) << "there is no job";
  store.BeginJob(RecordOf(SmallConfig()));
  store.CommitAttempt({0, 0, {1}});
  EXPECT_THROW(store.CommitAttempt({0, 0, {2}}), std::runtime_error);
  Release(store, 0, 0);
  EXPECT_THROW(Release(store, 0, 0), std::runtime_error);
  EXPECT_THROW(Release(store, 1, 0), std::runtime_error) << "round 1 has no attempt";
  EXPECT_EQ(store.Ledger().size(), 1u);
}

// The model and its price are one transaction: a release whose ledger entry fails is undone.
// SECURITY.md S16.
TEST_F(SqliteStoreTest, ThereIsNoReleaseWithoutItsLedgerEntry) {
  SqlStore store(path_, kCreate);
  store.BeginJob(RecordOf(SmallConfig()));
  store.CommitAttempt({0, 0, {}});
  ReleaseRecord record;
  record.codec = FindCodec("gau-lrq");
  record.spent.claims = {privacy::Claim()};
  record.spent.claims[0].delta = std::nan("");  // no ledger takes it
  EXPECT_THROW(store.CommitRelease(record), std::runtime_error);
  EXPECT_EQ(Load(store)->next_round, 0u);
  EXPECT_THROW(ParametersOf(store, 0), std::runtime_error);
}

TEST_F(SqliteStoreTest, AnotherConfigurationIsRefusedNamingTheField) {
  SqlStore store(path_, kCreate);
  store.BeginJob(RecordOf(SmallConfig()));
  store.BeginJob(RecordOf(SmallConfig()));
  const auto refuses = [&](const char* field, auto change) {
    JobConfig config = SmallConfig();
    change(config);
    const std::string message = RefusalOf([&] { store.BeginJob(RecordOf(config)); });
    EXPECT_TRUE(Says(message, std::string("began with ") + field + " = ")) << message;
  };
  refuses("model", [](JobConfig& c) { c.model = FindModel("softmax-784-10"); });
  refuses("mechanism", [](JobConfig& c) { c.codec = FindCodec("none"); });
  refuses("seeded", [](JobConfig& c) { c.seeded = true; });
  refuses("sampling", [](JobConfig& c) { c.plan.sampling = privacy::Sampling::kPoisson; });
  refuses("devices", [](JobConfig& c) { c.plan.devices = 13; });
  refuses("cohort", [](JobConfig& c) { c.plan.cohort = 5; });
  refuses("planned_reports", [](JobConfig& c) { c.plan.planned_reports = 5; });
  refuses("rounds", [](JobConfig& c) { c.plan.rounds = 2; });
  refuses("dimension", [](JobConfig& c) { c.plan.dimension = 651; });
  refuses("clip_l2", [](JobConfig& c) { c.plan.clip_l2 = 0.5; });
  refuses("noise_sigma",
          [](JobConfig& c) { c.plan.noise_sigma = std::nextafter(c.plan.noise_sigma, 1.0); });
  refuses("colluders", [](JobConfig& c) { c.plan.colluders = 0; });
  refuses("delta", [](JobConfig& c) { c.plan.delta = 1e-4; });
  refuses("certificate_eta", [](JobConfig& c) { c.plan.certificate.eta = 1e-6; });
  refuses("certificate_tau", [](JobConfig& c) { c.plan.certificate.tau = 1e-6; });
  refuses("certificate_range", [](JobConfig& c) { c.plan.certificate.range = 9; });
  refuses("local_epochs", [](JobConfig& c) { c.training.local_epochs = 1; });
  refuses("batch_size", [](JobConfig& c) { c.training.batch_size = 4; });
  refuses("learning_rate", [](JobConfig& c) { c.training.learning_rate = 0.2f; });
  refuses("weight_decay", [](JobConfig& c) { c.training.weight_decay = 0.1f; });
  refuses("clipping", [](JobConfig& c) { c.training.clipping = Clipping::kAtEnd; });
  refuses("learning_rate_decay", [](JobConfig& c) { c.learning_rate_decay = 0.5; });
  refuses("server_learning_rate", [](JobConfig& c) { c.aggregation.server_learning_rate = 2; });
  refuses("smoothing", [](JobConfig& c) { c.aggregation.smoothing = 1; });
  refuses("min_devices", [](JobConfig& c) { c.min_devices = 2; });
  refuses("epsilon_budget", [](JobConfig& c) { c.epsilon_budget = 3; });
  refuses("clip_bit_scale", [](JobConfig& c) {
    c.plan.clip_bit_scale = 0.1;
    c.clip_schedule = privacy::ClipSchedule{};
  });
}

TEST_F(SqliteStoreTest, HowAProcessWorksMayChangeFromOneToTheNext) {
  SqlStore store(path_, kCreate);
  JobConfig config = SmallConfig();
  store.BeginJob(RecordOf(config));
  config.process.threads = 7;
  config.process.max_attempts = 3;
  store.BeginJob(RecordOf(config));
}

TEST_F(SqliteStoreTest, AFieldThatOnlyOneSideKnowsIsNamedToo) {
  { SqlStore(path_, kCreate).BeginJob(RecordOf(SmallConfig())); }
  Forge("UPDATE jobs SET configuration = json_set(configuration, '$.nesterov', 0.9)");
  const auto message = [&] {
    return RefusalOf([&] { SqlStore(path_).BeginJob(RecordOf(SmallConfig())); });
  };
  EXPECT_TRUE(Says(message(), "nesterov = 0.9, and now it is absent"));
  Forge("UPDATE jobs SET configuration = '{'");
  EXPECT_TRUE(Says(message(), "damaged"));
}

TEST_F(SqliteStoreTest, AJobThatWasNotResumedIsRefused) {
  SqlStore store(path_, kCreate);
  store.AddDevices(SomeDevices(), false);
  const DeviceRegistry registry = store.LoadDevices();
  Key other_key;
  other_key.bytes[0] = 1;
  const Job job(SmallConfig(), registry, store, Key(), Load(store));
  EXPECT_TRUE(Says(RefusalOf([&] { Job(SmallConfig(), registry, store, other_key); }), "resume"));
  const Job resumed(SmallConfig(), registry, store, other_key, Load(store));
  EXPECT_EQ(resumed.round(), 0u);
}

// One process runs the small job's next rounds on the store.
struct Process {
  Process(const std::string& path, const Key& server_key)
      : store(path),
        registry(store.LoadDevices()),
        job(SmallConfig(), registry, store, server_key, Load(store)) {}

  void ReportAll() {
    for (const uint32_t index : job.cohort()) {
      SmallDevice device(registry[index], index, *job.config().model, job.round());
      EXPECT_EQ(device.Run(job, index), Status::kOk);
    }
  }

  bool RunRound() {
    if (!job.OpenRound()) return false;
    ReportAll();
    return job.CloseRound().released;
  }

  SqlStore store;
  DeviceRegistry registry;
  Job job;
};

TEST_F(SqliteStoreTest, AJobStoppedBetweenRoundsEndsWithTheSameModelAsOneThatWasNot) {
  const std::string other = folder_.Path("other");
  for (const std::string& path : {path_, other}) {
    SqlStore(path, kCreate).AddDevices(SomeDevices(), true);
  }
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(Process(path_, Key()).RunRound());
  }
  Process whole(other, Key());
  while (whole.RunRound()) {
  }
  Process resumed(path_, Key());
  EXPECT_FALSE(resumed.job.OpenRound());
  EXPECT_TRUE(Says(resumed.job.finish_reason(), "all 3 rounds"));
  const std::vector<LedgerEntry> ledger = resumed.store.Ledger();
  ASSERT_EQ(ledger.size(), 3u);
  for (uint32_t round = 0; round < 3; ++round) {
    EXPECT_EQ(EpsilonOf(ledger[round]), EpsilonOf(whole.store.Ledger()[round]));
    EXPECT_EQ(ParametersOf(resumed.store, round), ParametersOf(whole.store, round));
  }
}

TEST_F(SqliteStoreTest, AnInterruptedRoundComesAgainAsANewAttemptOfTheSameJob) {
  SqlStore(path_, kCreate).AddDevices(SomeDevices(), false);
  TrainTask first;
  {
    Process process(path_, Key());
    EXPECT_TRUE(process.RunRound());
    ASSERT_TRUE(process.job.OpenRound());
    first = AskForWork(process.job, process.job.cohort()[0]).task;
  }
  Key other_key;
  other_key.bytes[0] = 1;
  Process process(path_, other_key);
  EXPECT_EQ(process.job.round(), 1u);
  ASSERT_TRUE(process.job.OpenRound());
  const TrainTask second = AskForWork(process.job, process.job.cohort()[0]).task;
  EXPECT_EQ(first.round, 1u);
  EXPECT_EQ(second.round, 1u);
  EXPECT_EQ(first.attempt, 0u);
  EXPECT_EQ(second.attempt, 1u);
  EXPECT_EQ(std::memcmp(first.job_id, second.job_id, kJobIdSize), 0);
  // Three attempts were begun and two rounds released: those are charged.
  process.ReportAll();
  EXPECT_EQ(process.job.CloseRound().spent.epsilon(),
            privacy::Account(SmallConfig().plan, 2).epsilon());
}

}  // namespace
}  // namespace sotto::server
