// The SDK's client and models that come as differences, and short Hellos, against a server that
// offers what each test wants.
#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "sotto/client.h"
#include "sotto/initial_weights.h"
#include "sotto/model_difference.h"
#include "unit/sdk/offering_server.h"

namespace sotto::offering {
namespace {

struct ClientDownload : DownloadTest {};

TEST_F(ClientDownload, TakesADifferenceFromZerosInPartsOfAnySize) {
  for (const size_t part : {1u, 3u, 100u, 5000u}) {
    server.part = part;
    const Floats wanted = SomeModel(static_cast<uint32_t>(part));
    server.Offer(wanted, ModelBase::kZeros);
    NewDevice();
    ASSERT_EQ(RunTo(Client::State::kTrain), Status::kOk);
    EXPECT_EQ(base(), wanted);
  }
}

TEST_F(ClientDownload, TakesADifferenceFromTheModelThatItHoldsAndSaysWhichOneThatIs) {
  const Floats first = SomeModel(1);
  const Floats second = SomeModel(2);
  Hold(first);
  server.Offer(second, ModelBase::kHeld, first);
  ASSERT_EQ(RunTo(Client::State::kTrain), Status::kOk);
  EXPECT_EQ(device->client.downloaded_bytes(), server.code().size());
  EXPECT_EQ(server.held(), CheckOf(first));
  EXPECT_EQ(base(), second);
}

TEST_F(ClientDownload, TakesADifferenceFromTheInitialModelThatItMakesItself) {
  Key key;
  key.bytes[3] = 9;
  Floats initial(kParameters);
  ASSERT_EQ(InitialWeights(kModel, key, {initial.data(), initial.size()}), Status::kOk);
  const Floats wanted = SomeModel(3);
  server.Offer(wanted, ModelBase::kInitial, initial);
  server.offer().weights_key = key.bytes;
  ASSERT_EQ(RunTo(Client::State::kTrain), Status::kOk);
  EXPECT_EQ(base(), wanted);
}

TEST_F(ClientDownload, DownloadsNothingIfItHoldsTheModel) {
  const Floats model = SomeModel(4);
  Hold(model);
  server.Offer(model, ModelBase::kHeld, model);
  ASSERT_EQ(RunTo(Client::State::kTrain), Status::kOk);
  EXPECT_TRUE(server.offsets.empty());
  EXPECT_EQ(base(), model);
}

TEST_F(ClientDownload, ACodeWithoutBytesIsTheHeldModelOnTheGrid) {
  const Floats wanted = SomeModel(4);
  Floats held = wanted;
  for (float& x : held) x += 0.001f;
  Hold(held);
  server.Offer(wanted, ModelBase::kHeld, held);
  ASSERT_EQ(server.offer().size, 0u);
  ASSERT_EQ(RunTo(Client::State::kTrain), Status::kOk);
  EXPECT_TRUE(server.offsets.empty());
  EXPECT_EQ(base(), wanted);
}

TEST_F(ClientDownload, AModelOnNoGridThatIsTheInitialOneTakesNoBytes) {
  Key key;
  key.bytes[0] = 7;
  Floats initial(kParameters);
  ASSERT_EQ(InitialWeights(kModel, key, {initial.data(), initial.size()}), Status::kOk);
  server.Offer(initial, ModelBase::kInitial, initial);
  server.offer().weights_key = key.bytes;
  server.offer().grid = 0;
  server.offer().size = 0;
  ASSERT_EQ(RunTo(Client::State::kTrain), Status::kOk);
  EXPECT_EQ(base(), initial);
  EXPECT_TRUE(server.offsets.empty());
}

TEST_F(ClientDownload, AWrongBaseIsNoticedForgottenAndMadeUpForWithoutTraining) {
  const Floats held = SomeModel(1);
  const Floats wanted = SomeModel(2);
  Hold(held);
  server.Offer(wanted, ModelBase::kHeld, SomeModel(5));
  ASSERT_EQ(RunTo(Client::State::kDownload), Status::kOk);
  while (state() == Client::State::kDownload)
    ASSERT_EQ(RunTo(Client::State::kHello, 99), Status::kOk);
  EXPECT_EQ(base(), held) << "nothing is written";
  server.Offer(wanted, ModelBase::kZeros);
  ASSERT_EQ(RunTo(Client::State::kTrain), Status::kOk);
  EXPECT_TRUE(server.held().empty());
  EXPECT_NE(server.hellos.back().version, 0u) << "a short Hello cannot say that nothing is held";
  EXPECT_EQ(base(), wanted);
}

TEST_F(ClientDownload, AWrongModelFromZerosIsMalformedAndTheClientWaitsLongerEachTime) {
  const Floats before = base();
  uint32_t last_ms = 0;
  for (int i = 0; i < 4; ++i) {
    server.Offer(SomeModel(2), ModelBase::kZeros);
    server.code()[server.code().size() / 2] ^= 1;
    const Status status = RunTo(Client::State::kTrain);
    EXPECT_TRUE(status == Status::kMismatch || status == Status::kMalformed);
    Client::Progress progress = Client::Progress::kAgain;
    ASSERT_EQ(device->client.Step(&progress), Status::kOk);
    EXPECT_EQ(progress, Client::Progress::kWait);
    EXPECT_GT(device->client.wait_ms(), last_ms);
    last_ms = device->client.wait_ms();
  }
  EXPECT_EQ(base(), before);
}

TEST_F(ClientDownload, ATruncatedCodeOrOtherFloatsAreNoticed) {
  server.Offer(SomeModel(2), ModelBase::kZeros);
  server.code().resize(server.code().size() - 5);
  server.offer().size -= 5;
  const Status status = RunTo(Client::State::kTrain);
  EXPECT_TRUE(status == Status::kMismatch || status == Status::kMalformed);
  server.Offer(SomeModel(2), ModelBase::kZeros);
  server.offer().grid = 0;  // float32
  const std::vector<uint8_t> other = CheckOf(SomeModel(3));
  server.offer().check = {other.data(), other.size()};
  Client::Progress progress = Client::Progress::kAgain;
  ASSERT_EQ(device->client.Step(&progress), Status::kOk);  // the wait
  EXPECT_EQ(RunTo(Client::State::kTrain), Status::kMismatch);
}

TEST_F(ClientDownload, FloatsWithACheckAreHeldAndFloatsWithoutOneAreNot) {
  const Floats model = SomeModel(6);
  server.Offer(model, ModelBase::kHeld);
  server.offer().grid = 0;
  ASSERT_EQ(RunTo(Client::State::kTrain), Status::kOk);
  EXPECT_EQ(base(), model);
  ASSERT_EQ(RunTo(Client::State::kDone), Status::kOk);  // it sends the update, then waits
  ASSERT_EQ(RunTo(Client::State::kDone), Status::kOk);
  EXPECT_EQ(server.held(), CheckOf(model));

  server.is_old = server.has_work = true;
  NewDevice();
  ASSERT_EQ(RunTo(Client::State::kTrain), Status::kOk);
  ASSERT_EQ(RunTo(Client::State::kDone), Status::kOk);
  ASSERT_EQ(RunTo(Client::State::kDone), Status::kOk);
  EXPECT_TRUE(server.held().empty());
  EXPECT_EQ(server.hellos.back().version, kProtocolVersion);
}

TEST_F(ClientDownload, OffersThatNoServerMakesOfThisDeviceAreMalformed) {
  const Floats wanted = SomeModel(2);
  const auto refuse = [&](const char* what) {
    NewDevice();
    EXPECT_EQ(RunTo(Client::State::kTrain), Status::kMalformed) << what;
  };
  server.Offer(wanted, ModelBase::kHeld, SomeModel(1));
  refuse("from a model, and it holds none");
  server.Offer(wanted, ModelBase::kInitial, SomeModel(1));
  refuse("no key");
  server.Offer(wanted, ModelBase::kZeros);
  server.offer().grid = kMostGrid + 1;
  refuse("no such grid");
  server.Offer(wanted, ModelBase::kZeros);
  server.offer().check = server.offer().check.first(7);
  refuse("a check of seven bytes");
  server.Offer(wanted, ModelBase::kZeros);
  server.offer().size = 10;
  refuse("a chunk beyond the code");
}

TEST_F(ClientDownload, GoesOnAtItsByteAfterALostLinkAndBeginsAnewUnderAnotherOffer) {
  const Floats wanted = SomeModel(2);
  server.part = 40;
  server.Offer(wanted, ModelBase::kZeros);
  ASSERT_EQ(RunTo(Client::State::kTrain, 3), Status::kOk);  // the reply to the third GetModel
  const std::vector<uint32_t> expected = {0, 40, 80, 80, 120};
  ASSERT_GE(server.offsets.size(), expected.size());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), server.offsets.begin()));
  EXPECT_EQ(base(), wanted);

  NewDevice();
  server.offsets.clear();
  Client::Progress progress = Client::Progress::kAgain;
  for (int sent = 0; sent < 3;) {
    ASSERT_EQ(device->client.Step(&progress), Status::kOk);
    if (progress != Client::Progress::kSend) continue;
    ASSERT_EQ(device->client.OnReply(server.Answer(device->client.request())), Status::kOk);
    ++sent;
  }
  device->client.OnLinkLost();
  const Floats other = SomeModel(9);
  server.Offer(other, ModelBase::kZeros);
  ASSERT_EQ(RunTo(Client::State::kTrain), Status::kOk);
  EXPECT_EQ(server.offsets[2], 0u);
  EXPECT_EQ(base(), other);
}

