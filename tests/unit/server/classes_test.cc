// Tests of the part of a data set that has some classes.
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/parts.h"
#include "unit/stored_bytes.h"

namespace sotto::server {
namespace {

// Samples of one pixel, which says their place.
TrainTest SomeData() {
  SampleInfo info;
  info.classes = 10;
  const auto make = [&](std::vector<uint8_t> bytes, std::vector<uint32_t> labels) {
    StoredSamples samples;
    samples.bytes = std::move(bytes);
    samples.labels = std::move(labels);
    return std::make_shared<StoredDataset>("some", info, std::move(samples));
  };
  return {make({0, 1, 2, 3, 4}, {9, 5, 4, 5, 0}), make({0, 1}, {5, 6})};
}

TEST(Classes, OnlyTheirSamplesAreKeptInTheirOrder) {
  const TrainTest part = OnlyClasses(SomeData(), "4-5");
  EXPECT_EQ(LabelsOf(*part.train), (std::vector<uint32_t>{5, 4, 5}));
  EXPECT_EQ(BytesOf(*part.train), (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(LabelsOf(*part.test), (std::vector<uint32_t>{5}));
  EXPECT_EQ(part.train->info().classes, 10U);
  EXPECT_EQ(part.train->name(), "some, classes 4 to 5");
  EXPECT_EQ(BytesOf(*OnlyClasses(SomeData(), "9").train), (std::vector<uint8_t>{0}));
}

TEST(Classes, WhatIsNoRangeOfClassesIsRefused) {
  for (const char* text : {"", "-", "5-", "-5", "5-4", "0-10", "0-4-9", "a", "0,4", " 4"}) {
    EXPECT_THROW(OnlyClasses(SomeData(), text), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace sotto::server
