// Tests of what `sotto data show` prints: figures of a partition, its charts and its JSON.
#include "views/share_chart.h"

#include <gtest/gtest.h>
#include <memory>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

namespace sotto::server {
namespace {

// Labels 0 0 0 0 1 1 2 2.
SharedDataset Labelled(uint32_t classes = 3, std::vector<std::string> names = {}) {
  SampleInfo info;
  info.shape = nn::ShapeOf(1);
  info.classes = classes;
  info.class_names = std::move(names);
  StoredSamples samples;
  samples.bytes.resize(8);
  if (classes > 0) samples.labels = {0, 0, 0, 0, 1, 1, 2, 2};
  return std::make_shared<StoredDataset>("test data", info, std::move(samples));
}

// Device 0: 0 0 0 1, device 1: nothing, device 2: 2 and 0; sample 0 is with two devices.
Partition Shares() { return {{0, 4, 4, 6}, {0, 1, 2, 4, 6, 0}}; }

TEST(ShareSummary, CountsWhatDevicesHold) {
  const ShareSummary all = Summarise(*Labelled(), Shares());
  EXPECT_EQ(all.devices, 3U);
  EXPECT_EQ(all.without_samples, 1U);
  EXPECT_EQ(all.dealt, 6U);
  EXPECT_EQ(all.different, 5U);
  EXPECT_EQ(all.of_class, (std::vector<uint64_t>{4, 1, 1}));
  EXPECT_EQ(all.samples.least, 0);
  EXPECT_EQ(all.samples.median, 2);
  EXPECT_EQ(all.samples.mean, 2);
  EXPECT_EQ(all.samples.most, 4);
  EXPECT_EQ(all.classes.least, 2);  // of devices with samples
  EXPECT_EQ(all.classes.most, 2);
}

TEST(ShareSummary, SkewIsHalfTheDifferenceOfTheMixes) {
  const ShareSummary all = Summarise(*Labelled(), Shares());
  // All: 4/6 1/6 1/6. Device 0: 3/4 1/4 0. Device 2: 1/2 0 1/2.
  EXPECT_NEAR(all.skew.least, (1 / 12.0 + 1 / 12.0 + 1 / 6.0) / 2, 1e-12);
  EXPECT_NEAR(all.skew.most, (1 / 6.0 + 1 / 6.0 + 1 / 3.0) / 2, 1e-12);
  const Partition apart({0, 4, 6}, {0, 1, 2, 3, 6, 7});
  EXPECT_NEAR(Summarise(*Labelled(), apart).skew.most, 2 / 3.0, 1e-12);
}

std::string Chart(const Dataset& data, const Partition& partition, uint32_t devices) {
  const ShareSummary summary = Summarise(data, partition);
  return ShareChart({data, partition, summary}, devices);
}

TEST(ShareChart, ShowsALineADeviceAndTheFiguresOfAll) {
  EXPECT_EQ(Chart(*Labelled(3, {"up", "down", "left"}), Shares(), 2),
            " device  samples  classes                    012\n"
            "      0        4        2  ################  #-\n"
            "      1        0        0\n"
            "    ... and 1 device more\n"
            "\n"
            "samples dealt out     5 of 8, 6 shares of them\n"
            "samples of a device   least 0, median 2, mean 2.0, most 4\n"
            "without samples       1 device: they take part and send zeros\n"
            "classes of a device   least 2, median 2, mean 2.0, most 2\n"
            "skew of its classes   least 0.17, median 0.17, mean 0.25, most 0.33\n"
            "samples of a class    0 up: 4, 1 down: 1, 2 left: 1\n");
}

TEST(ShareChart, NamesTheGroupOfADevice) {
  SampleInfo info;
  info.shape = nn::ShapeOf(1);
  StoredSamples samples;
  samples.bytes.resize(3);
  samples.groups = {1, 0, 1};
  samples.group_names = {"ann", std::string(90, 'x')};
  const auto data = std::make_shared<StoredDataset>("test data", info, std::move(samples));
  const Subset subset("subset", data, {1, 0, 2});
  const Partition partition({0, 1, 1, 3, 5}, {0, 1, 2, 0, 1});
  EXPECT_EQ(GroupOf(subset, partition, 0), "ann");
  EXPECT_EQ(GroupOf(subset, partition, 1), "");
  EXPECT_EQ(GroupOf(subset, partition, 2), std::string(90, 'x'));
  EXPECT_EQ(GroupOf(subset, partition, 3), "");
  const std::string chart = Chart(subset, partition, 4);
  EXPECT_NE(chart.find("      0        1  ########          ann\n"), std::string::npos) << chart;
  EXPECT_EQ(chart.find("xx"), std::string::npos) << chart;
}

TEST(ShareChart, WithoutLabelsItShowsNumbersAlone) {
  EXPECT_EQ(Chart(*Labelled(0), Shares(), 3),
            " device  samples\n"
            "      0        4  ################\n"
            "      1        0\n"
            "      2        2  ########\n"
            "\n"
            "samples dealt out     5 of 8, 6 shares of them\n"
            "samples of a device   least 0, median 2, mean 2.0, most 4\n"
            "without samples       1 device: they take part and send zeros\n");
}

TEST(ShareChart, FitsAHundredColumns) {
  for (const uint32_t classes : {3U, 11U, kMostChartClasses, kMostChartClasses + 1, 1000U}) {
    std::vector<std::string> names;
    for (uint32_t k = 0; k < classes; ++k) names.push_back("a class with a long name");
    std::istringstream lines(Chart(*Labelled(classes, names), Shares(), 3));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 100U) << line;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
    }
  }
}

TEST(ShareSvg, DrawsABarADeviceAndTheClasses) {
  const SharedDataset data = Labelled(3, {"a<b", "down", "left"});
  const Partition partition = Shares();
  const ShareSummary summary = Summarise(*data, partition);
  const std::string svg = ShareSvg({*data, partition, summary}, 20, "title & more");
  const auto count = [&](const std::string& what) {
    size_t found = 0;
    for (size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(svg.find("<svg xmlns=\"http://www.w3.org/2000/svg\""), 0U);
  EXPECT_EQ(count("<rect "), 1 + 4 + 3U);  // background, parts of two bars, classes
  EXPECT_EQ(count("<text "), 1 + 2 * 3 + 3U);
  EXPECT_NE(svg.find("title &amp; more"), std::string::npos);
  EXPECT_NE(svg.find("a&lt;b"), std::string::npos);
}

TEST(ShareJson, HasTheCountsOfEachDevice) {
  const SharedDataset data = Labelled();
  const Partition partition = Shares();
  const ShareSummary summary = Summarise(*data, partition);
  const nlohmann::ordered_json json = ShareJson({*data, partition, summary});
  EXPECT_EQ(json["devices"], 3);
  EXPECT_EQ(json["samples"], 8);
  EXPECT_EQ(json["samples_dealt"], 6);
  EXPECT_EQ(json["samples_different"], 5);
  EXPECT_EQ(json["class_names"][2], "2");
  ASSERT_EQ(json["shares"].size(), 3U);
  EXPECT_EQ(json["shares"][0]["classes"], (std::vector<uint32_t>{3, 1, 0}));
  EXPECT_EQ(json["shares"][1]["samples"], 0);
  EXPECT_EQ(json["shares"][2]["device"], 2);
  EXPECT_EQ(json["shares"][2]["group"], nullptr);
}

}  // namespace
}  // namespace sotto::server
