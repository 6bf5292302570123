// Tests of the table of partitions. All keys are fixed, so no test can fail by chance.
#include "sotto/data/partitions.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

#include "sotto/key_labels.h"
#include "sotto/posix/files.h"
#include "sotto/posix/run_key.h"
#include "sotto/random.h"
#include "unit/test_folder.h"

namespace sotto {
namespace {

// 6,000 samples in 40 groups and ten classes; classes 0 to 2 have 923 samples, the others 461.
SharedDataset Data(uint32_t classes = 10, uint32_t size = 6000) {
  SampleInfo info;
  info.shape = nn::ShapeOf(1);
  info.classes = classes;
  StoredSamples samples;
  samples.bytes.resize(size);
  for (uint32_t i = 0; i < size; ++i) {
    if (classes > 0) samples.labels.push_back(i % 13 % classes);
    samples.groups.push_back(i * 13 % 40);
  }
  for (uint32_t g = 0; g < 40; ++g) samples.group_names.push_back("user" + std::to_string(g));
  return std::make_shared<StoredDataset>("test data", info, std::move(samples));
}

Key KeyOf(uint64_t seed) { return posix::DeriveKey(posix::RunKey(seed), key_label::kPartition); }

Partition Deal(const std::string& text, size_t devices = 40, size_t each = 50, uint64_t seed = 1) {
  return MakePartition(text, *Data(), devices, each, KeyOf(seed));
}

std::vector<uint32_t> Share(const Partition& partition, uint32_t device) {
  const DeviceIndices samples = partition.DeviceSamples(device);
  std::vector<uint32_t> share;
  for (uint32_t i = 0; i < samples.size(); ++i) share.push_back(samples[i]);
  return share;
}

std::vector<uint32_t> All(const Partition& partition) {
  std::vector<uint32_t> all;
  for (uint32_t device = 0; device < partition.devices(); ++device) {
    for (const uint32_t sample : Share(partition, device)) all.push_back(sample);
  }
  return all;
}

bool IsDisjoint(const Partition& partition) {
  const std::vector<uint32_t> all = All(partition);
  return std::set<uint32_t>(all.begin(), all.end()).size() == all.size();
}

std::vector<uint32_t> Sizes(const Partition& partition) {
  std::vector<uint32_t> sizes;
  for (uint32_t i = 0; i < partition.devices(); ++i) {
    sizes.push_back(partition.DeviceSamples(i).size());
  }
  return sizes;
}

std::map<uint32_t, uint32_t> ClassCounts(const Partition& partition, uint32_t device) {
  static const SharedDataset kData = Data();
  std::map<uint32_t, uint32_t> counts;
  for (const uint32_t sample : Share(partition, device)) ++counts[kData->Label(sample)];
  return counts;
}

double MeanClasses(const Partition& partition) {
  double sum = 0;
  for (uint32_t i = 0; i < partition.devices(); ++i) {
    sum += static_cast<double>(ClassCounts(partition, i).size());
  }
  return sum / partition.devices();
}

// FNV-1a over the shares and their sizes.
uint64_t Fingerprint(const Partition& partition) {
  uint64_t hash = 0xCBF29CE484222325U;
  const auto add = [&](uint32_t x) { hash = (hash ^ x) * 0x100000001B3U; };
  for (uint32_t device = 0; device < partition.devices(); ++device) {
    add(partition.DeviceSamples(device).size());
    for (const uint32_t sample : Share(partition, device)) add(sample);
  }
  return hash;
}

std::string WhyRefused(const std::string& text, const Dataset& data, size_t devices = 40,
                       size_t each = 50) {
  try {
    const Partition partition = MakePartition(text, data, devices, each, KeyOf(1));
  } catch (const std::invalid_argument& error) {
    return error.what();
  } catch (const posix::FileError& error) {
    return error.what();
  }
  return "";
}

std::string WriteTo(const TestFolder& folder, const std::string& text) {
  const std::string path = folder.Path("devices.csv");
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(Partitions, IidIsTheShuffleThatRunsHadBefore) {
  RandomStream random(KeyOf(1), 0);
  const Partition expected =
      IidPartition(6000, 40, 50, [&](uint32_t bound) { return random.Below(bound); });
  EXPECT_EQ(All(Deal("iid")), All(expected));
}

TEST(Partitions, EachRowIsTheSameOnEveryMachine) {
  const std::map<std::string, uint64_t> golden = {
      {"iid", 4932861049651469675U},
      {"iid-overlap", 666708566104930482U},
      {"equal-classes", 18112608749025859423U},
      {"equal-classes:3", 16406149618774523469U},
      {"shards", 15572259002473060860U},
      {"dirichlet:0.3", 10271690865817904318U},
      {"dirichlet:20", 1349391271306222845U},
      {"dirichlet-split:0.3", 10611278346799880760U},
      {"quantity:0.5", 11506344817926541651U},
      {"group", 3068418546461931285U},
  };
  for (const auto& [text, value] : golden) {
    EXPECT_EQ(Fingerprint(Deal(text)), value) << text;
  }
}

TEST(Partitions, SeedsDifferIfTheRowIsDrawn) {
  for (const PartitionInfo& info : AllPartitions()) {
    if (std::string(info.name) == "file") continue;
    const std::string text = std::string(info.name) + (info.value == nullptr ? "" : ":2");
    EXPECT_EQ(All(Deal(text, 40, 50, 1)) != All(Deal(text, 40, 50, 2)), info.is_random) << text;
  }
}

TEST(Partitions, NoRowButOverlapGivesASampleTwice) {
  for (const char* text : {"iid", "equal-classes:2", "shards:5", "dirichlet:0.1",
                           "dirichlet-split:0.1", "quantity:0.1", "group"}) {
    EXPECT_TRUE(IsDisjoint(Deal(text))) << text;
  }
  const Partition overlap = Deal("iid-overlap", 200, 50);
  EXPECT_FALSE(IsDisjoint(overlap));
  for (uint32_t device = 0; device < 200; ++device) {
    const std::vector<uint32_t> share = Share(overlap, device);
    EXPECT_EQ(std::set<uint32_t>(share.begin(), share.end()).size(), 50U);
  }
}

TEST(Partitions, OverlapDealsOutMoreThanThereIs) {
  const Partition partition = Deal("iid-overlap", 3, 6000);
  for (uint32_t device = 0; device < 3; ++device) {
    std::vector<uint32_t> share = Share(partition, device);
    std::sort(share.begin(), share.end());
    for (uint32_t i = 0; i < 6000; ++i) ASSERT_EQ(share[i], i);
  }
}

TEST(Partitions, RowsOfEqualSharesGiveEachDeviceItsNumber) {
  for (const char* text :
       {"iid", "iid-overlap", "equal-classes", "equal-classes:3", "shards:7", "dirichlet:0.05"}) {
    const std::vector<uint32_t> sizes = Sizes(Deal(text, 30, 49));
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), 0U), 30 * 49U) << text;
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    EXPECT_LE(*most - *least, std::string(text) == "shards:7" ? 7U : 0U) << text;
  }
}

