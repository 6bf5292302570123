// A server in this process whose job fails beneath it: Run() ends with the job's error, and no
// device is told that the job is done.
#include <algorithm>
#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <optional>
#include <stdexcept>

#include "e2e/live.h"
#include "net/server.h"
#include "sotto/models.h"
#include "sotto/posix/port.h"
#include "sotto/posix/run_key.h"

namespace sotto::live {
namespace {

struct BrokenStore : server::JobLog {
  void BeginJob(const server::JobRecord&) override {}
  void CommitAttempt(const server::AttemptRecord&) override {}
  void SealAttempt(const server::SealRecord&) override {}
  void CommitRelease(const server::ReleaseRecord&) override {
    throw std::runtime_error("the disk is full");
  }
};

struct BrokenDecoder : server::UpdateCodec {
  size_t MaxSize(uint32_t) const override { return 64; }
  double SumUnit() const override { return 1.0; }
  server::Verdict Add(const server::UpdateOrigin&, ByteSpan, server::Accumulator&) const override {
    throw std::runtime_error("the memory is full");
  }
  void AddZeroUpdate(const Key&, uint32_t, server::Accumulator&) const override {}
};

// The traits of a baseline, whose devices upload exact floats.
server::CodecInfo BrokenCodec() {
  server::CodecInfo codec = server::RequireCodec("qg");
  codec.make = [](const TrainTask&) -> std::unique_ptr<const server::UpdateCodec> {
    return std::make_unique<BrokenDecoder>();
  };
  return codec;
}

// Both devices are drawn for the one round.
server::JobConfig TwoDeviceJob() {
  server::JobConfig config;
  config.model = FindModel("softmax-784-10");
  config.plan.devices = config.plan.cohort = config.plan.planned_reports = 2;
  config.plan.rounds = 1;
  config.plan.dimension = config.model->parameters;
  config.plan.clip_l2 = 1.0;
  config.plan.noise_sigma = 1.0;
  config.plan.delta = 1e-5;
  config.plan.participants_known = true;  // so a round closes when both have reported
  config.training.clip_l2 = 1.0F;
  return config;
}

server::ServerEvents Silent() {
  server::ServerEvents events;
  events.info = [](const std::string&) {};
  events.detail = events.info;
  events.on_outcome = [](const server::RoundOutcome&) {};
  return events;
}

// One job, with which the server ends.
class OneJob : public server::JobSource {
 public:
  bool stays() const override { return false; }
  server::Job* Next() override { return nullptr; }
  std::optional<server::HaltRecord> MustEnd() override { return std::nullopt; }
  void OnBegin() override {}
  void OnEnd() override {}
  void Leave() override {}
  bool IsDone() const override { return false; }
};

class FailingServer {
 public:
  explicit FailingServer(const server::JobConfig& config)
      : job_(config, devices_, store_, posix::DeriveKey(posix::RunKey(7), "server")),
        server_(server::Unowned(devices_), Options(), Silent()) {
    server_.Listen();
    run_ = std::async(std::launch::async, [this] { server_.Run(source_, &job_); });
  }

  Caller Device(uint32_t device) const { return {server_.port(), keys_[device]}; }

