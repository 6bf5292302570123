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
#include "sotto/bytes.h"
#include "sotto/model/kept_release.h"
#include "sotto/model/model_file.h"
#include "unit/server/store_fixture.h"
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
  ExpectUsageError("model export " + Source("detector.toml") + " --threshold 0 --out " + header,
                   "--threshold");
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

TEST_F(Thresholds, AGivenOneIsJudged) {
  Json json = SottoJson(Of("detector.toml", "checked.csv") + " --labels bad --threshold 0.04");
  EXPECT_EQ(json["found_by"], "given");
  EXPECT_FLOAT_EQ(json["threshold"].get<float>(), 0.04F);
  EXPECT_EQ(json["alarms"], 2);
  EXPECT_EQ(json["true_alarms"], 1);
  EXPECT_EQ(json["recall"], 0.5);
  EXPECT_DOUBLE_EQ(json["auc"].get<double>(), 5.0 / 6);
  json = SottoJson(Of("detector.toml", "normal.csv") + " --threshold 0.02");
  EXPECT_EQ(json["alarms"], 2);
  EXPECT_TRUE(json["auc"].is_null());
  const Outcome text = Sotto(Of("detector.toml", "normal.csv") + " --threshold 0.02");
  EXPECT_NE(text.output.find(": 2 of 4 normal samples have a larger error"), std::string::npos)
      << text.output;
  ExpectUsageError(Of("detector.toml", "normal.csv") + " --threshold 1 --quantile 0.5",
                   "give one of the two");
  ExpectUsageError(Of("detector.toml", "normal.csv") + " --threshold 0", "--threshold");
}

TEST_F(Thresholds, AreAttachedToAFile) {
  const std::string net = " --model " + Path("detector.toml");
  for (const char* name : {"model.safetensors", "model.npz"}) {
    const std::string file = Path(name);
    ASSERT_EQ(Sotto("model export " + Source("detector.toml") + " --out " + file).exit_code, 0);
    const std::string by_export = Path("2-" + std::string(name));
    ASSERT_EQ(
        Sotto("model export " + Source("detector.toml") + " --threshold 0.5 --out " + by_export)
            .exit_code,
        0);
    Outcome run = Sotto("model attach " + file + net + " --threshold 0.5");
    EXPECT_EQ(run.exit_code, 0) << run.output;
    EXPECT_EQ(run.output, file + ": threshold 0.5 is attached to model net\n");
    EXPECT_EQ(ReadFile(file), ReadFile(by_export));
    run = Sotto("model threshold " + file + net + " --data " + Path("normal.csv") +
                " --quantile 0.75 --attach");
    EXPECT_EQ(run.exit_code, 0) << run.output;
    const Outcome predicted =
        Sotto("model predict " + file + net + " --data " + Path("normal.csv"), "2>/dev/null");
    EXPECT_NE(predicted.output.find("\n0.0533333384,1,"), std::string::npos) << predicted.output;
  }
  ExpectUsageError("model attach " + Source("detector.toml") + " --threshold 1",
                   "it has only parameters, and no place for a threshold");
  ExpectUsageError(Of("detector.toml", "normal.csv") + " --quantile 0.75 --attach",
                   "no place for a threshold");
  ExpectUsageError("model attach " + Path("model.npz") + net + " --threshold 0", "--threshold");
  ExpectUsageError("model attach " + Path("model.npz") + net, "--threshold");
  WriteFile(Path("zeros.csv"), "a,b,c\n5,1,0\n1,2,0\n");
  ExpectUsageError("model threshold " + Path("model.npz") + net + " --data " + Path("zeros.csv") +
                       " --quantile 1 --attach",
                   "threshold 0 cannot be attached: it must be above 0");
}