TEST(Partitions, EqualClassesGivesTheSameOfEach) {
  const Partition all = Deal("equal-classes", 20, 50);
  const Partition three = Deal("equal-classes:3", 20, 50);
  for (uint32_t device = 0; device < 20; ++device) {
    const std::map<uint32_t, uint32_t> of_all = ClassCounts(all, device);
    EXPECT_EQ(of_all.size(), 10U);
    for (const auto& [label, count] : of_all) EXPECT_EQ(count, 5U) << label;
    const std::map<uint32_t, uint32_t> of_three = ClassCounts(three, device);
    EXPECT_EQ(of_three.size(), 3U);
    for (const auto& [label, count] : of_three) EXPECT_TRUE(count == 16 || count == 17) << label;
  }
}

TEST(Partitions, ShardsAreRunsOfSortedLabels) {
  const Partition partition = Deal("shards:2", 100, 60);
  EXPECT_EQ(All(partition).size(), 6000U);
  // A shard of 30 samples spans two classes at most if a class has more than 30.
  for (uint32_t device = 0; device < 100; ++device) {
    EXPECT_LE(ClassCounts(partition, device).size(), 4U);
  }
  EXPECT_LT(MeanClasses(partition), 2.3);
}

TEST(Partitions, ASmallAlphaGivesFewClassesAndALargeOneAll) {
  EXPECT_LT(MeanClasses(Deal("dirichlet:0.05")), 3.5);
  EXPECT_GT(MeanClasses(Deal("dirichlet:100")), 9);
  EXPECT_LT(MeanClasses(Deal("dirichlet-split:0.05")), 4);
  EXPECT_GT(MeanClasses(Deal("dirichlet-split:100")), 9);
}

