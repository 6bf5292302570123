// What a participation costs on a link: counted messages, and downloads of a plan.
#include "traffic/traffic.h"

#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>

#include "sotto/models.h"
#include "spec/make_job.h"
#include "traffic/planned_download.h"

namespace sotto::server {
namespace {

JobConfig DefaultJob(const char* model = "softmax-784-10", double grid = 0.25) {
  JobRequest request;
  request.job.model = FindModel(model);
  request.job.aggregation.grid = grid;
  return MakeJob(request, 1000);
}

double Both(const Traffic& traffic) { return traffic.up + traffic.down; }

TEST(Traffic, AMessageIsAFrameInARecordOfItsOwn) {
  Request get;
  get.kind = Request::Kind::kGetModel;
  get.offset = 1000;
  Reply chunk;
  chunk.kind = Reply::Kind::kModelChunk;
  const uint8_t bytes[100] = {};
  chunk.bytes = bytes;
  const Traffic traffic = TrafficOf(get, chunk, {510});
  // Length 2; GetModel in Request: tag, length, tag, two bytes of 1000. Chunk in Reply likewise.
  EXPECT_EQ(traffic.up, kRecordOverhead + 2 + 2 + 3);
  EXPECT_EQ(traffic.down, kRecordOverhead + 2 + 2 + 2 + 100);
  EXPECT_EQ(traffic.turns, 1);
}

TEST(Traffic, ADownloadTakesAsManyMessagesAsItsBytesFill) {
  EXPECT_EQ(TrafficOfDownload(0, 1, {510}).turns, 0);
  EXPECT_EQ(TrafficOfDownload(492, 1, {510}).turns, 1);
  EXPECT_EQ(TrafficOfDownload(493, 1, {510}).turns, 2);
  EXPECT_EQ(TrafficOfDownload(31400, 0, {510}).turns, 64);
  EXPECT_GT(TrafficOfDownload(31400, 0, {510}).down, 31400 + 64 * 23);
}

TEST(Traffic, AnUploadIsAnnouncedFirst) {
  EXPECT_EQ(TrafficOfUpload(130, {510}).turns, 2);
  EXPECT_EQ(TrafficOfUpload(1000, {510}).turns, 1 + 3);
}

// The goals of a link of messages of 510 bytes, padding included.
TEST(Traffic, AParticipationTakesAFewKilobytesBothWays) {
  const JobConfig small = DefaultJob();
  const Traffic softmax =
      ParticipationIn(small, Offer::kCode, DownloadsOf(small, kDownloadPadding).mean,
                      UpdateBytes(small), {})
          .Total();
  EXPECT_LE(Both(softmax), 5400);
  EXPECT_LE(softmax.turns, 13);
  const JobConfig large = DefaultJob("lenet");
  const Traffic lenet =
      ParticipationIn(large, Offer::kCode, DownloadsOf(large, kDownloadPadding).mean,
                      UpdateBytes(large), {})
          .Total();
  EXPECT_LE(Both(lenet), 35000);
  EXPECT_LE(lenet.turns, 70);
}

TEST(Traffic, AnIdlePollSaysAThirdOfWhatItSaid) { EXPECT_LE(Both(IdlePoll({})), 56); }

TEST(Traffic, AnUpdateWithoutPrivacyHasFourBytesAParameter) {
  JobRequest request;
  request.job.model = FindModel("softmax-784-10");
  request.job.codec = FindCodec("none");
  EXPECT_EQ(UpdateBytes(MakeJob(request, 1000)), 31400);
}

TEST(Traffic, AHandshakeIsMadeOfFramesToo) {
  const Traffic plain = HandshakeOver(kFullHandshake, {510});
  EXPECT_EQ(plain.turns, kFullHandshake.turns);
  EXPECT_EQ(Both(plain), Both(kFullHandshake));
  const Traffic framed = HandshakeOver(kFullHandshake, {510, 20, 1});
  // Two flights of 136 bytes up, two of 117 down, 16 bytes a frame.
  EXPECT_EQ(framed.turns, 2 * (9 + 8 - 1));
  EXPECT_GT(Both(framed), Both(plain) + 2 * (9 + 8) * 4);
}

TEST(Traffic, ALinkOfSmallFramesAddsHeadsAnswersAndTurns) {
  const LinkShape stream = {510};
  const LinkShape small = {510, 20, 16};
  const LinkShape one = {510, 20, 1};
  const Traffic plain = TrafficOfDownload(492, 1, stream);
  const Traffic framed = TrafficOfDownload(492, 1, small);
  const double frames_up = std::ceil(plain.up / 16);
  const double frames_down = std::ceil(plain.down / 16);
  const double turns_down = std::ceil(frames_down / 16);
  EXPECT_EQ(framed.up, plain.up + 4 * frames_up + 5 * turns_down);
  EXPECT_EQ(framed.down, plain.down + 4 * frames_down + 5 * std::ceil(frames_up / 16));
  EXPECT_EQ(framed.turns, turns_down);
  EXPECT_EQ(TrafficOfDownload(492, 1, one).turns, frames_up + frames_down - 1);
}

TEST(PlannedDownload, ACoarserGridTakesFewerBytes) {
  const double fine = DownloadsOf(DefaultJob("softmax-784-10", 0.25), 0).mean;
  const double coarse = DownloadsOf(DefaultJob("softmax-784-10", 1), 0).mean;
  EXPECT_GT(fine, 1.5 * coarse);
  EXPECT_GT(coarse, 500);
}

TEST(PlannedDownload, IsPaddedToAMultiple) {
  const PlannedDownload planned = DownloadsOf(DefaultJob(), 512);
  EXPECT_EQ(std::fmod(planned.largest, 512), 0);
  EXPECT_GE(planned.largest, planned.mean);
}

TEST(PlannedDownload, ANewcomerOfALaterRoundDownloadsAWholeCode) {
  JobRequest request;
  request.job.model = FindModel("softmax-784-10");
  request.job.plan.sampling = privacy::Sampling::kFull;
  const PlannedDownload planned = DownloadsOf(MakeJob(request, 100), 512);
  EXPECT_GT(planned.first, planned.mean / 2);
}

TEST(PlannedDownload, AModelBeyondAnyGridIsFloat32) {
  JobRequest request;
  request.job.model = FindModel("softmax-784-10");
  request.noise_multiplier = 1e7;
  request.job.aggregation.server_learning_rate = 1000;
  const JobConfig job = MakeJob(request, 1000);
  EXPECT_EQ(DownloadsOf(job, 512).largest, 31400);
  const PlannedParticipation planned = PlanParticipation(job, 100, {});
  EXPECT_GT(planned.parts.Total().down, 31400);
}

TEST(PlannedDownload, AJobOfExactModelsHasNone) {
  EXPECT_THROW(DownloadsOf(DefaultJob("softmax-784-10", 0), 512), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::server
