// sotto_c.h and sotto_c_link.h: what they refuse, what they wipe, and that they are the C++ that
// they stand for. A whole job of a client in C is in tests/e2e/minimal_example_test.cc.
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "sotto/c_model.h"
#include "sotto/client.h"
#include "sotto/models.h"
#include "sotto/predict.h"
#include "sotto/tls_tickets.h"
#include "sotto/wire.h"
#include "sotto_c.h"
#include "sotto_c_link.h"
#include "unit/sdk/tls_link.h"

namespace sotto {
namespace {

using Net = Softmax64x10;
constexpr sotto_model kModel = {MakeModelInfo<Net>("softmax-64-10")};
constexpr uint32_t kBatch = 16;

sotto_status ReadSample(void*, uint32_t index, float* features, uint32_t* label) {
  *label = index % Net::kClasses;
  std::fill_n(features, Net::kInputs, 0.5f);
  return SOTTO_OK;
}

uint64_t NoTime(void*) { return 0; }

sotto_status Ones(void*, uint8_t* out, size_t size) {
  std::memset(out, 1, size);
  return SOTTO_OK;
}

sotto_status NoEntropy(void*, uint8_t*, size_t) { return SOTTO_ENTROPY_FAILED; }

// A device in C and its memory.
struct CDevice {
  std::vector<float> vectors = std::vector<float>(2 * Net::kParameters);
  std::vector<std::byte> workspace = std::vector<std::byte>(ClientWorkspaceBytes<Net, kBatch>());
  std::vector<uint8_t> secret = std::vector<uint8_t>(SOTTO_SECRET_SIZE, 0xa7);
  sotto_client_config config = {};
  sotto_client client = {};

  CDevice() {
    config.model = &kModel;
    config.device_id = "pump-7";
    config.secret = secret.data();
    config.samples.count = 3;
    config.samples.read = ReadSample;
    config.port.now_ms = NoTime;
    config.port.entropy = Ones;
    config.vectors = vectors.data();
    config.vectors_size = vectors.size();
    config.workspace = workspace.data();
    config.workspace_size = workspace.size();
  }