TEST(Partitions, EvenTheLeastAlphaDealsOutAllSamples) {
  for (const char* text : {"dirichlet:0.001", "dirichlet-split:0.001", "quantity:0.001"}) {
    const Partition partition = Deal(text, 60, 100);
    EXPECT_EQ(All(partition).size(), 6000U) << text;
    EXPECT_TRUE(IsDisjoint(partition)) << text;
  }
}

TEST(Partitions, QuantitySkewGivesUnequalNumbersOfTheSameMix) {
  const std::vector<uint32_t> even = Sizes(Deal("quantity:1000", 40, 100));
  const std::vector<uint32_t> skewed = Sizes(Deal("quantity:0.3", 40, 100));
  EXPECT_GT(*std::min_element(even.begin(), even.end()), 70U);
  EXPECT_LT(*std::min_element(skewed.begin(), skewed.end()), 5U);
  EXPECT_GT(*std::max_element(skewed.begin(), skewed.end()), 300U);
  EXPECT_EQ(std::accumulate(skewed.begin(), skewed.end(), 0U), 4000U);
}

TEST(Partitions, ADeviceOfAGroupHoldsAllOfIt) {
  const SharedDataset data = Data();
  const Partition partition = Deal("group", 25, 1);
  for (uint32_t device = 0; device < 25; ++device) {
    const std::vector<uint32_t> share = Share(partition, device);
    EXPECT_EQ(share.size(), 150U);
    EXPECT_TRUE(std::is_sorted(share.begin(), share.end()));
    for (const uint32_t sample : share) EXPECT_EQ(data->Group(sample), device);
  }
}

TEST(Partitions, ADeviceKeepsItsSamplesWhenDevicesAreAdded) {
  for (const char* text : {"iid", "iid-overlap", "equal-classes", "dirichlet:0.5"}) {
    const Partition small = Deal(text, 10);
    const Partition large = Deal(text, 50);
    for (uint32_t device = 0; device < 10; ++device) {
      EXPECT_EQ(Share(small, device), Share(large, device)) << text;
    }
  }
}

// The last fifth of a share may be held out.
TEST(Partitions, ClassesOfAShareComeInRandomOrder) {
  const SharedDataset data = Data();
  for (const char* text : {"equal-classes:2", "shards:2", "dirichlet:1", "dirichlet-split:1"}) {
    const Partition partition = Deal(text, 20, 200);
    uint32_t changes = 0;
    for (uint32_t device = 0; device < 20; ++device) {
      const std::vector<uint32_t> share = Share(partition, device);
      for (size_t i = 1; i < share.size(); ++i) {
        changes += data->Label(share[i]) != data->Label(share[i - 1]) ? 1 : 0;
      }
    }
    EXPECT_GT(changes, 20 * 200 * 0.3) << text;
  }
}

TEST(Partitions, AFileSaysTheDeviceOfEachSample) {
  const TestFolder folder;
  const SharedDataset data = Data(10, 5);
  const std::string path = WriteTo(folder, "device\n2\n0\n-\r\n2\n0\n");
  const Partition partition = MakePartition("file:" + path, *data, 4, 50, KeyOf(1));
  EXPECT_EQ(Share(partition, 0), (std::vector<uint32_t>{1, 4}));
  EXPECT_EQ(Share(partition, 2), (std::vector<uint32_t>{0, 3}));
  EXPECT_EQ(Sizes(partition), (std::vector<uint32_t>{2, 0, 2, 0}));
}

TEST(Partitions, AFileOfPairsMayLeaveSamplesOutAndShareThem) {
  const TestFolder folder;
  const SharedDataset data = Data(10, 100);
  const std::string path = WriteTo(folder, "sample,device\n99,1\n7,0\n7,1");
  const Partition partition = MakePartition("file:" + path, *data, 2, 50, KeyOf(1));
  EXPECT_EQ(Share(partition, 0), std::vector<uint32_t>{7});
  EXPECT_EQ(Share(partition, 1), (std::vector<uint32_t>{99, 7}));
}

