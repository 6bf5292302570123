// Tests of a store's life: sums over all jobs, their limit, and that nothing refills a device.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "accounting/figures.h"
#include "plans/calibration.h"
#include "plans/statement.h"
#include "plans/turns.h"
#include "sotto/certificate.h"
#include "store/recovery.h"
#include "unit/server/server_start.h"

namespace sotto::server {
namespace {

constexpr double kDelta = 1e-3;
constexpr privacy::CertificateBounds kCertificate = {kDitherEta, kDitherTau, kDitherRange};

privacy::Turns TurnsTimes(const privacy::Turns& turn, int64_t count) {
  privacy::Turns turns;
  for (int64_t i = 0; i < count; ++i) turns = turns + turn;
  return turns;
}

// A life epsilon for so many turns of the small job.
double EpsilonOfTurns(int64_t count, const JobConfig& config = SmallPassesConfig()) {
  return LifeEpsilonFor(TurnsTimes(privacy::TurnIn(config.plan, 0), count), kDelta,
                        config.plan.certificate);
}

class StoreLifeTest : public StoredTest {
 protected:
  void SetUp() override {
    StoredTest::SetUp();
    SqlStore store(path_, kCreate);
    store.AddDevices(SomeDevices(), false);
  }

  void Raise(double epsilon) const {
    SqlStore store(path_, StoreMode::kExisting);
    ASSERT_EQ(WhyNotLifeEpsilon(store.ReadHistory(), epsilon, kDelta, false), "");
    store.RaiseLifeEpsilon(epsilon, kDelta);
  }

  // The small job's noise is certified to be exact: it may have what leaves the encoder no room.
  void RaiseForExactNoise(double epsilon) const {
    SqlStore(path_).RaiseLifeEpsilon(epsilon, kDelta);
  }

  // Runs a job to its end; of passes with rounds in which nobody reports.
  void RunJob(const JobConfig& config, bool is_new_job = true) const {
    ServerStart server(path_, config, is_new_job);
    while (server.Open()) {
      if (config.plan.sampling != privacy::Sampling::kPasses) server.Report();
      EXPECT_TRUE(server.job().CloseRound().released);
    }
  }

