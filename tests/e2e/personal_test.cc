// Personal layers by the command `sotto`: what a simulation reports of them, and what is refused.
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

#include "e2e/program.h"
#include "e2e/small_run.h"
#include "unit/test_folder.h"

namespace sotto {
namespace {

std::string OwnHead(const std::string& name, const std::string& more = "personal = 1") {
  const std::string path = TestFile(name + ".toml");
  WriteFile(path, "name = \"" + name + "\"\ninput = [28, 28, 1]\n" + more +
                      "\n[[layer]]\nkind = \"dense\"\noutputs = 6\n[[layer]]\nkind = \"relu\"\n"
                      "[[layer]]\nkind = \"dense\"\noutputs = 10\n");
  return path;
}

constexpr int kSharedParameters = 784 * 6 + 6;

TEST(PersonalLayers, ASimulationReportsWhatEachDeviceHas) {
  const std::string model = OwnHead("own-head");
  const std::string released = TestFile("released.f32");
  const Json json = SmallRun(
      "--sampling poisson --seed 1 --partition shards --held-out 0.2 --fine-tune-steps 4 "
      "--model " +
      model + " --model-out " + released);
  EXPECT_EQ(json["parameters"], kSharedParameters);
  EXPECT_EQ(json["personal_parameters"], 70);
  EXPECT_EQ(json["held_out"], 0.2);
  EXPECT_EQ(std::filesystem::file_size(released), 4U * kSharedParameters);
  const Json& devices = json["by_device"];
  EXPECT_EQ(devices["devices"], 60);
  EXPECT_EQ(devices["fine_tune_steps"], 4);
  for (const char* which : {"global", "personal", "fine_tuned"}) {
    const Json& of = devices[which];
    EXPECT_LE(of["p10"], of["p50"]) << which;
    EXPECT_LE(of["p50"], of["p90"]) << which;
  }
  EXPECT_GT(devices["personal"]["mean"], devices["global"]["mean"]);
  const Json evaluated =
      SottoJson("model evaluate " + released + " --data synthetic --model " + model);
  EXPECT_EQ(evaluated["accuracy"], json["accuracy"]) << "as all devices start";

  const Outcome text = Sotto(Small() + "--sampling poisson --seed 1 --model " + model);
  EXPECT_NE(text.output.find("70 of 4780 parameters stay on their device"), std::string::npos)
      << text.output;
  EXPECT_NE(text.output.find("--held-out 0.2 would evaluate"), std::string::npos) << text.output;
}

TEST(PersonalLayers, WhatCannotHaveThemSaysSo) {
  const std::string own = " --model " + OwnHead("own-head") + " ";
  const auto refused = [](const std::string& command, const std::string& why) {
    const Outcome run = Sotto(command);
    EXPECT_NE(run.exit_code, 0) << command;
    EXPECT_NE(run.output.find(why), std::string::npos) << command << "\n" << run.output;
  };
  refused(Small() + own + "--sampling poisson --state-out " + TestFile("state"),
          "--state-out: a state does not hold the personal layers of model own-head's devices");
  refused(Small() + "--fine-tune-steps 5", "add for example --held-out 0.2");
  refused(Small() + "--fine-tune-steps 5 --held-out 0.2 --model " +
              OwnHead("numbers", "loss = \"mean-squared-error\"\ntarget = \"vector\""),
          "tells no classes apart");
  const std::string shared = TestFile("shared.f32");
  WriteFile(shared, std::string(4 * kSharedParameters, '\0'));
  refused("model export " + shared + own + "--out " + TestFile("model.onnx"),
          "whose values are on its devices alone");
  refused("model predict " + shared + own + "--data synthetic",
          "whose values are on its devices alone");
}

}  // namespace
}  // namespace sotto
