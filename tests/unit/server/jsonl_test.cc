// Tests of JSON lines: keys are columns, with the options of CSV files.
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "sotto/data/source.h"
#include "sotto/model/model_file.h"
#include "sotto/models.h"
#include "unit/data_files.h"
#include "unit/stored_bytes.h"

namespace sotto {
namespace {

using Floats = std::vector<float>;
using Numbers = std::vector<uint32_t>;
using namespace std::string_literals;

// So that a missing value equals another one.
Numbers Bits(const Floats& values) {
  Numbers bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

class JsonLines : public DataFiles {
 protected:
  std::string Lines(const std::string& text) const { return Write("a.jsonl", text); }
};

TEST_F(JsonLines, AnObjectIsASampleAndKeysAreFoundInAnyOrder) {
  const SharedDataset data =
      Read(Lines("{\"x\": 0.5, \"who\": \"ann\", \"label\": \"run\", \"y\": -2}\n"
                 "\n"
                 "{\"y\": 4e-1, \"label\": \"walk\", \"x\": 3, \"who\": \"bob\"}\n") +
           ":group=who");
  ASSERT_EQ(data->size(), 2u);
  EXPECT_EQ(FeaturesOf(*data, 0), (Floats{0.5F, -2}));
  EXPECT_EQ(FeaturesOf(*data, 1), (Floats{3, 0.4F}));
  EXPECT_EQ(LabelsOf(*data), (Numbers{0, 1}));
  EXPECT_EQ(data->info().class_names, (std::vector<std::string>{"run", "walk"}));
  EXPECT_EQ(GroupsOf(*data), (Numbers{0, 1}));
  EXPECT_EQ(data->GroupName(1), "bob");
}

TEST_F(JsonLines, TheSameSamplesAsCsvAreTheSameDataSet) {
  const SharedDataset json = Read(
      Lines("{\"who\":\"a\",\"x\":0.1,\"y\":1e-3,\"label\":1}\n{\"who\":\"a\",\"x\":null,\"y\":"
            "16777217,\"label\":0}\n{\"who\":\"b\",\"x\":7,\"y\":0,\"label\":1}\n") +
      ":group=who");
  const SharedDataset csv =
      Read(Write("a.csv", "who,x,y,label\na,0.1,1e-3,1\na,,16777217,0\nb,7,0,1\n") + ":group=who");
  ASSERT_EQ(json->size(), csv->size());
  for (size_t i = 0; i < csv->size(); ++i) {
    EXPECT_EQ(Bits(FeaturesOf(*json, i)), Bits(FeaturesOf(*csv, i))) << i;
  }
  EXPECT_EQ(LabelsOf(*json), LabelsOf(*csv));
  EXPECT_EQ(GroupsOf(*json), GroupsOf(*csv));
}

TEST_F(JsonLines, AnArrayIsASampleOfItsShape) {
  const std::string path = Lines(
      "{\"window\": [[1, 2, 3], [4, 5, 6]], \"label\": 0}\n"
      "{\"window\": [[7, 8, 9], [10, 11, 12]], \"label\": 1}\n");
  const SharedDataset data = Read(path);
  EXPECT_TRUE(data->info().shape == nn::ShapeOf(2, 3));
  EXPECT_EQ(FeaturesOf(*data, 1), (Floats{7, 8, 9, 10, 11, 12}));
  const SharedDataset some = Read(path + ":features=window[1][2]");
  EXPECT_EQ(FeaturesOf(*some, 0), (Floats{6}));
}

TEST_F(JsonLines, ObjectsWithinObjectsHaveNamesWithDots) {
  const SharedDataset data = Read(
      Lines("{\"acc\": {\"x\": 1, \"y\": 2}, \"gyro\": [5, 6], \"id\": \"q\", \"what\": true}\n"
            "{\"gyro\": [7, 8], \"what\": false, \"acc\": {\"y\": 3, \"x\": 4}, \"id\": \"r\"}\n") +
      ":label=what,features=acc.y,gyro");
  EXPECT_EQ(FeaturesOf(*data, 0), (Floats{2, 5, 6}));
  EXPECT_EQ(FeaturesOf(*data, 1), (Floats{3, 7, 8}));
  EXPECT_EQ(LabelsOf(*data), (Numbers{1, 0}));
}

TEST_F(JsonLines, WindowsNeverCrossAChangeOfLabelOrGroup) {
  std::string text;
  for (int i = 0; i < 10; ++i) {
    text += "{\"x\": " + std::to_string(i) + ", \"who\": " + std::to_string(i / 5) +
            ", \"label\": " + std::to_string(i / 7) + "}\n";
  }
  const SharedDataset data = Read(Lines(text) + ":group=who,window=2,stride=1");
  EXPECT_EQ(data->size(), 7u);
  EXPECT_EQ(FeaturesOf(*data, 4), (Floats{5, 6}));
  EXPECT_EQ(LabelsOf(*data), (Numbers{0, 0, 0, 0, 0, 1, 1}));
}

TEST_F(JsonLines, TextsBecomeFeatures) {
  const SharedDataset data = Read(
      Lines("{\"mode\": \"b\", \"label\": 0}\n{\"mode\": \"a\", \"label\": 1}\n{\"label\": 1}\n") +
      ":onehot=mode");
  EXPECT_EQ(FeaturesOf(*data, 0), (Floats{0, 1}));
  EXPECT_EQ(FeaturesOf(*data, 1), (Floats{1, 0}));
  EXPECT_EQ(FeaturesOf(*data, 2), (Floats{0, 0}));
}

TEST_F(JsonLines, AModelFindsItsFeaturesByName) {
  const posix::SharedModel model = posix::ParseModel(
      "two.toml",
      "name = \"two\"\ninput = [2]\nfeatures = [\"y\", \"x\"]\nclasses = [\"off\", \"on\"]\n"
      "[[layer]]\nkind = \"dense\"\noutputs = 2\n");
  const SharedDataset data = Read(Lines("{\"x\": 1, \"y\": 2, \"state\": \"on\"}\n"), model.get());
  EXPECT_EQ(FeaturesOf(*data, 0), (Floats{2, 1}));
  EXPECT_EQ(LabelsOf(*data), (Numbers{1}));
}

TEST_F(JsonLines, ATestFileFindsTheColumnsOfTheTrainingFile) {
  const SharedDataset train = Read(Lines("{\"a\": 1, \"b\": 2, \"label\": 0}\n"));
  DataSource source = ParseDataSource(Write("b.csv", "label,b,a\n1,20,10\n"));
  source.like = train->info().columns;
  EXPECT_EQ(FeaturesOf(*ReadDataset(source, nullptr), 0), (Floats{10, 20}));
}

TEST_F(JsonLines, TargetsAreNumbersOrArrays) {
  const SharedDataset data =
      Read(Lines("{\"x\": 1, \"to\": [2, 3]}\n{\"x\": 4, \"to\": [5, 6]}\n") + ":targets=to");
  EXPECT_EQ(data->info().targets, 2u);
  EXPECT_EQ(TargetOf(*data, 1), (Floats{5, 6}));
}

TEST_F(JsonLines, ASelectionKeepsItsSamplesOnly) {
  std::string text;
  for (int i = 0; i < 9; ++i) {
    text += "{\"x\": " + std::to_string(i) + ", \"label\": " + std::to_string(i % 2) + "}\n";
  }
  const SharedDataset data =
      Read(Write("a.ndjson.gz", text), nullptr, [](size_t i) { return i % 4 == 1; });
  ASSERT_EQ(data->size(), 2u);
  EXPECT_EQ(FeaturesOf(*data, 1), (Floats{5}));
}

struct Wrong {
  const char* text;
  const char* options;
  const char* says;
};

TEST_F(JsonLines, WrongLinesAreRefusedWithLineAndKey) {
  for (const Wrong& wrong : std::vector<Wrong>{
           {"{\"x\":1,\"label\":0}\n{\"x\":1,\"label\":0\n", "",
            "a.jsonl: line 2, column 17: syntax error while parsing object"},
           {"{\"x\":1,\"label\":0}\n{\"x\":NaN,\"label\":0}\n", "",
            "JSON has neither NaN nor Infinity: write null"},
           {"{\n  \"x\": 1\n}\n", "",
            "if the file is one object of several lines, it is no .jsonl"},
           {"[1, 2]\n", "", "line 1: an array; expected an object on each line, such as"},
           {"7\n", "", "line 1: \"7\"; expected an object on each line"},
           {"{}\n", "", "line 1: an object without keys"},
           {"{\"x\":1,\"x\":2}\n", "", "line 1, key \"x\": it is there twice"},
           {"{\"x\":[],\"label\":0}\n", "", "key \"x\": an empty array"},
           {"{\"x\":[[1],[2,3]],\"label\":0}\n", "", "key \"x\": an array whose rows differ"},
           {"{\"x\":[1,[2]],\"label\":0}\n", "", "key \"x\": an array whose rows differ"},
           {"{\"x\":[{\"y\":1}],\"label\":0}\n", "", "key \"x\": an object within an array"},
           {"{\"x\":[[[[1]]]],\"label\":0}\n", "", "key \"x\": more than three brackets"},
           {"{\"x\":[1,2],\"label\":0}\n{\"x\":[1,2,3],\"label\":0}\n", "",
            "line 2, key \"x\": an array of 3; expected an array of 2, as in the first line"},
           {"{\"x\":1,\"label\":0}\n{\"x\":1,\"z\":2,\"label\":0}\n", "",
            "line 2, key \"z\": the first line lacks it; write it there, too"},
           {"{\"x\":1,\"label\":0}\n{\"x\":\"high\",\"label\":0}\n", "",
            "line 2, key x: \"high\"; expected a number; leave the key out with drop="},
           {"{\"x\":1,\"label\":0}\n{\"x\":1}\n", "",
            "line 2, key label: empty; the label is missing"},
           {"{\"x\":1,\"y\":0}\n", "",
            "which key is the label? Say label=KEY, or label=none; the keys: x, y"},
           {"{\"x\":1,\"label\":0}\n", ":label=lable",
            "label=lable: there is no such key in the first line; the keys: x, label"},
           {"{\"x\":1,\"y\":[1,2],\"label\":0}\n", ":group=y", "group=y: expected one key"},
           {"{\"x\":1,\"label\":0}\n", ":separator=tab", "jsonl has no option separator"},
           {"{\"x\":[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}\n", "", "a.jsonl: line 1"},
           {"\n", "", "the file has no rows"}}) {
    SCOPED_TRACE(wrong.text);
    EXPECT_SAYS(Complaint(Lines(wrong.text) + wrong.options), wrong.says);
  }
}

TEST_F(JsonLines, AKeyThatIsDroppedNeedNotBeInTheFirstLine) {
  const std::string path = Lines("{\"x\":1,\"label\":0}\n{\"x\":2,\"z\":\"?\",\"label\":1}\n");
  EXPECT_EQ(Read(path + ":features=x")->size(), 2u);
}

}  // namespace
}  // namespace sotto
