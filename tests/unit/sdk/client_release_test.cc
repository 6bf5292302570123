// The SDK's client and the released model: when it asks, what it holds then, and what a server says
// of newer ones.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "sotto/client.h"
#include "unit/sdk/offering_server.h"

namespace sotto::offering {
namespace {

struct ClientRelease : DownloadTest {};

// Until the fetch is over; its last status.
Status Fetch(DownloadTest& test, MutableByteSpan claims, int lose_at = -1) {
  Client& client = test.device->client;
  client.FetchRelease(claims);
  Client::Progress progress = Client::Progress::kAgain;
  for (int sent = 0; client.is_fetching();) {
    if (Status s = client.Step(&progress); s != Status::kOk) return s;
    if (progress != Client::Progress::kSend) continue;
    const Reply reply = test.server.Answer(client.request());
    if (sent++ == lose_at) {
      client.OnLinkLost();
    } else if (Status s = client.OnReply(reply); s != Status::kOk) {
      return s;
    }
  }
  return Status::kOk;
}

TEST_F(ClientRelease, FetchesTheReleasedModelAndWhatIsClaimedForIt) {
  const Floats model = SomeModel(8);
  server.Offer(model, ModelBase::kZeros);
  server.part = 50;
  uint8_t claims[7];
  EXPECT_EQ(device->client.release(), nullptr);
  server.has_work = false;
  ASSERT_EQ(Fetch(*this, claims, 3), Status::kOk) << "the link is lost in the download";
  const std::vector<Request::Kind> first = {Request::Kind::kHello, Request::Kind::kGetRelease};
  EXPECT_TRUE(std::equal(first.begin(), first.end(), server.requests.begin()));
  const Release* release = device->client.release();
  ASSERT_NE(release, nullptr);
  EXPECT_EQ(release->rounds, 7u);
  EXPECT_TRUE(release->is_final);
  EXPECT_TRUE(std::equal(std::begin(release->job_id), std::end(release->job_id), std::begin(kJob)));
  EXPECT_EQ(std::string(release->claims.begin(), release->claims.end()), "epsilon");
  EXPECT_EQ(base(), model);
  EXPECT_EQ(state(), Client::State::kHello);
  EXPECT_EQ(server.offsets[2], server.offsets[1]) << "it goes on at its byte";
  // What it holds is not sent again, and the next round may build on it.
  server.offsets.clear();
  ASSERT_EQ(Fetch(*this, {}), Status::kOk);
  EXPECT_TRUE(server.offsets.empty());
  EXPECT_NE(device->client.release(), nullptr);
  server.Offer(SomeModel(9), ModelBase::kHeld, model);
  server.has_work = true;
  while (state() != Client::State::kTrain) {
    ASSERT_EQ(RunTo(Client::State::kTrain), Status::kOk);
  }
  EXPECT_EQ(base(), SomeModel(9));
  EXPECT_EQ(device->client.release(), nullptr) << "the round's model has taken its place";
}

TEST_F(ClientRelease, AThresholdComesWithTheReleaseAndANewOneWithoutAModelsBytes) {
  server.Offer(SomeModel(8), ModelBase::kZeros);
  server.has_work = false;
  server.threshold = 0.25f;
  ASSERT_EQ(Fetch(*this, {}), Status::kOk);
  ASSERT_NE(device->client.release(), nullptr);
  EXPECT_EQ(device->client.release()->threshold, 0.25f);
  server.offsets.clear();
  for (const float threshold : {0.5f, 0.0f}) {
    server.threshold = threshold;
    ASSERT_EQ(Fetch(*this, {}), Status::kOk);
    EXPECT_EQ(device->client.release()->threshold, threshold);
  }
  EXPECT_TRUE(server.offsets.empty());
}

TEST_F(ClientRelease, AReleaseThatDoesNotExistOrAnOldServerDoesNoHarm) {
  server.is_old = true;
  server.has_work = false;
  EXPECT_EQ(Fetch(*this, {}), Status::kPeerRefused);
  EXPECT_FALSE(device->client.is_fetching());
  EXPECT_FALSE(device->client.is_refused());
  EXPECT_EQ(device->client.release(), nullptr);
  server.is_old = false;
  server.has_work = true;
  server.Offer(SomeModel(1), ModelBase::kZeros);
  while (state() != Client::State::kTrain) {
    ASSERT_EQ(RunTo(Client::State::kTrain), Status::kOk);
  }
}

TEST_F(ClientRelease, FetchesAfterTheJobIsDone) {
  Client::Progress progress = Client::Progress::kAgain;
  while (progress != Client::Progress::kSend) {
    ASSERT_EQ(device->client.Step(&progress), Status::kOk);
  }
  Reply done;
  done.kind = Reply::Kind::kDone;
  ASSERT_EQ(device->client.OnReply(done), Status::kOk);
  server.Offer(SomeModel(8), ModelBase::kZeros);
  ASSERT_EQ(Fetch(*this, {}), Status::kOk);
  EXPECT_EQ(base(), SomeModel(8));
  ASSERT_EQ(device->client.Step(&progress), Status::kOk);
  EXPECT_EQ(progress, Client::Progress::kDone);
}

TEST_F(ClientRelease, ALinkThatIsLostBeforeTheServerHasAnsweredEndsTheFetch) {
  server.has_work = false;
  server.Offer(SomeModel(8), ModelBase::kZeros);
  ASSERT_EQ(Fetch(*this, {}, 1), Status::kOk);
  EXPECT_FALSE(device->client.is_fetching());
  EXPECT_EQ(device->client.release(), nullptr);
  ASSERT_EQ(Fetch(*this, {}), Status::kOk);
  EXPECT_NE(device->client.release(), nullptr);
}

TEST_F(ClientRelease, AFetchWaitsForTheRoundAndWithoutAReleaseRoundsGoOn) {
  server.Offer(SomeModel(8), ModelBase::kZeros);
  server.has_release = false;
  device->client.FetchRelease({});
  EXPECT_EQ(RunTo(Client::State::kDone), Status::kPeerRefused);
  const auto count = [&](Request::Kind kind) {
    return std::count(server.requests.begin(), server.requests.end(), kind);
  };
  EXPECT_EQ(count(Request::Kind::kUpdateBegin), 1) << "the round comes first";
  EXPECT_FALSE(device->client.is_fetching());
  server.has_work = true;
  server.round = 1;
  for (int i = 0; i < 3; ++i) ASSERT_EQ(RunTo(Client::State::kDone), Status::kOk);
  EXPECT_EQ(count(Request::Kind::kUpdateBegin), 2);
}

TEST_F(ClientRelease, OnANewLinkAFetchAfterTheJobBeginsWithAHello) {
  Client& client = device->client;
  Client::Progress progress = Client::Progress::kAgain;
  while (progress != Client::Progress::kSend) {
    ASSERT_EQ(client.Step(&progress), Status::kOk);
  }
  Reply done;
  done.kind = Reply::Kind::kDone;
  ASSERT_EQ(client.OnReply(done), Status::kOk);
  client.OnLinkLost();
  client.FetchRelease({});
  ASSERT_EQ(client.Step(&progress), Status::kOk);
  ASSERT_EQ(progress, Client::Progress::kSend);
  EXPECT_EQ(client.request().kind, Request::Kind::kHello);
  EXPECT_EQ(client.request().hold_ms, 0u) << "the fetch need not wait for work";
  ASSERT_EQ(client.OnReply(done), Status::kOk);
  server.Offer(SomeModel(8), ModelBase::kZeros);
  while (client.is_fetching()) {
    ASSERT_EQ(client.Step(&progress), Status::kOk);
    if (progress != Client::Progress::kSend) continue;
    ASSERT_EQ(client.OnReply(server.Answer(client.request())), Status::kOk);
  }
  EXPECT_EQ(base(), SomeModel(8));
  EXPECT_EQ(state(), Client::State::kDone);
}

TEST_F(ClientRelease, AReleaseFromAWrongBaseIsFetchedAnew) {
  Hold(SomeModel(1));
  server.Offer(SomeModel(2), ModelBase::kHeld, SomeModel(3));
  Client& client = device->client;
  server.has_work = false;
  client.FetchRelease({});
  Client::Progress progress = Client::Progress::kAgain;
  while (client.is_fetching()) {
    ASSERT_EQ(client.Step(&progress), Status::kOk);
    if (progress != Client::Progress::kSend) continue;
    const bool asks_again =
        client.request().kind == Request::Kind::kGetRelease && client.request().held.empty();
    if (asks_again) server.Offer(SomeModel(2), ModelBase::kZeros);
    ASSERT_EQ(client.OnReply(server.Answer(client.request())), Status::kOk);
  }
  EXPECT_EQ(base(), SomeModel(2));
  EXPECT_NE(client.release(), nullptr);
}

TEST_F(ClientRelease, AWaitSaysWhetherThereIsANewerRelease) {
  server.has_work = false;
  server.Offer(SomeModel(8), ModelBase::kZeros);
  const auto poll = [&] {
    server.hellos.clear();
    while (server.hellos.empty()) EXPECT_EQ(RunTo(Client::State::kDone), Status::kOk);
    return device->client.news();
  };
  EXPECT_EQ(device->client.news(), Client::News::kUnknown) << "no Wait came";
  EXPECT_EQ(poll(), Client::News::kUnknown) << "an older server";
  server.names_releases = true;
  device->client.OnLinkLost();
  EXPECT_EQ(poll(), Client::News::kNone) << "nothing is released";
  server.release = 5;
  EXPECT_EQ(poll(), Client::News::kReleased);
  EXPECT_EQ(poll(), Client::News::kReleased) << "it was not fetched";
  ASSERT_EQ(Fetch(*this, {}), Status::kOk);
  EXPECT_EQ(poll(), Client::News::kNone);
  server.release = 6;
  EXPECT_EQ(poll(), Client::News::kReleased);
  device->client.OnLinkLost();
  EXPECT_EQ(device->client.news(), Client::News::kUnknown) << "the next server may be another one";
}

TEST_F(ClientRelease, ADeviceThatWantsNoNewsNeitherAsksForThemNorHasAny) {
  server.has_work = false;
  server.names_releases = true;
  server.release = 5;
  ASSERT_EQ(RunTo(Client::State::kDone), Status::kOk);
  EXPECT_NE(server.hellos.front().abilities.features & kFeatureReleases, 0u);
  ClientConfig config = Config();
  config.wants_news = false;
  Client client(config, device->buffers());
  Client::Progress progress = Client::Progress::kAgain;
  while (progress != Client::Progress::kSend) ASSERT_EQ(client.Step(&progress), Status::kOk);
  EXPECT_EQ(client.request().abilities.features & kFeatureReleases, 0u);
  ASSERT_EQ(client.OnReply(server.Answer(client.request())), Status::kOk);
  EXPECT_EQ(client.news(), Client::News::kUnknown);
}

}  // namespace
}  // namespace sotto::offering
