// Tests of the part of a data set that has some classes.
#include "data/classes.h"

#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace sotto::server {
namespace {

// Samples of one pixel, which says their place.
TrainTest SomeData() {
  Dataset train{"some", 1, 1, 10, {0, 1, 2, 3, 4}, {9, 5, 4, 5, 0}};
  Dataset test{"some", 1, 1, 10, {0, 1}, {5, 6}};
  return {train, test};
}

TEST(Classes, OnlyTheirSamplesAreKeptInTheirOrder) {
  const TrainTest part = OnlyClasses(SomeData(), "4-5");
  EXPECT_EQ(part.train.labels, (std::vector<uint8_t>{5, 4, 5}));
  EXPECT_EQ(part.train.features, (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(part.test.labels, (std::vector<uint8_t>{5}));
  EXPECT_EQ(part.train.classes, 10);
  EXPECT_EQ(part.train.name, "some, classes 4 to 5");
  EXPECT_EQ(OnlyClasses(SomeData(), "9").train.features, (std::vector<uint8_t>{0}));
}

TEST(Classes, WhatIsNoRangeOfClassesIsRefused) {
  for (const char* text : {"", "-", "5-", "-5", "5-4", "0-10", "0-4-9", "a", "0,4", " 4"}) {
    EXPECT_THROW(OnlyClasses(SomeData(), text), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace sotto::server
