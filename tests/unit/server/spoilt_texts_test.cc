// One table of texts that editors and other systems have spoilt, which runs through every reader of
// text: what can be undone is undone in all of them, and the rest is refused with its cause.
#include <exception>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "sotto/crypto.h"
#include "sotto/data/partitions.h"
#include "sotto/model/model_file.h"
#include "sotto/options/toml.h"
#include "sotto/posix/key_file.h"
#include "sotto/posix/text.h"
#include "unit/data_files.h"
#include "unit/stored_bytes.h"

namespace sotto {
namespace {

using namespace std::string_literals;

// A reader of text: a good file, and what the reader makes of a file.
struct TextReaderRow {
  const char* name;
  const char* file;
  std::string good;
  std::function<std::string(const std::string& path)> read;
};

std::string Summary(const Dataset& data) {
  std::string text;
  for (size_t i = 0; i < data.size(); ++i) {
    for (const float feature : FeaturesOf(data, i)) text += std::to_string(feature) + " ";
    text += std::to_string(data.Label(i)) + ";";
  }
  return text;
}

class SpoiltTexts : public DataFiles {
 protected:
  static std::string ReadSummary(const std::string& source) {
    return Summary(*ReadDataset(ParseDataSource(source), nullptr));
  }

  std::string SummaryOfPartition(const std::string& path) const {
    const SharedDataset data = Read(Write("four.csv", "1,0\n2,1\n3,0\n4,1\n"));
    const Partition partition = MakePartition("file:" + path, *data, 2, 2, Key{});
    std::string text;
    for (uint32_t device = 0; device < 2; ++device) {
      const DeviceIndices share = partition.DeviceSamples(device);
      for (uint32_t i = 0; i < share.size(); ++i) text += std::to_string(share[i]) + " ";
      text += ";";
    }
    return text;
  }

  std::vector<TextReaderRow> Readers() const {
    return {
        {"csv", "a.csv", "x,label\n1,0\n2,1\n", ReadSummary},
        {"libsvm", "a.libsvm", "0 1:1\n1 1:2\n", ReadSummary},
        {"text", "a.txt", "A:\nabcabc\n",
         [](const std::string& path) { return ReadSummary(path + ":length=2"); }},
        {"categories", "list.csv", "mode\na\nb\n",
         [this](const std::string& path) {
           return ReadSummary(Write("m.csv", "mode,label\nb,0\n") +
                              ":onehot=mode,categories=" + path);
         }},
        {"partition", "p.csv", "device\n0\n1\n1\n0\n",
         [this](const std::string& path) { return SummaryOfPartition(path); }},
        {"model", "m.toml", "name = \"m\"\ninput = [2]\n[[layer]]\nkind = \"dense\"\noutputs = 2\n",
         [](const std::string& path) {
           const posix::SharedModel model = posix::ReadModelFile(path);
           return std::string(model->name) + std::to_string(model->parameters);
         }},
        {"settings", "s.toml", "rounds = 2\ncohort = 3\n",
         [](const std::string& path) {
           std::string text;
           for (const posix::Setting& setting : posix::ParseToml(*posix::ReadCleanText(path))) {
             text += setting.key + "=" + setting.value + ";";
           }
           return text;
         }},
        {"key", "d.key", "sotto-key 1\ndevice d\nsecret " + std::string(64, 'a') + "\n",
         [](const std::string& path) {
           std::filesystem::permissions(path, std::filesystem::perms::owner_read);
           const posix::DeviceKey key = posix::ReadKeyFile(path);
           return key.device_id + std::to_string(key.secret.bytes[31]);
         }},
    };
  }

