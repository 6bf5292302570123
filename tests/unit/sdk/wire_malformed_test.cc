// Bytes that are no message, or a message of a later version: all bytes are decoded or refused.
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/wire.h"
#include "unit/sdk/hex.h"
#include "unit/sdk/mutations.h"
#include "unit/sdk/wire_messages.h"

namespace sotto {
namespace {

TEST(Wire, UnknownFieldsAreSkipped) {
  std::vector<uint8_t> body = Wrapped(2, FromHex("08f8ffffff0f"
                                                 "9a0603010203"
                                                 "a00601"));
  const std::vector<uint8_t> unknown = FromHex("9a0603010203a506000000007801");
  body.insert(body.begin(), unknown.begin(), unknown.end());
  body.insert(body.end(), unknown.begin(), unknown.end());
  Request request;
  ASSERT_EQ(DecodeRequest(View(body), &request), Status::kOk);
  EXPECT_EQ(request.kind, Request::Kind::kGetModel);
  EXPECT_EQ(request.offset, kMax32 - 7);
}

TEST(Wire, AHelloOfAnotherVersionIsReadAsFarAsItsVersion) {
  Request request;
  const std::vector<uint8_t> body = Wrapped(1, FromHex("08021203782f78"));
  ASSERT_EQ(DecodeRequest(View(body), &request), Status::kOk);
  EXPECT_EQ(request.kind, Request::Kind::kHello);
  EXPECT_EQ(request.version, 2u);
}

TEST(Wire, AnErrorCodeOfALaterServerIsKUnknown) {
  Reply reply;
  ASSERT_EQ(DecodeReply(View(Wrapped(6, FromHex("08ffffff7f1001"))), &reply), Status::kOk);
  EXPECT_EQ(reply.code, ErrorCode::kUnknown);
  EXPECT_TRUE(reply.final);
}

TEST(Wire, AModelMismatchOfAnOlderServerNamesNoModel) {
  Reply reply;
  reply.bytes = View(kChunk);
  ASSERT_EQ(DecodeReply(View(Wrapped(6, FromHex("08021001"))), &reply), Status::kOk);
  EXPECT_EQ(reply.code, ErrorCode::kModelMismatch);
  EXPECT_TRUE(reply.bytes.empty());
}

TEST(Wire, AnErrorWhoseModelHasATooLongNameIsMalformed) {
  for (const size_t size : {kMaxModelNameSize, kMaxModelNameSize + 1}) {
    const std::vector<uint8_t> name = Pattern(size);
    const std::vector<uint8_t> length = {static_cast<uint8_t>(size)};
    const std::string field = "0802100122" + ToHex(View(length)) + ToHex(View(name));
    Reply reply;
    EXPECT_EQ(DecodeReply(View(Wrapped(6, FromHex(field))), &reply),
              size == kMaxModelNameSize ? Status::kOk : Status::kMalformed);
  }
}

TEST(Wire, TheModelOfAnErrorPointsIntoTheFrame) {
  const std::vector<uint8_t> body = Wrapped(6, FromHex("0802100122056c656e6574"));
  Reply reply;
  ASSERT_EQ(DecodeReply(View(body), &reply), Status::kOk);
  EXPECT_EQ(reply.bytes.begin(), body.data() + body.size() - 5);
  EXPECT_EQ(std::string(reply.bytes.begin(), reply.bytes.end()), "lenet");
}

TEST(Wire, RequestsThatNoHonestDeviceSendsAreMalformed) {
  const std::string job = "0a10000102030405060708090a0b0c0d0e0f";
  const std::string nonce = "2210000102030405060708090a0b0c0d0e0f";
  const std::vector<std::vector<uint8_t>> bodies = {
      {},
      FromHex("00"),
      FromHex("3a00"),                                     // a message of a later version
      Wrapped(1, {}),                                      // version 0 names nobody's protocol ...
      Wrapped(2, FromHex("0802")),                         // offset 2
      Wrapped(2, FromHex("08808080801f")),                 // an offset above 32 bits
      Wrapped(3, FromHex(job + nonce)),                    // no coding
      Wrapped(3, FromHex(job + nonce + "2804")),           // coding 4
      Wrapped(3, FromHex(job + nonce + "288302")),         // coding 259
      Wrapped(3, FromHex(job + "2803")),                   // no nonce
      Wrapped(3, FromHex("0801" + nonce + "2803")),        // the job as a number
      Wrapped(3, FromHex("0d01020304" + nonce + "2803")),  // the job as fixed32
      Wrapped(4, FromHex("0800")),                         // no bytes
      Wrapped(4, FromHex("120501")),                       // more bytes announced than there are
  };
  for (size_t i = 0; i < bodies.size(); ++i) {
    Request request;
    request.offset = 4711;
    const Status expected = i == 3 ? Status::kOk : Status::kMalformed;
    EXPECT_EQ(DecodeRequest(View(bodies[i]), &request), expected) << "body " << i;
    EXPECT_EQ(request.offset, expected == Status::kOk ? 0 : 4711u) << "unchanged if malformed";
  }
}

TEST(Wire, RepliesThatNoHonestServerSendsAreMalformed) {
  const std::string job = "0a10000102030405060708090a0b0c0d0e0f";
  for (const std::vector<uint8_t>& body : {
           std::vector<uint8_t>{}, Wrapped(7, {}),
           Wrapped(2, FromHex(job + "2001280140006808")),    // clipping 0, max_frame 8
           Wrapped(2, FromHex(job + "20012803400168800a")),  // dither 3
           Wrapped(2, FromHex("20012801400168800a")),        // no job
           Wrapped(2, FromHex("0a0101"
                              "20012801400168800a")),  // a job of one byte
           Wrapped(4, {}),                             // no byte of the model
           Wrapped(2, FromHex(job + "20012801400168800a"
                                    "ea01021001")),  // a model on a grid without a check
       }) {
    Reply reply;
    EXPECT_EQ(DecodeReply(View(body), &reply), Status::kMalformed) << ToHex(View(body));
  }
  Reply reply;
  EXPECT_EQ(DecodeReply(View(Wrapped(2, FromHex(job + "20012801400168800a"))), &reply),
            Status::kOk);
}

// What follows the mandatory fields of a message that a later or earlier peer sends.
TEST(Wire, AReceiptIsReadUpToItsLimitAndMayBeAbsent) {
  const std::string hello = "0801120161" + ("1a20" + ToHex(View(kDigest))) + "20800a";
  const std::string train = "0a10000102030405060708090a0b0c0d0e0f20012801400168800a";
  for (const size_t size : {size_t{0}, size_t{1}, kMaxReceiptSize, kMaxReceiptSize + 1}) {
    const std::vector<uint8_t> receipt = Pattern(size);
    const std::vector<uint8_t> length = {static_cast<uint8_t>(size)};
    const std::string field = size == 0 ? "" : ToHex(View(length)) + ToHex(View(receipt));
    const Status expected = size <= kMaxReceiptSize ? Status::kOk : Status::kMalformed;
    Request request;
    EXPECT_EQ(
        DecodeRequest(View(Wrapped(1, FromHex(hello + (size == 0 ? "" : "2a") + field))), &request),
        expected);
    Reply reply;
    EXPECT_EQ(
        DecodeReply(View(Wrapped(2, FromHex(train + (size == 0 ? "" : "8a01") + field))), &reply),
        expected);
    if (expected != Status::kOk) continue;
    EXPECT_EQ(request.receipt.size(), size);
    EXPECT_EQ(reply.receipt.size(), size);
  }
}

TEST(Wire, AHelloWithoutAbilitiesSaysNothingOfThemAndLaterFeaturesAreKept) {
  const std::string hello = "0801120161" + ("1a20" + ToHex(View(kDigest))) + "20800a";
  Request request;
  request.abilities = {7, 7};
  ASSERT_EQ(DecodeRequest(View(Wrapped(1, FromHex(hello))), &request), Status::kOk);
  EXPECT_EQ(request.abilities.largest_batch, 0u);
  EXPECT_EQ(request.abilities.features, 0u);
  const std::vector<uint8_t> later = FromHex(hello + "3010" + "3881808004");  // bits 0 and 23
  ASSERT_EQ(DecodeRequest(View(Wrapped(1, later)), &request), Status::kOk);
  EXPECT_EQ(request.abilities.largest_batch, 16u);
  EXPECT_EQ(request.abilities.features, kFeatureMomentum | 1 << 23);
  const std::vector<uint8_t> beyond = FromHex(hello + "308080808010");
  EXPECT_EQ(DecodeRequest(View(Wrapped(1, beyond)), &request), Status::kMalformed);
}

TEST(Wire, ATaskWithoutAMomentumHasNone) {
  const std::string train = "0a10000102030405060708090a0b0c0d0e0f20012801400168800a";
  Reply reply;
  reply.task.training.momentum = 0.5f;
  ASSERT_EQ(DecodeReply(View(Wrapped(2, FromHex(train))), &reply), Status::kOk);
  EXPECT_EQ(reply.task.training.momentum, 0.0f);
  ASSERT_EQ(DecodeReply(View(Wrapped(2, FromHex(train + "95010000403f"))), &reply), Status::kOk);
  EXPECT_EQ(reply.task.training.momentum, 0.75f);
}

TEST(Wire, ATaskWithoutAReportTimeHasNone) {
  const std::string train = "0a10000102030405060708090a0b0c0d0e0f20012801400168800a";
  Reply reply;
  reply.report_ms = 5;
  ASSERT_EQ(DecodeReply(View(Wrapped(2, FromHex(train))), &reply), Status::kOk);
  EXPECT_EQ(reply.report_ms, 0u);
  ASSERT_EQ(DecodeReply(View(Wrapped(2, FromHex(train + "d801e0d403"))), &reply), Status::kOk);
  EXPECT_EQ(reply.report_ms, 60000u);
}

TEST(Wire, ALengthIsOnlyThatOfAnUpdateThatCanHaveOne) {
  const std::string job = "0a10000102030405060708090a0b0c0d0e0f";
  const std::string rest = "2801400168800a";
  const std::string length = "e00180808040";  // 2^27
  Reply reply;
  ASSERT_EQ(DecodeReply(View(Wrapped(2, FromHex(job + "2003" + rest + length))), &reply),
            Status::kOk);
  EXPECT_EQ(reply.task.format.length, kMaxLength);
  for (const std::string& bad : {job + "2002" + rest + length,                // float32
                                 job + "2003" + rest + "e00181808040",        // 2^27 + 1
                                 job + "2003" + rest + length + "800101"}) {  // noise
    EXPECT_EQ(DecodeReply(View(Wrapped(2, FromHex(bad))), &reply), Status::kMalformed) << bad;
  }
  ASSERT_EQ(DecodeReply(View(Wrapped(2, FromHex(job + "2003" + rest))), &reply), Status::kOk);
  EXPECT_EQ(reply.task.format.length, 0u);
}

// Of an older server; and one with a value of a later program is refused rather than misread.
TEST(Wire, ATaskWithoutTrainingMethodsHasNoneAndUnknownOnesAreMalformed) {
  const std::string train = "0a10000102030405060708090a0b0c0d0e0f20012801400168800a";
  Reply reply;
  reply.task.training = TrainAtItsLimits().task.training;
  ASSERT_EQ(DecodeReply(View(Wrapped(2, FromHex(train))), &reply), Status::kOk);
  EXPECT_EQ(reply.task.training.local_steps, 0u);
  EXPECT_EQ(reply.task.training.batches, Batches::kPasses);
  EXPECT_EQ(reply.task.training.rate_first, 0u);
  EXPECT_EQ(reply.task.training.rate_power, RatePower::kZero);
  EXPECT_EQ(reply.task.training.gradient_clip, 0.0f);
  EXPECT_EQ(reply.task.training.gradient_clip_of, GradientClipOf::kBatch);
  EXPECT_EQ(reply.task.training.proximal, 0.0f);
  EXPECT_EQ(reply.task.training.clip_by_layer, ClipByLayer::kNone);
  // Fields 21, 23, 25 and 31, each with its largest value, the next one and one beyond a byte.
  for (const std::string field : {"a801", "b801", "c801", "f801"}) {
    const bool has_two = field == "b801" || field == "f801";
    const auto status = [&](const std::string& value) {
      return DecodeReply(View(Wrapped(2, FromHex(train + field + value))), &reply);
    };
    EXPECT_EQ(status(has_two ? "02" : "01"), Status::kOk);
    EXPECT_EQ(status(has_two ? "03" : "02"), Status::kMalformed);
    EXPECT_EQ(status("8002"), Status::kMalformed);
  }
}

// An old device reads the same bytes as ever if a job has none of them.
TEST(Wire, ATaskWithoutTrainingMethodsHasTheBytesOfOlderPrograms) {
  Reply reply = Make(Reply::Kind::kTrain);
  reply.task.training.learning_rate = 0.5f;
  EXPECT_EQ(ToHex(View(BodyOf(Frame(reply)))),
            "122b0a1000000000000000000000000000000000"  // the job
            "200328013dcdcccc3e40014d0000003f5005580a6880087040");
}

TEST(Wire, AMessageCutAnywhereIsMalformed) {
  for (const Request& request : Requests(kMinMaxFrame)) {
    if (request.kind != Request::Kind::kNone) TruncateEverywhere(request);
  }
  for (const Reply& reply : Replies(kMinMaxFrame)) TruncateEverywhere(reply);
}

// 10,000 mutations of each of a dozen messages; seed 1.
TEST(Wire, MutatedMessagesAreMalformedOrWithinTheirLimits) {
  std::mt19937 random(1);
  int accepted = 0;
  for (const Request& request : Requests(kMinMaxFrame)) {
    if (request.kind == Request::Kind::kNone || request.version != kProtocolVersion) continue;
    accepted += DecodeMutations<Request>(BodyOf(Frame(request, kMinMaxFrame)), 10000, random);
  }
  for (const Reply& reply : Replies(kMinMaxFrame)) {
    accepted += DecodeMutations<Reply>(BodyOf(Frame(reply, kMinMaxFrame)), 10000, random);
  }
  EXPECT_GT(accepted, 1000) << "mutations that pass exercise the second half of the decoder";
}

}  // namespace
}  // namespace sotto
