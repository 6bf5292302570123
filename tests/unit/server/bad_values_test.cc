// One table of bad labels, groups and numbers, which runs through every format of data files: a
// value is refused in each format that can write it, or in none. A format without a row in kWriters
// fails the first test.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>
#include <zip.h>

#include "sotto/data/mat_files.h"
#include "sotto/model/model_file.h"
#include "sotto/model_info.h"
#include "sotto/models.h"
#include "unit/data_files.h"
#include "unit/stored_bytes.h"

namespace sotto {
namespace {

using Texts = std::vector<std::string>;
using namespace std::string_literals;

// Samples of one feature, as texts; a label "" is missing.
struct Sample {
  std::string label;
  std::string feature = "1";
  std::string group = "g";
};

// A writer returns nothing for what its format cannot write.
class BadValues : public DataFiles {
 protected:
  static void SetUpTestSuite() { AddMatFiles(); }

 public:
  using DataFiles::Path;
  using DataFiles::Write;

  // A net of three classes for samples of the format.
  static posix::SharedModel ModelFor(const std::string& format) {
    const bool is_image = format.substr(0, 5) == "cifar";
    return posix::ParseModel(
        "three.toml", "name = \"three\"\ninput = " + std::string(is_image ? "[32, 32, 3]" : "[1]") +
                          "\n[[layer]]\nkind = \"dense\"\noutputs = 3\n");
  }
};

std::string CsvField(const std::string& text) {
  return text.find(',') == std::string::npos ? text : "\"" + text + "\"";
}

std::optional<std::string> WriteCsv(const BadValues& test, const std::vector<Sample>& samples) {
  std::string text = "x,who,label\n";
  for (const Sample& s : samples) {
    text += CsvField(s.feature) + "," + CsvField(s.group) + "," + CsvField(s.label) + "\n";
  }
  return test.Write("a.csv", text) + ":group=who";
}

// A number, or nothing if the text is none.
std::optional<double> NumberOf(const std::string& text) {
  size_t end = 0;
  try {
    const double value = std::stod(text, &end);
    return end == text.size() ? std::optional<double>(value) : std::nullopt;
  } catch (const std::out_of_range&) {
    return HUGE_VAL;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// As a number where it is one that JSON can write, else as a text.
std::string JsonValue(const std::string& text) {
  const std::optional<double> number = NumberOf(text);
  return number && std::isfinite(*number) ? text : "\"" + text + "\"";
}

std::optional<std::string> WriteJsonl(const BadValues& test, const std::vector<Sample>& samples) {
  std::string text;
  for (const Sample& s : samples) {
    text += "{\"x\": " + JsonValue(s.feature) + ", \"who\": \"" + s.group +
            "\", \"label\": " + JsonValue(s.label) + "}\n";
  }
  return test.Write("a.jsonl", text) + ":group=who";
}

// A user of one sample each: users are taken in the order of the file.
std::optional<std::string> WriteLeaf(const BadValues& test, const std::vector<Sample>& samples) {
  std::string users;
  for (const Sample& s : samples) {
    const std::optional<double> feature = NumberOf(s.feature);
    if (!feature || !std::isfinite(*feature)) return std::nullopt;  // texts there are characters
    users += (users.empty() ? "\"" : ", \"") + s.group + "\": {\"x\": [[" + s.feature +
             "]], \"y\": [" + JsonValue(s.label) + "]}";
  }
  return test.Write("a.json", "{\"user_data\": {" + users + "}}");
}

std::optional<std::string> WriteLibsvm(const BadValues& test, const std::vector<Sample>& samples) {
  std::string text;
  for (const Sample& s : samples) {
    // Blanks end a word, and what is not there cannot be written.
    for (const std::string& word : {s.label, s.feature, s.group}) {
      if (word.empty() || word.find(' ') != std::string::npos) return std::nullopt;
    }
    text += s.label + " qid:" + s.group + " 1:" + s.feature + "\n";
  }
  return test.Write("a.libsvm", text);
}

// An array of texts of NumPy, type S.
std::string TextArray(const Texts& texts) {
  size_t longest = 1;
  for (const std::string& text : texts) longest = std::max(longest, text.size());
  std::vector<char> bytes;
  for (const std::string& text : texts) {
    std::string padded = text;
    padded.resize(longest, '\0');
    bytes.insert(bytes.end(), padded.begin(), padded.end());
  }
  return Npy<char>("|S" + std::to_string(longest), "(" + std::to_string(texts.size()) + ",)",
                   bytes);
}

struct ArrayTexts {
  std::string x;
  std::string y;
  std::string group;
};

// Labels that are all numbers become float64, others texts.
std::optional<ArrayTexts> ArraysOf(const std::vector<Sample>& samples) {
  std::vector<double> x;
  std::vector<double> y;
  Texts labels;
  Texts groups;
  for (const Sample& s : samples) {
    const std::optional<double> feature = NumberOf(s.feature);
    if (!feature) return std::nullopt;
    x.push_back(*feature);
    if (const auto label = NumberOf(s.label)) y.push_back(*label);
    labels.push_back(s.label);
    groups.push_back(s.group);
  }
  const std::string shape = "(" + std::to_string(x.size()) + ",)";
  const bool are_numbers = y.size() == samples.size();
  return ArrayTexts{Npy<double>("<f8", "(" + std::to_string(x.size()) + ", 1)", x),
                    are_numbers ? Npy<double>("<f8", shape, y) : TextArray(labels),
                    TextArray(groups)};
}

std::optional<std::string> WriteNpy(const BadValues& test, const std::vector<Sample>& samples) {
  const auto arrays = ArraysOf(samples);
  if (!arrays) return std::nullopt;
  return test.Write("x.npy", arrays->x) + ":y=" + test.Write("y.npy", arrays->y) +
         ",group=" + test.Write("g.npy", arrays->group);
}

std::optional<std::string> WriteNpz(const BadValues& test, const std::vector<Sample>& samples) {
  const auto arrays = ArraysOf(samples);
  if (!arrays) return std::nullopt;
  const std::string path = test.Path("a.npz");
  int code = 0;
  zip_t* const archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  const auto add = [&](const char* name, const std::string& text) {
    zip_file_add(archive, name, zip_source_buffer(archive, text.data(), text.size(), 0), 0);
  };
  add("x.npy", arrays->x);
  add("y.npy", arrays->y);
  add("g.npy", arrays->group);
  EXPECT_EQ(zip_close(archive), 0);
  return path + ":group=g";
}

// A byte of 0 to 255, or nothing.
std::optional<uint8_t> ByteOf(const std::string& text) {
  const auto number = NumberOf(text);
  if (!number || !(*number >= 0 && *number < 256) || *number != static_cast<uint8_t>(*number)) {
    return std::nullopt;
  }
  return static_cast<uint8_t>(*number);
}

std::optional<std::string> LabelBytes(const std::vector<Sample>& samples) {
  std::string bytes;
  for (const Sample& s : samples) {
    const auto label = ByteOf(s.label);
    if (!label || !ByteOf(s.feature) || s.group != "g") return std::nullopt;
    bytes += static_cast<char>(*label);
  }
  return bytes;
}

std::optional<std::string> WriteIdx(const BadValues& test, const std::vector<Sample>& samples) {
  const auto labels = LabelBytes(samples);
  if (!labels) return std::nullopt;
  const auto count = static_cast<char>(samples.size());
  const std::string images =
      "\0\0\x08\x03\0\0\0"s + count + "\0\0\0\x01\0\0\0\x01"s + std::string(samples.size(), '\x01');
  return test.Write("images", images) +
         ":labels=" + test.Write("labels", "\0\0\x08\x01\0\0\0"s + count + *labels);
}

std::optional<std::string> WriteCifar(const BadValues& test, const std::vector<Sample>& samples,
                                      const std::string& name, const std::string& before) {
  const auto labels = LabelBytes(samples);
  if (!labels) return std::nullopt;
  std::string records;
  for (const char label : *labels) records += before + label + std::string(3072, '\x01');
  return test.Write(name, records);
}

struct FormatWriter {
  const char* format;
  std::optional<std::string> (*write)(const BadValues&, const std::vector<Sample>&);
};

// Null: no texts become such a file here.
const FormatWriter kWriters[] = {
    {"csv", WriteCsv},
    {"jsonl", WriteJsonl},
    {"npz", WriteNpz},
    {"npy", WriteNpy},
    {"libsvm", WriteLibsvm},
    {"idx", WriteIdx},
    {"cifar10",
     [](const BadValues& test, const std::vector<Sample>& samples) {
       return WriteCifar(test, samples, "test_batch.bin", "");
     }},
    {"cifar100",
     [](const BadValues& test, const std::vector<Sample>& samples) {
       return WriteCifar(test, samples, "test.bin", "\x01");
     }},
    // Its labels are doubles; data_source_test.cc writes such files.
    {"svhn", nullptr},
    {"text", nullptr},
    {"sound", nullptr},  // its labels are names of folders: sound_test.cc
    {"leaf", WriteLeaf},
};

// The formats of the table that all programs print: the rows of its first part.
Texts FormatNames() {
  std::string table = FormatsTable();
  table.resize(std::min(table.size(), table.find("\n| format | option")));
  Texts names;
  for (size_t at = table.find("\n| `"); at != std::string::npos; at = table.find("\n| `", at + 1)) {
    names.push_back(table.substr(at + 4, table.find('`', at + 4) - at - 4));
  }
  return names;
}

TEST_F(BadValues, EveryFormatOfTheTableHasAWriterHere) {
  Texts written;
  for (const FormatWriter& writer : kWriters) written.emplace_back(writer.format);
  EXPECT_EQ(FormatNames(), written) << "a new format needs a row here: its labels and numbers are "
                                       "refused as in all others";
}

struct Bad {
  const char* what;
  Sample sample;
  const char* says;
  size_t formats;  // that can write it
};

// Each beside samples of good labels: three classes, so that none is "the K-th class".
const Bad kBad[] = {
    {"NaN as label", {"nan"}, "the label is missing", 6},
    {"an empty label", {""}, "the label is missing", 5},
    {"a mark of what is missing", {"NA"}, "the label is missing", 6},
    {"an infinite label", {"inf"}, "the label is inf, expected a whole number", 6},
    {"a fraction as label", {"1.5"}, "the label is the fraction 1.5", 6},
    {"a label that no double tells apart",
     {"1e300"},
     "expected a whole number of at most 10^15",
     6},
    {"two labels", {"0,1"}, "which are several, and a sample has one", 6},
    {"two labels with a bar", {"cat|dog"}, "which are several, and a sample has one", 6},
    {"numbers with a blank between them", {"0 1"}, "which are several, and a sample has one", 5},
    {"an array as NumPy prints it", {"[0 1]"}, "which are several, and a sample has one", 5},
    {"what Python writes for nothing", {"None"}, "or if None is a class, declare it", 6},
    {"a group that is a mark", {"1", "1", "NA"}, "the group is missing", 6},
    {"a blank group", {"1", "1", " "}, "the group is missing", 5},
    {"a missing group", {"1", "1", "nan"}, "the group is missing", 6},
    {"an empty group", {"1", "1", ""}, "the group is missing", 5},
    {"a feature that float32 cannot hold",
     {"1", "1e300"},
     "; expected a number that float32 can hold",
     6},
    {"an infinite feature", {"1", "inf"}, "expected a number that float32 can hold", 5},
};

TEST_F(BadValues, AreRefusedInEveryFormatThatCanWriteThem) {
  for (const Bad& bad : kBad) {
    size_t formats = 0;
    for (const FormatWriter& writer : kWriters) {
      if (writer.write == nullptr) continue;
      const auto path = writer.write(*this, {{"0"}, {"1"}, bad.sample, {"2"}});
      if (!path) continue;
      ++formats;
      SCOPED_TRACE(std::string(bad.what) + " in " + writer.format);
      EXPECT_SAYS(Complaint(*path, ModelFor(writer.format).get()), bad.says);
    }
    EXPECT_EQ(formats, bad.formats) << bad.what;
  }
}

TEST_F(BadValues, ALabelBeyondTheClassesIsRefusedInEveryFormat) {
  for (const FormatWriter& writer : kWriters) {
    if (writer.write == nullptr) continue;
    SCOPED_TRACE(writer.format);
    const auto path = writer.write(*this, {{"0"}, {"1"}, {"3"}, {"2"}});
    ASSERT_TRUE(path.has_value());
    const std::string join = path->find(':') == std::string::npos ? ":" : ",";
    const posix::SharedModel model = ModelFor(writer.format);
    EXPECT_SAYS(Complaint(*path + join + "classes=3", model.get()),
                "the label is 3, expected 0 to 2");
    EXPECT_SAYS(Complaint(*path + join + "classes=a,b,c", model.get()),
                "the label is 3, expected one of the classes a, b, c");
  }
}

// Numbers without a 0 may count from 1.
TEST_F(BadValues, NumbersWithoutA0AreNoNamesInEveryFormat) {
  for (const FormatWriter& writer : kWriters) {
    if (writer.write == nullptr) continue;
    SCOPED_TRACE(writer.format);
    const auto path = writer.write(*this, {{"1"}, {"2"}, {"1"}, {"2"}});
    ASSERT_TRUE(path.has_value());
    const std::string join = path->find(':') == std::string::npos ? ":" : ",";
    const std::string text = *path + join + "classes=a,b,c";
    const posix::SharedModel model = ModelFor(writer.format);
    if (std::string_view(writer.format).substr(0, 5) == "cifar" ||
        writer.format == std::string_view("svhn")) {
      EXPECT_EQ(LabelsOf(*Read(text, model.get()))[0], 1u);  // by definition
    } else {
      EXPECT_SAYS(Complaint(text, model.get()), "the labels 1, 2 are numbers without a 0");
    }
  }
}

// A device alone cannot know the classes of such labels, and says what to add.
TEST_F(BadValues, LabelsThatNothingOrdersAreRefusedInEveryFormat) {
  for (const std::vector<Sample>& samples :
       {std::vector<Sample>{{"1"}, {"2"}, {"3"}}, {{"a"}, {"b"}}, {{"-1"}, {"0"}, {"1"}}}) {
    size_t formats = 0;
    for (const FormatWriter& writer : kWriters) {
      if (writer.write == nullptr) continue;
      const auto path = writer.write(*this, samples);
      if (!path) continue;
      const std::string why = Complaint(*path, ModelFor(writer.format).get());
      const bool are_numbers_by_format = why.find("the label is 3, expected 0 to 2") != why.npos;
      if (are_numbers_by_format) continue;
      ++formats;
      EXPECT_SAYS(why, "and nothing says which class each is; write the names of all 3 classes");
      EXPECT_SAYS(why, "classes = [\"" + samples[0].label + "\", ");
    }
    EXPECT_EQ(formats, 6u) << samples[0].label;
  }
}

TEST_F(BadValues, GoodLabelsAreTheSameClassesInEveryFormat) {
  for (const FormatWriter& writer : kWriters) {
    if (writer.write == nullptr) continue;
    SCOPED_TRACE(writer.format);
    const auto path = writer.write(*this, {{"0"}, {"2"}, {"1"}, {"2"}});
    ASSERT_TRUE(path.has_value());
    EXPECT_EQ(LabelsOf(*Read(*path, ModelFor(writer.format).get())),
              (std::vector<uint32_t>{0, 2, 1, 2}));
  }
}

TEST_F(BadValues, ANameThatLooksLikeSeveralCanBeDeclared) {
  const auto csv = WriteCsv(*this, {{"a,b"}, {"c"}});
  EXPECT_EQ(LabelsOf(*Read(*csv + ",classes=a\\,b,c")), (std::vector<uint32_t>{0, 1}));
  const auto fractions = WriteCsv(*this, {{"0.5"}, {"1.5"}});
  EXPECT_EQ(LabelsOf(*Read(*fractions + ",classes=0.5,1.5")), (std::vector<uint32_t>{0, 1}));
}

TEST_F(BadValues, ATargetIsNeverMissing) {
  ModelInfo model = *FindModel("ova-logistic");
  model.classes = 0;
  model.outputs = 1;
  model.loss.target = nn::TargetKind::kVector;
  std::string features;
  for (int i = 1; i <= 50; ++i) features += " " + std::to_string(i) + ":1";
  EXPECT_SAYS(Complaint(Write("a.libsvm", "1" + features + "\nnan" + features + "\n"), &model),
              "line 2, column 1: \"nan\"; the target is missing");
  const std::string csv = "a,y\n1,2\n1,NaN\n";
  EXPECT_SAYS(Complaint(Write("a.csv", csv) + ":targets=y"), "the target is missing");
  EXPECT_SAYS(Complaint(Write("x.npy", Npy<float>("<f4", "(2, 1)", {1, 2})) +
                        ":y=" + Write("y.npy", Npy<double>("<f8", "(2,)", {1, std::nan("")}))),
              "the target is missing");
}

TEST_F(BadValues, NumbersOfUsersKeepAllTheirDigits) {
  const int64_t id = int64_t{1} << 53;  // a double does not tell it from the next one
  const std::string x = Write("x.npy", Npy<float>("<f4", "(3, 1)", {1, 2, 3}));
  const SharedDataset data =
      Read(x + ":group=" + Write("g.npy", Npy<int64_t>("<i8", "(3,)", {id, id + 1, -id - 1})));
  ASSERT_EQ(data->group_count(), 3u);
  EXPECT_EQ(data->GroupName(1), "9007199254740993");
  EXPECT_EQ(data->GroupName(2), "-9007199254740993");
  const std::string all = Write("g.npy", Npy<uint64_t>("<u8", "(3,)", {~0ULL, ~1ULL, ~0ULL}));
  EXPECT_EQ(GroupsOf(*Read(x + ":group=" + all)), (std::vector<uint32_t>{0, 1, 0}));
}

TEST_F(BadValues, BlanksAroundAGroupAreNoPartOfIt) {
  const auto csv = Write("a.csv", "x,who,label\n1,\"ann \",0\n1,ann,1\n");
  EXPECT_EQ(GroupsOf(*Read(csv + ":group=who")), (std::vector<uint32_t>{0, 0}));
}

TEST_F(BadValues, AGroupIsInAllLinesOrInNone) {
  EXPECT_SAYS(Complaint(Write("a.libsvm", "0 qid:1 1:1\n1 1:1\n")), "line 2: it has no qid:");
  EXPECT_SAYS(Complaint(Write("a.libsvm", "0 1:1\n1 qid:1 1:1\n")), "line 2: it has a qid:");
}

}  // namespace
}  // namespace sotto