  // What Run() threw.
  std::string Error() {
    try {
      run_.get();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

 private:
  static server::ServerOptions Options() {
    server::ServerOptions options;
    options.host = Host();
    options.port = 0;
    options.round_timeout_ms = UINT32_MAX;  // no deadline brings the error, only an update does
    return options;
  }

  server::DeviceRegistry Registry() const {
    server::DeviceRegistry devices;
    for (const posix::DeviceKey& key : keys_) devices.Register({key.device_id, key.secret});
    return devices;
  }

  const posix::DeviceKey keys_[2] = {{"one", {{1}}}, {"two", {{2}}}};
  const server::DeviceRegistry devices_ = Registry();
  BrokenStore store_;
  OneJob source_;
  server::Job job_;
  server::Server server_;
  std::future<void> run_;
};

// Asks for work, and does it if there is some.
Reply TakePart(Caller& caller) {
  const Reply reply = caller.Hello();
  if (reply.kind == Reply::Kind::kTrain) {
    const uint8_t nonce[kNonceSize] = {1};
    const std::vector<uint8_t> zero_update(std::max(1U, reply.task.format.padding));
    caller.Upload(reply.task, nonce, {zero_update.data(), zero_update.size()});
  }
  return reply;
}

// Every device reports, once the round is open, and asks on until it loses its link.
void ExpectThatNobodyHearsDone(FailingServer& server) {
  Caller callers[] = {server.Device(0), server.Device(1)};
  for (Caller& caller : callers) ASSERT_EQ(caller.Connect(), Status::kOk);
  for (Caller& caller : callers) TakePart(caller);
  for (Caller& caller : callers) {
    Reply reply = TakePart(caller);
    while (reply.kind != Reply::Kind::kError) {
      ASSERT_NE(reply.kind, Reply::Kind::kDone);
      reply = TakePart(caller);
    }
  }
}

struct CountingStore : BrokenStore {
  void CommitAttempt(const server::AttemptRecord&) override { ++attempts; }
  int attempts = 0;
};

// Somebody has stopped it while no server ran.
class StoppedJob : public OneJob {
 public:
  std::optional<server::HaltRecord> MustEnd() override {
    return server::HaltRecord{server::Halt::kOperator, "stopped"};
  }
};

TEST(ServerFailure, AJobThatWasStoppedBeforeTheStartAsksNobody) {
  server::DeviceRegistry devices;
  for (const char* id : {"one", "two"}) {
    Key secret;
    secret.bytes[0] = static_cast<uint8_t>(id[0]);
    devices.Register({id, secret});
  }
  CountingStore store;
  server::Job job(TwoDeviceJob(), devices, store, posix::DeriveKey(posix::RunKey(7), "server"));
  server::ServerOptions options;
  options.host = Host();
  options.port = 0;
  options.farewell_ms = 0;
  server::Server server(server::Unowned(devices), options, Silent());
  server.Listen();
  StoppedJob source;
  EXPECT_TRUE(server.Run(source, &job));
  EXPECT_EQ(job.end(), server::Halt::kOperator);
  EXPECT_EQ(store.attempts, 0);
}

// Its job is over, and another one may be queued.
class StayingSource : public StoppedJob {
 public:
  bool stays() const override { return true; }
  bool IsDone() const override { return is_done; }
  server::Job* Next() override {
    if (ends) throw std::runtime_error("the test is over");
    return nullptr;
  }
  std::atomic<bool> is_done{false};
  std::atomic<bool> ends{false};
};

TEST(ServerFailure, ADeviceThatDoesNotStayWaitsWhileAnotherJobIsQueued) {
  const posix::DeviceKey key = {"one", {{1}}};
  server::DeviceRegistry devices;
  devices.Register({key.device_id, key.secret});
  devices.Register({"two", {{2}}});
  CountingStore store;
  server::Job job(TwoDeviceJob(), devices, store, posix::DeriveKey(posix::RunKey(7), "server"));
  server::ServerOptions options;
  options.host = Host();
  options.port = 0;
  server::Server server(server::Unowned(devices), options, Silent());
  server.Listen();
  StayingSource source;
  std::future<bool> run = std::async(std::launch::async, [&] { return server.Run(source, &job); });
  Caller caller(server.port(), key);
  ASSERT_EQ(caller.Connect(), Status::kOk);
  for (int i = 0; i < 4; ++i) {  // the job goes meanwhile
    EXPECT_EQ(caller.Hello().kind, Reply::Kind::kWait);
    posix::SleepMs(150);
  }
  source.is_done = true;
  EXPECT_EQ(caller.Hello().kind, Reply::Kind::kDone);
  source.ends = true;
  EXPECT_THROW(run.get(), std::runtime_error);
}

TEST(ServerFailure, AReleaseThatCannotBeStoredEndsTheServerAndNotTheJob) {
  FailingServer server(TwoDeviceJob());
  ExpectThatNobodyHearsDone(server);
  EXPECT_EQ(server.Error(), "the disk is full");
}

TEST(ServerFailure, AnUpdateThatCannotBeDecodedForWantOfMemoryEndsTheServerAndNotTheJob) {
  server::JobConfig config = TwoDeviceJob();
  const server::CodecInfo broken = BrokenCodec();
  config.codec = &broken;
  FailingServer server(config);
  ExpectThatNobodyHearsDone(server);
  EXPECT_EQ(server.Error(), "the memory is full");
}

}  // namespace
}  // namespace sotto::live
