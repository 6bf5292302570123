// PRIVACY.md lists exactly the claims and assumptions of the program.
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "plans/claim_kinds.h"
#include "plans/peer_privacy.h"

namespace sotto::privacy {
namespace {

// The rows below the table's head and its dashes.
std::vector<std::string> RowsBelow(const std::string& head) {
  std::ifstream file(SOTTO_SOURCE_DIR "/server/PRIVACY.md");
  std::string line;
  while (std::getline(file, line) && line != head) {
  }
  std::vector<std::string> rows;
  std::getline(file, line);
  while (std::getline(file, line) && !line.empty()) rows.push_back(line);
  return rows;
}

std::string Code(const std::string& text) { return "`" + text + "`"; }

// The field of a kind, comma in front if it is not the first, if the kind rests on the assumption.
template <typename Kind>
void AddFigures(const std::vector<Kind>& kinds, Assumption assumption, std::string* figures) {
  for (const Kind& kind : kinds) {
    for (const Assumption each : kind.assumptions) {
      if (each == assumption) *figures += (figures->empty() ? "" : ", ") + Code(kind.json_field);
    }
  }
}

TEST(PrivacyPageTest, ListsEveryKindOfClaim) {
  std::vector<std::string> expected;
  for (const ClaimKind& kind : ClaimKinds()) {
    expected.push_back("| " + Code(kind.json_field) + " | " + Code(Name(kind.adversary)) + " | " +
                       Code(Name(kind.view)) + " | " +
                       (kind.only_in ? Code(Name(*kind.only_in)) : "every") + " | " + kind.against +
                       " |");
  }
  EXPECT_EQ(RowsBelow("| figure | `adversary` | `view` | trust mode | for people |"), expected);
}

TEST(PrivacyPageTest, ListsEveryKindOfClaimWithoutAServer) {
  std::vector<std::string> expected;
  for (const PeerClaimKind& kind : PeerClaimKinds()) {
    expected.push_back("| " + Code(kind.json_field) + " | " + Code(Name(Adversary::kPublic)) +
                       " | " + Code(Name(View::kPublications)) + " | " + Code(Name(kind.unit)) +
                       " | " + kind.about + " |");
  }
  EXPECT_EQ(RowsBelow("| figure | `adversary` | `view` | `unit` | about |"), expected);
}

TEST(PrivacyPageTest, ListsEveryAssumptionAndTheFiguresThatRestOnIt) {
  std::vector<std::string> expected;
  for (int i = 0; i <= static_cast<int>(Assumption::kNoiseIsIdeal); ++i) {
    const auto assumption = static_cast<Assumption>(i);
    std::string figures;
    AddFigures(ClaimKinds(), assumption, &figures);
    AddFigures(PeerClaimKinds(), assumption, &figures);
    if (assumption == Assumption::kStopFixedBeforehand) {
      figures = "those of a part of a plan, and of several jobs on the same devices";
    }
    if (assumption == Assumption::kAvailabilityIndependentOfOwnData ||
        assumption == Assumption::kOthersReportIndependently) {
      figures = "all with `--sampling passes`";
    }
    if (figures.empty()) figures = "those of simulated baselines only";
    expected.push_back("| " + Code(Name(assumption)) + " | " + Text(assumption) + " | " + figures +
                       " |");
  }
  EXPECT_EQ(RowsBelow("| assumption | in one sentence | figures |"), expected);
}

TEST(PrivacyPageTest, KindsAreTheClaimsOfAStatementInOrderAndDistinct) {
  std::set<std::string> fields;
  for (const ClaimKind& kind : ClaimKinds()) {
    EXPECT_TRUE(fields.insert(kind.json_field).second) << kind.json_field;
    EXPECT_EQ(FindKind(kind.adversary, kind.view), &kind);
    EXPECT_TRUE(std::is_sorted(kind.assumptions.begin(), kind.assumptions.end()));
  }
  EXPECT_EQ(FindKind(Adversary::kPublic, View::kOneUpdate), nullptr);
}

}  // namespace
}  // namespace sotto::privacy
