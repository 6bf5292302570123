// Tests of a store through the interface Store alone.
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/open_store.h"
#include "jobs/job_start.h"
#include "plans/statement.h"
#include "sotto/model/model_bundle.h"
#include "sotto/model/model_text.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

class StoreTest : public StoredTest {
 protected:
  std::unique_ptr<Store> Open(StoreMode mode = StoreMode::kExisting) const {
    return OpenStore(path_, mode);
  }
};

void CommitRound(Store& store, uint32_t round, const std::vector<uint8_t>& optimiser_state = {}) {
  const std::vector<float> model = ModelOf(round);
  ReleaseRecord record;
  record.codec = FindCodec("gau-lrq");
  record.round = round;
  record.parameters = {model.data(), model.size()};
  record.plan = SmallConfig().plan;
  record.next_clip_l2 = 0.25;
  record.spent = privacy::Account(record.plan, round + 1);
  record.optimiser_state = {optimiser_state.data(), optimiser_state.size()};
  store.CommitAttempt({round, 0, {1, 2}});
  store.CommitRelease(record);
}

TEST_F(StoreTest, DevicesAreAddedFoundAndRevoked) {
  {
    const auto store = Open(StoreMode::kCreate);
    store->AddDevices(SomeDevices(3), true);
    store->RevokeDevice("small-1");
  }
  const auto store = Open();
  EXPECT_EQ(store->LoadDevices().size(), 2u);
  EXPECT_EQ(store->LoadDevices()[1].id, "small-2");
  EXPECT_EQ(store->FindDevice("small-2").secret.bytes[0], 2);
  EXPECT_THROW(store->FindDevice("small-1"), std::runtime_error);
  const std::vector<DeviceRecord> devices = store->ListDevices();
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_FALSE(devices[1].is_eligible());
  EXPECT_TRUE(devices[2].seeded);
  EXPECT_LT(devices[0].number, devices[1].number);
  EXPECT_THROW(store->AddDevices(SomeDevices(1), false), std::runtime_error) << "it is there";
}

TEST_F(StoreTest, ADeviceIsKnownToBeNewBeforeItIsAdded) {
  const auto store = Open(StoreMode::kCreate);
  store->RequireNew(SomeDevices(2));
  EXPECT_TRUE(store->ListDevices().empty());
  store->AddDevices(SomeDevices(1), false);
  EXPECT_THROW(store->RequireNew(SomeDevices(2)), std::runtime_error);
}

TEST_F(StoreTest, ARotatedDeviceIsTheSameDeviceWithAnotherSecret) {
  const auto store = Open(StoreMode::kCreate);
  store->AddDevices(SomeDevices(2), false);
  Key secret;
  secret.bytes[5] = 77;
  store->RotateDevice("small-1", secret);
  EXPECT_EQ(store->FindDevice("small-1").secret.bytes[5], 77);
  EXPECT_EQ(store->LoadDevices()[1].secret.bytes[5], 77);
  EXPECT_TRUE(store->ListDevices()[1].rotated.has_value());
  EXPECT_FALSE(store->ListDevices()[0].rotated.has_value());
  EXPECT_THROW(store->RotateDevice("small-0", secret), std::runtime_error) << "taken";
  EXPECT_THROW(store->RotateDevice("small-1", SomeDevices(2)[1].secret), std::runtime_error)
      << "its own former one";
  EXPECT_THROW(store->RotateDevice("nobody", Key()), std::runtime_error);
  secret.bytes[5] = 78;
  store->RotateDevice("small-1", secret);
  EXPECT_EQ(store->FindDevice("small-1").secret.bytes[5], 78);
  store->RevokeDevice("small-1");
  secret.bytes[5] = 79;
  EXPECT_THROW(store->RotateDevice("small-1", secret), std::runtime_error) << "revoked";
}

