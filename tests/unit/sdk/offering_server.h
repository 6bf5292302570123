// A device of a small net and a server that offers it the models that a test wants, without a wire.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "sotto/client.h"
#include "sotto/model_difference.h"
#include "sotto/models.h"
#include "sotto/random.h"

namespace sotto::offering {

using Net = nn::Sequential<nn::Dense<64, 10>>;

constexpr int kExponent = -8;
constexpr uint32_t kParameters = Net::kParameters;
constexpr uint8_t kJob[kJobIdSize] = {4, 2};
constexpr uint8_t kDeviceId[] = {'a'};
constexpr ModelInfo kModel = MakeModelInfo<Net>("example");

inline Status ReadSample(void*, uint32_t index, Span<float> features, uint32_t* label) {
  *label = index % 10;
  for (float& x : features) x = 0.5f;
  return Status::kOk;
}

inline Status FillWithOnes(void*, MutableByteSpan out) {
  for (uint8_t& byte : out) byte = 1;
  return Status::kOk;
}

inline uint64_t NoTime(void*) { return 0; }

inline ClientConfig Config() {
  ClientConfig config;
  config.model = &kModel;
  config.device_id = kDeviceId;
  config.samples = {3, ReadSample, nullptr};
  config.port = {NoTime, FillWithOnes, nullptr};
  config.wants_news = true;
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

inline Span<const float> View(const Floats& v) { return {v.data(), v.size()}; }

inline Floats SomeModel(uint32_t seed) {
  RandomStream random(Key(), seed);
  Floats model(kParameters);
  for (float& x : model) {
    x = GridParameter(static_cast<int32_t>(random.Below(41)) - 20, kExponent);
  }
  return model;
}

inline std::vector<uint8_t> CheckOf(const Floats& model) {
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
  bool names_releases = false;
  uint32_t release = 0;
  bool is_old = false;  // offers nothing, knows no releases
  bool has_work = true;
  bool has_release = true;
  uint32_t round = 0;
  std::vector<Request::Kind> requests;
  std::vector<uint32_t> offsets;  // of GetModel
  std::vector<Request> hellos;
  std::string claims = "epsilon 1";
  float threshold = 0.0f;

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
    // As `sotto serve`: after a whole Hello, and not again.
    if (hellos.back().version != 0) {
      if (remembers) reply.server_features |= kServerRemembersHello;
      if (names_releases) reply.server_features |= kServerNamesReleases;
    }
    reply.release = release;
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
    reply.threshold = threshold;
    return reply;
  }

  Floats wanted_;
  Floats floats_;
  std::vector<uint8_t> check_;
  std::vector<uint8_t> code_;
  std::vector<uint8_t> held_;
  ModelOffer offer_;
};

// A device and its server. Derive a fixture of it.
struct DownloadTest : testing::Test {
  DownloadTest() { NewDevice(); }

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

}  // namespace sotto::offering
