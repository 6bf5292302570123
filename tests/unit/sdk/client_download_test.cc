// The SDK's client and models that come as differences, short Hellos, and the released model,
// against a server that offers what each test wants.
#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "sotto/client.h"
#include "sotto/initial_weights.h"
#include "sotto/model_difference.h"
#include "sotto/models.h"
#include "sotto/random.h"

namespace sotto {
namespace {

using Net = nn::Sequential<nn::Dense<64, 10>>;

constexpr int kExponent = -8;
constexpr uint32_t kParameters = Net::kParameters;
constexpr uint8_t kJob[kJobIdSize] = {4, 2};
constexpr uint8_t kDeviceId[] = {'a'};
constexpr ModelInfo kModel = MakeModelInfo<Net>("example");

Status ReadSample(void*, uint32_t index, Span<float> features, uint32_t* label) {
  *label = index % 10;
  for (float& x : features) x = 0.5f;
  return Status::kOk;
}

Status FillWithOnes(void*, MutableByteSpan out) {
  for (uint8_t& byte : out) byte = 1;
  return Status::kOk;
}

uint64_t NoTime(void*) { return 0; }

ClientConfig Config() {
  ClientConfig config;
  config.model = &kModel;
  config.device_id = kDeviceId;
  config.samples = {3, ReadSample, nullptr};
  config.port = {NoTime, FillWithOnes, nullptr};
  return config;
}

// A device with its memory.
struct Device {
  ClientBuffers buffers() {
    return MakeClientBuffers<Net, 4, 100>({vectors.data(), vectors.size()},
                                          {workspace.data(), workspace.size()});
  }

  std::vector<float> vectors = std::vector<float>(2 * kParameters);
  std::vector<std::byte> workspace = std::vector<std::byte>(ClientWorkspaceBytes<Net, 4, 100>());
  Client client{Config(), buffers()};
};

using Floats = std::vector<float>;

Span<const float> View(const Floats& v) { return {v.data(), v.size()}; }

Floats SomeModel(uint32_t seed) {
  RandomStream random(Key(), seed);
  Floats model(kParameters);
  for (float& x : model) {
    x = GridParameter(static_cast<int32_t>(random.Below(41)) - 20, kExponent);
  }
  return model;
}

std::vector<uint8_t> CheckOf(const Floats& model) {
  uint8_t check[kModelCheckSize] = {};
  EXPECT_EQ(ModelCheck(View(model), check), Status::kOk);
  return {std::begin(check), std::end(check)};
}

// Gives every device the same task until it has the update, and offers what a test wants.
class OfferingServer {
 public:
  // As a difference from `held`; empty: from zeros, or from the initial model.
  void Offer(const Floats& wanted, ModelBase base, const Floats& held = {}) {
    wanted_ = wanted;
    check_ = CheckOf(wanted);
    code_.resize(MaxDifferenceBytes(kParameters));
    size_t size = 0;
    ASSERT_EQ(
        EncodeDifference(View(held), View(wanted), kExponent, {code_.data(), code_.size()}, &size),
        Status::kOk);
    code_.resize(size);
    offer_.check = {check_.data(), check_.size()};
    offer_.grid = static_cast<uint32_t>(kExponent + static_cast<int>(kGridOffset));
    offer_.base = base;
    offer_.size = static_cast<uint32_t>(size);
    ++offer_.code;
  }

  Reply Answer(const Request& request) {
    requests.push_back(request.kind);
    if (request.kind == Request::Kind::kHello) return AnswerHello(request);
    if (request.kind == Request::Kind::kGetRelease) return AnswerRelease(request);
    if (request.kind != Request::Kind::kGetModel) return AnswerUpload(request);
    offsets.push_back(request.offset);
    EXPECT_EQ(request.code, is_old || offer_.check.empty() ? 0u : offer_.code);
    Reply reply;
    reply.kind = Reply::Kind::kModelChunk;
    if (request.code == 0 || offer_.grid == 0) {
      floats_ = wanted_;
      reply.bytes = ByteSpan(reinterpret_cast<const uint8_t*>(floats_.data()), 4 * kParameters)
                        .subspan(request.offset);
    } else {
      reply.bytes = ByteSpan(code_.data(), code_.size()).subspan(request.offset);
    }
    if (reply.bytes.size() > part) reply.bytes = reply.bytes.first(part);
    return reply;
  }

  // What the last Hello of this link and those before it have said.
  std::vector<uint8_t> held() const { return held_; }

  ModelOffer& offer() { return offer_; }
  std::vector<uint8_t>& code() { return code_; }

  size_t part = 100;  // bytes of a chunk, a multiple of 4
  bool remembers = true;
  bool is_old = false;  // offers nothing, knows no releases
  bool has_work = true;
  bool has_release = true;
  uint32_t round = 0;
  std::vector<Request::Kind> requests;
  std::vector<uint32_t> offsets;  // of GetModel
  std::vector<Request> hellos;
  std::string claims = "epsilon 1";

