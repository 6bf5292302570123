// Tests of a job that is planned for fewer devices than it begins with: --device-floor.
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "plans/statement.h"
#include "round/job_phases.h"
#include "spec/configuration.h"
#include "spec/job_spec.h"
#include "spec/make_job.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

using privacy::Plan;
using privacy::SpentRounds;

JobRequest FloorOf(int64_t devices) {
  JobRequest request;
  request.job.plan.sampling = privacy::Sampling::kUniform;
  request.job.plan.accountant = privacy::Accountant("rdp");
  request.job.plan.device_floor = devices;
  request.delta = 1e-5;
  return request;
}

std::string FloorRefusal(const JobRequest& request) {
  try {
    MakeJob(request, 1000);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(DeviceFloor, NoiseAndFiguresAreThoseOfAFleetOfSoManyDevices) {
  const JobConfig job = MakeJob(FloorOf(900), 1000);
  const JobConfig small = MakeJob(FloorOf(0), 900);
  EXPECT_EQ(job.plan.devices, 1000);
  EXPECT_EQ(job.plan.noise_sigma, small.plan.noise_sigma);
  EXPECT_GT(job.plan.noise_sigma, MakeJob(FloorOf(0), 1000).plan.noise_sigma);
  EXPECT_EQ(job.plan.SamplingRate(), 0.05) << "a device is drawn as often as it is";
  const privacy::Statement stated = privacy::Account(job.plan, 30);
  const privacy::Statement expected = privacy::Account(small.plan, 30);
  ASSERT_EQ(stated.claims.size(), expected.claims.size());
  for (size_t i = 0; i < stated.claims.size(); ++i) {
    EXPECT_EQ(stated.claims[i].epsilon, expected.claims[i].epsilon);
  }
  const std::vector<SpentRounds> before = {{job.plan, 10, 10}};
  EXPECT_EQ(privacy::HeadlineEpsilon(job.plan, 30, before),
            privacy::HeadlineEpsilon(small.plan, 30, {{small.plan, 10, 10}}))
      << "also as an earlier job";
}

TEST(DeviceFloor, FleetsDownToTheFloorAreOnePhase) {
  const Plan plan = MakeJob(FloorOf(900), 1000).plan;
  JobPhases phases;
  phases.SetFleet(plan, 950, 3, 3);
  phases.SetFleet(plan, 1040, 5, 5);
  phases.SetFleet(plan, 900, 8, 8);
  EXPECT_EQ(phases.DevicesNow(plan), 900);
  const std::vector<SpentRounds> one = phases.Split(plan, 10, 12);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].plan.AccountedDevices(), 900);
  EXPECT_EQ(one[0].rounds, 10);
  EXPECT_EQ(privacy::HeadlineEpsilon(one[0].plan, 10), privacy::HeadlineEpsilon(plan, 10));
  phases.SetFleet(plan, 899, 10, 12);
  phases.SetFleet(plan, 990, 12, 14);
  const std::vector<SpentRounds> three = phases.Split(plan, 13, 15);
  ASSERT_EQ(three.size(), 3u);
  EXPECT_EQ(three[1].plan.AccountedDevices(), 899);
  EXPECT_EQ(three[1].rounds, 2);
  EXPECT_EQ(three[2].plan.AccountedDevices(), 900);
  for (const SpentRounds& phase : three) phase.plan.Validate();
}

TEST(DeviceFloor, IsStoredWithTheJobAndOnlyIfItHasOne) {
  const auto stored = [](int64_t floor) {
    return ConfigurationText({{}, {}, MakeJob(FloorOf(floor), 1000)});
  };
  EXPECT_EQ(stored(0).find("device_floor"), std::string::npos);
  EXPECT_EQ(PlanFromConfiguration("a.store", stored(900)).device_floor, 900);
  EXPECT_EQ(PlanFromConfiguration("a.store", stored(0)).device_floor, 0);
}

TEST(DeviceFloor, RefusesWhatItCannotMean) {
  const auto says = [](const JobRequest& request, const char* words) {
    const std::string refusal = FloorRefusal(request);
    EXPECT_NE(refusal.find(words), std::string::npos) << refusal;
  };
  EXPECT_EQ(FloorRefusal(FloorOf(50)), "");
  EXPECT_EQ(FloorRefusal(FloorOf(1000)), "");
  says(FloorOf(49), "--device-floor 49 is less than --cohort 50");
  says(FloorOf(1001), "--device-floor 1001 is more than the 1000 devices");
  JobRequest other = FloorOf(900);
  other.job.plan.sampling = privacy::Sampling::kPoisson;
  says(other, "a smaller fleet costs at most as planned");
  for (const privacy::Sampling sampling : {privacy::Sampling::kPasses, privacy::Sampling::kFull}) {
    other.job.plan.sampling = sampling;
    says(other, "--device-floor is for --sampling uniform");
  }
  Plan plan = SmallConfig().plan;
  plan.device_floor = 3;
  EXPECT_THROW(plan.Validate(), std::invalid_argument) << "below the cohort";
}

}  // namespace
}  // namespace sotto::server
