// What the command `sotto` claims about privacy: trust modes, claims and their fields.
#include <gtest/gtest.h>
#include <string>

#include "e2e/small_run.h"

namespace sotto {
namespace {

// In the default mode no output contains a figure against the server.
TEST(TrustMode, WithATrustedServerThereIsNoEpsilonAgainstIt) {
  const Outcome run = Sotto(Small() + "--seed 1 --json " + TestFile("json"));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("holds against the server, which has the devices' keys"),
            std::string::npos)
      << run.output;
  EXPECT_EQ(run.output.find(" against the server for"), std::string::npos) << run.output;
  const Json json = Json::parse(ReadFile(TestFile("json")));
  EXPECT_EQ(json["trust_mode"], "trusted-server");
  for (const char* field : {"epsilon_server", "epsilon_server_update", "adjacency_server",
                            "private_noise_multiplier", "private_noise_sigma"}) {
    EXPECT_TRUE(json.at(field).is_null()) << field;
  }
  EXPECT_TRUE(json["rounds"][0].at("epsilon_server").is_null());
}

TEST(TrustMode, WithPrivateNoiseBothEpsilonsAreStated) {
  const Outcome run = Sotto(Small() +
                            "--seed 1 --trust-mode private-noise --private-noise-multiplier 0.5 "
                            "--sampling poisson --noise-multiplier 1 --json " +
                            TestFile("json"));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("against the server for all updates of one device"), std::string::npos);
  const Json json = Json::parse(ReadFile(TestFile("json")));
  EXPECT_EQ(json["trust_mode"], "private-noise");
  EXPECT_EQ(json["adjacency"], "add-remove");
  EXPECT_EQ(json["adjacency_server"], "replace-one");
  EXPECT_EQ(json["private_noise_multiplier"], 0.5);
  EXPECT_NEAR(json["private_noise_sigma"].get<double>(), 0.4, 1e-6);  // 2 C z, C = 0.4
  const double update = json["epsilon_server_update"].get<double>();
  EXPECT_GT(update, 1.0);
  EXPECT_GT(json["epsilon_server"].get<double>(), update);
  EXPECT_EQ(json["rounds"][0]["epsilon_server"].get<double>(), update);
  EXPECT_EQ(json["rounds"][2]["epsilon_server"], json["epsilon_server"]);
}

// The epsilon fields of JSON results, by adversary and view.
std::string FieldOf(const Json& claim) {
  const std::string view = claim["view"];
  if (claim["adversary"] == "public" && view == "releases") return "epsilon";
  if (claim["adversary"] == "network" && view == "releases-and-participants") {
    return "epsilon_network";
  }
  if (claim["adversary"] == "watcher" && view == "releases-and-participants") {
    return "epsilon_watcher";
  }
  if (claim["adversary"] != "server") return "unknown";
  return view == "every-update" ? "epsilon_server" : "epsilon_server_update";
}

TEST(Claims, CarryTheFiguresOfTheFieldsAndWhatTheyMean) {
  const Json trusted = SmallRun("--seed 1");
  const Json noisy = SmallRun(
      "--seed 1 --trust-mode private-noise --private-noise-multiplier 0.5 --sampling poisson "
      "--noise-multiplier 1");
  EXPECT_EQ(trusted["claims"].size(), 3U);
  EXPECT_EQ(noisy["claims"].size(), 5U);
  for (const Json& json : {trusted, noisy}) {
    for (const Json& claim : json["claims"]) {
      EXPECT_EQ(claim["epsilon"], json.at(FieldOf(claim)));
      for (const char* field : {"delta", "unit", "trust_mode", "colluders"}) {
        EXPECT_EQ(claim.at(field), json[field]) << field;
      }
      const bool is_server = claim["adversary"] == "server";
      EXPECT_EQ(claim["adjacency"], json[is_server ? "adjacency_server" : "adjacency"]);
      EXPECT_EQ(claim["sensitivity"], claim["adjacency"] == "add-remove" ? 1.0 : 2.0);
      EXPECT_GE(claim["assumptions"].size(), 3U);
    }
    EXPECT_EQ(json["claims"][0]["accountant"], json["accountant"]);
  }
}

TEST(Claims, ABaselinesRestOnIdealNoiseAndWithoutAFigureThereAreNone) {
  const Json json = SmallRun("--epsilon 8 --mechanism float32");
  ASSERT_GE(json["claims"].size(), 2U);
  for (const Json& claim : json["claims"]) {
    EXPECT_EQ(claim["assumptions"].back(), "noise-is-ideal");
  }
  EXPECT_TRUE(SmallRun("--mechanism none")["claims"].empty());
}

TEST(TrustMode, IsRefusedWithoutItsNoiseAndNoiseWithoutIt) {
  for (const char* options :
       {"--trust-mode private-noise", "--private-noise-multiplier 1", "--trust-mode nobody",
        "--trust-mode private-noise --private-noise-multiplier 0",
        "--trust-mode private-noise --private-noise-multiplier nan",
        "--trust-mode private-noise --private-noise-multiplier 1 --mechanism none",
        "--trust-mode private-noise --private-noise-multiplier 1 --mechanism float32",
        "--trust-mode private-noise --private-noise-multiplier 1 --epsilon inf",
        "--trust-mode private-noise --private-noise-multiplier 1000"}) {
    const Outcome run = Sotto(Small() + options);
    EXPECT_EQ(run.exit_code, 2) << options << ": " << run.output;
    EXPECT_NE(run.output, "") << options;
  }
}

}  // namespace
}  // namespace sotto