  // Why the job does not begin.
  std::string Refusal(const JobConfig& config, bool is_new_job = true) const {
    try {
      const ServerStart server(path_, config, is_new_job);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "it begins";
  }

  int64_t Records() const { return Rows("chain"); }

  History ReadHistory() const {
    SqlStore store(path_, StoreMode::kExisting);
    return store.ReadHistory();
  }

  int64_t Rows(const std::string& table) const {
    SqliteDatabase database(path_, Access::kRead);
    return database.Integer(("SELECT count(*) FROM " + table).c_str());
  }
};

bool SaysWords(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

// The figures of two jobs of epsilon 6: mu 1.3098 each, 9.10 together.
TEST(StoreLife, TwoJobsOfEpsilonSixNeedALifeEpsilonOfNinePointThree) {
  privacy::Plan plan;
  plan.sampling = privacy::Sampling::kPasses;
  plan.devices = 1000;
  plan.cohort = plan.planned_reports = 100;
  plan.rounds = 40;
  plan.participations = 4;
  plan.dimension = 7850;
  plan.clip_l2 = 0.4;
  plan.delta = 1e-5;
  plan.certificate = kCertificate;
  plan = privacy::PlanForEpsilon(plan, 6);
  const privacy::Turns limit = privacy::LimitOf(plan);
  EXPECT_NEAR(std::sqrt(limit.mu_squared), 1.3098, 2e-3);
  EXPECT_NEAR(privacy::HeadlineEpsilon(plan, 40), 6.0, 1e-3);
  EXPECT_NEAR(privacy::HeadlineEpsilon(plan, 40, {{plan, 40, 40, 4}}), 9.10, 0.01);
  EXPECT_EQ(LifeEpsilonFor(limit + limit, 1e-5, kCertificate), 9.3);
  EXPECT_GT(LifeEpsilonFor(limit + limit + limit, 1e-5, kCertificate), 11.5);
}

TEST_F(StoreLifeTest, ALifeEpsilonIsARecordThatOnlyGrows) {
  OF_A_FILE_ONLY();
  Raise(20);
  Raise(29);
  SqlStore store(path_, StoreMode::kExisting);
  EXPECT_THROW(store.RaiseLifeEpsilon(29, kDelta), std::invalid_argument);
  EXPECT_THROW(store.RaiseLifeEpsilon(10, kDelta), std::invalid_argument);
  store.RaiseLifeEpsilon(31, 0.4);
  const std::optional<LifeEpsilon> life = store.ReadHistory().life;
  ASSERT_TRUE(life.has_value());
  EXPECT_EQ(life->epsilon, 31);
  EXPECT_EQ(life->delta, kDelta) << "of the first one";
  EXPECT_GT(life->since, 0);
  EXPECT_EQ(Rows("life_epsilons"), 3);
  RunSql("UPDATE life_epsilons SET epsilon = 90 WHERE number = 3");
  const std::string refusal = RefusalOf([&] { const SqlStore again(path_); });
  EXPECT_TRUE(SaysWords(refusal, "life epsilon number 3")) << refusal;
}

TEST_F(StoreLifeTest, AFirstLifeEpsilonCoversWhatWasSpentAndWaitsForTheServer) {
  RunJob(SmallPassesConfig(), false);
  const double both = EpsilonOfTurns(2);
  const History history = ReadHistory();
  EXPECT_TRUE(SaysWords(WhyNotLifeEpsilon(history, both / 2, kDelta, false), "name at least"));
  EXPECT_EQ(WhyNotLifeEpsilon(history, both, kDelta, false), "");
  EXPECT_TRUE(SaysWords(WhyNotLifeEpsilon(history, both, kDelta, true), "stop it"));
}

TEST_F(StoreLifeTest, WithoutALifeEpsilonASecondJobIsRefusedWithBothFigures) {
  OF_A_FILE_ONLY();
  const JobConfig config = SmallPassesConfig();
  RunJob(config, false);
  const int64_t records = Records();
  const std::string refusal = Refusal(config);
  const double own = privacy::HeadlineEpsilon(config.plan, 6);
  const double both = privacy::HeadlineEpsilon(config.plan, 6, {{config.plan, 6, 6, 2}});
  EXPECT_TRUE(SaysWords(refusal, "this job has epsilon " + privacy::EpsilonText(own, 2)))
      << refusal;
  EXPECT_TRUE(SaysWords(refusal, "over all jobs " + privacy::EpsilonText(both, 2))) << refusal;
  const double life = EpsilonOfTurns(4);
  EXPECT_TRUE(
      SaysWords(refusal, fmt::format("raise-life-epsilon {} {:.1f} --delta 0.001", path_, life)))
      << refusal;
  EXPECT_EQ(Records(), records) << "nothing is written";
  EXPECT_EQ(Refusal(config, false), "it begins") << "a resumed job is no second one";
  RaiseForExactNoise(life);
  EXPECT_EQ(Refusal(config), "it begins");
}

// The encoder's terms grow as e to it.
JobConfig EncodedJob() {
  JobConfig config = SmallPassesConfig();
  config.plan.certificate = {kDitherEta, kDitherTau, kDitherRange};
  return config;
}

TEST_F(StoreLifeTest, ALifeEpsilonWithoutRoomForTheEncodersTermsIsNamedAsTooLarge) {
  SqlStore(path_).RaiseLifeEpsilon(100, kDelta);  // of a store that has it already
  const std::string refusal = Refusal(EncodedJob(), false);
  EXPECT_TRUE(SaysWords(refusal, "100 at delta 0.001, is too large for that")) << refusal;
  EXPECT_TRUE(SaysWords(refusal, "take a new store with --life-epsilon")) << refusal;
  JobConfig uniform = SmallConfig();
  uniform.plan.certificate = kCertificate;
  const std::string secret = Refusal(uniform, false);
  EXPECT_TRUE(SaysWords(secret, "100 at delta 0.001, is too large for that")) << secret;
  EXPECT_FALSE(SaysWords(secret, "raise-life-epsilon")) << "it would be no raise: " << secret;
}

TEST_F(StoreLifeTest, ALifeEpsilonThatLeavesNoJobRoomIsRefusedAtOnce) {
  EXPECT_EQ(WhyTooLarge(29, kDelta), "");
  EXPECT_EQ(WhyTooLarge(28, 1e-5), "");
  for (const double epsilon : {30.0, 60.0, 1e5}) {
    const std::string why = WhyTooLarge(epsilon, kDelta);
    EXPECT_TRUE(SaysWords(why, "name at most 29.3")) << why;
    EXPECT_EQ(WhyNotLifeEpsilon(ReadHistory(), epsilon, kDelta, false), why);
  }
  EXPECT_EQ(DescribeRoomOf(6.1, 1e-5), "");
  const std::string room = DescribeRoomOf(24, 1e-5);
  EXPECT_TRUE(SaysWords(room, "room for 3e+05 coordinates")) << room;
  EXPECT_TRUE(SaysWords(room, "19.3 has room for ten such jobs")) << room;
}

TEST_F(StoreLifeTest, TheLargestLifeEpsilonWithRoomHasRoomAndTheNextHasNone) {
  const privacy::Turns turns = privacy::LimitOf(EncodedJob().plan);
  const double largest = LargestLifeEpsilonFor(turns, 100, kDelta, kCertificate);
  const auto has_room = [&](double epsilon) {
    return privacy::HasRoom({}, turns, privacy::LifeLimit(epsilon, kDelta, kCertificate));
  };
  EXPECT_TRUE(has_room(largest)) << largest;
  EXPECT_FALSE(has_room(largest + 0.1)) << largest;
  EXPECT_EQ(LargestLifeEpsilonFor(turns, 0.1, kDelta, kCertificate), 0) << "none is so small";
}

TEST_F(StoreLifeTest, NoRaiseLeavesWhatWasSpentWithoutRoom) {
  RunJob(EncodedJob(), false);
  constexpr double kSmall = 1e-5;  // of which there is no room for two turns at 29
  const History history = ReadHistory();
  const double largest = LargestLifeEpsilonFor(MostBounded(history), 29, kSmall, kCertificate);
  ASSERT_LT(largest, 29);
  const std::string why = WhyNotLifeEpsilon(history, 29, kSmall, false);
  EXPECT_TRUE(SaysWords(why, "29 is too large for its last job")) << why;
  EXPECT_TRUE(SaysWords(why, fmt::format("name at most {:.1f}", largest))) << why;
  EXPECT_EQ(WhyNotLifeEpsilon(history, largest, kSmall, false), "");
}

TEST_F(StoreLifeTest, ASecondJobOfAnySamplingIsChargedForTheDraws) {
  RunJob(SmallConfig(), false);
  EXPECT_TRUE(SaysWords(Refusal(SmallPassesConfig()), "holds an earlier job"));
  EXPECT_EQ(Refusal(SmallConfig()), "it begins") << "its budget counts the jobs before";
}

TEST_F(StoreLifeTest, AJobWithoutNoiseLeavesNoRoomForAnyOther) {
  JobConfig config = SmallPassesConfig();
  config.codec = FindCodec("none");
  RunJob(config, false);
  EXPECT_TRUE(SaysWords(Refusal(SmallPassesConfig()), "no epsilon covers that"));
  EXPECT_TRUE(SaysWords(WhyNotLifeEpsilon(ReadHistory(), 25, kDelta, false), "without noise"));
}

TEST_F(StoreLifeTest, WithALifeEpsilonNoJobWithoutNoiseBegins) {
  Raise(20);
  JobConfig config = SmallPassesConfig();
  config.codec = FindCodec("none");
  EXPECT_TRUE(SaysWords(Refusal(config), "without noise"));
}

// What the devices have had counts, though a new device would need less.
TEST_F(StoreLifeTest, TheLifeEpsilonThatARefusalNamesHasRoomForAllTurnsOfTheJob) {
  RaiseForExactNoise(EpsilonOfTurns(2));
  const JobConfig first = SmallPassesConfig(2, 6);
  RunJob(first, false);
  const JobConfig next = SmallPassesConfig(3, 9);
  const double enough = LifeEpsilonFor(privacy::LimitOf(first.plan) + privacy::LimitOf(next.plan),
                                       kDelta, next.plan.certificate);
  const std::string refusal = Refusal(next);
  EXPECT_TRUE(SaysWords(refusal, "no room for all turns")) << refusal;
  EXPECT_TRUE(SaysWords(refusal, fmt::format("raise-life-epsilon {} {:.1f}`", path_, enough)))
      << refusal;
}

// A device that has room for a turn may be asked for it; the others end nobody's job.
TEST_F(StoreLifeTest, ADeviceWithoutRoomIsNotAsked) {
  RaiseForExactNoise(EpsilonOfTurns(3));
  RunJob(SmallPassesConfig(2, 6), false);
  RunJob(SmallPassesConfig(2, 6));
  for (const auto& [device, count] : TurnsIn(*std::make_unique<SqlStore>(path_))) {
    EXPECT_EQ(count, 3) << device;
  }
  EXPECT_EQ(ReadHistory().jobs[1].released, 3) << "of six";
  const std::string refusal = Refusal(SmallPassesConfig(2, 6));
  EXPECT_TRUE(SaysWords(refusal, "0 devices of the 4")) << refusal;
  EXPECT_TRUE(SaysWords(refusal, "raise-life-epsilon")) << refusal;
  {
    SqlStore store(path_);
    std::vector<Device> more;
    for (uint8_t i = 0; i < 4; ++i) {
      more.push_back({"more-" + std::to_string(i), {}});
      more.back().secret.bytes[29] = static_cast<uint8_t>(i + 1);
    }
    store.AddDevices(more, false);
  }
  RunJob(SmallPassesConfig(2, 6));
  EXPECT_EQ(ReadHistory().jobs[2].released, 2) << "the four new ones, twice";
}

TEST_F(StoreLifeTest, TheClaimOfALaterJobIsTheSumAndAtMostTheLimit) {
  RaiseForExactNoise(EpsilonOfTurns(5));
  for (int job = 0; job < 3; ++job) {
    ServerStart server(path_, SmallPassesConfig(2, 6), job > 0);
    ASSERT_TRUE(server.Open());
    const privacy::Claim claim = server.job().CloseRound().spent.Headline();
    const double turn = privacy::TurnIn(server.job().config().plan, 0).mu_squared;
    const double limit = server.job().config().life_limit->mu_squared;
    EXPECT_LT(limit, 6 * turn);
    EXPECT_NEAR(*claim.mu, std::sqrt(std::min(limit, 2 * turn * (job + 1))), 1e-6) << job;
    while (server.Open()) server.job().CloseRound();
  }
}

// Who has room must not decide about a secret draw: the job needs room for a device in each round.
TEST_F(StoreLifeTest, AJobOfSecretDrawsNeedsRoomForTheWorstCase) {
  const JobConfig uniform = SmallConfig();  // three rounds
  RaiseForExactNoise(EpsilonOfTurns(5));
  EXPECT_EQ(Refusal(uniform), "it begins");
  RunJob(uniform, false);
  const std::string refusal = Refusal(uniform);
  EXPECT_TRUE(SaysWords(refusal, "drawn in each of 3 rounds")) << refusal;
  EXPECT_TRUE(SaysWords(refusal, fmt::format("{:.1f}", EpsilonOfTurns(6)))) << refusal;
  RaiseForExactNoise(EpsilonOfTurns(6));
  EXPECT_EQ(Refusal(uniform), "it begins");
  RunJob(SmallPassesConfig(2, 6), true);  // is charged for real draws, at most three
  EXPECT_GE(ReadHistory().jobs.back().released, 6);
}

// An older copy does not know the turns, but each device shows it: the server stops when the first
// one says Hello, and no device is asked before it has said Hello.
TEST_F(StoreLifeTest, ARestoredCopyStopsBeforeItAsksADeviceOnceMore) {
  OF_A_FILE_ONLY();
  JobConfig config = SmallPassesConfig(1, 3);
  config.process.hears_all = false;
  const std::string copy = path_ + ".old";
  std::vector<uint8_t> receipt;
  {
    ServerStart server(path_, SmallPassesConfig(1, 3));
    std::filesystem::copy_file(path_, copy);
    ASSERT_TRUE(server.Open());
    const ByteSpan bytes =
        server.store().ReceiptOf(0, 0, server.devices().NumberOf(server.job().cohort()[0]));
    receipt.assign(bytes.begin(), bytes.end());
    ASSERT_TRUE(server.job().CloseRound().released);
  }
  std::filesystem::rename(copy, path_);
  ServerStart server(path_, config);
  EXPECT_FALSE(server.Open()) << "nobody was heard";
  Request hello;
  hello.kind = Request::Kind::kHello;
  hello.version = kProtocolVersion;
  uint8_t digest[kSha256Size] = {};
  ASSERT_EQ(ModelDigest(*config.model, digest), Status::kOk);
  hello.model_digest = digest;
  hello.receipt = {receipt.data(), receipt.size()};
  EXPECT_THROW(server.job().Answer(0, hello), StaleLog);
}

// Random lives of a store: jobs of all kinds, kills, given-up attempts, new devices, revocations,
// new secrets, raises. Counted by hand from who was asked, not by the code under test.
class RandomLife {
 public:
  RandomLife(std::string path, uint32_t seed, double epsilon)
      : path_(std::move(path)), random_(seed), epsilon_(epsilon) {}

  void Step() {
    switch (Below(8)) {
      case 0:
        return RotateOne();
      case 1:
        return RevokeOne();
      case 2:
        return AddOne();
      case 3:
        if (Below(3) == 0) Raise();
        return;
      default:
        return Serve(Below(3) == 0);
    }
  }

  // Of each device: the turns in each job, and mu^2 over all.
  void Check() {
    for (const auto& [key, count] : counts_) {
      EXPECT_LE(count, most_.at(key.first)) << "job " << key.first << ", device " << key.second;
    }
    const double limit = privacy::LifeLimit(epsilon_, kDelta, kCertificate).mu_squared * (1 + 1e-9);
    for (const auto& [device, squared] : squares_) EXPECT_LE(squared, limit) << device;
  }

  int64_t turns() const { return turns_; }

 private:
  uint32_t Below(uint32_t end) {
    return std::uniform_int_distribution<uint32_t>(0, end - 1)(random_);
  }

  Key NewSecret() {
    Key secret;
    for (uint8_t& byte : secret.bytes) byte = static_cast<uint8_t>(Below(256));
    return secret;
  }

  std::string SomeDevice() {
    SqlStore store(path_);
    std::vector<std::string> names;
    for (const DeviceRecord& device : store.ListDevices()) {
      if (device.is_eligible()) names.push_back(device.id);
    }
    return names.size() < 6 ? "" : names[Below(static_cast<uint32_t>(names.size()))];
  }

  void RotateOne() {
    if (const std::string id = SomeDevice(); !id.empty()) {
      SqlStore(path_).RotateDevice(id, NewSecret());
    }
  }

  void RevokeOne() {
    const std::string id = SomeDevice();
    if (id.empty()) return;
    SqlStore store(path_);
    store.RevokeDevice(id);
    EXPECT_THROW(store.AddDevices({{id, NewSecret()}}, false), std::runtime_error);
  }

  void AddOne() {
    SqlStore(path_).AddDevices({{"added-" + std::to_string(++added_), NewSecret()}}, false);
  }

  void Raise() {
    epsilon_ *= 1.2;
    SqlStore(path_).RaiseLifeEpsilon(epsilon_, kDelta);
  }

  void Serve(bool is_new_job) {
    is_new_job = is_new_job || job_ == 0;
    const JobConfig config = is_new_job ? SomeJob() : config_;
    std::unique_ptr<ServerStart> server;
    try {
      server = std::make_unique<ServerStart>(path_, config, is_new_job);
    } catch (const std::invalid_argument&) {
      return;  // no room, or too few devices
    }
    config_ = config;
    if (is_new_job) ++job_;
    const int64_t participations = config_.plan.participations;
    most_[job_] = participations == 0 ? config_.plan.rounds : participations;
    const bool needs_reports = participations == 0 || config_.quorum == 1;
    for (uint32_t rounds = Below(6); rounds > 0 && server->Open(); --rounds) {
      if (needs_reports && Below(2) == 0) server->job().CloseRound();  // is given up
      if (server->job().phase() != Job::Phase::kOpen) return;
      const std::vector<uint32_t> cohort = server->job().cohort();
      if (needs_reports) server->Report();
      if (server->job().CloseRound().released) Count(*server, cohort);
      if (server->job().phase() != Job::Phase::kIdle) return;
    }
    const bool may_open = server->job().phase() == Job::Phase::kIdle;
    if (may_open && Below(2) == 0) server->Open();  // the server dies with an open attempt
  }

  JobConfig SomeJob() {
    if (Below(4) == 0) return SmallConfig();
    JobConfig config = SmallPassesConfig(1 + Below(3), 8);
    config.quorum = Below(2);
    return config;
  }

  void Count(ServerStart& server, const std::vector<uint32_t>& cohort) {
    const double turn = privacy::TurnIn(config_.plan, server.job().round() - 1).mu_squared;
    for (const uint32_t index : cohort) {
      const int64_t device = server.devices().NumberOf(index);
      ++counts_[{job_, device}];
      squares_[device] += turn;
      ++turns_;
    }
  }

  const std::string path_;
  std::mt19937 random_;
  double epsilon_;
  JobConfig config_;
  int64_t job_ = 0;
  int added_ = 0;
  int64_t turns_ = 0;
  std::map<int64_t, int64_t> most_;
  std::map<std::pair<int64_t, int64_t>, int64_t> counts_;
  std::map<int64_t, double> squares_;
};

TEST_F(StoreLifeTest, NoRandomHistoryTakesADeviceBeyondItsLimits) {
  OF_A_FILE_ONLY();
  const double epsilon = EpsilonOfTurns(4);
  RaiseForExactNoise(epsilon);
  const std::string first = path_ + ".first";
  std::filesystem::copy_file(path_, first);
  int64_t turns = 0;
  for (uint32_t seed = 1; seed <= 2; ++seed) {
    std::filesystem::copy_file(first, path_, std::filesystem::copy_options::overwrite_existing);
    RandomLife life(path_, seed, epsilon);
    for (int step = 0; step < 12; ++step) life.Step();
    life.Check();
    turns += life.turns();
  }
  EXPECT_GT(turns, 0);
}

}  // namespace
}  // namespace sotto::server
