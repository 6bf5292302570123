// The complete program of examples/minimal, linked to a real job of the server: its main() is
// called RunMinimalDevice here, and this file is its board.
#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <vector>

#include "round/job.h"
#include "sotto/client.h"
#include "sotto/models.h"
#include "sotto/posix/port.h"
#include "sotto/posix/run_key.h"
#include "sotto/random.h"

int RunMinimalDevice();
bool Exchange(const sotto::Request& request, sotto::Reply* reply);
void SleepMs(uint32_t ms);
sotto::Port BoardPort();
sotto::Key DeviceSecret();

namespace {

using sotto::Request;
using sotto::server::Job;
using sotto::server::RoundOutcome;

constexpr int kJobRounds = 10;

sotto::Key FixedKey(const char* label) {
  return sotto::posix::DeriveKey(sotto::posix::RunKey(7), label);
}

class NoStore : public sotto::server::JobLog {
 public:
  void BeginJob(const sotto::server::JobRecord&) override {}
  void CommitAttempt(const sotto::server::AttemptRecord&) override {}
  void SealAttempt(const sotto::server::SealRecord&) override {}
  void CommitRelease(const sotto::server::ReleaseRecord&) override {}
};

// Two devices in a fleet of two; the second one never reports, so every round is topped up.
sotto::server::JobConfig TwoDeviceJob() {
  sotto::server::JobConfig config;
  config.model = sotto::FindModel("softmax-64-10");
  config.plan.devices = config.plan.cohort = config.plan.planned_reports = 2;
  config.plan.rounds = kJobRounds;
  config.plan.dimension = config.model->parameters;
  config.plan.clip_l2 = 1.0;
  config.plan.noise_sigma = 0x1p-7;  // little noise: the test is about the protocol, not privacy
  config.plan.delta = 1e-5;
  config.training.clip_l2 = 1.0F;
  return config;
}

// A server that closes each round as soon as the device has reported, and a link to it. The link
// can be cut at the first request of one kind: the server gets the request, the device gets no
// reply.
class Server {
 public:
  Server() : devices_(Devices()), job_(TwoDeviceJob(), devices_, store_, FixedKey("server")) {
    EXPECT_TRUE(job_.OpenRound());
  }

  void CutAtFirst(Request::Kind kind) { cut_ = kind; }

  bool Exchange(const Request& request, sotto::Reply* reply) {
    const uint32_t device = 0;
    *reply = job_.Answer(device, request);
    if (reply->kind == sotto::Reply::Kind::kAck && reply->complete) {
      outcomes_.push_back(job_.CloseRound());
      job_.OpenRound();
    }
    if (cut_ != request.kind) return true;
    cut_.reset();
    return false;
  }

  const Job& job() const { return job_; }
  const std::vector<RoundOutcome>& outcomes() const { return outcomes_; }
  bool cut_is_pending() const { return cut_.has_value(); }

 private:
  static sotto::server::DeviceRegistry Devices() {
    sotto::server::DeviceRegistry devices;
    devices.Register({"board-1", DeviceSecret()});
    devices.Register({"board-2", FixedKey("silent device")});
    return devices;
  }

  NoStore store_;
  sotto::server::DeviceRegistry devices_;
  Job job_;
  std::vector<RoundOutcome> outcomes_;
  std::optional<Request::Kind> cut_;
};

Server* server = nullptr;  // of the running test; the example calls plain functions

class MinimalExample : public testing::Test {
 protected:
  MinimalExample() { server = &server_; }
  ~MinimalExample() override { server = nullptr; }

  Server server_;
};

// The class that the released model predicts for the example's pattern of class `label`.
uint32_t Predict(const Job& job, uint32_t label) {
  const sotto::ModelInfo& model = *job.config().model;
  std::vector<float> x(model.inputs);
  for (uint32_t i = label; i < model.inputs; i += model.classes) x[i] = 1.0F;
  std::vector<float> scores(model.classes);
  std::vector<float> scratch(model.predict_floats(model));
  model.predict(model, job.parameters(), {x.data(), x.size()}, {scratch.data(), scratch.size()},
                {scores.data(), scores.size()});
  return static_cast<uint32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

TEST_F(MinimalExample, TrainsARealJobToItsEnd) {
  EXPECT_EQ(RunMinimalDevice(), 0);
  EXPECT_EQ(server_.job().phase(), Job::Phase::kFinished);
  ASSERT_EQ(server_.outcomes().size(), static_cast<size_t>(kJobRounds));
  for (const RoundOutcome& outcome : server_.outcomes()) {
    EXPECT_TRUE(outcome.released);
    EXPECT_EQ(outcome.reported, 1U);
    EXPECT_EQ(outcome.topped_up, 1U);
  }
}

TEST_F(MinimalExample, TeachesTheReleasedModelItsSamples) {
  EXPECT_EQ(RunMinimalDevice(), 0);
  for (uint32_t label = 0; label < 10; ++label) EXPECT_EQ(Predict(server_.job(), label), label);
}

class MinimalExampleWithACut : public MinimalExample,
                               public testing::WithParamInterface<Request::Kind> {};

TEST_P(MinimalExampleWithACut, FinishesEveryRound) {
  server_.CutAtFirst(GetParam());
  EXPECT_EQ(RunMinimalDevice(), 0);
  EXPECT_FALSE(server_.cut_is_pending());
  EXPECT_EQ(server_.outcomes().size(), static_cast<size_t>(kJobRounds));
}

INSTANTIATE_TEST_SUITE_P(AtEachRequest, MinimalExampleWithACut,
                         testing::Values(Request::Kind::kHello, Request::Kind::kGetModel,
                                         Request::Kind::kUpdateBegin, Request::Kind::kUpdateChunk));

// Fixed, so that runs are repeatable.
sotto::Status FixedEntropy(void*, sotto::MutableByteSpan out) {
  static sotto::RandomStream random(FixedKey("entropy"), 0);
  random.Fill(out);
  return random.status();
}

}  // namespace

bool Exchange(const Request& request, sotto::Reply* reply) {
  return server->Exchange(request, reply);
}

void SleepMs(uint32_t) { ADD_FAILURE() << "a round is open at all times: nothing to wait for"; }

sotto::Port BoardPort() {
  sotto::Port port = sotto::posix::SystemPort();
  port.entropy = FixedEntropy;
  return port;
}

sotto::Key DeviceSecret() { return FixedKey("device"); }