 private:
  Reply AnswerHello(const Request& request) {
    hellos.push_back(request);
    if (request.version != 0) {
      held_ = {request.held.begin(), request.held.end()};
    } else {
      EXPECT_TRUE(remembers);
      if (!request.held.empty()) held_ = {request.held.begin(), request.held.end()};
    }
    Reply reply;
    reply.kind = has_work ? Reply::Kind::kTrain : Reply::Kind::kWait;
    reply.wait_ms = 1000;
    std::copy(std::begin(kJob), std::end(kJob), reply.task.job_id);
    reply.task.round = round;
    reply.task.format = {Coding::kRange, DitherKind::kGaussian, 0};
    reply.task.quantizer_scale = 0.25f;
    reply.task.training.clip_l2 = 8.0f;
    reply.task.training.batch_size = 2;
    if (is_old) return reply;
    if (remembers) reply.server_features = kServerRemembersHello;
    if (has_work) reply.model = offer_;
    return reply;
  }

  Reply AnswerUpload(const Request& request) {
    Reply reply;
    reply.kind = Reply::Kind::kAck;
    reply.offset = request.offset + static_cast<uint32_t>(request.bytes.size());
    reply.complete = request.last;
    if (reply.complete) has_work = false;
    return reply;
  }

  Reply AnswerRelease(const Request& request) {
    held_ = {request.held.begin(), request.held.end()};
    Reply reply;
    if (is_old) {
      reply.code = ErrorCode::kMalformed;
      reply.final = true;
      return reply;
    }
    if (!has_release) {
      reply.code = ErrorCode::kBusy;
      reply.wait_ms = 1000;
      return reply;
    }
    reply.kind = Reply::Kind::kRelease;
    reply.model = offer_;
    reply.job_id = kJob;
    reply.rounds = 7;
    reply.final = true;
    reply.claims = {reinterpret_cast<const uint8_t*>(claims.data()), claims.size()};
    return reply;
  }

  Floats wanted_;
  Floats floats_;
  std::vector<uint8_t> check_;
  std::vector<uint8_t> code_;
  std::vector<uint8_t> held_;
  ModelOffer offer_;
};

struct ClientDownload : testing::Test {
  ClientDownload() { NewDevice(); }

  void NewDevice() { device = std::make_unique<Device>(); }

  // Until the client reaches the state, waits, or gives the round up.
  Status RunTo(Client::State state, int lose_at = -1) {
    Client& client = device->client;
    Client::Progress progress = Client::Progress::kAgain;
    for (int sent = 0; client.state() != state;) {
      if (Status s = client.Step(&progress); s != Status::kOk) return s;
      if (progress == Client::Progress::kWait || progress == Client::Progress::kDone) break;
      if (progress != Client::Progress::kSend) continue;
      const Reply reply = server.Answer(client.request());
      if (sent++ == lose_at) {
        client.OnLinkLost();
      } else if (Status s = client.OnReply(reply); s != Status::kOk) {
        return s;
      }
    }
    return Status::kOk;
  }

  Floats base() {
    const Span<const float> base = device->buffers().base;
    return {base.begin(), base.end()};
  }

  // A device that holds this model, as after a download.
  void Hold(const Floats& model) {
    const ClientBuffers buffers = device->buffers();
    ASSERT_EQ(buffers.writer.write(buffers.writer.context, View(model)), Status::kOk);
    ASSERT_EQ(device->client.RestoreModel(), Status::kOk);
  }

  Client::State state() { return device->client.state(); }

  OfferingServer server;
  std::unique_ptr<Device> device;
};

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

// Until the fetch is over; its last status.
Status Fetch(ClientDownload& test, MutableByteSpan claims, int lose_at = -1) {
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

TEST_F(ClientDownload, FetchesTheReleasedModelAndWhatIsClaimedForIt) {
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

TEST_F(ClientDownload, AReleaseThatDoesNotExistOrAnOldServerDoesNoHarm) {
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

TEST_F(ClientDownload, FetchesAfterTheJobIsDone) {
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

TEST_F(ClientDownload, ALinkThatIsLostBeforeTheServerHasAnsweredEndsTheFetch) {
  server.has_work = false;
  server.Offer(SomeModel(8), ModelBase::kZeros);
  ASSERT_EQ(Fetch(*this, {}, 1), Status::kOk);
  EXPECT_FALSE(device->client.is_fetching());
  EXPECT_EQ(device->client.release(), nullptr);
  ASSERT_EQ(Fetch(*this, {}), Status::kOk);
  EXPECT_NE(device->client.release(), nullptr);
}

TEST_F(ClientDownload, AFetchWaitsForTheRoundAndWithoutAReleaseRoundsGoOn) {
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

TEST_F(ClientDownload, OnANewLinkAFetchAfterTheJobBeginsWithAHello) {
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

TEST_F(ClientDownload, AReleaseFromAWrongBaseIsFetchedAnew) {
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

}  // namespace
}  // namespace sotto
