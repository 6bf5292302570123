// Jobs whose updates have one length: when a job has it, what delta pays, what its claims rest on.
#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "accounting/one_length.h"
#include "codec/length_bound.h"
#include "data/catalog.h"
#include "plans/statement.h"
#include "sim/simulation.h"
#include "spec/configuration.h"
#include "spec/job_spec.h"
#include "spec/make_job.h"

namespace sotto::server {
namespace {

using privacy::Assumption;

constexpr uint32_t kThousand = 1000;

JobRequest LengthRequest(privacy::Sampling sampling, OneLength one_length = OneLength::kAuto) {
  JobRequest request;
  request.job.plan.sampling = sampling;
  request.one_length = one_length;
  return request;
}

JobConfig PassesOfOneLength() {
  return MakeJob(LengthRequest(privacy::Sampling::kPasses), kThousand);
}

std::string WhyNoLength(const JobRequest& request) {
  try {
    MakeJob(request, kThousand);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

bool NetworkAssumes(const privacy::Plan& plan, Assumption assumption,
                    const std::vector<privacy::SpentRounds>& before = {}) {
  const privacy::Statement statement = privacy::Account(plan, plan.rounds, before);
  const privacy::Claim* claim =
      statement.Find(privacy::Adversary::kNetwork, privacy::View::kReleasesAndParticipants);
  const std::vector<Assumption>& all = claim->assumptions;
  return std::count(all.begin(), all.end(), assumption) == 1;
}

// The epsilon meets the budget, delta included. p by mpmath: 0.01 1e-5 / ((1 + e^30) 100 5).
TEST(OneLengthJob, PassesHaveItAndKeepTheirBudget) {
  const JobConfig job = PassesOfOneLength();
  EXPECT_GT(job.update_length, 80u);
  EXPECT_LT(job.update_length, 192u);
  EXPECT_EQ(job.update_length, job.LeastLength());
  EXPECT_EQ(job.TaskFor(3, job.ClipFor(3)).format.length, job.update_length);
  EXPECT_NEAR(job.plan.too_long, 1.87152460e-23, 1e-3 * 1.87e-23);
  const privacy::Statement spent = privacy::Account(job.plan, 1);
  EXPECT_LE(spent.epsilon(), 6);
  EXPECT_NEAR(spent.epsilon(), 6, 1e-4);
  EXPECT_EQ(spent.claims[1].epsilon, spent.epsilon()) << "models and network";
  const double charge = privacy::DeltaOfOneLength(
      spent.epsilon(), privacy::UpdatesOfOneLength(100, 4), job.plan.too_long);
  EXPECT_LE(charge, 0.01 * job.plan.delta);
}

TEST(OneLengthJob, TheClaimOfTheNetworkRestsOnTimesAlone) {
  const privacy::Plan plan = PassesOfOneLength().plan;
  EXPECT_FALSE(NetworkAssumes(plan, Assumption::kLengthsAndTimesTellNothing));
  EXPECT_TRUE(NetworkAssumes(plan, Assumption::kTimesTellNothing));
  privacy::Plan without = plan;
  without.too_long = 0;
  EXPECT_TRUE(NetworkAssumes(without, Assumption::kLengthsAndTimesTellNothing));
  EXPECT_TRUE(
      NetworkAssumes(plan, Assumption::kLengthsAndTimesTellNothing, {{without, 40, 40, {}}}))
      << "the job before had no length";
  EXPECT_TRUE(NetworkAssumes(plan, Assumption::kTimesTellNothing, {{plan, 40, 40, {}}}));
}

// The p of a job leaves room for a larger epsilon: two more jobs on the same devices cost less than
// without lengths at 0.98 of the delta.
TEST(OneLengthJob, LaterJobsOnTheSameDevicesStayFinite) {
  const privacy::Plan plan = PassesOfOneLength().plan;
  const std::vector<privacy::SpentRounds> before = {{plan, 40, 40, {}}, {plan, 40, 40, {}}};
  privacy::Plan without = plan;
  without.too_long = 0;
  without.delta *= 0.98;
  const double three = privacy::Account(plan, 40, before).epsilon();
  EXPECT_LT(
      three,
      privacy::Account(without, 40, {{without, 40, 40, {}}, {without, 40, 40, {}}}).epsilon());
  EXPECT_GT(three, 10);
}

TEST(OneLengthJob, OtherJobsHaveItIfAskedAndOnlyWhereItIsProved) {
  EXPECT_EQ(MakeJob(LengthRequest(privacy::Sampling::kUniform), kThousand).update_length, 0u);
  const JobConfig uniform =
      MakeJob(LengthRequest(privacy::Sampling::kUniform, OneLength::kOn), kThousand);
  EXPECT_GT(uniform.update_length, 100u);
  EXPECT_FALSE(NetworkAssumes(uniform.plan, Assumption::kLengthsAndTimesTellNothing));
  EXPECT_LE(privacy::Account(uniform.plan, uniform.plan.rounds).epsilon(), 6);
  EXPECT_EQ(
      MakeJob(LengthRequest(privacy::Sampling::kPasses, OneLength::kOff), kThousand).update_length,
      0u);
  JobRequest fixed = LengthRequest(privacy::Sampling::kPasses);
  fixed.job.coding = Coding::kFixed;
  EXPECT_GT(MakeJob(fixed, kThousand).update_length, 900u);

  JobRequest padded = LengthRequest(privacy::Sampling::kPasses);
  padded.given = {"padding"};
  EXPECT_EQ(MakeJob(padded, kThousand).update_length, 0u);
  padded.one_length = OneLength::kOn;
  EXPECT_NE(WhyNoLength(padded).find("--padding has no effect"), std::string::npos);
  JobRequest secret = LengthRequest(privacy::Sampling::kPasses);
  secret.trust_mode = privacy::TrustMode::kPrivateNoise;
  secret.private_noise_multiplier = 0.5;
  EXPECT_EQ(MakeJob(secret, kThousand).update_length, 0u);
  secret.one_length = OneLength::kOn;
  EXPECT_NE(WhyNoLength(secret).find("--one-length on: only updates of"), std::string::npos);
  JobRequest exact = LengthRequest(privacy::Sampling::kPasses, OneLength::kOn);
  exact.epsilon = std::numeric_limits<double>::infinity();
  EXPECT_NE(WhyNoLength(exact).find("--one-length on: only updates of"), std::string::npos);
  JobRequest loud = LengthRequest(privacy::Sampling::kPasses);
  loud.noise_multiplier = 0.05;
  EXPECT_EQ(MakeJob(loud, kThousand).update_length, 0u) << "epsilon is above 100";
  loud.one_length = OneLength::kOn;
  EXPECT_NE(WhyNoLength(loud).find("is above 100"), std::string::npos);
}

TEST(OneLengthJob, TheLengthIsThatOfTheLeastNoisyRoundAndExtrasHaveRoom) {
  JobRequest request = LengthRequest(privacy::Sampling::kPasses);
  request.job.plan.schedule.noise_decay = 0.9;
  JobConfig job = MakeJob(request, kThousand);
  for (const uint32_t round : {0u, 20u, 39u}) {
    const TrainTask task = job.TaskFor(round, job.ClipFor(round));
    EXPECT_LE(LengthFor(task, job.model->parameters, job.plan.too_long), job.update_length);
  }
  job.plan.rounds = 60;
  EXPECT_THROW(job.Validate(), std::invalid_argument) << "with less noise than the length covers";
  JobConfig constant = PassesOfOneLength();
  constant.plan.rounds = 60;
  EXPECT_NO_THROW(constant.Validate());

  JobRequest with_bit = LengthRequest(privacy::Sampling::kPasses);
  with_bit.adaptive_clip = true;
  EXPECT_GE(MakeJob(with_bit, kThousand).update_length, constant.update_length);
}

TEST(OneLengthJob, TheStoreKeepsItAndAResumedJobHasIt) {
  const JobConfig job = PassesOfOneLength();
  const nlohmann::ordered_json stored = ConfigurationToJson({{}, {}, job});
  EXPECT_EQ(stored.at("one_length").get<uint32_t>(), job.update_length);
  EXPECT_EQ(PlanFromConfiguration("a.store", stored.dump()).too_long, job.plan.too_long);
  EXPECT_EQ(SpecificationToJson(JobRequest(), job).at("one_length").get<uint32_t>(),
            job.update_length);
  const RaisedFields raised = {40, 6.0};
  const nlohmann::ordered_json again = ConfigurationToJson({{}, {}, PassesOfOneLength()});
  EXPECT_NO_THROW(RequireSameConfiguration("a.store", stored.dump(), again, raised));
  const JobConfig off =
      MakeJob(LengthRequest(privacy::Sampling::kPasses, OneLength::kOff), kThousand);
  const nlohmann::ordered_json other = ConfigurationToJson({{}, {}, off});
  EXPECT_THROW(RequireSameConfiguration("a.store", stored.dump(), other, raised),
               std::runtime_error);
  // The length follows from the turns: the refusal names these.
  JobRequest more = LengthRequest(privacy::Sampling::kPasses);
  more.participations = 7;
  const nlohmann::ordered_json changed = ConfigurationToJson({{}, {}, MakeJob(more, kThousand)});
  EXPECT_NE(changed.at("too_long"), stored.at("too_long"));
  EXPECT_EQ(FirstChange(stored, changed)->name, "participations");
}

TEST(OneLengthJob, EveryUploadOfASimulationHasIt) {
  SimulationConfig config;
  JobRequest request = LengthRequest(privacy::Sampling::kPasses);
  request.participations = 1;
  config.job = MakeJob(request, 20);
  config.job.process.hears_all = true;
  config.fleet.devices = 20;
  config.fleet.samples_per_device = 20;
  config.seed = 7;
  int rounds = 0;
  const SimulationResult result =
      Simulate(config, OpenTrainTest("synthetic", "", nullptr), [&](const RoundReport& report) {
        ++rounds;
        EXPECT_EQ(report.outcome.update_bytes,
                  report.outcome.reported * uint64_t{config.job.update_length});
      });
  EXPECT_EQ(rounds, 2);
  EXPECT_EQ(result.BytesUpPerDeviceRound(), config.job.update_length);
}

}  // namespace
}  // namespace sotto::server
