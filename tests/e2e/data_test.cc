// Data sets of users: files of several formats through the simulator, the shard maker and the
// client.
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "e2e/program.h"
#include "unit/data_files.h"

namespace sotto {
namespace {

class Data : public DataFiles {
 protected:
  // A file for --model.
  std::string Model(const std::string& name, const std::string& head,
                    const std::vector<std::string>& layers) const {
    std::string text = "name = \"" + name + "\"\n" + head + "\n";
    for (const std::string& layer : layers) text += "[[layer]]\nkind = " + layer + "\n";
    return Write(name + ".toml", text);
  }

  Json Simulate(const std::string& data, const std::string& model,
                const std::string& options = "") const {
    return SottoJson(
        fmt::format("simulate --data {} --model {} --devices 4 --cohort 4 --rounds 2 "
                    "--samples-per-device 10 --seed 1 --noise-multiplier 0.01 "
                    "--delta 0.1 {}",
                    data, model, options));
  }

  // Two classes that a line tells apart.
  std::string WriteTwoClasses() const {
    std::string text = "a,b,kind\n";
    for (int i = 0; i < 80; ++i) {
      text += fmt::format("{},{},{}\n", i % 7, i % 2 == 0 ? 2 : -2, i % 2 == 0 ? "up" : "down");
    }
    return Write("two.csv", text);
  }
};

const std::string kDense = "\"dense\"\noutputs = ";

TEST_F(Data, ThePageHasTheTablesOfFormats) {
  const Outcome tables = Sotto("data formats");
  EXPECT_EQ(tables.exit_code, 0);
  EXPECT_NE(ReadFile(SOTTO_SOURCE_DIR "/server/DATA.md").find("\n\n" + tables.output + "\n"),
            std::string::npos)
      << "the tables should be:\n"
      << tables.output;
}

TEST_F(Data, ACsvFileOfTextLabelsIsTrainedAndItsLastTenthEvaluated) {
  const std::string model = Model("two", "input = [2]", {kDense + "2"});
  const Json result = Simulate(WriteTwoClasses(), model, "--local-epochs 5");
  EXPECT_EQ(result["data"], Path("two.csv"));
  EXPECT_EQ(result["accuracy"], 1.0);
}

TEST_F(Data, TextsOfATestFileBecomeTheFeaturesOfItsTrainingFile) {
  std::string text = "mode,x,kind\n";
  for (int i = 0; i < 80; ++i) text += fmt::format("{},0,{}\n", "abc"[i % 3], i % 3 == 0);
  const std::string options = ":onehot=mode,label=kind";
  const std::string model = Model("modes", "input = [4]", {kDense + "2"});
  const std::string test = Write("test.csv", "mode,x,kind\nb,0,0\na,0,1\n");
  const Json result = Simulate(Write("train.csv", text) + options, model,
                               "--local-epochs 9 --learning-rate 1 --test " + test + options);
  EXPECT_EQ(result["accuracy"], 1.0) << "the test file has two of the three modes";
}

TEST_F(Data, ARegressionAndAnAutoencoderAndTokensAreSimulated) {
  std::string text = "a,b,y,z\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("{},{},{},1\n", i % 5, i % 3, i % 5 + i % 3);
  const std::string csv = Write("real.csv", text);
  const std::string squares = "loss = \"mean-squared-error\"\ntarget = ";
  Simulate(csv, Model("sum", "input = [2]\n" + squares + "\"vector\"", {kDense + "2"}));
  Simulate(csv + ":features=a,b",
           Model("coder", "input = [2]\n" + squares + "\"input\"", {kDense + "1", kDense + "2"}));
  std::string play;
  for (int i = 0; i < 60; ++i) play += "ANN:\nto be or not to be\n\n";
  const std::string chars = Model("chars", "input = [5]\ntokens = 10",
                                  {"\"embedding\"\nwidth = 2", "\"flatten\"", kDense + "10"});
  Simulate(Write("play.txt", play) + ":stride=2,alphabet=\\\\n\\ toberan", chars);
}

TEST_F(Data, WhatDoesNotFitTheModelIsAUsageError) {
  const std::string csv = WriteTwoClasses();
  const std::string three = Model("three", "input = [2]", {kDense + "3"});
  ExpectUsageError("simulate --data " + csv + " --model " + three,
                   "two.csv: column 3 (kind): 2 different labels (up, down), but the model has 3 "
                   "classes; name them all, in order: classes=A,B,C");
  const std::string wide = Model("wide", "input = [5]", {kDense + "2"});
  ExpectUsageError("simulate --data " + csv + " --model " + wide,
                   "model wide takes 5 inputs (5), but ");
  ExpectFailure(1, "simulate --data nowhere.csv", "\"nowhere.csv\" is not a data set");
  ExpectUsageError("simulate --data " + Write("narrow.csv", "a,label\n1,0\n"),
                   "model softmax-784-10 takes 784 inputs");
  ExpectFailure(1,
                "simulate --data " + Write("bad.csv", "a,b,label\n1,2,0\n1,x,1\n") + " --model " +
                    Model("narrow", "input = [2]", {kDense + "2"}),
                "bad.csv: line 3, column 2 (b): \"x\"; expected a number");
}

TEST_F(Data, NoCommandReplacesTheSamplesThatItReads) {
  const std::string csv = WriteTwoClasses();
  const std::string before = ReadFile(csv);
  const std::string why = "the command reads it, and it would be lost";
  ExpectUsageError("simulate --data " + csv + ":label=kind --json " + csv, why);
  ExpectUsageError("data show " + csv + " --svg " + csv, why);
  ExpectUsageError("data stats --data " + csv + " --json " + csv, why);
  const Outcome shard = RunCommand(
      fmt::format("{} --data {} --device 0 --out {} 2>&1", SOTTO_SHARD_PROGRAM, csv, csv));
  EXPECT_EQ(shard.exit_code, 2);
  EXPECT_SAYS(shard.output, why);
  EXPECT_EQ(ReadFile(csv), before);
}

TEST_F(Data, AWrongNameIsToldWithTheNearestOne) {
  ExpectUsageError("data pca --dat synthetic --dimensions 5",
                   "--dat is no option of `sotto data pca`; did you mean --data?");
  ExpectUsageError("data show synthetic --partition dirchlet:1", "did you mean dirichlet?");
}

TEST_F(Data, AnOptionThatComesTwiceIsNamed) {
  ExpectUsageError("simulate --rounds 1 --rounds 2", "--rounds: it comes more than once; give it");
}

// One float32 of a file.
float NumberAt(const std::string& file, size_t offset) {
  float number;
  std::memcpy(&number, file.data() + offset, sizeof(number));
  return number;
}

TEST_F(Data, AShardHasLabelsAndNumbersAsItsPageSays) {
  const std::string csv = Write("a.csv", "1,-2.5,0\n3,4,1\n5,6,2\n7,8,1\n");
  const auto shard = [&](const std::string& options) {
    const Outcome run =
        RunCommand(fmt::format("{} --test 0.25 --device 0 --samples 2 --out {} {} 2>&1",
                               SOTTO_SHARD_PROGRAM, Path("shard"), options));
    EXPECT_EQ(run.exit_code, 0) << run.output;
    EXPECT_SAYS(run.output, "2 samples of ");
    return ReadFile(Path("shard"));
  };
  const std::string labelled = shard("--data " + csv);
  ASSERT_EQ(labelled.size(), 2u * 12);
  EXPECT_EQ(labelled.substr(0, 4), std::string(4, '\0'));
  EXPECT_EQ(NumberAt(labelled, 4), 1.0f);
  EXPECT_EQ(NumberAt(labelled, 8), -2.5f);
  EXPECT_EQ(labelled[12], 1);
  const std::string aimed = shard("--data " + csv + ":targets=3");
  EXPECT_EQ(NumberAt(aimed, 12), 1.0f);
  EXPECT_EQ(NumberAt(aimed, 16), 3.0f);
  const std::string bytes =
      shard("--data " + Write("x.npy", Npy<uint8_t>("|u1", "(4, 2)", {9, 8, 7, 6, 5, 4, 3, 2})) +
            ":y=" + Write("y.npy", Npy<uint8_t>("|u1", "(4,)", {1, 0, 1, 0})));
  EXPECT_EQ(bytes, (std::string{1, 9, 8, 0, 7, 6}));
}

}  // namespace
}  // namespace sotto