  sotto_status Init() { return sotto_client_init(&client, &config); }
};

bool Holds(const void* memory, size_t size, const std::vector<uint8_t>& secret) {
  const auto* const begin = static_cast<const uint8_t*>(memory);
  return std::search(begin, begin + size, secret.begin(), secret.end()) != begin + size;
}

TEST(ClientInC, SaysHello) {
  CDevice device;
  ASSERT_EQ(device.Init(), SOTTO_OK);
  sotto_progress progress = SOTTO_AGAIN;
  ASSERT_EQ(sotto_client_step(&device.client, &progress), SOTTO_OK);
  EXPECT_EQ(progress, SOTTO_SEND);
  uint8_t frame[2 + 1024];
  size_t size = 0;
  EXPECT_EQ(sotto_client_request(&device.client, frame, 10, &size), SOTTO_BUFFER_TOO_SMALL);
  ASSERT_EQ(sotto_client_request(&device.client, frame, sizeof frame, &size), SOTTO_OK);
  Request request;
  ASSERT_EQ(DecodeRequest({frame + 2, size - 2}, &request), Status::kOk);
  EXPECT_EQ(request.kind, Request::Kind::kHello);
  sotto_client_destroy(&device.client);
}

TEST(ClientInC, SaysHelloAnewAfterALostLink) {
  CDevice device;
  ASSERT_EQ(device.Init(), SOTTO_OK);
  sotto_progress progress = SOTTO_AGAIN;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(sotto_client_step(&device.client, &progress), SOTTO_OK);
    EXPECT_EQ(progress, SOTTO_SEND);
    sotto_client_link_lost(&device.client);
  }
  sotto_client_destroy(&device.client);
}

TEST(ClientInC, RefusesBytesThatAreNoReply) {
  CDevice device;
  ASSERT_EQ(device.Init(), SOTTO_OK);
  sotto_progress progress = SOTTO_AGAIN;
  ASSERT_EQ(sotto_client_step(&device.client, &progress), SOTTO_OK);
  const uint8_t body[3] = {0xff, 0xff, 0xff};
  EXPECT_EQ(sotto_client_reply(&device.client, body, sizeof body), SOTTO_MALFORMED);
  sotto_client_destroy(&device.client);
}

TEST(ClientInC, NeedsAllThatIsRequired) {
  const auto refused = [](void (*change)(sotto_client_config*)) {
    CDevice device;
    change(&device.config);
    return device.Init() == SOTTO_INVALID_ARGUMENT;
  };
  EXPECT_TRUE(refused([](sotto_client_config* c) { c->model = nullptr; }));
  EXPECT_TRUE(refused([](sotto_client_config* c) { c->device_id = nullptr; }));
  EXPECT_TRUE(refused([](sotto_client_config* c) { c->device_id = ""; }));
  EXPECT_TRUE(refused([](sotto_client_config* c) { c->device_id = "a pump"; }));
  EXPECT_TRUE(refused([](sotto_client_config* c) { c->secret = nullptr; }));
  EXPECT_TRUE(refused([](sotto_client_config* c) { c->samples.read = nullptr; }));
  EXPECT_TRUE(refused([](sotto_client_config* c) { c->port.now_ms = nullptr; }));
  EXPECT_TRUE(refused([](sotto_client_config* c) { c->port.entropy = nullptr; }));
  EXPECT_TRUE(refused([](sotto_client_config* c) { c->vectors = nullptr; }));
  EXPECT_TRUE(refused([](sotto_client_config* c) { c->vectors_size = Net::kParameters; }));
  EXPECT_TRUE(refused([](sotto_client_config* c) { c->vectors_size -= 1; }));
  EXPECT_TRUE(refused([](sotto_client_config* c) { c->workspace = nullptr; }));
  EXPECT_TRUE(refused([](sotto_client_config* c) { c->max_frame = 255; }));
  EXPECT_EQ(sotto_client_init(nullptr, nullptr), SOTTO_INVALID_ARGUMENT);
}

TEST(ClientInC, SaysThatAWorkspaceHoldsNoBatch) {
  CDevice device;
  for (const size_t bytes : {0, 60, 70, 80}) {
    device.config.workspace_size = bytes;
    EXPECT_EQ(device.Init(), SOTTO_BUFFER_TOO_SMALL) << bytes;
  }
}

// As a client in C++ does: the server gives it no larger batches.
TEST(ClientInC, TakesASmallerWorkspaceForSmallerBatches) {
  CDevice device;
  device.config.workspace_size = 500;
  EXPECT_EQ(device.Init(), SOTTO_OK);
  sotto_client_destroy(&device.client);
}

TEST(ClientInC, TakesAWorkspaceOfAnyAlignment) {
  CDevice device;
  for (size_t skipped = 0; skipped < 4; ++skipped) {
    device.config.workspace = device.workspace.data() + skipped;
    device.config.workspace_size = device.workspace.size() - skipped;
    ASSERT_EQ(device.Init(), SOTTO_OK);
    sotto_client_destroy(&device.client);
  }
}

TEST(ClientInC, WipesTheSecret) {
  CDevice device;
  ASSERT_EQ(device.Init(), SOTTO_OK);
  EXPECT_TRUE(Holds(&device.client, sizeof device.client, device.secret));
  sotto_client_destroy(&device.client);
  EXPECT_FALSE(Holds(&device.client, sizeof device.client, device.secret));
}

TEST(SottoC, NamesEachStatusAsCppDoes) {
  for (int i = 0; i < kStatusCount; ++i) {
    EXPECT_STREQ(sotto_status_name(static_cast<sotto_status>(-i)),
                 StatusName(static_cast<Status>(-i)));
  }
  EXPECT_STREQ(sotto_status_name(SOTTO_STORE_FAILED), "kStoreFailed");
}

TEST(SottoC, TestsItself) { EXPECT_EQ(sotto_self_test(), SOTTO_OK); }

TEST(SottoC, PredictsAsCppDoes) {
  std::vector<float> parameters(Net::kParameters);
  for (size_t i = 0; i < parameters.size(); ++i) parameters[i] = static_cast<float>(i % 7) - 3;
  std::vector<float> features(Net::kInputs);
  for (size_t i = 0; i < features.size(); ++i) features[i] = static_cast<float>(i % 5);
  std::vector<float> scratch(sotto_predict_floats(&kModel));
  std::vector<float> expected(Net::kOutputs);
  std::vector<float> outputs(Net::kOutputs);
  ASSERT_EQ(Predict(kModel, Span<const float>(parameters.data(), parameters.size()),
                    {features.data(), features.size()}, {scratch.data(), scratch.size()},
                    {expected.data(), expected.size()}),
            Status::kOk);
  ASSERT_EQ(sotto_predict(&kModel, parameters.data(), features.data(), scratch.data(),
                          scratch.size(), outputs.data()),
            SOTTO_OK);
  EXPECT_EQ(outputs, expected);
  const auto best = std::max_element(outputs.begin(), outputs.end()) - outputs.begin();
  EXPECT_EQ(sotto_predicted_class(&kModel, outputs.data()), static_cast<uint32_t>(best));
}

TEST(SottoC, ComputesThePredictionErrorAsCppDoes) {
  using Repeats = nn::Sequential<nn::Dense<3, 3>, nn::MeanSquaredError<nn::TargetKind::kInput>>;
  using Foretells = nn::Sequential<nn::Dense<3, 2>, nn::MeanSquaredError<nn::TargetKind::kVector>>;
  constexpr sotto_model kRepeats = {MakeModelInfo<Repeats>("repeats")};
  constexpr sotto_model kForetells = {MakeModelInfo<Foretells>("foretells")};
  const float parameters[12] = {1, 0, 0.5f, 0, 1, 0, 0, 0, 2, 0.25f, 0, 1};
  const float features[3] = {1, -2, 3};
  const float target[2] = {4, 5};
  float scratch[64];
  float outputs[3];
  float expected = 0;
  float error = 0;
  ASSERT_EQ(PredictionError(kRepeats, Span<const float>(parameters, Repeats::kParameters), features,
                            {}, scratch, outputs, &expected),
            Status::kOk);
  ASSERT_EQ(sotto_prediction_error(&kRepeats, parameters, features, nullptr, scratch, 64, outputs,
                                   &error),
            SOTTO_OK);
  EXPECT_EQ(error, expected);
  ASSERT_EQ(PredictionError(kForetells, Span<const float>(parameters, Foretells::kParameters),
                            features, target, scratch, Span<float>(outputs, 2), &expected),
            Status::kOk);
  ASSERT_EQ(sotto_prediction_error(&kForetells, parameters, features, target, scratch, 64, outputs,
                                   &error),
            SOTTO_OK);
  EXPECT_EQ(error, expected);
  EXPECT_EQ(sotto_prediction_error(&kForetells, parameters, features, nullptr, scratch, 64, outputs,
                                   &error),
            SOTTO_INVALID_ARGUMENT);
}

// A device in C and a server that answers each frame with the frame.
class LinkInC : public testing::Test {
 protected:
  LinkInC() {
    Key psk;
    Key secret;
    std::copy(secret_.begin(), secret_.end(), secret.bytes);
    EXPECT_EQ(DeriveTlsKey(secret, &psk), Status::kOk);
    keys_.devices["pump-7"] = psk;
    config_.device_id = "pump-7";
    config_.secret = secret_.data();
    config_.port.now_ms = NoTime;
    config_.port.entropy = Ones;
    config_.send = [](void* self, const uint8_t* bytes, size_t size) {
      return static_cast<LinkInC*>(self)->wire_.up.Send(bytes, size);
    };
    config_.recv = [](void* self, uint8_t* out, size_t size) {
      return static_cast<LinkInC*>(self)->wire_.down.Receive(out, size);
    };
    config_.context = this;
    config_.resumes = 1;
  }