TEST_F(StoreTest, FormerKeysAreThoseThatOpenNothingAnyMore) {
  const auto store = Open(StoreMode::kCreate);
  store->AddDevices(SomeDevices(3), false);
  EXPECT_TRUE(store->LoadFormerKeys().empty());
  Key secret;
  for (const uint8_t byte : {uint8_t{77}, uint8_t{78}}) {
    secret.bytes[5] = byte;
    store->RotateDevice("small-1", secret);
  }
  store->RevokeDevice("small-2");
  std::vector<FormerKey> keys = store->LoadFormerKeys();
  ASSERT_EQ(keys.size(), 3u);
  EXPECT_EQ(keys[0].id, "small-1");
  EXPECT_TRUE(IsSameSecret(keys[0].secret, SomeDevices(3)[1].secret));
  EXPECT_EQ(keys[1].secret.bytes[5], 77);
  EXPECT_FALSE(keys[1].is_revoked);
  EXPECT_EQ(keys[2].id, "small-2");
  EXPECT_TRUE(keys[2].is_revoked);
  EXPECT_GT(keys[2].since, 0);
  store->RevokeDevice("small-1");
  const FormerKeys former(store->LoadFormerKeys());
  ASSERT_EQ(former.size(), 4u) << "all that it had";
  EXPECT_EQ(former.LastOfRevoked("small-1")->secret.bytes[5], 78);
  EXPECT_EQ(former.LastOfRevoked("small-0"), nullptr);
}

TEST_F(StoreTest, ChangesAreTakenOnceAndInTheirOrder) {
  const auto store = Open(StoreMode::kCreate);
  store->AddDevices(SomeDevices(2), false);
  store->LoadDevices();
  EXPECT_TRUE(store->TakeChanges().empty());
  Key secret;
  secret.bytes[5] = 77;
  const auto other = Open(StoreMode::kExisting);
  other->RotateDevice("small-0", secret);
  other->AddDevices({{"late", {{9}}}}, false);
  other->RevokeDevice("small-1");
  other->SetPaused(true);
  const std::vector<DeviceChange> changes = store->TakeChanges();
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].kind, DeviceChange::Kind::kRotated);
  EXPECT_EQ(changes[0].device.secret.bytes[5], 77);
  EXPECT_EQ(changes[1].kind, DeviceChange::Kind::kAdded);
  EXPECT_EQ(changes[1].device.id, "late");
  EXPECT_EQ(changes[1].device.secret.bytes[0], 9);
  EXPECT_EQ(changes[2].kind, DeviceChange::Kind::kRevoked);
  EXPECT_TRUE(store->TakeChanges().empty());
  EXPECT_TRUE(store->IsPaused());
  store->SetPaused(true);
  store->SetPaused(false);
  EXPECT_FALSE(other->IsPaused());
}

TEST_F(StoreTest, AnotherNumberOfDevicesAndAnExtensionAreKeptWithTheJob) {
  const auto store = Open(StoreMode::kCreate);
  store->AddDevices(SomeDevices(), false);
  JobConfig config = SmallConfig();
  store->BeginJob(RecordOf(config));
  store->CommitAttempt({0, 0, {0}, kSmallDevices});
  store->AddDevices({{"late", {{9}}}}, false);
  const int64_t late = store->ListDevices().back().number;
  store->CommitAttempt({0, 1, {1}, kSmallDevices + 1, {late}});
  store->CommitAttempt({0, 2, {1}, kSmallDevices + 1});
  config.plan.rounds += 5;
  store->BeginJob(RecordOf(config));
  const JobEntry job = store->ReadHistory().jobs.at(0);
  ASSERT_EQ(job.fleets.size(), 1u);
  EXPECT_EQ(job.fleets[0].attempt, 1);
  EXPECT_EQ(job.fleets[0].devices, kSmallDevices + 1);
  EXPECT_EQ(job.fleets[0].attempts_before, 1);
  EXPECT_EQ(job.first_devices.size(), size_t{kSmallDevices});
  EXPECT_EQ(job.devices.back(), late);
  ASSERT_EQ(job.extensions.size(), 1u);
  EXPECT_EQ(job.extensions[0].rounds, config.plan.rounds);
  config.plan.rounds -= 1;
  EXPECT_THROW(store->BeginJob(RecordOf(config)), std::runtime_error) << "not lowered";
}

