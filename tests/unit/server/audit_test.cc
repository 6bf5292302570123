// The auditor of audit.h finds what is wrong with a server: jobs in this process, over several
// rounds, with a device that never reports and a canary. Three faulty builds are caught.
#include "unit/server/audit.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "sotto/models.h"
#include "sotto/posix/run_key.h"
#include "unit/server/passing_codec.h"
#include "unit/server/requests.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

constexpr uint32_t kDevices = 6;
constexpr uint32_t kAbsent = 4;
constexpr uint32_t kCanary = 5;
constexpr uint32_t kRounds = 8;

// The noise multiplier is 0.02: so little noise that the canary's shift, 25 deviations, is measured
// to 4 % in each round.
JobConfig AuditedConfig() {
  JobConfig config;
  config.model = FindModel("softmax-784-10");
  config.plan.devices = kDevices;
  config.plan.cohort = config.plan.planned_reports = 4;
  config.plan.rounds = kRounds;
  config.plan.dimension = config.model->parameters;
  config.plan.clip_l2 = 0.4;
  config.plan.colluders = 0;
  config.plan.delta = 1e-3;
  config.plan.noise_sigma = privacy::SigmaForNoiseMultiplier(config.plan, 0.02);
  config.plan = RoundToDevice(config.plan);
  config.training.clip_l2 = 0.4F;
  return config;
}

// A job in this process and its devices.
class Audited {
 public:
  explicit Audited(const JobConfig& config)
      : job_(config, devices_, store_, posix::DeriveKey(posix::RunKey(7), "server")) {}

  std::vector<audit::Round> Run(int sign) {
    std::vector<audit::Round> rounds;
    while (job_.OpenRound()) {
      audit::Round round;
      round.before.assign(job_.parameters().begin(), job_.parameters().end());
      for (const uint32_t device : job_.cohort()) {
        if (device != kAbsent) Report(device, device == kCanary ? sign : 0);
        if (device == kCanary) round.canary = sign;
      }
      EXPECT_TRUE(job_.CloseRound().released);
      round.after.assign(job_.parameters().begin(), job_.parameters().end());
      rounds.push_back(round);
    }
    return rounds;
  }

 private:
  static DeviceRegistry Registry() {
    DeviceRegistry devices;
    for (uint32_t i = 0; i < kDevices; ++i) {
      Device device{"audited-" + std::to_string(i), {}};
      device.secret.bytes[0] = static_cast<uint8_t>(i + 1);
      devices.Register(device);
    }
    return devices;
  }

  void Report(uint32_t device, int sign) {
    Upload upload;
    upload.task = AskForWork(job_, device).task;
    upload.bytes = audit::Encoded(
        devices_[device], upload.task, {upload.nonce.data(), upload.nonce.size()},
        audit::CanaryUpdate(job_.config().model->parameters, job_.config().plan.clip_l2, sign));
    EXPECT_EQ(job_.Answer(device, upload.Begin()).kind, Reply::Kind::kAck);
    EXPECT_TRUE(job_.Answer(device, upload.Chunk(0, upload.bytes.size())).complete);
  }

  const DeviceRegistry devices_ = Registry();
  RecordingStore store_;
  Job job_;
};

std::vector<std::string> FaultsOf(const JobConfig& config) {
  return audit::FaultsOf(Audited(config).Run(1), AuditedConfig().plan);
}

struct WithoutTopUp : PassingCodec {
  using PassingCodec::PassingCodec;
  void AddZeroUpdate(const Key&, uint32_t, Accumulator&) const override {}
};

// Reports of the open round. A release makes another codec after the last report.
std::atomic<int> g_reports{0};

struct DividesByTheCount : PassingCodec {
  using PassingCodec::PassingCodec;
  Verdict Add(const UpdateOrigin& origin, ByteSpan encoded, Accumulator& sum) const override {
    ++g_reports;
    return PassingCodec::Add(origin, encoded, sum);
  }
  double SumUnit() const override {
    return PassingCodec::SumUnit() * 4 / std::max(1, g_reports.exchange(0));
  }
};

template <typename Codec>
std::vector<std::string> FaultsWith() {
  CodecInfo codec = RequireCodec("gau-lrq");
  codec.make = [](const TrainTask& task) -> std::unique_ptr<const UpdateCodec> {
    return std::make_unique<Codec>(task);
  };
  JobConfig config = AuditedConfig();
  config.codec = &codec;
  return FaultsOf(config);
}

TEST(Audit, FindsNothingWrongAndSeesTheNoiseMultiplierThatIsClaimed) {
  const JobConfig config = AuditedConfig();
  const std::vector<audit::Round> in = Audited(config).Run(1);
  const std::vector<audit::Round> out = Audited(config).Run(-1);
  ASSERT_EQ(in.size(), kRounds);
  EXPECT_EQ(audit::FaultsOf(in, config.plan), std::vector<std::string>());
  EXPECT_EQ(audit::FaultsOf(out, config.plan), std::vector<std::string>());
  EXPECT_NEAR(audit::NoiseMultiplierSeen(in, out, config.plan), config.plan.NoiseMultiplier(),
              0.1 * config.plan.NoiseMultiplier());
}

TEST(Audit, FindsNothingWrongWithConstantWork) {
  JobConfig config = AuditedConfig();
  config.process.constant_work = true;
  EXPECT_EQ(FaultsOf(config), std::vector<std::string>());
  EXPECT_EQ(FaultsWith<PassingCodec>(), std::vector<std::string>());
}

TEST(Audit, CatchesHalfTheNoise) {
  JobConfig config = AuditedConfig();
  config.plan.noise_sigma /= 2;
  EXPECT_GE(FaultsOf(config).size(), kRounds) << "every round is wrong";
}

TEST(Audit, CatchesATopUpThatIsSkipped) { EXPECT_FALSE(FaultsWith<WithoutTopUp>().empty()); }

TEST(Audit, CatchesADivisionByTheNumberOfReports) {
  EXPECT_FALSE(FaultsWith<DividesByTheCount>().empty());
}

TEST(Audit, CatchesAnUpdateThatIsLongerThanTheBound) {
  std::vector<audit::Round> rounds = Audited(AuditedConfig()).Run(1);
  privacy::Plan plan = AuditedConfig().plan;
  plan.clip_l2 /= 2;  // as if the device had been allowed half of what it sent
  EXPECT_FALSE(audit::FaultsOf(rounds, plan).empty());
}

}  // namespace
}  // namespace sotto::server