TEST_F(ClientDownload, LaterHellosOfALinkSayOnlyWhatHasChanged) {
  server.has_work = false;
  const uint8_t receipt[] = {1, 2, 3};
  device->client.RestoreReceipt(receipt);
  const auto hello = [&]() -> const Request& {
    server.hellos.clear();
    while (server.hellos.empty()) EXPECT_EQ(RunTo(Client::State::kDone), Status::kOk);
    return server.hellos.back();
  };
  EXPECT_EQ(hello().version, kProtocolVersion);
  const Request second = hello();
  EXPECT_EQ(second.version, 0u);
  EXPECT_TRUE(second.device_id.empty() && second.model_digest.empty() && second.receipt.empty());
  EXPECT_EQ(second.max_frame, 0u);
  EXPECT_EQ(second.abilities.features, 0u);
  const uint8_t other[] = {4};
  device->client.RestoreReceipt(other);
  EXPECT_EQ(hello().receipt.size(), 1u);
  EXPECT_TRUE(hello().receipt.empty());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(hello().version, 0u) << "the server has said it once";
  device->client.OnLinkLost();
  EXPECT_EQ(hello().version, kProtocolVersion) << "a new link";
}

TEST_F(ClientDownload, AServerThatDoesNotRememberHearsWholeHellos) {
  server.has_work = server.remembers = false;
  for (int i = 0; i < 3; ++i) {
    server.hellos.clear();
    while (server.hellos.empty()) ASSERT_EQ(RunTo(Client::State::kDone), Status::kOk);
    EXPECT_EQ(server.hellos.back().version, kProtocolVersion);
  }
}

TEST_F(ClientDownload, AServerThatRefusesAShortHelloHearsAWholeOne) {
  server.has_work = false;
  while (server.hellos.size() < 1) ASSERT_EQ(RunTo(Client::State::kDone), Status::kOk);
  Client::Progress progress = Client::Progress::kAgain;
  while (progress != Client::Progress::kSend) {
    ASSERT_EQ(device->client.Step(&progress), Status::kOk);
  }
  ASSERT_EQ(device->client.request().version, 0u);
  Reply reply;
  reply.code = ErrorCode::kVersion;
  reply.final = true;
  EXPECT_EQ(device->client.OnReply(reply), Status::kOk);
  EXPECT_FALSE(device->client.is_refused());
  server.hellos.clear();
  while (server.hellos.empty()) ASSERT_EQ(RunTo(Client::State::kDone), Status::kOk);
  EXPECT_EQ(server.hellos.back().version, kProtocolVersion);
}

}  // namespace
}  // namespace sotto::offering
