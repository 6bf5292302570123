// When requests are answered, and what a stranger's first bytes are, without sockets.
#include "net/request_pace.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "net/client_hello.h"
#include "unit/sdk/hex.h"

namespace sotto::server {
namespace {

constexpr auto kHello = Request::Kind::kHello;
constexpr auto kGetModel = Request::Kind::kGetModel;

Reply Wait(uint32_t ms) {
  Reply reply;
  reply.kind = Reply::Kind::kWait;
  reply.wait_ms = ms;
  return reply;
}

Reply Of(Reply::Kind kind) {
  Reply reply;
  reply.kind = kind;
  reply.final = true;
  return reply;
}

TEST(Bucket, ABurstAndThenOneEachInterval) {
  constexpr Rate kRate = {10, 3};
  Bucket bucket;
  uint64_t taken = 0;
  for (uint64_t now_ms = 5000; now_ms < 6000; ++now_ms) {
    while (bucket.IsFree(kRate, now_ms)) {
      bucket.Take(kRate, now_ms);
      ++taken;
    }
  }
  EXPECT_EQ(taken, 3u + 99);
}

TEST(Bucket, RightAfterTheStartOfTheClockItIsFull) {
  constexpr Rate kRate = {1000, 4};
  const Bucket bucket;
  EXPECT_EQ(bucket.FreeAt(kRate, 0), 0u);
}

TEST(RequestPace, ADeviceThatKeepsToItsWaitIsAnsweredAtOnceForEver) {
  RequestPace pace(2);
  for (uint64_t now_ms = 1000; now_ms < 1000000; now_ms += 1000) {
    ASSERT_EQ(pace.AnswerAt(1, kHello, now_ms), now_ms);
    pace.OnReply(1, Wait(1000), now_ms);
  }
}

TEST(RequestPace, AClockThatIsAnEighthTooFastIsInTime) {
  RequestPace pace(1);
  for (uint64_t now_ms = 1000; now_ms < 1000000; now_ms += 875) {
    ASSERT_EQ(pace.AnswerAt(0, kHello, now_ms), now_ms);
    pace.OnReply(0, Wait(1000), now_ms);
  }
}

// A device that says Hello again as soon as it has an answer, for 100 s.
TEST(RequestPace, EarlyHellosAreAnsweredWhenTheWaitIsOver) {
  RequestPace pace(1);
  uint64_t now_ms = 1000;
  int answers = 0;
  while (now_ms < 101000) {
    now_ms = pace.AnswerAt(0, kHello, now_ms);
    pace.OnReply(0, Wait(1000), now_ms);
    ++answers;
  }
  EXPECT_LE(answers, 8 + 2 * 115);
}

TEST(RequestPace, ABoardThatIsResetAFewTimesWaitsForNothing) {
  RequestPace pace(1);
  for (uint64_t now_ms = 1000; now_ms < 1008; ++now_ms) {
    EXPECT_EQ(pace.AnswerAt(0, kHello, now_ms), now_ms);
    pace.OnReply(0, Wait(1000), now_ms);
  }
}

TEST(RequestPace, NoAnswerButWorkEndsAWait) {
  for (const Reply::Kind kind : {Reply::Kind::kError, Reply::Kind::kModelChunk, Reply::Kind::kAck,
                                 Reply::Kind::kTrain, Reply::Kind::kDone}) {
    RequestPace pace(1);
    for (int i = 0; i < 100; ++i) pace.AnswerAt(0, kGetModel, 1000);
    for (int i = 0; i < 9; ++i) {
      pace.AnswerAt(0, kHello, 1000);
      pace.OnReply(0, Wait(1000), 1000);
    }
    pace.OnReply(0, Of(kind), 1001);
    const bool ends = kind == Reply::Kind::kTrain || kind == Reply::Kind::kDone;
    EXPECT_EQ(pace.AnswerAt(0, kHello, 1002), ends ? 1002u : 1875u) << static_cast<int>(kind);
  }
}

TEST(RequestPace, ALongWaitDelaysAnAnswerByTwoSecondsOnly) {
  RequestPace pace(1);
  uint64_t at_ms = 0;
  for (int i = 0; i < 10; ++i) {
    at_ms = pace.AnswerAt(0, kHello, 1000);
    pace.OnReply(0, Wait(600000), 1000);
  }
  EXPECT_EQ(at_ms, 1000 + kLongestDelayMs);
}

TEST(RequestPace, AllRequestsTogetherKeepToTheirRate) {
  RequestPace pace(2);
  uint64_t now_ms = 1000;
  int answers = 0;
  for (; now_ms < 11000; ++answers) now_ms = pace.AnswerAt(0, kGetModel, now_ms);
  EXPECT_GE(answers, 2000 + 4999);
  EXPECT_LE(answers, 2000 + 5001);
  EXPECT_EQ(pace.AnswerAt(1, kGetModel, now_ms), now_ms) << "another device";
}

std::vector<uint8_t> Hello(size_t size) {
  std::vector<uint8_t> record(size);
  const size_t length = size - 5;
  const size_t message = length - 4;
  const uint8_t head[] = {22,
                          3,
                          1,
                          static_cast<uint8_t>(length >> 8),
                          static_cast<uint8_t>(length),
                          1,
                          0,
                          static_cast<uint8_t>(message >> 8),
                          static_cast<uint8_t>(message)};
  std::copy(std::begin(head), std::end(head), record.begin());
  return record;
}

TEST(ClientHelloTest, IsPartialUpToItsLastByte) {
  for (const size_t size : {size_t{50}, size_t{200}, kMaxClientHello}) {
    const std::vector<uint8_t> record = Hello(size);
    for (size_t have = 0; have < size; ++have) {
      ASSERT_EQ(CheckClientHello(View(record).first(have)), ClientHello::kPartial) << have;
    }
    EXPECT_EQ(CheckClientHello(View(record)), ClientHello::kWhole);
  }
}

TEST(ClientHelloTest, WhatFollowsDoesNotMatter) {
  std::vector<uint8_t> record = Hello(60);
  record.resize(100, 0xff);
  EXPECT_EQ(CheckClientHello(View(record)), ClientHello::kWhole);
}

TEST(ClientHelloTest, TooLongOrTooShortIsImpossible) {
  EXPECT_EQ(CheckClientHello(View(Hello(kMaxClientHello + 1)).first(5)), ClientHello::kImpossible);
  EXPECT_EQ(CheckClientHello(View(Hello(49)).first(5)), ClientHello::kImpossible);
}

// Type, version, length, type and length.
TEST(ClientHelloTest, OneWrongByteOfTheHeadMakesItImpossible) {
  const std::vector<uint8_t> whole = Hello(200);
  for (const size_t at : {0, 1, 3, 5, 6, 7, 8}) {
    std::vector<uint8_t> record = whole;
    record[at] = static_cast<uint8_t>(record[at] + 9);
    EXPECT_EQ(CheckClientHello(View(record)), ClientHello::kImpossible) << at;
  }
}

}  // namespace
}  // namespace sotto::server
