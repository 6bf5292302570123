// The audits that watch a training: membership inference and twin trainings.
#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

#include "audit/membership.h"
#include "audit/observed_training.h"
#include "audit/twins.h"
#include "data/catalog.h"
#include "sotto/models.h"
#include "sotto/posix/run_key.h"
#include "unit/server/weak_codecs.h"

namespace sotto::server {
namespace {

constexpr uint32_t kDevices = 10;

SimulationConfig Training(const char* codec = "float32") {
  SimulationConfig config;
  JobConfig& job = config.job;
  job.model = FindModel("softmax-784-10");
  job.codec = &RequireCodec(codec);
  job.plan.devices = config.fleet.devices = kDevices;
  job.plan.cohort = job.plan.planned_reports = kDevices;
  job.plan.rounds = 3;
  job.plan.dimension = job.model->parameters;
  job.plan.clip_l2 = 1.0;
  job.plan.noise_sigma = 0.01171875;  // a float32
  job.plan.delta = 1e-3;
  job.training.clip_l2 = 1.0F;
  config.fleet.samples_per_device = 10;
  config.seed = 7;
  return config;
}

const TrainTest& SmallData() {
  static const TrainTest data =
      OpenForFleet("synthetic", "", FindModel("softmax-784-10"), uint64_t{10} * kDevices);
  return data;
}

bool Never() { return false; }

MembershipAudit Membership(const SimulationConfig& config, uint32_t samples = 10000) {
  return AuditMembership(config, SmallData(), samples, Never, [](const MembershipRound&) {});
}

TwinAudit Twins(const SimulationConfig& config, const TwinOptions& options) {
  return AuditTwins(config, SmallData(), options, Never, [](const TwinRound&) {});
}

TEST(ObservedTraining, IsTheSimulation) {
  const TrainTest& data = SmallData();
  SimulationConfig config = Training("gau-lrq");
  config.fleet.dropout = 0.3;
  const SimulationResult simulated = Simulate(config, data, [](const RoundReport&) {});
  ObservedTraining observed(config, *data.train, posix::RunKey(config.seed));
  while (observed.NextRound()) {
  }
  const Span<const float> parameters = observed.job().parameters();
  EXPECT_EQ(std::vector<float>(parameters.begin(), parameters.end()), simulated.parameters);
}

TEST(MembershipAudit, SeesATrainingThatLearnsItsSamplesByHeart) {
  SimulationConfig config = Training("none");
  config.job.training.local_epochs = 60;
  config.job.training.clip_l2 = 100.0F;
  config.job.plan.clip_l2 = 100.0;
  const MembershipAudit audit = Membership(config);
  EXPECT_EQ(audit.samples, 100u);
  EXPECT_EQ(audit.members_there, 100u);
  ASSERT_EQ(audit.rounds.size(), 4u) << "before the first round and after each";
  EXPECT_EQ(audit.rounds[0].auc.area, 0.5) << "a model of zeros has one loss for all";
  EXPECT_FALSE(audit.rounds[3].claim.has_value());
  const Auc& last = audit.rounds[3].auc;
  EXPECT_GT(last.lower, 0.6);
  EXPECT_GT(last.advantage, 0.2);
  EXPECT_LT(audit.rounds[3].loss_of_members, audit.rounds[3].loss_of_others);
}

TEST(MembershipAudit, AttacksTheRoundsThatAreAskedForAndTheLast) {
  SimulationConfig config = Training();
  config.evaluate_every = 2;
  const MembershipAudit audit = Membership(config, 20);
  EXPECT_EQ(audit.samples, 20u);
  ASSERT_EQ(audit.rounds.size(), 3u);
  EXPECT_EQ(audit.rounds[1].rounds, 2u);
  EXPECT_EQ(audit.rounds[2].rounds, 3u);
  ASSERT_TRUE(audit.rounds[2].claim.has_value());
  EXPECT_EQ(audit.rounds[2].claim->delta, 1e-3);
}

TEST(MembershipAudit, LeavesHeldOutSamplesOutAndRepeatsOnAnyThreads) {
  SimulationConfig config = Training();
  config.fleet.held_out = 0.2;
  const MembershipAudit one = Membership(config);
  config.threads = 3;
  const MembershipAudit three = Membership(config);
  EXPECT_LT(one.members_there, 100u);
  EXPECT_GE(one.members_there, 60u);
  ASSERT_EQ(one.rounds.size(), three.rounds.size());
  for (size_t i = 0; i < one.rounds.size(); ++i) {
    EXPECT_EQ(one.rounds[i].auc.area, three.rounds[i].auc.area);
    EXPECT_EQ(one.rounds[i].loss_of_members, three.rounds[i].loss_of_members);
  }
}

TEST(TwinAudit, StaysWithinThePlansBound) {
  for (const char* codec : {"float32", "none"}) {
    const SimulationConfig config = Training(codec);
    const TwinAudit sample = Twins(config, {TwinUnit::kSample, 2});
    const TwinAudit device = Twins(config, {TwinUnit::kDevice, 2});
    ASSERT_EQ(sample.rounds.size(), 3u);
    for (const TwinAudit* audit : {&sample, &device}) {
      EXPECT_TRUE(audit->violations.empty()) << audit->violations.front();
      for (const TwinRound& round : audit->rounds) {
        EXPECT_FLOAT_EQ(static_cast<float>(round.bound), 2.0F / kDevices);
        EXPECT_GT(round.one_round, 0);
        EXPECT_EQ(round.devices, 1u);
      }
      EXPECT_DOUBLE_EQ(audit->rounds[0].distance, audit->rounds[0].one_round)
          << "the first rounds of both have one past";
    }
    EXPECT_GT(device.rounds[0].one_round, sample.rounds[0].one_round);
  }
}

TEST(TwinAudit, NoiseOfFloat32CancelsOut) {
  const TwinAudit noisy = Twins(Training("float32"), {TwinUnit::kDevice, 1});
  const TwinAudit exact = Twins(Training("none"), {TwinUnit::kDevice, 1});
  EXPECT_NEAR(noisy.rounds[0].one_round, exact.rounds[0].one_round, 1e-4);
}

TEST(TwinAudit, FindsABoundThatIsNotEnforced) {
  const CodecInfo weak = UnboundedCodec();
  SimulationConfig config = Training();
  const ModelInfo model = WithoutProjection(*config.job.model);
  config.job.codec = &weak;
  config.job.model = &model;
  config.job.training.clip_l2 = 0.125F;
  config.job.plan.clip_l2 = 0.125;
  const TwinAudit audit = Twins(config, {TwinUnit::kDevice, 1});
  EXPECT_EQ(audit.violations.size(), 3u);
}

TEST(TwinAudit, RefusesNoiseThatDependsOnTheUpdate) {
  EXPECT_THROW(Twins(Training("gau-lrq"), {TwinUnit::kSample, 1}), std::invalid_argument);
  EXPECT_THROW(Twins(Training("qg"), {TwinUnit::kSample, 1}), std::invalid_argument);
  EXPECT_THROW(Twins(Training(), {TwinUnit::kSample, kDevices + 1}), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::server