  static std::string Refusal(const TextReaderRow& reader, const std::string& path) {
    try {
      return "read: " + reader.read(path);
    } catch (const std::exception& error) {
      return error.what();
    }
  }
};

std::string WithReturns(const std::string& text, const std::string& end) {
  std::string changed;
  for (const char c : text) changed += c == '\n' ? end : std::string(1, c);
  return changed;
}

TEST_F(SpoiltTexts, AMarkAndReturnsChangeNothing) {
  for (const TextReaderRow& reader : Readers()) {
    const std::string good = reader.read(Write(reader.file, reader.good));
    std::filesystem::remove(Path(reader.file));
    for (const std::string& text : {"\xEF\xBB\xBF" + reader.good, WithReturns(reader.good, "\r\n"),
                                    "\xEF\xBB\xBF" + WithReturns(reader.good, "\r\n")}) {
      EXPECT_EQ(reader.read(Write(reader.file, text)), good) << reader.name;
      std::filesystem::remove(Path(reader.file));
    }
  }
}

TEST_F(SpoiltTexts, TheCauseIsNamedWithItsPlace) {
  for (const TextReaderRow& reader : Readers()) {
    const auto refusal = [&](const std::string& text) {
      const std::string path = Write(reader.file, text);
      const std::string says = Refusal(reader, path);
      std::filesystem::remove(path);
      return says;
    };
    SCOPED_TRACE(reader.name);
    EXPECT_SAYS(refusal(reader.good + std::string(100, '\0')), "column 1: the byte 0 is no text");
    EXPECT_SAYS(refusal("\xFF\xFE"s + reader.good), "line 1: the text is UTF-16; save the file as");
    EXPECT_SAYS(refusal(WithReturns(reader.good, "\r")), "lines end with a carriage return alone");
  }
}

// Data files are unpacked by their readers.
TEST_F(SpoiltTexts, WhatIsPackedIsNamed) {
  for (const TextReaderRow& reader : Readers()) {
    const std::string name = reader.name;
    if (name == "csv" || name == "libsvm" || name == "text" || name == "categories") continue;
    SCOPED_TRACE(name);
    const std::string path = Write(reader.file, "\x1F\x8B\x08\0\0"s);
    EXPECT_SAYS(Refusal(reader, path), "line 1: the file is compressed by gzip; unpack it");
    std::filesystem::remove(path);
    EXPECT_SAYS(Refusal(reader, Write(reader.file, "PK\x03\x04\x14\0"s)), "is a zip archive");
    std::filesystem::remove(path);
  }
}

TEST_F(SpoiltTexts, BlanksBehindALineAndAMissingLastEndChangeNothing) {
  for (const TextReaderRow& reader : Readers()) {
    const std::string name = reader.name;
    if (name == "text") continue;  // its characters are the samples
    SCOPED_TRACE(name);
    const std::string good = reader.read(Write(reader.file, reader.good));
    std::filesystem::remove(Path(reader.file));
    for (const std::string& text :
         {WithReturns(reader.good, "  \n"), WithReturns(reader.good, "\t\n"),
          reader.good.substr(0, reader.good.size() - 1)}) {
      EXPECT_EQ(reader.read(Write(reader.file, text)), good);
      std::filesystem::remove(Path(reader.file));
    }
  }
}

TEST_F(SpoiltTexts, AFirstLineSaysTheSeparator) {
  EXPECT_EQ(ReadSummary(Write("a.csv", "sep=;\nx;label\n1;0\n2;1\n")),
            ReadSummary(Write("b.csv", "x,label\n1,0\n2,1\n")));
  EXPECT_EQ(ReadSummary(Write("a.csv", "\xEF\xBB\xBFsep=|\r\nx|label\r\n1|0\r\n2|1\r\n")),
            ReadSummary(Path("b.csv")));
  EXPECT_EQ(SummaryOfPartition(Write("p.csv", "sep=,\nsample,device\n0,1\n")), ";0 ;");
  EXPECT_SAYS(Refusal(Readers()[4], Write("p.csv", "sep=;\nsample;device\n0;1\n")),
              "p.csv:1: \"sep=;\": another separator; expected commas");
}

TEST_F(SpoiltTexts, CommentsAreSkippedOrRefused) {
  EXPECT_EQ(SummaryOfPartition(Write("p.csv", "# by hand\ndevice\n0\n1\n# the rest\n1\n0\n")),
            SummaryOfPartition(Write("q.csv", "device\n0\n1\n1\n0\n")));
  for (const char* comment : {"# made by hand\n", "#made\n", "# x,label\n", "## a\n"}) {
    EXPECT_SAYS(Complaint(Write("a.csv", comment + "x,label\n1,0\n"s)),
                "a.csv: line 1: a comment, which CSV does not have");
  }
  EXPECT_SAYS(Complaint(Write("a.csv", "x,label\n1,0\n# more\n2,1\n")),
              "line 3: 1 column; expected 2, as in the first row; CSV has no comments");
  EXPECT_EQ(Read(Write("a.csv", "#id,label\n1,0\n"))->input_size(), 1u) << "a name may begin so";
}

}  // namespace
}  // namespace sotto
