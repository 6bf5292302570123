// Messages of nodes without a server: the same after encoding and decoding; what is beyond its
// limits is neither encoded nor decoded.
#include "sotto/peer_wire.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

#include "sotto/bytes.h"
#include "unit/sdk/hex.h"
#include "unit/sdk/mutations.h"
#include "unit/sdk/peer_wire_messages.h"

namespace sotto {
namespace {

TEST(PeerWire, EveryMessageReturnsAtItsLimitsAndInTheSmallestFrame) {
  for (const uint32_t max_frame : {kMinMaxFrame, kDefaultMaxFrame, kMaxMaxFrame}) {
    for (const PeerRequest& request : PeerRequests(max_frame)) ExpectRoundTrip(request, max_frame);
    for (const PeerReply& reply : PeerReplies(max_frame)) ExpectRoundTrip(reply, max_frame);
  }
}

TEST(PeerWire, EveryKindIsAmongTheMessagesThatAreTested) {
  std::vector<int> requests(static_cast<size_t>(PeerRequest::Kind::kGreet) + 1);
  for (const PeerRequest& r : PeerRequests(kMinMaxFrame)) ++requests[static_cast<size_t>(r.kind)];
  for (size_t kind = 1; kind < requests.size(); ++kind) EXPECT_GT(requests[kind], 0) << kind;
  std::vector<int> replies(static_cast<size_t>(PeerReply::Kind::kError) + 1);
  for (const PeerReply& r : PeerReplies(kMinMaxFrame)) ++replies[static_cast<size_t>(r.kind)];
  for (const int count : replies) EXPECT_GT(count, 0);
}

TEST(PeerWire, EveryErrorCodeReturnsAndALaterOneIsKUnknown) {
  PeerReply error = Make(PeerReply::Kind::kError);
  for (uint8_t code = 0; code <= static_cast<uint8_t>(ErrorCode::kOtherMachine); ++code) {
    error.code = static_cast<ErrorCode>(code);
    ExpectRoundTrip(error, kMinMaxFrame);
  }
  PeerReply reply;
  ASSERT_EQ(DecodePeerReply(View(Wrapped(8, FromHex("08ffffff7f1001"))), &reply), Status::kOk);
  EXPECT_EQ(reply.code, ErrorCode::kUnknown);
  EXPECT_TRUE(reply.final);
}

TEST(PeerWire, DecodedBytesPointIntoTheFrameAndAPairKeyDoesNot) {
  const std::vector<uint8_t> frame = Frame(StageOf(kMinMaxFrame));
  PeerRequest request;
  ASSERT_EQ(DecodePeerRequest(Body(frame), &request), Status::kOk);
  EXPECT_GE(request.bytes.begin(), frame.data());
  EXPECT_LE(request.bytes.end(), frame.data() + frame.size());
  PeerReply reply;
  {
    std::vector<uint8_t> entry = Frame(EntryAtItsLimits());
    ASSERT_EQ(DecodePeerReply(Body(entry), &reply), Status::kOk);
    std::fill(entry.begin(), entry.end(), uint8_t{0});
  }
  EXPECT_TRUE(Equal(reply.pair_key.bytes, View(kDigest)));
}

TEST(PeerWire, AJoinAndAGreetOfAnotherVersionAreReadAsFarAsTheirVersion) {
  for (const uint8_t tag : {uint8_t{1}, uint8_t{2}}) {
    PeerRequest request;
    ASSERT_EQ(DecodePeerRequest(View(Wrapped(tag, FromHex("08021203782f78"))), &request),
              Status::kOk);
    EXPECT_EQ(request.version, 2u);
  }
}

TEST(PeerWire, UnknownFieldsAreSkipped) {
  std::vector<uint8_t> body = Wrapped(3, FromHex("08f8ffffff0f"
                                                 "9a0603010203"
                                                 "a00601"));
  const std::vector<uint8_t> unknown = FromHex("9a0603010203a506000000007801");
  body.insert(body.begin(), unknown.begin(), unknown.end());
  body.insert(body.end(), unknown.begin(), unknown.end());
  PeerRequest request;
  ASSERT_EQ(DecodePeerRequest(View(body), &request), Status::kOk);
  EXPECT_EQ(request.kind, PeerRequest::Kind::kLease);
  EXPECT_EQ(request.step, kMax32 - 7);
}

template <typename Message>
void ExpectRefusedByTheEncoder(const std::vector<Message>& messages) {
  for (size_t i = 0; i < messages.size(); ++i) {
    uint8_t out[kFrameHeaderSize + kMinMaxFrame];
    size_t size = 77;
    EXPECT_EQ(Encode(messages[i], kMinMaxFrame, out, &size), Status::kInvalidArgument) << i;
    EXPECT_EQ(size, 77u);
  }
}

TEST(PeerWire, RequestsBeyondTheirLimitsAreNotSent) {
  const std::string too_long(kMaxPeerAddressSize + 1, 'x');
  std::vector<PeerRequest> bad(6, JoinAtItsLimits());
  bad[0].job_id = View(kJob).first(15);
  bad[1].max_frame = kMinMaxFrame - 1;
  bad[2].max_frame = kMaxMaxFrame + 1;
  bad[3].address = View(too_long);
  const std::string with_space = "a b:1";
  const std::string with_escape = "a\x1b[0m:1";
  bad[4].address = View(with_space);
  bad[5].address = View(with_escape);
  bad.insert(bad.end(), 3, CommitAtItsLimits());
  bad[6].publication = {};
  bad[7].publication.size = kPublicationHeaderSize - 1;
  bad[8].previous = View(kDigest).first(31);
  bad.insert(bad.end(), 3, StageOf(kMinMaxFrame));
  bad[9].bytes = {};
  ++bad[10].offset;
  bad[11].publication.size = bad[11].offset;
  bad.push_back(Make(PeerRequest::Kind::kGetPublication));
  bad.back().publication = SmallestPublication();
  bad.back().offset = kPublicationHeaderSize;
  bad.push_back(PeerRequest());
  ExpectRefusedByTheEncoder(bad);
}

TEST(PeerWire, RepliesBeyondTheirLimitsAreNotSent) {
  std::vector<PeerReply> bad(3, WelcomeAtItsLimits());
  bad[0].max_frame = 0;
  bad[1].node = bad[1].nodes;
  bad[2].head.version = 0;
  bad.insert(bad.end(), 3, GrantedAtItsLimits());
  bad[3].parent.version = bad[3].head.version;
  bad[4].head = {};
  bad[5].head.size = 1;
  bad.push_back(Make(PeerReply::Kind::kChunk));
  bad.insert(bad.end(), 2, EntryAtItsLimits());
  bad[7].device_id = {};
  const std::string line_feed = "host:1\n";
  bad[8].address = View(line_feed);
  bad.push_back(Make(PeerReply::Kind::kError));
  bad.back().code = static_cast<ErrorCode>(12);
  ExpectRefusedByTheEncoder(bad);
}

TEST(PeerWire, WhatExceedsTheFrameOrTheBufferIsNotSent) {
  std::vector<uint8_t> out(kFrameHeaderSize + kMaxMaxFrame);
  size_t size = 0;
  EXPECT_EQ(
      EncodePeerRequest(StageOf(kDefaultMaxFrame), kMinMaxFrame, {out.data(), out.size()}, &size),
      Status::kBufferTooSmall);
  for (const uint32_t max_frame : {kMinMaxFrame - 1, kMaxMaxFrame + 1}) {
    EXPECT_EQ(
        EncodePeerReply(Make(PeerReply::Kind::kWait), max_frame, {out.data(), out.size()}, &size),
        Status::kInvalidArgument);
  }
  const size_t whole = Frame(GrantedAtItsLimits()).size();
  for (size_t capacity = 0; capacity < whole; ++capacity) {
    std::vector<uint8_t> small(capacity);
    EXPECT_EQ(EncodePeerReply(GrantedAtItsLimits(), kMinMaxFrame, {small.data(), capacity}, &size),
              Status::kBufferTooSmall);
  }
}

TEST(PeerWire, RequestsThatNoHonestNodeSendsAreMalformed) {
  const std::string digest = "1a20" + ToHex(View(kDigest));
  const std::string name = "0a26" + ("0801" + digest) + "2040";  // version 1, node 0, 64 bytes
  const std::string previous = "1220" + ToHex(View(kDigest));
  const std::vector<std::vector<uint8_t>> bad = {
      {},
      FromHex("00"),
      FromHex("5200"),                                           // a message of a later version
      Wrapped(1, FromHex("0801")),                               // a Join without a job
      Wrapped(1, FromHex("08010a0101")),                         // the version as bytes
      Wrapped(3, FromHex("08808080801f")),                       // a step above 32 bits
      Wrapped(5, FromHex(previous)),                             // a Commit of nothing
      Wrapped(5, FromHex("0a0408012040" + previous)),            // without a digest
      Wrapped(5, FromHex("0a24" + digest + "2040" + previous)),  // of version 0
      Wrapped(5, FromHex(name)),                                 // without the one before it
      Wrapped(5, FromHex(name + "120101")),                      // which is one byte
      Wrapped(5, FromHex(name + "1801" + "1001")),               // or a number
      Wrapped(8, FromHex(name + "1040")),                        // from byte 64 of 64
      Wrapped(9, FromHex(name + "1000")),                        // stages nothing
      Wrapped(9, FromHex(name + "103f" + "1a020101")),           // beyond its end
      Wrapped(9, FromHex(name + "1a0501")),  // more bytes announced than there are
  };
  for (size_t i = 0; i < bad.size(); ++i) {
    PeerRequest request;
    request.offset = 4711;
    EXPECT_EQ(DecodePeerRequest(View(bad[i]), &request), Status::kMalformed) << "body " << i;
    EXPECT_EQ(request.offset, 4711u) << "unchanged if malformed";
  }
  PeerRequest request;
  EXPECT_EQ(DecodePeerRequest(View(Wrapped(5, FromHex(name + previous))), &request), Status::kOk);
  EXPECT_EQ(DecodePeerRequest(View(Wrapped(8, FromHex(name + "103f"))), &request), Status::kOk);
  EXPECT_EQ(DecodePeerRequest(View(Wrapped(9, FromHex(name + "103f" + "1a0101"))), &request),
            Status::kOk);
}

TEST(PeerWire, RepliesThatNoHonestDirectorySendsAreMalformed) {
  const std::string digest = "1a20" + ToHex(View(kDigest));
  const std::string one = "26" + ("0801" + digest) + "2040";
  const std::string two = "26" + ("0802" + digest) + "2040";
  for (const std::vector<uint8_t>& body : {
           std::vector<uint8_t>{}, Wrapped(9, {}), Wrapped(1, FromHex("10800818010801")),
           Wrapped(1, FromHex("18011008")),  // max_frame 8
           Wrapped(1, FromHex("1080081801"
                              "2a0408012040")),  // a head without a digest
           Wrapped(1, FromHex("1080081801"
                              "2a00")),                   // a head of version 0
           Wrapped(2, FromHex("1a" + one + "22" + one)),  // a parent that is the head
           Wrapped(2, FromHex("22" + one)),               // a parent without a head
           Wrapped(4, {}),                                // an empty chunk
           Wrapped(7, FromHex("120161")),                 // no pair key
           Wrapped(7, FromHex("120161"
                              "220101")),                             // one of one byte
           Wrapped(7, FromHex("1201212220" + ToHex(View(kDigest)))),  // a node called !
       }) {
    PeerReply reply;
    EXPECT_EQ(DecodePeerReply(View(body), &reply), Status::kMalformed) << ToHex(View(body));
  }
  PeerReply reply;
  EXPECT_EQ(DecodePeerReply(View(Wrapped(1, FromHex("1080081801"))), &reply), Status::kOk);
  EXPECT_EQ(DecodePeerReply(View(Wrapped(2, FromHex("1a" + two + "22" + one))), &reply),
            Status::kOk);
  EXPECT_EQ(DecodePeerReply(View(Wrapped(7, FromHex("1201612220" + ToHex(View(kDigest))))), &reply),
            Status::kOk);
}

TEST(PeerWire, AMessageCutAnywhereIsMalformed) {
  for (const PeerRequest& request : PeerRequests(kMinMaxFrame)) TruncateEverywhere(request);
  for (const PeerReply& reply : PeerReplies(kMinMaxFrame)) TruncateEverywhere(reply);
}

TEST(PeerWire, AFlippedBitNeverGivesAMessageBeyondItsLimits) {
  const auto flip_all = [](const auto& message) {
    const std::vector<uint8_t> body = BodyOf(Frame(message, kMinMaxFrame));
    for (size_t bit = 0; bit < 8 * body.size(); ++bit) {
      std::vector<uint8_t> flipped = body;
      flipped[bit / 8] = static_cast<uint8_t>(flipped[bit / 8] ^ 1 << bit % 8);
      auto back = message;
      if (Decode(View(flipped), &back) == Status::kOk) {
        Frame(back, kDefaultMaxFrame);  // it can be sent
      } else {
        ExpectEqual(message, back);
      }
    }
  };
  for (const PeerRequest& request : PeerRequests(kMinMaxFrame)) flip_all(request);
  for (const PeerReply& reply : PeerReplies(kMinMaxFrame)) flip_all(reply);
}

// 10,000 mutations of each of two dozen messages; seed 2.
TEST(PeerWire, MutatedMessagesAreMalformedOrWithinTheirLimits) {
  std::mt19937 random(2);
  int accepted = 0;
  for (const PeerRequest& request : PeerRequests(kMinMaxFrame)) {
    if (request.version != kPeerProtocolVersion) continue;
    accepted += DecodeMutations<PeerRequest>(BodyOf(Frame(request, kMinMaxFrame)), 10000, random);
  }
  for (const PeerReply& reply : PeerReplies(kMinMaxFrame)) {
    accepted += DecodeMutations<PeerReply>(BodyOf(Frame(reply, kMinMaxFrame)), 10000, random);
  }
  EXPECT_GT(accepted, 1000) << "mutations that pass exercise the second half of the decoder";
}

}  // namespace
}  // namespace sotto