  // A new connection.
  void Connect() {
    TlsConfig tls;
    tls.ticket_keys = &ticket_keys_;
    wire_ = Link();
    ASSERT_EQ(context_.InitServer(entropy_.port(), keys_.lookup(), tls), Status::kOk);
    ASSERT_EQ(server_.Start(&context_, server_end_.io()), Status::kOk);
    is_open_ = false;
    ASSERT_EQ(sotto_link_begin(&link_), SOTTO_OK);
  }

  void Serve() {
    uint8_t bytes[100];
    size_t count = 0;
    if (!is_open_) is_open_ = server_.Handshake() == Status::kOk;
    if (!is_open_ || server_.Read(bytes, &count) != Status::kOk || count == 0) return;
    EXPECT_EQ(server_.Write({bytes, count}, &count), Status::kOk);
  }

  sotto_status Exchange() {
    sotto_status status = SOTTO_WOULD_BLOCK;
    for (int i = 0; i < 100 && status == SOTTO_WOULD_BLOCK; ++i) {
      status = sotto_link_exchange(&link_, kFrame, sizeof kFrame, &body_, &body_size_);
      Serve();
    }
    return status;
  }

  static constexpr uint8_t kFrame[5] = {3, 0, 7, 8, 9};
  std::vector<uint8_t> secret_ = std::vector<uint8_t>(SOTTO_SECRET_SIZE, 0xa7);
  sotto_link_config config_ = {};
  sotto_link link_ = {};
  uint8_t receive_[256] = {};
  const uint8_t* body_ = nullptr;
  size_t body_size_ = 0;

