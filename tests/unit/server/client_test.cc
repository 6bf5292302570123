// Tests of the SDK's client against the real server code, with faults at every message and port
// call.
#include "sotto/client.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

#include "unit/sdk/hex.h"
#include "unit/server/client_fixture.h"

namespace sotto::server {
namespace {

// One round in which device cohort[0] has faults. All other devices report as usual.
struct FaultRun {
  std::vector<float> model;
  uint32_t reported = 0;
  int requests = 0;
};

FaultRun RunWithFault(int lose_at, int lose_request_at) {
  SmallJob small(SmallConfigWithAModel());
  EXPECT_TRUE(small.job.OpenRound());
  const uint32_t victim = small.job.cohort()[0];
  SmallDevice device(small.registry[victim], victim, *small.job.config().model);
  EXPECT_EQ(device.Run(small.job, victim, lose_at, lose_request_at), Status::kOk);
  for (size_t i = 1; i < small.job.cohort().size(); ++i) small.Report(small.job.cohort()[i]);
  const RoundOutcome outcome = small.job.CloseRound();
  return {small.Model(), outcome.reported, device.requests};
}

// A link cut at any message, before or after the server saw it, costs time and nothing else: the
// same bytes arrive, so the released model is the same to the last bit.
TEST(Client, ACutLinkAtAnyMessageChangesNothing) {
  const FaultRun undisturbed = RunWithFault(-1, -1);
  ASSERT_EQ(undisturbed.reported, 4u);
  ASSERT_GE(undisturbed.requests, 6);
  for (int message = 0; message < undisturbed.requests; ++message) {
    const FaultRun lost_reply = RunWithFault(message, -1);
    EXPECT_EQ(lost_reply.reported, 4u) << "reply " << message;
    EXPECT_EQ(lost_reply.model, undisturbed.model) << "reply " << message;
    const FaultRun lost_request = RunWithFault(-1, message);
    EXPECT_EQ(lost_request.reported, 4u) << "request " << message;
    EXPECT_EQ(lost_request.model, undisturbed.model) << "request " << message;
  }
}

TEST(Client, BoardsOfBothArithmeticsServeOneJob) {
  SmallJob small;
  ASSERT_TRUE(small.job.OpenRound());
  const uint32_t first = small.job.cohort()[0];
  SmallDevice board(small.registry[first], first, *FindModel("softmax-64-10-q"));
  EXPECT_EQ(board.Run(small.job, first), Status::kOk);
  for (size_t i = 1; i < small.job.cohort().size(); ++i) small.Report(small.job.cohort()[i]);
  EXPECT_EQ(small.job.CloseRound().reported, 4u);
}

TEST_F(ClientTest, WithoutEntropyNoUpdateLeavesTheDevice) {
  device->entropy_status = Status::kEntropyFailed;
  EXPECT_EQ(device->Run(small.job, index), Status::kEntropyFailed);
  EXPECT_EQ(device->client().state(), Client::State::kHello);
  // Once entropy is back the round can still be served.
  device->entropy_status = Status::kOk;
  EXPECT_EQ(device->Run(small.job, index), Status::kOk);
  EXPECT_EQ(small.job.CloseRound().reported, 1u);
}

// Nobody sees from its reports that a device's data are bad.
TEST_F(ClientTest, AFailingSampleSourceStillReports) {
  device->sample_status = Status::kSampleFailed;
  EXPECT_EQ(device->Run(small.job, index), Status::kOk);
  EXPECT_EQ(device->client().local_round().failure(), Status::kSampleFailed);
  EXPECT_EQ(small.job.CloseRound().reported, 1u);
}

TEST_F(ClientTest, ItReportsWhateverItsFeaturesAre) {
  uint32_t reports = 0;
  for (const uint32_t member : small.job.cohort()) {
    SmallDevice each(small.registry[member], member, *small.job.config().model);
    each.feature_scale = std::vector<float>{0, 1, 3e38f, -3e38f}[reports];
    EXPECT_EQ(each.Run(small.job, member), Status::kOk);
    ++reports;
  }
  EXPECT_EQ(small.job.CloseRound().reported, reports);
}

TEST_F(ClientTest, ATaskWithoutPrivacyIsRefusedUnlessTheOwnerAllowsIt) {
  for (const bool exact : {true, false}) {
    StepToRequest();
    Reply reply = small.job.Answer(index, device->client().request());
    ASSERT_EQ(reply.kind, Reply::Kind::kTrain);
    if (exact) reply.task.format.coding = Coding::kFloat32;
    if (!exact) reply.task.format.dither = DitherKind::kUniform;
    EXPECT_EQ(device->client().OnReply(reply), Status::kPeerRefused);
  }
}

TEST_F(ClientTest, TasksOutOfRangeAreRefused) {
  StepToRequest();
  Reply reply = small.job.Answer(index, device->client().request());
  reply.task.training.batch_size = 0;
  EXPECT_EQ(device->client().OnReply(reply), Status::kInvalidArgument);
  StepToRequest();
  reply = small.job.Answer(index, device->client().request());
  reply.task.format.dither = static_cast<DitherKind>(9);
  EXPECT_EQ(device->client().OnReply(reply), Status::kMalformed);
}

// Each of a task's numbers may be none: a status and a wait of a minute, and no training.
TEST_F(ClientTest, ATaskWithANumberThatIsNoneIsRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (float TrainingOptions::*number :
       {&TrainingOptions::clip_l2, &TrainingOptions::learning_rate, &TrainingOptions::weight_decay,
        &TrainingOptions::momentum, &TrainingOptions::gradient_clip, &TrainingOptions::proximal}) {
    for (const float bad : {nan, -nan, std::numeric_limits<float>::infinity()}) {
      StepToRequest();
      Reply reply = small.job.Answer(index, device->client().request());
      reply.task.training.*number = bad;
      EXPECT_EQ(device->client().OnReply(reply), Status::kInvalidArgument) << bad;
      EXPECT_EQ(device->client().wait_ms(), kRefusedWaitMs);
    }
  }
}

// A task whose noise cannot be encoded fails before anything is sent.
TEST_F(ClientTest, ATaskWithUselessNoiseIsRefused) {
  for (const float scale : {0.0f, -1.0f, 1e-9f, 1e-40f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    StepToRequest();
    Reply reply = small.job.Answer(index, device->client().request());
    reply.task.quantizer_scale = scale;
    EXPECT_EQ(device->client().OnReply(reply), Status::kMalformed) << scale;
  }
}

TEST_F(ClientTest, ABatchLargerThanItsMemoryIsAnError) {
  StepToRequest();
  Reply reply = small.job.Answer(index, device->client().request());
  reply.task.training.batch_size = 17;
  ASSERT_EQ(device->client().OnReply(reply), Status::kOk);
  EXPECT_EQ(device->Run(small.job, index), Status::kBufferTooSmall);
}

// Each has a job: a device that gives up an announced update is out of the attempt.
struct AnyDialogue : ClientTest {
  void TestBody() override {}
};

TEST(ClientAnswers, AnAnswerThatDoesNotFitIsMalformedInEveryState) {
  for (const Client::State state : {Client::State::kHello, Client::State::kDownload,
                                    Client::State::kUploadBegin, Client::State::kUpload}) {
    for (const Reply::Kind kind : {Reply::Kind::kWait, Reply::Kind::kTrain, Reply::Kind::kDone,
                                   Reply::Kind::kModelChunk, Reply::Kind::kAck}) {
      const bool fits_hello = kind != Reply::Kind::kModelChunk && kind != Reply::Kind::kAck;
      if (state == Client::State::kHello && fits_hello) continue;
      AnyDialogue dialogue;
      dialogue.AdvanceTo(state);
      Reply reply;
      reply.kind = kind;
      reply.offset = UINT32_MAX;
      Client& client = dialogue.device->client();
      EXPECT_EQ(client.OnReply(reply), Status::kMalformed);
      EXPECT_EQ(client.state(), Client::State::kHello) << "the round is given up";
    }
  }
}

TEST_F(ClientTest, ModelChunksThatDoNotFitAreMalformed) {
  const std::vector<uint8_t> bytes(4 * 651, 0);
  for (const size_t size : {size_t{0}, size_t{3}, bytes.size()}) {
    AdvanceTo(Client::State::kDownload);
    Reply reply;
    reply.kind = Reply::Kind::kModelChunk;
    reply.bytes = {bytes.data(), size};
    EXPECT_EQ(device->client().OnReply(reply), Status::kMalformed);
  }
  AdvanceTo(Client::State::kDownload);
  Reply reply;
  reply.kind = Reply::Kind::kModelChunk;
  const uint8_t nan[4] = {0, 0, 0xc0, 0x7f};
  reply.bytes = nan;
  EXPECT_EQ(device->client().OnReply(reply), Status::kNotFinite);
}

// A job that gives an attempt up unless two devices check in.
struct TwoClientsTest : ClientTest {
  TwoClientsTest() : ClientTest(Config()) {}

  static JobConfig Config() {
    JobConfig config = SmallConfig();
    config.min_devices = 2;
    return config;
  }
};

TEST_F(TwoClientsTest, ANewAttemptReplacesAnInterruptedOne) {
  AdvanceTo(Client::State::kUpload);
  device->client().OnLinkLost();
  // No other device checks in until the device is drawn again.
  do {
    ASSERT_FALSE(small.job.CloseRound().released);
  } while (!Contains(small.job.cohort(), index));
  ASSERT_EQ(device->Run(small.job, index), Status::kOk);
  SmallDevice other(small.registry[index ^ 1], index ^ 1, *small.job.config().model);
  ASSERT_EQ(other.Run(small.job, index ^ 1), Status::kOk);
  EXPECT_GE(small.job.CloseRound().reported, 1u);
  EXPECT_EQ(small.store.releases.size(), 1u);
}

// The device asks with `request` and the server refuses for good.
void ExpectRefusal(SmallJob& small, uint32_t index, const Request& request, ErrorCode code) {
  const Reply reply = small.job.Answer(index, request);
  EXPECT_EQ(reply.kind, Reply::Kind::kError);
  EXPECT_EQ(reply.code, code) << ErrorCodeName(reply.code);
  EXPECT_TRUE(reply.final);
}

TEST_F(ClientTest, ARefusalSaysWhy) {
  StepToRequest();
  Request hello = device->client().request();
  hello.version = kProtocolVersion + 1;
  ExpectRefusal(small, index, hello, ErrorCode::kVersion);
  hello = device->client().request();
  const uint8_t other_model[kSha256Size] = {};
  hello.model_digest = other_model;
  ExpectRefusal(small, index, hello, ErrorCode::kModelMismatch);
  const Reply mismatch = small.job.Answer(index, hello);
  EXPECT_EQ(std::string(mismatch.bytes.begin(), mismatch.bytes.end()),
            small.job.config().model->name);
  ExpectRefusal(small, index, Request(), ErrorCode::kMalformed);

  device->client().OnLinkLost();
  AdvanceTo(Client::State::kUploadBegin);
  Request chunk;
  chunk.kind = Request::Kind::kUpdateChunk;
  chunk.bytes = other_model;
  ExpectRefusal(small, index, chunk, ErrorCode::kWrongAttempt);
  Request begin = device->client().request();
  ++begin.attempt;
  ExpectRefusal(small, index, begin, ErrorCode::kWrongAttempt);
  uint32_t other = 0;
  while (Contains(small.job.cohort(), other)) ++other;
  ExpectRefusal(small, other, device->client().request(), ErrorCode::kNotSelected);

  begin = device->client().request();
  device->client().OnLinkLost();
  ASSERT_EQ(device->Run(small.job, index), Status::kOk);
  const uint8_t other_nonce[kNonceSize] = {};
  begin.nonce = other_nonce;
  ExpectRefusal(small, index, begin, ErrorCode::kConflict);
}

TEST_F(ClientTest, TheReasonOfARefusalIsKept) {
  StepToRequest();
  Reply reply;
  reply.code = ErrorCode::kVersion;
  reply.final = true;
  EXPECT_EQ(device->client().OnReply(reply), Status::kPeerRefused);
  EXPECT_EQ(device->client().error_code(), ErrorCode::kVersion);
}

TEST(Client, UploadsFitTheSmallerFrameOfBothSides) {
  JobConfig config = SmallConfig();
  config.codec = FindCodec("none");  // long updates
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  const uint32_t index = small.job.cohort()[0];
  for (const bool server_is_smaller : {false, true}) {
    SmallDevice device(small.registry[index], index, *config.model, 0, 5000);
    device.config.allow_training_without_privacy = true;
    device.config.max_frame = server_is_smaller ? kMaxMaxFrame : kMinMaxFrame;
    Client& client = device.client();
    for (;;) {
      Client::Progress progress = Client::Progress::kAgain;
      ASSERT_EQ(client.Step(&progress), Status::kOk);
      if (progress != Client::Progress::kSend) continue;
      if (client.state() == Client::State::kUpload) break;
      Reply reply = small.job.Answer(index, client.request());
      reply.max_frame = server_is_smaller ? kMinMaxFrame : kMaxMaxFrame;
      ASSERT_EQ(client.OnReply(reply), Status::kOk);
    }
    EXPECT_EQ(client.request().bytes.size(), MaxChunkBytes(kMinMaxFrame));
  }
}

// Enough for every update, or for zeros alone: nobody who sees lengths can tell.
TEST(Client, UpdatesOfOneLengthAreTaken) {
  for (const uint32_t length : {300, 3}) {
    JobConfig config = SmallConfig();
    config.update_length = length;
    SmallJob small(config);
    ASSERT_TRUE(small.job.OpenRound());
    for (const uint32_t index : small.job.cohort()) {
      SmallDevice device(small.registry[index], index, *config.model);
      ASSERT_EQ(device.Run(small.job, index), Status::kOk);
      EXPECT_EQ(device.client().local_round().failure(),
                length == 300 ? Status::kOk : Status::kBufferTooSmall);
    }
    const RoundOutcome outcome = small.job.CloseRound();
    EXPECT_EQ(outcome.reported, 4u);
    EXPECT_EQ(outcome.update_bytes, 4u * length);
  }
}

// The hello of a device whose receipt is these bytes.
void ExpectReceipt(const Request& hello, ByteSpan receipt) {
  ASSERT_EQ(hello.kind, Request::Kind::kHello);
  EXPECT_EQ(ToHex(hello.receipt), ToHex(receipt));
}

TEST_F(ClientTest, ItReturnsTheLastReceiptWhateverBecomesOfTheTask) {
  const std::vector<uint8_t> first(kMaxReceiptSize, 0xab);
  const std::vector<uint8_t> second = {1, 2, 3};
  StepToRequest();
  ExpectReceipt(device->client().request(), {});
  Reply task = small.job.Answer(index, device->client().request());
  ASSERT_EQ(task.kind, Reply::Kind::kTrain);
  task.receipt = View(first);
  ASSERT_EQ(device->client().OnReply(task), Status::kOk);
  device->client().OnLinkLost();
  StepToRequest();
  ExpectReceipt(device->client().request(), View(first));

  task.receipt = View(second);
  ++task.task.attempt;
  task.task.training.batch_size = 0;  // refused
  EXPECT_NE(device->client().OnReply(task), Status::kOk);
  StepToRequest();
  ExpectReceipt(device->client().request(), View(second));

  Reply wait;
  wait.kind = Reply::Kind::kWait;
  ASSERT_EQ(device->client().OnReply(wait), Status::kOk);
  StepToRequest();
  ExpectReceipt(device->client().request(), View(second));

  // A server that gives none does not take the last one away.
  task.receipt = {};
  EXPECT_NE(device->client().OnReply(task), Status::kOk);
  StepToRequest();
  ExpectReceipt(device->client().request(), View(second));
}

TEST_F(ClientTest, AReceiptOfAnEarlierStartIsReturnedAndATooLongOneIsNot) {
  const std::vector<uint8_t> earlier = {7, 8};
  const std::vector<uint8_t> too_long(kMaxReceiptSize + 1);
  device->client().RestoreReceipt(View(earlier));
  device->client().RestoreReceipt(View(too_long));
  device->client().RestoreReceipt({});
  StepToRequest();
  ExpectReceipt(device->client().request(), View(earlier));
}

TEST_F(ClientTest, AServerWithImpossibleFramesIsMalformed) {
  StepToRequest();
  Reply reply = small.job.Answer(index, device->client().request());
  reply.max_frame = kMinMaxFrame - 1;
  EXPECT_EQ(device->client().OnReply(reply), Status::kMalformed);
}

TEST_F(ClientTest, StepAndReplyOutOfTurnAreWrongState) {
  StepToRequest();
  Client::Progress progress = Client::Progress::kAgain;
  EXPECT_EQ(device->client().Step(&progress), Status::kWrongState);
  ASSERT_EQ(device->client().OnReply(small.job.Answer(index, device->client().request())),
            Status::kOk);
  EXPECT_EQ(device->client().OnReply({}), Status::kWrongState);
}

TEST_F(ClientTest, ABadConfigurationIsAStatus) {
  device->config.port.entropy = nullptr;
  EXPECT_EQ(device->Run(small.job, index), Status::kInvalidArgument);
  ClientConfig config = device->config;
  config.port = posix::SystemPort();
  EXPECT_EQ(config.Validate(), Status::kOk);
  config.model = nullptr;
  EXPECT_EQ(config.Validate(), Status::kInvalidArgument);
  config = device->config;
  config.device_id = {};
  EXPECT_EQ(config.Validate(), Status::kInvalidArgument);
}

TEST(ClientBuffers, StaticMemoryIsLaidOutWhateverItsAlignment) {
  using Net = Softmax64x10;
  static float parameters[2 * Net::kParameters];
  static std::byte workspace[ClientWorkspaceBytes<Net>() + 3];
  for (size_t shift = 0; shift < 4; ++shift) {
    const ClientBuffers buffers =
        MakeClientBuffers<Net>(parameters, {workspace + shift, ClientWorkspaceBytes<Net>()});
    EXPECT_EQ(buffers.base.size(), Net::kParameters);
    EXPECT_EQ(buffers.update.data(), parameters + Net::kParameters);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffers.scratch.data()) % alignof(float), 0u);
    const ModelInfo& model = *FindModel("softmax-64-10");
    EXPECT_GE(buffers.scratch.size(), model.training_floats(model, 16));
    EXPECT_EQ(buffers.indices.size(), 16u);
    EXPECT_LE(buffers.chunk.end(), reinterpret_cast<uint8_t*>(buffers.indices.data()));
    EXPECT_LE(reinterpret_cast<std::byte*>(buffers.indices.end()),
              workspace + shift + ClientWorkspaceBytes<Net>());
  }
}

TEST(ClientBuffers, FramesShareTheMemoryOfTraining) {
  using Net = Softmax784x10;
  static float parameters[2 * Net::kParameters];
  static std::byte workspace[ClientWorkspaceBytes<Net, 16, 492, 1022>()];
  EXPECT_EQ(sizeof(workspace), (ClientWorkspaceBytes<Net, 16, 492>()));
  const ClientBuffers buffers = MakeClientBuffers<Net, 16, 492, 1022>(parameters, workspace);
  EXPECT_EQ(buffers.chunk.size(), 492u);
  EXPECT_EQ(buffers.frames.size(), 1022u);
  EXPECT_EQ(buffers.frames.data(), buffers.chunk.end());
  EXPECT_LE(buffers.frames.end(), reinterpret_cast<uint8_t*>(buffers.scratch.end()));
}

}  // namespace
}  // namespace sotto::server
