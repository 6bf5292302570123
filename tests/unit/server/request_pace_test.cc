// When requests are answered, without sockets.
#include "net/request_pace.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

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

TEST(RequestPace, PartsOfADescriptionCountAsAllOtherRequests) {
  RequestPace pace(1);
  for (int i = 0; i < 2000; ++i) pace.AnswerAt(0, Request::Kind::kGetDescription, 1000);
  EXPECT_GT(pace.AnswerAt(0, Request::Kind::kGetDescription, 1000), 1000u);
  EXPECT_GT(pace.AnswerAt(0, kGetModel, 1000), 1000u);
}

}  // namespace
}  // namespace sotto::server
