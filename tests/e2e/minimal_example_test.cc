// The complete programs of examples/minimal and examples/minimal_c, linked to a real job of the
// server: their main() is called RunMinimalDevice and RunMinimalDeviceInC here, and this file is
// their board.
#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <optional>
#include <vector>

#include "../examples/minimal_c/board.h"
#include "round/job.h"
#include "sotto/client.h"
#include "sotto/models.h"
#include "sotto/posix/port.h"
#include "sotto/posix/run_key.h"
#include "sotto/random.h"
#include "sotto/wire.h"

int RunMinimalDevice();
extern "C" int RunMinimalDeviceInC(void);
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

struct Program {
  const char* name;
  int (*run)();
};

std::ostream& operator<<(std::ostream& out, const Program& program) { return out << program.name; }

const Program kInCpp = {"InCpp", RunMinimalDevice};
const Program kInC = {"InC", RunMinimalDeviceInC};

// The device's, the same in each run.
class Entropy {
 public:
  sotto::Status Fill(sotto::MutableByteSpan out) {
    random_.Fill(out);
    return random_.status();
  }

 private:
  sotto::RandomStream random_{FixedKey("entropy"), 0};
};

// What the programs' functions reach.
struct Board {
  Server server;
  Entropy entropy;

  Board() { current = this; }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  ~Board() { current = nullptr; }

  static Board* current;
};

Board* Board::current = nullptr;

class MinimalExample : public testing::TestWithParam<Program> {
 protected:
  int Run() { return GetParam().run(); }

  Board board_;
  Server& server_ = board_.server;
};

INSTANTIATE_TEST_SUITE_P(Program, MinimalExample, testing::Values(kInCpp, kInC),
                         testing::PrintToStringParamName());

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

TEST_P(MinimalExample, TrainsARealJobToItsEnd) {
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(server_.job().phase(), Job::Phase::kFinished);
  ASSERT_EQ(server_.outcomes().size(), static_cast<size_t>(kJobRounds));
  for (const RoundOutcome& outcome : server_.outcomes()) {
    EXPECT_TRUE(outcome.released);
    EXPECT_EQ(outcome.reported, 1U);
    EXPECT_EQ(outcome.topped_up, 1U);
  }
}

TEST_P(MinimalExample, TeachesTheReleasedModelItsSamples) {
  EXPECT_EQ(Run(), 0);
  for (uint32_t label = 0; label < 10; ++label) EXPECT_EQ(Predict(server_.job(), label), label);
}

TEST_P(MinimalExample, FinishesEveryRoundThoughALinkIsCut) {
  for (const Request::Kind kind : {Request::Kind::kHello, Request::Kind::kGetModel,
                                   Request::Kind::kUpdateBegin, Request::Kind::kUpdateChunk}) {
    Board::current = nullptr;
    Board board;
    board.server.CutAtFirst(kind);
    EXPECT_EQ(Run(), 0);
    EXPECT_FALSE(board.server.cut_is_pending());
    EXPECT_EQ(board.server.outcomes().size(), static_cast<size_t>(kJobRounds));
  }
}

std::vector<float> ModelOf(const Program& program) {
  Board board;
  EXPECT_EQ(program.run(), 0);
  const sotto::Span<const float> parameters = board.server.job().parameters();
  return {parameters.begin(), parameters.end()};
}

TEST(MinimalExamples, GiveTheSameModelInCAsInCpp) { EXPECT_EQ(ModelOf(kInC), ModelOf(kInCpp)); }

}  // namespace

bool Exchange(const Request& request, sotto::Reply* reply) {
  return Board::current->server.Exchange(request, reply);
}

// The programs would go on for ever.
void SleepMs(uint32_t) {
  std::cerr << "a round is open at all times: nothing to wait for\n";
  std::abort();
}

sotto::Port BoardPort() {
  sotto::Port port = sotto::posix::SystemPort();
  port.entropy = [](void*, sotto::MutableByteSpan out) {
    return Board::current->entropy.Fill(out);
  };
  return port;
}

sotto::Key DeviceSecret() { return FixedKey("device"); }

// The same board for C, with the bytes that a connection of the server sends.
size_t board_exchange(const uint8_t* frame, size_t size, uint8_t* body) {
  Request request;
  EXPECT_EQ(sotto::DecodeRequest({frame + sotto::kFrameHeaderSize, size - sotto::kFrameHeaderSize},
                                 &request),
            sotto::Status::kOk);
  sotto::Reply reply;
  if (!Exchange(request, &reply)) return 0;
  reply.bytes =
      reply.bytes.first(std::min<size_t>(reply.bytes.size(), sotto::MaxChunkBytes(MAX_FRAME)));
  uint8_t answer[sotto::kFrameHeaderSize + MAX_FRAME];
  EXPECT_EQ(sotto::EncodeReply(reply, MAX_FRAME, answer, &size), sotto::Status::kOk);
  std::copy(answer + sotto::kFrameHeaderSize, answer + size, body);
  return size - sotto::kFrameHeaderSize;
}

void board_sleep_ms(uint32_t ms) { SleepMs(ms); }

uint64_t board_now_ms(void*) {
  const sotto::Port port = sotto::posix::SystemPort();
  return port.now_ms(port.context);
}

sotto_status board_entropy(void*, uint8_t* out, size_t size) {
  return static_cast<sotto_status>(Board::current->entropy.Fill({out, size}));
}

const char* board_device_id(void) { return "board-1"; }

const uint8_t* board_secret(void) {
  static const sotto::Key secret = DeviceSecret();
  return secret.bytes;
}