TEST(Partitions, AWrongFileIsRefusedWithItsLine) {
  const TestFolder folder;
  const SharedDataset data = Data(10, 3);
  const std::map<std::string, std::string> wrong = {
      {"0\n1\n", "has 2 samples, expected a line for each of the 3 of test data"},
      {"0\n1\n1\n0\n", "has 4 samples"},
      {"0\n4\n0\n", ":2: \"4\": expected a device from 0 to 3 (--devices 4), or - for none"},
      {"0\nx\n0\n", ":2: \"x\": expected a device"},
      {"0,1\n3,1\n", ":2: \"3,1\": expected SAMPLE,DEVICE with a sample of test data from 0 to 2"},
      {"0,1\n1\n", ":2: \"1\": expected SAMPLE,DEVICE as in the lines before"},
      {"0\n1,1\n0\n", ":2: \"1,1\": expected one device as in the lines before"},
      {"0,1\n0,1\n", "gives sample 0 to device 1 twice"},
      {"-\n-\n-\n", "no device gets a sample"},
      {"", "has 0 samples"},
      {"device_id\n0\n", "a header names the columns in this order: device, or sample,device"},
      {"device,sample\n0,1\n", "a header names the columns in this order"},
  };
  for (const auto& [text, message] : wrong) {
    const std::string path = WriteTo(folder, text);
    EXPECT_NE(WhyRefused("file:" + path, *data, 4).find(message), std::string::npos)
        << text << WhyRefused("file:" + path, *data, 4);
  }
  EXPECT_NE(WhyRefused("file:" + folder.Path("none"), *data).find("cannot be opened"),
            std::string::npos);
}

TEST(Partitions, AWrongTextIsRefusedWithWhatIsExpected) {
  const std::map<std::string, std::string> wrong = {
      {"", "there is no such partition; expected iid, iid-overlap, equal-classes[:K]"},
      {"nonsense", "there is no such partition"},
      {"iid:3", "expected iid without a value"},
      {"dirichlet", "expected dirichlet:ALPHA"},
      {"dirichlet:", "expected dirichlet:ALPHA"},
      {"dirichlet:x", "expected dirichlet:ALPHA with a number from 0.001 to 1000000"},
      {"dirichlet:0", "with a number from"},
      {"dirichlet:-1", "with a number from"},
      {"dirichlet:nan", "with a number from"},
      {"quantity:inf", "with a number from"},
      {"shards:2.5", "expected shards:K with a whole number from 1"},
      {"shards:0", "with a whole number from 1"},
      {"equal-classes:0", "with a whole number from 1"},
      {"file", "expected file:PATH"},
      {"file:", "expected file:PATH"},
  };
  for (const auto& [text, message] : wrong) {
    EXPECT_NE(WhyRefused(text, *Data()).find(message), std::string::npos)
        << text << ": " << WhyRefused(text, *Data());
    EXPECT_THROW(FindPartition(text), std::invalid_argument) << text;
  }
}

TEST(Partitions, DataThatARowCannotDealOutAreRefused) {
  const SharedDataset data = Data();
  const SharedDataset regression = Data(0);
  EXPECT_NE(WhyRefused("shards", *regression).find("no labels to deal by"), std::string::npos);
  EXPECT_EQ(WhyRefused("quantity:1", *regression), "");
  EXPECT_NE(WhyRefused("group", *data, 41).find("--devices 40 or fewer"), std::string::npos);
  EXPECT_NE(WhyRefused("equal-classes", *data, 100, 60).find("of class 3"), std::string::npos);
  EXPECT_NE(WhyRefused("equal-classes:11", *data).find("samples of 10 classes"), std::string::npos);
  EXPECT_NE(WhyRefused("shards:51", *data).find("cannot hold 51 shards"), std::string::npos);
  for (const char* text : {"iid", "shards", "dirichlet:1", "dirichlet-split:1", "quantity:1"}) {
    EXPECT_NE(WhyRefused(text, *data, 121, 50).find("it serves 120 such devices"),
              std::string::npos)
        << text;
    EXPECT_NE(WhyRefused(text, *data, 0, 50), "") << text;
    EXPECT_NE(WhyRefused(text, *data, 40, 0), "") << text;
  }
  EXPECT_NE(WhyRefused("iid-overlap", *data, 1, 6001), "");
  EXPECT_NE(WhyRefused("iid-overlap", *data, size_t{1} << 40, 50), "");
}

TEST(Partitions, TheTableNamesEveryRow) {
  const std::string table = PartitionsTable();
  for (const PartitionInfo& info : AllPartitions()) {
    EXPECT_NE(table.find(std::string("| `") + info.name), std::string::npos) << info.name;
    EXPECT_NE(PartitionNames().find(info.name), std::string::npos) << info.name;
  }
  EXPECT_NE(table.find("| `shards[:K]` |"), std::string::npos) << table;
  EXPECT_NE(table.find("| `dirichlet:ALPHA` |"), std::string::npos) << table;
}

}  // namespace
}  // namespace sotto
