// PRIVACY.md lists exactly the claims and assumptions of the program, and its first section states
// the program's figures.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "accounting/gdp.h"
#include "plans/claim_kinds.h"
#include "plans/peer_privacy.h"
#include "plans/turns.h"

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

// With so many decimals, rounded up, as outputs round.
std::string Up(double value, int decimals) {
  const double unit = std::pow(10.0, decimals);
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, std::ceil(value * unit) / unit);
  return text;
}

TEST(PrivacyPageTest, StatesWhatTheDefaultPromisesAndWhatMoreCosts) {
  constexpr double kDelta = 1e-5;
  EXPECT_EQ(DefaultDelta(1000), kDelta);
  std::vector<std::string> expected;
  for (const int epsilon : {1, 2, 6}) {
    const double mu = GdpMu(epsilon, kDelta);
    const double apart = OwnerMu(mu, 2, false);
    EXPECT_DOUBLE_EQ(apart, std::sqrt(2.0) * mu) << "two jobs cost what two devices apart do";
    expected.push_back("| " + std::to_string(epsilon) + " | " + Up(100 * GdpAttackerRight(mu), 1) +
                       " % | " + Up(GdpEpsilon(apart, kDelta), 2) + " | " +
                       Up(GdpEpsilon(OwnerMu(mu, 2, true), kDelta), 2) + " |");
  }
  EXPECT_EQ(RowsBelow("| epsilon at delta 1e-5 | best attacker is right | two such jobs, or two "
                      "devices never in one round | two devices in one round |"),
            expected);
  const double mu = GdpMu(6, kDelta);
  std::ifstream file(SOTTO_SOURCE_DIR "/server/PRIVACY.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  for (const std::string& text :
       {"the figure is " + Up(GdpEpsilon(mu / 2, kDelta), 2) + " where epsilon is 6",
        Up(GdpAttackerRight(mu), 3) + " at epsilon 6 and delta 1e-5"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
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
