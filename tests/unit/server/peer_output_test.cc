// The privacy of nodes without a server as text and JSON.
#include <gtest/gtest.h>
#include <string>

#include <nlohmann/json.hpp>

#include "sotto/nn.h"
#include "views/peers_report.h"

namespace sotto::server {
namespace {

constexpr ModelInfo kTen = MakeModelInfo<nn::Sequential<nn::Dense<50, 10>, nn::OneVsAll>>("ten");

privacy::PeerTraining Training(PeerUnit unit) {
  privacy::PeerTraining training;
  training.model = &kTen;
  training.job.unit = unit;
  training.job.noise_q20 = unit == PeerUnit::kNone ? 0 : 40000;
  if (unit == PeerUnit::kDevice) {
    training.job.clip_l2 = 0.02f;
    training.job.most_releases = 4;
  }
  return training;
}

privacy::PeerStatement StatementOf(const privacy::PeerTraining& training) {
  return privacy::StatePeers(training, {privacy::PlannedPeer(training.job), {0, 0}});
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(PeerOutputTest, TextHasAllThatAnEpsilonMeans) {
  const privacy::PeerStatement statement = StatementOf(Training(PeerUnit::kSample));
  const std::string text = DescribePeerPrivacy(statement, false);
  for (const char* part : {"epsilon", "delta 1e-05", "one sample", "replace-one", "by rdp",
                           "other nodes, directory", "who published it and when",
                           "the directory learns who shares when", "for comparison, no claim"}) {
    EXPECT_TRUE(Has(text, part)) << part << "\n" << text;
  }
  for (const privacy::Assumption each : statement.claims.front().assumptions) {
    EXPECT_TRUE(Has(text, privacy::Text(each))) << text;
  }
  EXPECT_FALSE(Has(text, "seeded"));
  EXPECT_FALSE(Has(text, "all samples of one node"));
  EXPECT_TRUE(Has(DescribePeerPrivacy(statement, true), "seeded: not private"));
}

TEST(PeerOutputTest, ADeviceJobStatesBothUnits) {
  const privacy::PeerStatement statement = StatementOf(Training(PeerUnit::kDevice));
  const std::string text = DescribePeerPrivacy(statement, false);
  EXPECT_LT(text.find("about all samples of one node"), text.find("about one sample"));
  const nlohmann::ordered_json json = PeerPrivacyToJson(statement, false);
  EXPECT_EQ(json["unit"], "device");
  EXPECT_EQ(json["epsilon"], json["epsilon_device"]);
  EXPECT_LT(json["epsilon_sample"], json["epsilon_device"]);
  EXPECT_EQ(json["claims"].size(), 2u);
  EXPECT_EQ(json["claims"][0]["view"], "publications");
  EXPECT_EQ(json["releases"], 4);
  EXPECT_TRUE(json["private"]);
}

TEST(PeerOutputTest, JsonOfASampleJobHasNoDeviceEpsilon) {
  const privacy::PeerStatement statement = StatementOf(Training(PeerUnit::kSample));
  const nlohmann::ordered_json json = PeerPrivacyToJson(statement, true);
  EXPECT_EQ(json["epsilon"], statement.claims.front().epsilon);
  EXPECT_TRUE(json["epsilon_device"].is_null());
  EXPECT_EQ(json["noise_sigma"], 40000.0 / 1048576);
  EXPECT_EQ(json["rho"], statement.rho);
  EXPECT_FALSE(json["private"]);
  EXPECT_TRUE(Has(json["privacy_note"], "seeded: not private"));
}

TEST(PeerOutputTest, ARefusalHasNoFigureInTextOrJson) {
  privacy::PeerTraining training = Training(PeerUnit::kSample);
  training.policy_inputs_are_public = false;
  for (const privacy::PeerTraining& each : {training, Training(PeerUnit::kNone)}) {
    const privacy::PeerStatement statement = StatementOf(each);
    const std::string text = DescribePeerPrivacy(statement, false);
    EXPECT_TRUE(Has(text, "NO EPSILON")) << text;
    EXPECT_TRUE(Has(text, statement.refusal)) << text;
    EXPECT_FALSE(Has(text, "epsilon 0"));
    const nlohmann::ordered_json json = PeerPrivacyToJson(statement, false);
    for (const char* field :
         {"epsilon", "epsilon_sample", "epsilon_device", "rho", "continuous_epsilon"}) {
      EXPECT_TRUE(json[field].is_null()) << field;
    }
    EXPECT_TRUE(json["claims"].empty());
    EXPECT_FALSE(json["private"]);
    EXPECT_EQ(json["privacy_note"], statement.refusal);
  }
}

}  // namespace
}  // namespace sotto::server