  TestEntropy entropy_;
  TestKeys keys_;
  TlsTicketKeys ticket_keys_;
  Link wire_;
  LinkEnd server_end_{&wire_.down, &wire_.up};
  TlsContext context_;
  TlsSession server_;
  bool is_open_ = false;
};

TEST_F(LinkInC, ExchangesFramesAndResumes) {
  ASSERT_EQ(sotto_link_init(&link_, &config_, receive_, sizeof receive_), SOTTO_OK);
  for (int connection = 0; connection < 2; ++connection) {
    Connect();
    EXPECT_EQ(sotto_link_is_authenticated(&link_), 0);
    ASSERT_EQ(Exchange(), SOTTO_OK);
    EXPECT_NE(sotto_link_is_authenticated(&link_), 0);
    EXPECT_EQ(sotto_link_wants_write(&link_), 0);
    ASSERT_EQ(body_size_, 3U);
    EXPECT_EQ(sotto_link_exchange(&link_, kFrame, 2, &body_, &body_size_), SOTTO_INVALID_ARGUMENT);
    EXPECT_EQ(body_[2], 9);
    EXPECT_EQ(server_.is_resumed(), connection == 1);
    sotto_link_close(&link_);
  }
  sotto_link_destroy(&link_);
}

TEST_F(LinkInC, EndsWithAWrongKey) {
  ASSERT_EQ(sotto_link_init(&link_, &config_, receive_, sizeof receive_), SOTTO_OK);
  keys_.devices["pump-7"] = TestKey(1);
  Connect();
  const sotto_status status = Exchange();
  EXPECT_EQ(status, SOTTO_PEER_REFUSED);
  EXPECT_EQ(sotto_link_is_authenticated(&link_), 0);
  sotto_link_destroy(&link_);
}

TEST_F(LinkInC, SaysThatThereIsNoEntropy) {
  config_.port.entropy = NoEntropy;
  ASSERT_EQ(sotto_link_init(&link_, &config_, receive_, sizeof receive_), SOTTO_OK);
  EXPECT_EQ(sotto_link_begin(&link_), SOTTO_ENTROPY_FAILED);
  sotto_link_destroy(&link_);
}

TEST_F(LinkInC, SaysThatTheConnectionIsLost) {
  ASSERT_EQ(sotto_link_init(&link_, &config_, receive_, sizeof receive_), SOTTO_OK);
  Connect();
  wire_.up.cut_after = wire_.down.cut_after = 0;
  EXPECT_EQ(Exchange(), SOTTO_LINK_LOST);
  sotto_link_destroy(&link_);
}

TEST_F(LinkInC, NeedsAllThatIsRequired) {
  const auto refused = [&](void (*change)(sotto_link_config*)) {
    sotto_link_config config = config_;
    change(&config);
    return sotto_link_init(&link_, &config, receive_, sizeof receive_) == SOTTO_INVALID_ARGUMENT;
  };
  EXPECT_TRUE(refused([](sotto_link_config* c) { c->device_id = nullptr; }));
  EXPECT_TRUE(refused([](sotto_link_config* c) { c->secret = nullptr; }));
  EXPECT_TRUE(refused([](sotto_link_config* c) { c->port.now_ms = nullptr; }));
  EXPECT_TRUE(refused([](sotto_link_config* c) { c->port.entropy = nullptr; }));
  EXPECT_TRUE(refused([](sotto_link_config* c) { c->send = nullptr; }));
  EXPECT_TRUE(refused([](sotto_link_config* c) { c->recv = nullptr; }));
  EXPECT_EQ(sotto_link_init(&link_, &config_, nullptr, 0), SOTTO_INVALID_ARGUMENT);
}

TEST_F(LinkInC, WipesTheSecret) {
  ASSERT_EQ(sotto_link_init(&link_, &config_, receive_, sizeof receive_), SOTTO_OK);
  EXPECT_TRUE(Holds(&link_, sizeof link_, secret_));
  sotto_link_destroy(&link_);
  EXPECT_FALSE(Holds(&link_, sizeof link_, secret_));
}

}  // namespace
}  // namespace sotto
