// A delta that leaves devices out is named, and no job of real devices begins with it unasked.
#include "spec/small_delta.h"

#include <gtest/gtest.h>
#include <stdexcept>

#include "jobs/job_start.h"
#include "plans/plan.h"
#include "spec/make_job.h"

namespace sotto::server {
namespace {

TEST(SmallDelta, ANoteBeginsAboveATenthOfADevice) {
  EXPECT_EQ(DeltaNote(0.025, 4), "");
  EXPECT_NE(DeltaNote(0.06, 4).find("at delta 0.06 the guarantee may leave out 0.24 of 4 devices"),
            std::string::npos);
  EXPECT_NE(DeltaNote(0.06, 4, true).find("0.24 or more of 4 devices"), std::string::npos);
  EXPECT_NE(DeltaNote(5e-4, 1000).find("0.5 of 1000 devices"), std::string::npos);
  for (const int64_t devices : {1, 4, 1000, 10'000, 1'000'000'000}) {
    EXPECT_EQ(DeltaNote(privacy::DefaultDelta(devices), devices), "") << devices;
  }
}

TEST(SmallDelta, AJobBeginsWithALargeOneOnlyIfItIsAccepted) {
  constexpr uint32_t kDevices = 4;
  ServeRequest request;
  request.job.plan.cohort = 2;
  request.noise_multiplier = 50;
  request.delta = 0.06;
  EXPECT_THROW(ServedConfig(request, kDevices, {}, nullptr), std::invalid_argument);
  request.accepts_delta = true;
  EXPECT_EQ(ServedConfig(request, kDevices, {}, nullptr).plan.delta, 0.06);
  request.accepts_delta = false;
  request.delta = 0.02;
  EXPECT_EQ(ServedConfig(request, kDevices, {}, nullptr).plan.delta, 0.02);
}

TEST(SmallDelta, AJobWithoutNoiseHasNone) {
  JobRequest request;
  request.job.codec = &RequireCodec("none");
  request.delta = 0.5;
  EXPECT_NO_THROW(RequireSmallDelta(request, MakeJob(request, 1000), false));
}

}  // namespace
}  // namespace sotto::server
