// Data sets of users: files of several formats through the simulator, the shard maker and the
// client.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "e2e/program.h"
#include "sotto/nn.h"
#include "sotto/shard.h"
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
  const std::string test = Write("test.csv", "mode,x,kind\nb,0,false\na,0,true\n");
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
  ExpectUsageError(
      "simulate --data " + csv + " --model " + three,
      "two.csv: column 3 (kind): the labels are down, up, and nothing says which class "
      "each is; write the names of all 3 classes, in order, into the model file of all "
      "devices: classes = [\"down\", \"up\"]; or for this file alone, behind its "
      "name: classes=down,up. These are the labels of this file, which lacks some");
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

TEST_F(Data, WhatIsMissingIsToldBeforeWhatFollowsFromIt) {
  const std::string csv = WriteTwoClasses();
  const std::string why =
      "two.csv does not say from whom its samples are; name the column of users";
  const std::string model = Model("two", "input = [2]", {kDense + "2"});
  ExpectUsageError("simulate --data " + csv + " --partition group --model " + model, why);
  ExpectUsageError("data show " + csv + " --partition group", why);
  ExpectFailure(1, "data stats --data " + csv + ":Label=kind",
                "is there, but what follows is no :KEY=VALUE; a KEY is of small letters");
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

// What a firmware with this model reads of a shard.
struct OnBoard {
  ShardStatus status = ShardStatus::kFailed;
  ShardInfo info;
  std::vector<uint32_t> labels;
  std::vector<std::vector<float>> samples;  // a target first, then the features
};

OnBoard ReadShard(const std::string& file, const ModelInfo& model) {
  const std::string bytes = ReadFile(file);
  Shard shard;
  OnBoard board;
  board.status = shard.Open({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, model);
  board.info = shard.info();
  const SampleSource source = shard.source();
  EXPECT_TRUE(model.CanRead(source));
  const bool has_vector = model.loss.target == nn::TargetKind::kVector;
  const uint32_t targets = has_vector ? model.outputs : 0;
  for (uint32_t i = 0; i < source.count; ++i) {
    std::vector<float> sample(targets + model.inputs);
    const Span<float> target{sample.data(), targets};
    const Span<float> features{sample.data() + targets, model.inputs};
    uint32_t label = 0;
    EXPECT_EQ(has_vector ? source.read_vector(source.context, i, features, target)
                         : source.read(source.context, i, features, &label),
              Status::kOk);
    board.labels.push_back(label);
    board.samples.push_back(sample);
  }
  return board;
}

template <class Net>
constexpr ModelInfo kBoard = MakeModelInfo<Net>("board");

TEST_F(Data, ABoardReadsWhatAShardHasOfEachKind) {
  using Numbers = std::vector<std::vector<float>>;
  const auto shard = [&](const std::string& options) {
    const Outcome run =
        RunCommand(fmt::format("{} --test 0.25 --device 0 --samples 2 --out {} {} 2>&1",
                               SOTTO_SHARD_PROGRAM, Path("shard"), options));
    EXPECT_EQ(run.exit_code, 0) << run.output;
    EXPECT_SAYS(run.output, "2 samples of ");
    return Path("shard");
  };
  const std::string csv = Write("a.csv", "1,-2.5,0\n3,4,1\n5,6,2\n7,8,1\n");
  using Classes = nn::Sequential<nn::Dense<2, 3>>;
  const OnBoard labelled = ReadShard(shard("--data " + csv), kBoard<Classes>);
  EXPECT_EQ(labelled.labels, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(labelled.samples, (Numbers{{1, -2.5f}, {3, 4}}));

  const std::string squares = "loss = \"mean-squared-error\"\ntarget = ";
  using Sum = nn::Sequential<nn::Dense<2, 1>, nn::MeanSquaredError<nn::TargetKind::kVector>>;
  const std::string sum = Model("sum", "input = [2]\n" + squares + "\"vector\"", {kDense + "1"});
  const OnBoard aimed =
      ReadShard(shard("--data " + csv + ":targets=3 --model " + sum), kBoard<Sum>);
  EXPECT_EQ(aimed.samples, (Numbers{{0, 1, -2.5f}, {1, 3, 4}}));

  using Coder = nn::Sequential<nn::Dense<3, 1>, nn::Dense<1, 3>,
                               nn::MeanSquaredError<nn::TargetKind::kInput>>;
  const std::string coder =
      Model("coder", "input = [3]\n" + squares + "\"input\"", {kDense + "1", kDense + "3"});
  const OnBoard alone =
      ReadShard(shard("--data " + csv + ":features=1-3 --model " + coder), kBoard<Coder>);
  EXPECT_EQ(alone.info.classes + alone.info.targets, 0u);
  EXPECT_EQ(alone.samples, (Numbers{{1, -2.5f, 0}, {3, 4, 1}}));

  const std::string images =
      Write("x.npy", Npy<uint8_t>("|u1", "(4, 2)", {9, 8, 7, 6, 5, 4, 3, 2}));
  const std::string labels = Write("y.npy", Npy<uint8_t>("|u1", "(4,)", {1, 0, 1, 0}));
  using Two = nn::Sequential<nn::Dense<2, 2>>;
  const OnBoard bytes = ReadShard(shard("--data " + images + ":y=" + labels), kBoard<Two>);
  EXPECT_EQ(bytes.info.element, ShardElement::kByte);
  EXPECT_EQ(bytes.labels, (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(bytes.samples,
            (Numbers{{9 * (1 / 255.0f), 8 * (1 / 255.0f)}, {7 * (1 / 255.0f), 6 * (1 / 255.0f)}}));
  EXPECT_EQ(ReadFile(Path("shard")).size(), kShardHeadSize + 6);

  using Characters =
      nn::Sequential<nn::Tokens<5>, nn::Embedding<10, 2>, nn::Flatten, nn::Dense<10, 10>>;
  std::string play;
  for (int i = 0; i < 60; ++i) play += "ANN:\nto be or not to be\n\n";
  const std::string chars = Model("chars", "input = [5]\ntokens = 10",
                                  {"\"embedding\"\nwidth = 2", "\"flatten\"", kDense + "10"});
  const OnBoard text = ReadShard(shard("--data " + Write("play.txt", play) +
                                       ":stride=2,alphabet=\\\\n\\ toberan --model " + chars),
                                 kBoard<Characters>);
  EXPECT_EQ(text.info.tokens, 10u);
  EXPECT_EQ(text.samples, (Numbers{{2, 3, 1, 4, 5}, {1, 4, 5, 1, 3}})) << "\"to be\", \" be o\"";
}

TEST_F(Data, ABoardRefusesAShardOfAnotherModel) {
  const std::string csv = WriteTwoClasses();
  const std::string deep = Model("deep", "input = [2]", {kDense + "3", "\"relu\"", kDense + "2"});
  const auto shard = [&](const std::string& options) {
    return RunCommand(fmt::format("{} --data {}:label=kind{} --model {} --device 0 --out {} 2>&1",
                                  SOTTO_SHARD_PROGRAM, csv, options, deep, Path("shard")))
        .output;
  };
  EXPECT_SAYS(shard(""), "nothing says which class each label is, and another device's file may");
  EXPECT_SAYS(shard(",classes=down,up"), "for model deep");
  using Deep = nn::Sequential<nn::Dense<2, 3>, nn::Relu, nn::Dense<3, 2>>;
  using Two = nn::Sequential<nn::Dense<2, 2>>;
  using Wide = nn::Sequential<nn::Dense<8, 2>>;
  EXPECT_EQ(ReadShard(Path("shard"), kBoard<Deep>).status, ShardStatus::kOk);
  EXPECT_EQ(ReadShard(Path("shard"), kBoard<Two>).status, ShardStatus::kOtherModel);
  EXPECT_EQ(ReadShard(Path("shard"), kBoard<Wide>).status, ShardStatus::kOtherFeatures)
      << "the bytes of two float32 are not eight features";
}

}  // namespace
}  // namespace sotto
