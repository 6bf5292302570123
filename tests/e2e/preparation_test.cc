// Models that prepare samples as a user runs them: in a simulation, and with fits to a data set.
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>

#include "e2e/program.h"
#include "unit/test_folder.h"

namespace sotto {
namespace {

constexpr char kRun[] =
    "simulate --data synthetic --devices 20 --cohort 4 --rounds 1 --local-epochs 1 --seed 1 "
    "--model ";
constexpr char kDense[] = "[[layer]]\nkind = \"dense\"\noutputs = 10\n";

std::string WriteImageModel(const std::string& name, const std::string& text) {
  WriteFile(TestFile(name + ".toml"), "name = \"" + name + "\"\ninput = [28, 28, 1]\n" + text);
  return TestFile(name + ".toml");
}

std::string Step(const std::string& kind, const std::string& keys = "") {
  return "[[prepare]]\nkind = \"" + kind + "\"\n" + keys + "\n";
}

TEST(PreparationCommand, ASimulationPreparesSamples) {
  const Json plain = SottoJson(kRun + WriteImageModel("plain", kDense));
  // A step that changes nothing has another digest, and the same model.
  const Json same = SottoJson(kRun + WriteImageModel("same", Step("rescale") + kDense));
  EXPECT_NE(plain["model_digest"], same["model_digest"]);
  EXPECT_EQ(plain["parameters_sha256"], same["parameters_sha256"]);
  const Json halved =
      SottoJson(kRun + WriteImageModel("halved", Step("rescale", "factor = 0.5") + kDense));
  EXPECT_NE(plain["parameters_sha256"], halved["parameters_sha256"]);
  const std::string flip = WriteImageModel("flip", Step("random-flip") + kDense);
  const Json flipped = SottoJson(kRun + flip);
  EXPECT_NE(plain["parameters_sha256"], flipped["parameters_sha256"]);
  EXPECT_EQ(SottoJson(kRun + flip)["parameters_sha256"], flipped["parameters_sha256"]);
}

TEST(PreparationCommand, ShowTellsStepsAndClasses) {
  const std::string path = WriteImageModel(
      "shown", "missing = 0\nclasses = ['0', '1', '2', '3', '4', '5', '6', '7', '8', 'nine']\n" +
                   Step("normalise", "mean = 0.1307\ndeviation = 0.3081") +
                   Step("random-crop", "padding = 2") + kDense);
  const Outcome text = Sotto("model show " + path);
  for (const char* line :
       {"\n   1  fill-missing: value 0\n", "\n   2  normalise: mean 0.1307, deviation 0.3081\n",
        "\n   3  random-crop: padding 2, in training only\n", "7, 8, nine\n",
        "preparation                 12 bytes of flash"}) {
    EXPECT_NE(text.output.find(line), std::string::npos) << line << text.output;
  }
  const Json json = SottoJson("model show " + path);
  EXPECT_EQ(json["class_names"].size(), 10u);
  EXPECT_EQ(json["preparation"][1]["mean"], Json::parse("[0.1307]"));
  EXPECT_EQ(json["preparation"][2]["padding"], 2);
  EXPECT_EQ(json["preparation"][2]["in_training_only"], true);
}

// The lines that a command prints between these two.
std::string Between(const std::string& text, const std::string& from, const std::string& to) {
  const size_t begin = text.find(from);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find(to, begin) - begin);
}

TEST(PreparationCommand, StatsPrintsAStepThatNormalises) {
  const Outcome stats = Sotto("data stats --data synthetic");
  ASSERT_EQ(stats.exit_code, 0) << stats.output;
  EXPECT_NE(stats.output.find("no epsilon covers that"), std::string::npos);
  const std::string step = Between(stats.output, "[[prepare]]", "\nnote:");
  const std::string path = WriteImageModel("normalised", step + kDense);
  const Json after = SottoJson("data stats --data synthetic --model " + path);
  EXPECT_LT(std::fabs(after["figures"][0]["mean"].get<double>()), 1e-6);
  EXPECT_NEAR(after["figures"][0]["deviation"].get<double>(), 1, 1e-6);
}

TEST(PreparationCommand, StatsPerFeatureWritesFilesForTheStep) {
  const Outcome stats =
      Sotto("data stats --data synthetic --per feature --out " + TestFile("figures"));
  ASSERT_EQ(stats.exit_code, 0) << stats.output;
  EXPECT_EQ(ReadFile(TestFile("figures-mean.bin")).size(), 4u * 784);
  const std::string step = Between(stats.output, "[[prepare]]", "\nnote:");
  EXPECT_NE(step.find("mean = \"figures-mean.bin\""), std::string::npos) << step;
  const Json after = SottoJson("data stats --data synthetic --per feature --model " +
                               WriteImageModel("normalised", step + kDense));
  ASSERT_EQ(after["figures"].size(), 784u);
  EXPECT_NEAR(after["figures"][400]["deviation"].get<double>(), 1, 1e-5);
}

TEST(PreparationCommand, PcaIsAFrozenFirstLayer) {
  const std::string weights = TestFile("pca.bin");
  const Outcome pca =
      Sotto(fmt::format("data pca --data synthetic --dimensions 12 --out {} --json {}", weights,
                        TestFile("pca.json")));
  ASSERT_EQ(pca.exit_code, 0) << pca.output;
  EXPECT_NE(pca.output.find("no epsilon covers that"), std::string::npos);
  EXPECT_EQ(ReadFile(weights).size(), 4u * (784 + 1) * 12);
  const Json figures = Json::parse(ReadFile(TestFile("pca.json")));
  EXPECT_EQ(figures["variances"].size(), 12u);
  EXPECT_GT(figures["explained"].get<double>(), 0.1);
  EXPECT_LT(figures["explained"].get<double>(), 1);
  const std::string path =
      WriteImageModel("components", Between(pca.output, "frozen = 1", "\nand its") +
                                        Between(pca.output, "[[layer]]", "\nnote:") + kDense);
  const Json model = SottoJson("model show " + path);
  EXPECT_EQ(model["layers"][0]["frozen"], true);
  EXPECT_EQ(model["parameters"], 130);
  EXPECT_EQ(SottoJson(kRun + path)["model"], "components");
}

TEST(PreparationCommand, FitsRefuseWhatTheyCannotDo) {
  ExpectUsageError("data pca --data synthetic --dimensions 785 --out " + TestFile("pca.bin"),
                   "785 dimensions of 60000 samples of 784 features");
  ExpectUsageError("data pca --data synthetic --dimensions 5", "--out is required");
  ExpectUsageError("data stats --data synthetic --per row", "--per");
  ExpectUsageError("data stats --data synthetic --model lnet", "did you mean lenet?");
  ExpectUsageError("data", "");
}

}  // namespace
}  // namespace sotto
