// Thresholds for prediction errors as a user finds and exports them, and the round of a simulation
// that measures a fleet's errors.
#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "e2e/program.h"
#include "export/format.h"
#include "unit/test_folder.h"

namespace sotto {
namespace {

std::string NetText(const std::string& target, uint32_t outputs) {
  return fmt::format(
      "name = \"net\"\ninput = [3]\n{}\n[[layer]]\nkind = \"dense\"\noutputs = {}\n",
      target.empty() ? "" : "loss = \"mean-squared-error\"\ntarget = \"" + target + "\"\n",
      outputs);
}

// A folder with nets of which each output is the input, but for the third, which is always 0: the
// error of a sample is a third of the square of its third number.
class Thresholds : public testing::Test {
 protected:
  Thresholds() {
    std::string bytes;
    server::AppendFloats({1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, &bytes);
    WriteFile(Path("model.bin"), bytes);
    WriteFile(Path("detector.toml"), NetText("input", 3));
    WriteFile(Path("gauge.toml"), NetText("vector", 3));
    WriteFile(Path("classes.toml"), NetText("", 3));
    WriteFile(Path("normal.csv"), "a,b,c\n5,1,0.1\n1,2,0.2\n3,4,0.3\n0,0,-0.4\n");
    WriteFile(Path("checked.csv"),
              "a,b,c,bad\n5,1,0.1,0\n1,2,0.2,0\n3,4,3,1\n0,0,-0.4,0\n0,0,-0.3,1\n");
    WriteFile(Path("pairs.csv"), "a,b,c,t,u,v\n1,2,3,1,2,0\n1,2,3,1,2,3\n1,2,3,4,2,0\n");
  }

  std::string Path(const std::string& name) const { return folder_.Path(name); }
  std::string Source(const std::string& net) const {
    return Path("model.bin") + " --model " + Path(net);
  }
  std::string Of(const std::string& net, const std::string& data) const {
    return "model threshold " + Source(net) + " --data " + Path(data);
  }

  TestFolder folder_;
};

float ErrorOf(float third) { return third * third / 3; }

TEST_F(Thresholds, AQuantileIsOneOfTheErrors) {
  const Json json = SottoJson(Of("detector.toml", "normal.csv") + " --quantile 0.75");
  EXPECT_FLOAT_EQ(json["threshold"].get<float>(), ErrorOf(0.3F));
  EXPECT_FLOAT_EQ(json["largest_error"].get<float>(), ErrorOf(0.4F));
  EXPECT_EQ(json["samples"], 4);
  EXPECT_EQ(json["found_by"], "quantile");
  EXPECT_TRUE(json["auc"].is_null());
  const Outcome text = Sotto(Of("detector.toml", "normal.csv") + " --quantile 0.75");
  EXPECT_NE(text.output.find("0.75 of 4 normal samples have no larger error"), std::string::npos)
      << text.output;
}

TEST_F(Thresholds, LabelsGiveTheLargestF1AndHowGoodItIs) {
  const Json json = SottoJson(Of("detector.toml", "checked.csv") + " --labels bad");
  EXPECT_FLOAT_EQ(json["threshold"].get<float>(), ErrorOf(0.2F));
  EXPECT_EQ(json["found_by"], "largest-f1");
  EXPECT_EQ(json["anomalies"], 2);
  EXPECT_EQ(json["alarms"], 3);
  EXPECT_EQ(json["true_alarms"], 2);
  EXPECT_EQ(json["recall"], 1);
  EXPECT_DOUBLE_EQ(json["auc"].get<double>(), 5.0 / 6);
}

TEST_F(Thresholds, LabelsAndAQuantileGiveTheQuantileOfTheNormalSamples) {
  const Json json = SottoJson(Of("detector.toml", "checked.csv") + " --labels bad --quantile 1");
  EXPECT_FLOAT_EQ(json["threshold"].get<float>(), ErrorOf(0.4F));
  EXPECT_EQ(json["alarms"], 1);
  EXPECT_EQ(json["precision"], 1);
  EXPECT_EQ(json["recall"], 0.5);
}

TEST_F(Thresholds, ARegressionErrsFromItsTargets) {
  const Json json = SottoJson(Of("gauge.toml", "pairs.csv:targets=t\\,u\\,v") + " --quantile 0.5");
  EXPECT_EQ(json["threshold"], 3);  // errors 0, 3, 3
  EXPECT_EQ(json["median_error"], 3);
}

TEST_F(Thresholds, RefusesWhatHasNoErrorsOrNoWayToOne) {
  ExpectUsageError(Of("classes.toml", "normal.csv") + " --quantile 0.9", "tells classes apart");
  ExpectUsageError(Of("detector.toml", "normal.csv"), "--quantile 0.99 if all samples are normal");
  ExpectUsageError(Of("detector.toml", "normal.csv") + " --quantile 0", "--quantile");
  ExpectUsageError(Of("gauge.toml", "pairs.csv") + " --labels t", "take normal samples");
  ExpectUsageError(Of("detector.toml", "checked.csv:label=bad") + " --labels bad",
                   "leave label= out");
  WriteFile(Path("quiet.csv"), "a,b,c,bad\n5,1,0.1,0\n1,2,0.2,0\n");
  ExpectUsageError(Of("detector.toml", "quiet.csv") + " --labels bad", "no anomaly");
}

TEST_F(Thresholds, StaysWithTheModelAndDecides) {
  const std::string exported = Path("model.safetensors");
  const std::string header = Path("model.h");
  const std::string net = " --model " + Path("detector.toml");
  ASSERT_EQ(
      Sotto("model export " + Source("detector.toml") + " --threshold 0.025 --out " + exported)
          .exit_code,
      0);
  ASSERT_EQ(Sotto("model export " + exported + net + " --out " + header).exit_code, 0);
  EXPECT_NE(ReadFile(header).find("inline constexpr float kThreshold = 0.0250000004f;"),
            std::string::npos);
  const Outcome run =
      Sotto("model predict " + exported + net + " --data " + Path("normal.csv"), "2>/dev/null");
  std::string decisions;
  for (size_t at = run.output.find('\n'); at + 1 < run.output.size();
       at = run.output.find('\n', at + 1)) {
    decisions += run.output[run.output.find(',', at) + 1];
  }
  EXPECT_EQ(run.output.rfind("error,anomaly,value_0", 0), 0u) << run.output;
  EXPECT_EQ(decisions, "0011");
  std::string spoilt = ReadFile(exported);
  spoilt.replace(spoilt.find("0.0250000004"), 5, "0.O25");
  WriteFile(Path("spoilt.safetensors"), spoilt);
  ExpectFailure(
      2, "model predict " + Path("spoilt.safetensors") + net + " --data " + Path("normal.csv"),
      "spoilt.safetensors: its threshold is");
  // Another one takes its place.
  ASSERT_EQ(Sotto("model export " + exported + net + " --threshold 2 --out " + header).exit_code,
            0);
  EXPECT_NE(ReadFile(header).find("kThreshold = 2.0f;"), std::string::npos);
  ExpectUsageError("model export " + Source("classes.toml") + " --threshold 1 --out " + header,
                   "for the prediction errors of an autoencoder");
}

TEST_F(Thresholds, AFleetFindsOneInItsLastRound) {
  std::mt19937 random(3);
  std::string text = "a,b,c\n";
  for (int i = 0; i < 400; ++i) {
    text += fmt::format("{},{},{}\n", random() % 5, random() % 5, i % 4 == 0 ? 3 : 0.1);
  }
  WriteFile(Path("fleet.csv"), text);
  const std::string run = "simulate --data " + Path("fleet.csv") + " --test 0.1 --model " +
                          Path("detector.toml") + " --initial-model " + Path("model.bin") +
                          " --devices 30 --samples-per-device 10 --cohort 30 --rounds 2"
                          " --learning-rate 1e-9 --mechanism none --seed 1";
  const Json json = SottoJson(run + " --threshold-bins 0.5,1,4 --threshold-quantile 0.6");
  EXPECT_EQ(json["threshold"], 0.5);
  EXPECT_NEAR(json["threshold_share_above"].get<double>(), 0.25, 0.1);
  EXPECT_EQ(json["threshold_bar"], 0);
  EXPECT_EQ(json["error_histogram"]["edges"], (std::vector<double>{0.5, 1, 4}));
  EXPECT_TRUE(SottoJson(run)["threshold"].is_null());
  for (const char* bad : {"0.5,x", "1,1", "", "2,1"}) {
    ExpectUsageError(run + " --threshold-bins '" + bad + "'", "--threshold-bins");
  }
  ExpectUsageError(run + " --threshold-quantile 0.9", "--threshold-bins");
  ExpectUsageError(run + " --threshold-bins 1,2,3,4,5,6,7,8,9,10,11,12", "12 parameters");
  ExpectUsageError(run + " --clip-by-layer equal --threshold-bins 1", "--clip-by-layer");
  ExpectUsageError(
      "simulate --data synthetic --model mlp --devices 10 --cohort 5 --threshold-bins 1",
      "tells classes apart");
}

}  // namespace
}  // namespace sotto
