// What readers keep has a limit, and what is compressed cannot grow without one.
#include <cstdint>
#include <exception>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "unit/data_files.h"

namespace sotto {
namespace {

using namespace std::string_literals;

class MemoryLimit : public DataFiles {
 protected:
  // What a reader says that may keep so many bytes.
  static std::string ComplaintWithin(uint64_t bytes, const std::string& text,
                                     const Selection& keep = nullptr) {
    DataSource source = ParseDataSource(text);
    source.memory_limit = bytes;
    try {
      ReadDataset(source, nullptr, keep);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "read";
  }
};

std::string Repeated(const std::string& text, size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST_F(MemoryLimit, EveryReaderStopsAtIt) {
  constexpr size_t kSamples = 5000;
  std::vector<float> numbers(kSamples * 4, 1);
  std::vector<uint8_t> bytes(kSamples * 4, 1);
  const std::string size = std::to_string(kSamples);
  const std::string idx =
      "\0\0\x08\x03\0\0\x13\x88\0\0\0\x02\0\0\0\x02"s + Repeated("\x01", 4 * kSamples);
  const std::vector<std::string> sources = {
      Write("a.csv", "a,b,label\n" + Repeated("1,2,0\n", kSamples)),
      Write("a.jsonl", Repeated("{\"a\": 1, \"b\": 2, \"label\": 0}\n", kSamples)),
      Write("a.json", "{\"user_data\": {\"u\": {\"y\": [0" + Repeated(", 0", kSamples) +
                          "], \"x\": [[1, 2]" + Repeated(", [1, 2]", kSamples) + "]}}}"),
      Write("a.libsvm", Repeated("0 1:1 2:2\n", kSamples)),
      Write("a.npy", Npy<float>("<f4", "(" + size + ", 4)", numbers)),
      Write("f.npy", Npy<float>("<f4", "(" + size + ", 4)", numbers, true)),
      Write("b.npy", Npy<uint8_t>("|u1", "(" + size + ", 4)", bytes)),
      Write("test_batch.bin", Repeated(std::string(3073, '\x01'), 10)),
      Write("images", idx) +
          ":labels=" + Write("labels", "\0\0\x08\x01\0\0\x13\x88"s + Repeated("\x01", kSamples)),
      Write("a.txt", "A:\n" + Repeated("abcdefg\n", kSamples)),
  };
  for (const std::string& source : sources) {
    EXPECT_SAYS(ComplaintWithin(10000, source), "its samples take more than 10000 bytes of memory");
    EXPECT_EQ(ComplaintWithin(uint64_t{1} << 26, source), "read") << source;
  }
}

TEST_F(MemoryLimit, CountsWhatIsKeptAndNotWhatIsRead) {
  const std::string source = Write("a.csv", "a,label\n" + Repeated("1,0\n", 100000));
  EXPECT_EQ(ComplaintWithin(10000, source, [](size_t index) { return index < 50; }), "read");
  std::string groups = "a,who,label\n";
  for (int i = 0; i < 20000; ++i) groups += "1,u" + std::to_string(i) + ",0\n";
  EXPECT_SAYS(
      ComplaintWithin(100000, Write("g.csv", groups) + ":group=who", [](size_t) { return false; }),
      "of memory")
      << "names of groups are kept, too";
}

TEST_F(MemoryLimit, CompressedDataGrowToAMultipleOfTheirSize) {
  // 36 MB of rows, 1 to 600.
  const std::string rows = Repeated("1,2,0\n", 6000000);
  EXPECT_SAYS(Complaint(Write("bomb.csv.gz", rows)),
              "its compressed data grow to more than 64 times their size; if it is what it should "
              "be, unpack it first: gunzip -k");
  EXPECT_EQ(Read(Write("small.csv.gz", rows.substr(0, 6000000)))->size(), 1000000u)
      << "16 MB are free";
}

TEST_F(MemoryLimit, ARowHasAsManyColumnsAsAModelMayTake) {
  EXPECT_SAYS(Complaint(Write("wide.csv", Repeated("1,", 300000) + "0\n")),
              "the first row has 300001 columns, expected at most 262144");
}

}  // namespace
}  // namespace sotto
