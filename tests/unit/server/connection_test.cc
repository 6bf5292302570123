// Tests of what a connection remembers of a device's Hello: a later one says what has changed.
#include "net/connection.h"

#include <gtest/gtest.h>
#include <vector>

#include "unit/sdk/wire_messages.h"

namespace sotto::server {
namespace {

TEST(SaidHello, ALaterHelloIsAWholeOne) {
  SaidHello said;
  said.Remember(HelloAtItsLimits());
  Request later = ShortHello();
  ASSERT_EQ(said.Complete(&later), Status::kOk);
  Request whole = HelloAtItsLimits();
  EXPECT_EQ(later.version, kProtocolVersion);
  EXPECT_TRUE(Equal(later.model_digest, whole.model_digest));
  EXPECT_TRUE(Equal(later.receipt, whole.receipt));
  EXPECT_TRUE(Equal(later.held, whole.held));
  EXPECT_EQ(later.max_frame, whole.max_frame);
  EXPECT_EQ(later.abilities.features, whole.abilities.features);
  EXPECT_EQ(later.abilities.largest_batch, whole.abilities.largest_batch);
  EXPECT_EQ(later.hold_ms, ShortHello().hold_ms);
}

TEST(SaidHello, HoldAndDifferenceAreSaidAnew) {
  SaidHello said;
  Request whole = HelloAtItsLimits();
  whole.hold_ms = 25000;
  whole.differs = View(kJob);
  said.Remember(whole);
  Request later = ShortHello();
  later.hold_ms = 0;
  ASSERT_EQ(said.Complete(&later), Status::kOk);
  EXPECT_EQ(later.hold_ms, 0u);
  EXPECT_TRUE(later.differs.empty());
}

TEST(SaidHello, WhatALaterHelloSaysHoldsFromThenOn) {
  SaidHello said;
  said.Remember(HelloAtItsLimits());
  const std::vector<uint8_t> receipt = {9, 8, 7};
  const std::vector<uint8_t> held = {6, 5};
  Request changed = ShortHello();
  changed.receipt = View(receipt);
  changed.held = View(held);
  changed.max_frame = kMinMaxFrame;
  changed.abilities = {3, 5};
  ASSERT_EQ(said.Complete(&changed), Status::kOk);
  Request later = ShortHello();
  ASSERT_EQ(said.Complete(&later), Status::kOk);
  EXPECT_TRUE(Equal(later.receipt, View(receipt)));
  EXPECT_TRUE(Equal(later.held, View(held)));
  EXPECT_TRUE(Equal(later.model_digest, HelloAtItsLimits().model_digest));
  EXPECT_EQ(later.max_frame, kMinMaxFrame);
  EXPECT_EQ(later.abilities.largest_batch, 3u);
  EXPECT_EQ(later.abilities.features, 5u);
}

TEST(SaidHello, AWholeHelloForgetsWhatWasSaid) {
  SaidHello said;
  said.Remember(HelloAtItsLimits());
  Request whole = HelloAtItsLimits();
  whole.receipt = whole.held = {};
  said.Remember(whole);
  Request later = ShortHello();
  ASSERT_EQ(said.Complete(&later), Status::kOk);
  EXPECT_TRUE(later.receipt.empty());
  EXPECT_TRUE(later.held.empty());
}

TEST(SaidHello, TheFirstOneMustBeWhole) {
  SaidHello said;
  Request later = ShortHello();
  EXPECT_EQ(said.Complete(&later), Status::kWrongState);
  EXPECT_EQ(later.version, 0u);
  EXPECT_TRUE(said.model_digest().empty());
}

TEST(SaidHello, AMalformedOneChangesNothing) {
  SaidHello said;
  said.Remember(HelloAtItsLimits());
  const std::vector<uint8_t> other = {1, 2, 3};
  Request short_digest = ShortHello();
  short_digest.model_digest = View(other);
  short_digest.receipt = View(other);
  EXPECT_EQ(said.Complete(&short_digest), Status::kMalformed);
  for (const uint32_t limit : {kMinMaxFrame - 1, kMaxMaxFrame + 1}) {
    Request frame = ShortHello();
    frame.max_frame = limit;
    frame.receipt = View(other);
    EXPECT_EQ(said.Complete(&frame), Status::kMalformed);
  }
  Request later = ShortHello();
  ASSERT_EQ(said.Complete(&later), Status::kOk);
  EXPECT_TRUE(Equal(later.receipt, HelloAtItsLimits().receipt));
  EXPECT_EQ(later.max_frame, HelloAtItsLimits().max_frame);
}

}  // namespace
}  // namespace sotto::server
