// `sotto-lab audit` as a user runs it: figures, files, verdicts, refusals.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "e2e/program.h"
#include "sotto/version.h"
#include "unit/test_folder.h"
#include "unit/trials.h"

namespace sotto {
namespace {

Json WithoutThreads(Json json) {
  json["job"].erase("threads");
  return json;
}

TEST(Audits, EpsilonStatesClaimBoundAndVerdictOnAnyThreads) {
  const std::string audit = "audit epsilon --repeats 1000 --seed 3 --threads ";
  const Json one = SottoLabJson(audit + "1");
  EXPECT_EQ(one["verdict"], "consistent");
  ASSERT_EQ(one["audits"].size(), 4u);
  for (const Json& sampling : one["audits"]) {
    EXPECT_EQ(sampling["claims"][0]["unit"], "device");
    EXPECT_EQ(sampling["tests"][0]["delta"], 1e-5);
    for (const Json& test : sampling["tests"]) {
      EXPECT_LE(test["epsilon_lower"], test["claimed_epsilon"]);
      EXPECT_EQ(test["trials"], 500);
    }
  }
  EXPECT_GT(one["tasks"], 0);
  if (kEveryTrial > 1) return;
  EXPECT_EQ(WithoutThreads(SottoLabJson(audit + "3")), WithoutThreads(one));
}

TEST(Audits, EpsilonSaysWhatItDoesNotShow) {
  const Outcome run = SottoLab("audit epsilon --repeats 1000 --sampling full --colluders 1");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  for (const char* part : {"full sampling, 4 of 4 devices", "replace-one adjacency, 1 colluder",
                           "probability 0.999", "verdict: consistent", "does not show"}) {
    EXPECT_NE(run.output.find(part), std::string::npos) << part << "\n" << run.output;
  }
}

TEST(Audits, EpsilonTakesAPrivateNoiseAndABaseline) {
  int tried = 0;
  for (const char* job : {"--trust-mode private-noise --private-noise-multiplier 1",
                          "--mechanism qg", "--evaluate-on-devices", "--model softmax-64-10-q"}) {
    if (!IsTried(tried++)) continue;
    const Outcome run = SottoLab(std::string("audit epsilon --repeats 1000 --seed 1 ") + job);
    EXPECT_EQ(run.exit_code, 0) << job << "\n" << run.output;
    const bool has_update = run.output.find("as the server sees it") != std::string::npos;
    EXPECT_EQ(has_update, std::string(job).find("private") != std::string::npos) << run.output;
  }
}

TEST(Audits, EpsilonRefusesWhatItCannotAudit) {
  ExpectLabUsageError("audit epsilon --mechanism none", "states no epsilon");
  ExpectLabUsageError("audit epsilon --epsilon inf", "states no epsilon");
  ExpectLabUsageError("audit epsilon --repeats 1001", "an even number");
  ExpectLabUsageError("audit epsilon --cohort 5", "--cohort 5 is more than the 4 devices");
}

constexpr char kTraining[] = "--data synthetic --devices 20 --cohort 10 --rounds 3 --seed 1 ";

TEST(Audits, MembershipWritesARowForEachAttack) {
  const std::string csv = TestFile("membership.csv");
  const Json json =
      SottoLabJson(std::string("audit membership --audit-samples 200 --evaluate-every 2 ") +
                   kTraining + "--rounds-csv " + csv);
  EXPECT_EQ(json["samples"], 200);
  EXPECT_EQ(json["members_there"], 1000);
  ASSERT_EQ(json["rounds"].size(), 3u) << "before round 1, after rounds 2 and 3";
  const Json& last = json["rounds"][2];
  EXPECT_EQ(last["round"], 3);
  EXPECT_LE(last["auc_lower"], last["auc"]);
  EXPECT_GE(last["auc_upper"], last["auc"]);
  EXPECT_EQ(last["claims"][0]["adjacency"], "replace-one");
  const std::string rows = ReadFile(csv);
  EXPECT_EQ(rows.rfind("round,auc,auc_lower,auc_upper,advantage", 0), 0u) << rows;
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 4) << rows;
  ExpectLabUsageError(std::string("audit membership --evaluate-every 0 ") + kTraining,
                      "--evaluate-every 0 evaluates no model, and this audit attacks models");
}

TEST(Audits, OfATrainingNameTheContentOfWhatTheyRead) {
  const std::string data = TestFile("rows.csv");
  WriteFile(data, "x,y,label\n1,10,0\n2,20,1\n3,30,0\n4,40,1\n");
  const std::string model = TestFile("two.toml");
  WriteFile(model, "name = \"two\"\ninput = [2]\n[[layer]]\nkind = \"dense\"\noutputs = 2\n");
  const std::string options = "--data " + data + " --test " + data + " --model " + model +
                              " --delta 1e-3 --devices 2 --samples-per-device 2 --cohort 2 "
                              "--rounds 1 --seed 1";
  const auto digest = [](const std::string& path) {
    return RunCommand("sha256sum " + path).output.substr(0, 64);
  };
  for (const std::string audit : {"membership --audit-samples 2 ", "sensitivity --pairs 1 "}) {
    const Json json = SottoLabJson("audit " + audit + options);
    EXPECT_EQ(json["inputs"].size(), 3u) << json["inputs"];
    EXPECT_EQ(json["inputs"]["data"]["text"], data);
    EXPECT_EQ(json["inputs"]["data"]["sha256"], digest(data));
    EXPECT_EQ(json["inputs"]["test"]["sha256"], digest(data));
    EXPECT_EQ(json["inputs"]["model"]["sha256"], digest(model));
    EXPECT_EQ(json["build"].get<std::string>().rfind(kVersion, 0), 0u) << json["build"];
  }
  const std::string generated = std::string("audit sensitivity --pairs 1 ") + kTraining;
  EXPECT_TRUE(SottoLabJson(generated)["inputs"].empty());
}

TEST(Audits, SensitivityStaysWithinThePlansBound) {
  const Json json =
      SottoLabJson(std::string("audit sensitivity --unit device --pairs 2 ") + kTraining);
  EXPECT_EQ(json["verdict"], "consistent");
  EXPECT_EQ(json["unit"], "device");
  ASSERT_EQ(json["rounds"].size(), 3u);
  for (const Json& round : json["rounds"]) EXPECT_LE(round["one_round"], round["bound"]);
  ExpectLabUsageError(std::string("audit sensitivity --mechanism gau-lrq ") + kTraining,
                      "its noise depends on the update");
  for (const char* step : {"--server-optimiser adam ", "--estimator james-stein "}) {
    ExpectLabUsageError(std::string("audit sensitivity ") + step + kTraining, "a plain step");
  }
}

TEST(Audits, SensitivitySaysThatItMeasuredNothing) {
  ExpectLabFailure(
      1, "audit sensitivity --data synthetic --rounds 1 --seed 1 --devices 1000 --cohort 2",
      "verdict: nothing measured");
}

}  // namespace
}  // namespace sotto