TEST_F(Thresholds, AreAttachedToAReleaseInAStore) {
  const std::string path = Path("store");
  const posix::SharedModel model = posix::OpenModel(Path("detector.toml"));
  {
    using namespace server;
    SqlStore store(path, kCreate);
    store.AddDevices(SomeDevices(), false);
    JobConfig config = SmallConfig();
    config.model = model.get();
    config.plan.dimension = model->parameters;
    uint8_t digest[kSha256Size];
    ASSERT_EQ(ModelDigest(*model, digest), Status::kOk);
    JobRecord record = RecordOf(config);
    record.model_digest = digest;
    const std::vector<float> first(model->parameters);
    record.parameters = {first.data(), first.size()};
    store.BeginJob(record);
    for (const uint32_t round : {0, 1}) {
      store.CommitAttempt({round, 0, {}});
      server::Release(store, round, 0, model->parameters);
    }
  }
  Outcome run = Sotto("model attach " + path + " --threshold 0.5");
  EXPECT_EQ(run.output,
            path +
                ": threshold 0.5 is attached to the model of round 2 of job 1; a device "
                "that fetches it gets both\n");
  run = Sotto("model attach " + path + " --round 1 --threshold 1");
  EXPECT_NE(run.output.find("devices fetch the newest one, of round 2"), std::string::npos)
      << run.output;
  ASSERT_EQ(Sotto("model export " + path + " --out " + Path("model.h")).exit_code, 0);
  EXPECT_NE(ReadFile(Path("model.h")).find("kThreshold = 0.5f;"), std::string::npos);
  run =
      Sotto("model threshold " + path + " --data " + Path("normal.csv") + " --quantile 1 --attach");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  run = Sotto("model predict " + path + " --data " + Path("normal.csv"), "2>/dev/null");
  EXPECT_EQ(run.output.rfind("error,anomaly,value_0", 0), 0u) << run.output;
  ExpectUsageError("model attach " + path + " --round 0 --threshold 1",
                   "is the model with which job 1 began");
  ExpectFailure(2, "model attach " + path + " --round 7 --threshold 1", "it has no model of round");
}

// As sotto-client keeps it.
TEST_F(Thresholds, StayWithAModelThatADeviceKeeps) {
  std::vector<float> parameters(12);
  const std::string bytes = ReadFile(Path("model.bin"));
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i] = FloatFromBits(LoadU32Le(reinterpret_cast<const uint8_t*>(&bytes[4 * i])));
  }
  posix::KeptRelease release;
  release.model = "net";
  release.rounds = 1;
  release.claims = "none";
  release.threshold = 0.025F;
  ASSERT_EQ(ModelCheck({parameters.data(), parameters.size()}, release.check), Status::kOk);
  const std::string predict =
      "model predict " + Source("detector.toml") + " --data " + Path("normal.csv");
  const auto has_decisions = [&] {
    return Sotto(predict, "2>/dev/null").output.rfind("error,anomaly,", 0) == 0;
  };
  EXPECT_FALSE(has_decisions());
  const auto keep = [&] {
    posix::WriteKeptFile(posix::kReleaseFormat, Path("model.release"),
                         posix::KeptReleaseBody(release));
  };
  keep();
  EXPECT_TRUE(has_decisions());
  release.threshold = 0;
  keep();
  EXPECT_FALSE(has_decisions());
  release.threshold = 1;
  release.check[0] ^= 1;
  keep();
  EXPECT_FALSE(has_decisions()) << "it is of another model";
  WriteFile(Path("model.release"), "sotto-release 1\nx\n");
  ExpectFailure(2, predict, "model.release: ");
}

TEST_F(Thresholds, OfPersonalLayersThereAreNone) {
  WriteFile(Path("personal.toml"),
            "name = \"net\"\ninput = [3]\nloss = \"mean-squared-error\"\ntarget = \"input\"\n"
            "personal = 1\n[[layer]]\nkind = \"dense\"\noutputs = 3\n"
            "[[layer]]\nkind = \"dense\"\noutputs = 3\n");
  ExpectUsageError(Of("personal.toml", "normal.csv") + " --quantile 0.75",
                   "has personal layers, whose values only its devices have");
  ExpectUsageError("model attach " + Source("personal.toml") + " --threshold 1",
                   "has personal layers, whose values only its devices have");
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
  for (const char* bad : {"0.5,x", "1,1", "", "2,1", "0,1"}) {
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
