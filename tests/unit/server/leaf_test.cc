// Tests of the reader of LEAF's JSON.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/data/source.h"
#include "sotto/model/model_file.h"
#include "unit/data_files.h"
#include "unit/stored_bytes.h"

namespace sotto {
namespace {

using Floats = std::vector<float>;
using Numbers = std::vector<uint32_t>;
using Names = std::vector<std::string>;

// Users as LEAF writes them.
constexpr char kTwoUsers[] =
    "{\"users\": [\"f1\", \"f2\"], \"num_samples\": [2, 1],\n"
    " \"user_data\": {\"f1\": {\"x\": [[0.5, 1], [2, 3]], \"y\": [1, 0]},\n"
    "                 \"f2\": {\"y\": [2], \"x\": [[4, 5e-1]]}}}\n";

posix::SharedModel TokenModel(const std::string& length, const std::string& tokens) {
  return posix::ParseModel("text.toml", "name = \"text\"\ninput = [" + length +
                                            "]\ntokens = " + tokens +
                                            "\n[[layer]]\nkind = \"embedding\"\nwidth = 2\n"
                                            "[[layer]]\nkind = \"flatten\"\n"
                                            "[[layer]]\nkind = \"dense\"\noutputs = " +
                                            tokens + "\n");
}

class Leaf : public DataFiles {
 protected:
  std::string Json(const std::string& text) const { return Write("a.json", text); }
};

TEST_F(Leaf, AUserIsAGroup) {
  const SharedDataset data = Read(Json(kTwoUsers));
  ASSERT_EQ(data->size(), 3u);
  EXPECT_EQ(FeaturesOf(*data, 1), (Floats{2, 3}));
  EXPECT_EQ(FeaturesOf(*data, 2), (Floats{4, 0.5F}));
  EXPECT_EQ(LabelsOf(*data), (Numbers{1, 0, 2}));
  EXPECT_EQ(GroupsOf(*data), (Numbers{0, 0, 1}));
  EXPECT_EQ(data->GroupName(1), "f2");
}

TEST_F(Leaf, AFolderIsReadInTheOrderOfItsNames) {
  std::filesystem::create_directory(Path("train"));
  for (const char* name : {"c", "a", "b"}) {
    Write(std::string("train/") + name + ".json",
          std::string("{\"user_data\": {\"") + name + "\": {\"x\": [[1]], \"y\": [0]}}}");
  }
  Write("train/notes.txt", "no samples");
  const SharedDataset data = Read(Path("train"));
  ASSERT_EQ(data->group_count(), 3u);
  EXPECT_EQ(data->GroupName(0), "a");
  EXPECT_EQ(data->GroupName(2), "c");
  EXPECT_FALSE(IsDataFolder(Path("train"))) << "it has no test part";
  EXPECT_EQ(FilesIn({Path("train")}),
            (Names{Path("train/a.json"), Path("train/b.json"), Path("train/c.json")}));
}

TEST_F(Leaf, TextsAreCharactersAndTheirLabelIsTheNextOne) {
  const std::string path = Json(
      "{\"users\": [\"HAMLET\"], \"num_samples\": [2], \"user_data\": {\"HAMLET\": {\"raw\": "
      "[{\"a\": [1]}], \"x\": [\"To b\", \"o be\"], \"y\": [\"e\", \"\\n\"]}}}");
  const posix::SharedModel model = TokenModel("4", "80");
  const SharedDataset data = Read(path, model.get());
  EXPECT_EQ(data->info().tokens, 80u);
  EXPECT_EQ(data->info().classes, 80u);
  EXPECT_EQ(LabelsOf(*data), (Numbers{57, 0}));  // the alphabet begins with the line end
  EXPECT_EQ(BytesOf(*data).size(), 8u);
  EXPECT_EQ(BytesOf(*data)[1], 67);  // o
  EXPECT_EQ(Read(path)->info().tokens, 80u) << "without a model LEAF's alphabet";
  EXPECT_SAYS(Complaint(path, TokenModel("4", "60").get()), "say which characters they are");
  EXPECT_SAYS(Complaint(path + ":alphabet=Tobe "), "the character 0x0a is not in the alphabet");
}

TEST_F(Leaf, LabelsMayBeTextsAndTargetsArrays) {
  const SharedDataset texts =
      Read(Json("{\"user_data\": {\"a\": {\"x\": [[1], [2]], \"y\": [\"walk\", \"run\"]}}}"));
  EXPECT_EQ(texts->info().class_names, (Names{"run", "walk"}));
  const SharedDataset targets =
      Read(Json("{\"user_data\": {\"a\": {\"x\": [1, 2], \"y\": [[3, 4], [5, 6]]}}}"));
  EXPECT_EQ(TargetOf(*targets, 1), (Floats{5, 6}));
}

TEST_F(Leaf, ASelectionKeepsItsSamplesOnly) {
  std::string users;
  for (int i = 0; i < 7; ++i) {
    users += std::string(i == 0 ? "" : ", ") + "\"u" + std::to_string(i) + "\": {\"x\": [[" +
             std::to_string(i) + "]], \"y\": [" + std::to_string(i % 3) + "]}";
  }
  const std::string path = Write("a.json.gz", "{\"user_data\": {" + users + "}}");
  const SharedDataset data = Read(path, nullptr, [](size_t i) { return i >= 5; });
  ASSERT_EQ(data->size(), 2u);
  EXPECT_EQ(FeaturesOf(*data, 0), (Floats{5}));
  EXPECT_EQ(LabelsOf(*data), (Numbers{2, 0}));
}

// What a user holds is freed with the next one; what is kept is float32.
TEST_F(Leaf, ALargeFileTakesTheMemoryOfItsSamples) {
  std::string users;
  for (int i = 0; i < 200; ++i) {
    users += std::string(i == 0 ? "" : ", ") + "\"u" + std::to_string(i) + "\": {\"x\": [[";
    for (int k = 0; k < 500; ++k) users += k == 0 ? "0.25" : ", 0.25";
    users += "]], \"y\": [1]}";
  }
  DataSource source = ParseDataSource(Json("{\"user_data\": {" + users + "}}"));
  source.memory_limit = 65536;
  EXPECT_EQ(ReadDataset(source, nullptr, [](size_t i) { return i < 3; })->size(), 3u);
  EXPECT_THROW(ReadDataset(source, nullptr), std::runtime_error);
}

TEST_F(Leaf, WrongFilesAreRefusedWithUserAndSample) {
  const std::string head = "{\"user_data\": {\"u\": ";
  for (const auto& [text, says] : std::vector<std::pair<std::string, const char*>>{
           {"[]", "it is not LEAF's JSON: it begins with an array; expected {\"users\""},
           {"7", "it is not LEAF's JSON: it is one value"},
           {"{\"a\": 1}", "it is not LEAF's JSON: it has no user_data, or no user in it"},
           {"{\"user_data\": 1}", "user_data is one value"},
           {"{\"user_data\": [1]}", "user_data is an array"},
           {"{\"x\": 1}\n{\"x\": 2}\n", "if each line is an object, say format=jsonl"},
           {head + "1}}", "user \"u\": a value; expected an object with x and y"},
           {head + "{\"x\": 1, \"y\": [0]}}}", "user \"u\": x is one value"},
           {head + "{\"x\": [1, 2], \"y\": [0]}}}", "user \"u\": x has 2 samples, and y 1"},
           {head + "{\"x\": [[1, 2], [3]], \"y\": [0, 1]}}}",
            "user \"u\": x has elements of different kinds or lengths"},
           {head + "{\"x\": [[1], 3], \"y\": [0, 1]}}}", "x has elements of different kinds"},
           {head + "{\"x\": [[1], \"a\"], \"y\": [0, 1]}}}", "x has elements of different kinds"},
           {head + "{\"x\": [[1], []], \"y\": [0, 1]}}}", "sample 1: an empty array"},
           {head + "{\"x\": [[1], [\"a\"]], \"y\": [0, 1]}}}", "x has elements of different kinds"},
           {head + "{\"x\": [[\"2.5.png\"]], \"y\": [0]}}}",
            "sample 0: \"2.5.png\" within an array; expected a number"},
           {head + "{\"x\": [{\"a\": 1}], \"y\": [0]}}}", "user \"u\": an object in x"},
           {head + "{\"x\": [[1]], \"y\": [null]}}}",
            "user \"u\", y[0]: \"\"; the label is missing"},
           {head + "{\"x\": [[1e200]], \"y\": [0]}}}",
            "user \"u\", x[0]: number 0; expected a number that float32 can hold"},
           {head + "{\"x\": [[1]], \"y\": [0]}, \"v\": {\"x\": [\"abc\"], \"y\": [0]}}}",
            "user \"v\": x has elements of different kinds"},
           {head + "{\"x\": [\"ab\", \"abc\"], \"y\": [\"a\", \"b\"]}}}",
            "sample 1: a text of 3 characters; expected 2"},
           {head + "{\"x\": [\"ab\"], \"y\": [\"cd\"]}}}",
            "sample 0: y is \"cd\"; expected the character behind x"},
           {head + "{\"x\": [[1]], \"y\": [0", "if the file is incomplete, fetch it again"},
           {"{\"users\": [\"u\", \"v\"], \"user_data\": {\"u\": {\"x\": [[1]], \"y\": [0]}}}",
            "users lists 2 users, but user_data has 1"},
           {"{\"num_samples\": [3], \"user_data\": {\"u\": {\"x\": [[1]], \"y\": [0]}}}",
            "num_samples says 3 samples, but user_data has 1"}}) {
    SCOPED_TRACE(text);
    const std::string complaint = Complaint(Json(text));
    EXPECT_SAYS(complaint, says);
    EXPECT_SAYS(complaint, "a.json: ");
  }
}

}  // namespace
}  // namespace sotto