TEST_F(StoreTest, AJobIsReadBackAsItWasCommitted) {
  {
    const auto store = Open(StoreMode::kCreate);
    store->AddDevices(SomeDevices(2), false);
    store->BeginJob(RecordOf(SmallConfig()));
    CommitRound(*store, 0, {1, 2, 3});
    store->CommitAttempt({1, 0, {0}});
    store->CommitAttempt({1, 1, {1}});
  }
  const auto store = Open();
  const History history = store->ReadHistory();
  ASSERT_EQ(history.jobs.size(), 1u);
  const JobEntry& job = history.jobs[0];
  EXPECT_EQ(job.number, 1);
  EXPECT_EQ(std::memcmp(job.job_id, kJobId, kJobIdSize), 0);
  EXPECT_EQ(job.devices.size(), 2u);
  EXPECT_EQ(job.devices[0], history.devices[0].number);
  EXPECT_EQ(job.released, 1);
  EXPECT_EQ(job.attempts, 3);
  EXPECT_EQ(job.next_attempt, 2);
  const StoredModel model = store->ReadModel(1, 0);
  EXPECT_EQ(model.parameters, ModelOf(0));
  EXPECT_EQ(model.optimiser_state, (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(model.next_clip_l2, 0.25);
  EXPECT_THROW(store->ReadModel(1, 1), std::runtime_error);
}

TEST_F(StoreTest, AJobsModelIsReadBackWithoutAnyFile) {
  const posix::SharedModel model = posix::ParseModel(
      "mine.toml",
      "name = \"mine\"\ninput = [64]\nclasses = [\"rest\", \"run\"]\n[[prepare]]\n"
      "kind = \"normalise\"\nmean = 0.1\ndeviation = 0.3\n[[layer]]\nkind = \"dense\"\n"
      "outputs = 2\n");
  {
    const auto store = Open(StoreMode::kCreate);
    store->BeginJob(RecordOf(SmallConfig()));
    store->AllowNewJob();
    JobConfig config = SmallConfig();
    config.model = model.get();
    config.plan.dimension = model->parameters;
    store->BeginJob(OtherRecordOf(config));
  }
  const auto store = Open();
  EXPECT_EQ(store->ReadDescription(2), posix::BundleOf(*model));
  EXPECT_EQ(store->ReadDescription(1), posix::BundleOf(*SmallConfig().model));
  EXPECT_THROW(store->ReadDescription(3), std::runtime_error);

  ServeRequest request;
  const JobEntry job = store->ReadHistory().jobs.at(1);
  const ServeRequest resuming = ResumingRequest(request, *store, job);
  EXPECT_EQ(posix::ModelDigestHex(*resuming.job.model), posix::ModelDigestHex(*model));
  request.given.insert("model");
  EXPECT_EQ(ResumingRequest(request, *store, job).job.model, request.job.model) << "it was given";
}

// The server that begins a queued job may be unable to read the file that was named.
TEST_F(StoreTest, AQueuedJobBringsItsModelAlong) {
  const posix::SharedModel model = posix::ParseModel(
      "mine.toml", "name = \"mine\"\ninput = [64]\n[[layer]]\nkind = \"dense\"\noutputs = 2\n");
  const auto store = Open(StoreMode::kCreate);
  JobAsk ask;
  ask.settings = "model = \"/gone/mine.toml\"\ncohort = \"3\"\n";
  EXPECT_THROW(RequestOf(ServeRequest(), ask), std::invalid_argument);
  ask.model = posix::BundleOf(*model);
  const int64_t number = store->Ask(ask);
  const JobAsk read = store->ReadHistory().requests.at(0).ask;
  const ServeRequest request = RequestOf(ServeRequest(), read);
  EXPECT_EQ(request.job.plan.cohort, 3);
  EXPECT_EQ(posix::ModelDigestHex(*request.job.model), posix::ModelDigestHex(*model));
  store->AnswerRequest(number, {JobOutcome::kRefused, 0, "for a test"});
  EXPECT_TRUE(store->ReadHistory().requests.at(0).ask.model.empty()) << "nobody needs it now";
}

TEST_F(StoreTest, ALedgerEntryIsReadBackAsItWasCommitted) {
  const auto store = Open(StoreMode::kCreate);
  JobConfig config = SmallConfig();
  config.plan.device_floor = 10;
  store->BeginJob(RecordOf(config));
  CommitRound(*store, 0);
  const std::vector<LedgerEntry> ledger = store->Ledger();
  ASSERT_EQ(ledger.size(), 1u);
  const privacy::Plan plan = SmallConfig().plan;
  const privacy::Statement spent = privacy::Account(plan, 1);
  EXPECT_EQ(ledger[0].plan.delta, plan.delta);
  EXPECT_EQ(ledger[0].plan.rounds, plan.rounds);
  EXPECT_EQ(ledger[0].plan.device_floor, 10) << "as the job was begun";
  ASSERT_EQ(ledger[0].claims.size(), spent.claims.size());
  for (size_t i = 0; i < spent.claims.size(); ++i) {
    EXPECT_EQ(ledger[0].claims[i].view, spent.claims[i].view);
    EXPECT_EQ(ledger[0].claims[i].epsilon, spent.claims[i].epsilon);
    EXPECT_EQ(ledger[0].claims[i].accountant, spent.claims[i].accountant);
    EXPECT_EQ(ledger[0].claims[i].assumptions, spent.claims[i].assumptions);
  }
}

TEST_F(StoreTest, NoNumberOfAnAttemptIsGivenOutTwice) {
  const auto store = Open(StoreMode::kCreate);
  EXPECT_THROW(store->CommitAttempt({0, 0, {1}}), std::runtime_error) << "there is no job";
  store->BeginJob(RecordOf(SmallConfig()));
  CommitRound(*store, 0);
  EXPECT_THROW(store->CommitAttempt({0, 0, {2}}), std::runtime_error);
  EXPECT_THROW(CommitRound(*store, 0), std::runtime_error);
  EXPECT_EQ(store->Ledger().size(), 1u);
}

TEST_F(StoreTest, ANewJobBeginsOnlyIfItIsAllowed) {
  const auto store = Open(StoreMode::kCreate);
  store->BeginJob(RecordOf(SmallConfig()));
  store->BeginJob(RecordOf(SmallConfig()));
  EXPECT_EQ(store->ReadHistory().jobs.size(), 1u) << "the same job is resumed";
  EXPECT_THROW(store->BeginJob(OtherRecordOf(SmallConfig())), std::runtime_error);
  store->AllowNewJob();
  EXPECT_EQ(store->ReadHistory().jobs.size(), 1u);
  store->BeginJob(OtherRecordOf(SmallConfig()));
  CommitRound(*store, 0);
  const History history = store->ReadHistory();
  ASSERT_EQ(history.jobs.size(), 2u);
  EXPECT_EQ(history.jobs[0].released, 0);
  EXPECT_EQ(history.jobs[1].released, 1);
}

TEST_F(StoreTest, AReleaseIsMarkedIfItRestsOnSeededNoise) {
  const auto store = Open(StoreMode::kCreate);
  store->AddDevices(SomeDevices(1), true);
  store->BeginJob(RecordOf(SmallConfig()));
  CommitRound(*store, 0);
  EXPECT_TRUE(store->Ledger()[0].seeded);
  EXPECT_TRUE(store->ReadHistory().jobs[0].seeded);
}

}  // namespace
}  // namespace sotto::server
