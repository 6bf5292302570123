// PRIVACY.md lists exactly the claims and assumptions of the program, and its first section states
// the program's figures. INGEST.md states what a leaking ingest server would cost as the
// accountants compute it.
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
#include "plans/calibration.h"
#include "plans/claim_kinds.h"
#include "plans/peer_privacy.h"
#include "plans/turns.h"

namespace sotto::privacy {
namespace {

// The rows below the table's head and its dashes.
std::vector<std::string> RowsBelow(const std::string& head,
                                   const std::string& page = "server/PRIVACY.md") {
  std::ifstream file(SOTTO_SOURCE_DIR "/" + page);
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
      figures = "figures of a part of a plan, and of several jobs on the same devices";
    }
    if (assumption == Assumption::kAvailabilityIndependentOfOwnData ||
        assumption == Assumption::kOthersReportIndependently) {
      figures = "all with `--sampling passes`";
    }
    if (figures.empty()) figures = "figures of simulated baselines only";
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

// What INGEST.md's figures are about.
constexpr double kUnleakedEpsilon = 6;
constexpr double kIngestDelta = 1e-5;

std::string IngestPage() {
  std::ifstream file(SOTTO_SOURCE_DIR "/server/INGEST.md");
  std::string page(std::istreambuf_iterator<char>(file), {});
  std::replace(page.begin(), page.end(), '\n', ' ');
  return page;
}

std::string Rounded(double value, int decimals) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

// Of 40 rounds of uniform cohorts, a twentieth of the fleet, after the noise of a share has leaked.
double UniformEpsilon(double leaked_share) {
  GaussianRounds rounds = {Sampling::kUniform, 1.0, 0.05, 40};
  rounds.noise_multiplier = NoiseFactor({rounds}, kUnleakedEpsilon, kIngestDelta, Accountant());
  rounds.noise_multiplier *= std::sqrt(1 - leaked_share);
  return AccountFor({rounds}, kIngestDelta).epsilon;
}

// The default job of 1,000 devices.
Plan DefaultJob(int64_t colluders) {
  Plan plan;
  plan.sampling = Sampling::kPasses;
  plan.devices = 1000;
  plan.cohort = 100;
  plan.planned_reports = 100;
  plan.rounds = 40;
  plan.participations = 4;
  plan.dimension = 7850;
  plan.clip_l2 = 1;
  plan.colluders = colluders;
  plan.delta = kIngestDelta;
  return plan;
}

TEST(IngestPageTest, StatesWhatALeakingServerCosts) {
  const double mu = GdpMu(kUnleakedEpsilon, kIngestDelta);
  std::vector<std::string> expected;
  std::string others = "have](#what-one-leaking-server-costs)";
  std::string with_uniform = "uniform cohorts";
  for (const int servers : {2, 4, 10}) {
    const double share = 1.0 / servers;
    const std::string passes = Up(GdpEpsilon(mu / std::sqrt(1 - share), kIngestDelta), 2);
    const std::string uniform = Up(UniformEpsilon(share), 2);
    expected.push_back("| " + std::to_string(servers) + " | " + passes + " | " + uniform + " | " +
                       Up(GdpEpsilon(mu / std::sqrt(share), kIngestDelta), 2) + " |");
    const std::string comma = servers == 2 ? " " : servers == 10 ? " or " : ", ";
    others += comma + passes;
    with_uniform += comma + uniform;
  }
  EXPECT_EQ(RowsBelow("| ingest servers | passes, other servers' devices | uniform, other servers' "
                      "devices | passes, its own devices, its sum alone |",
                      "server/INGEST.md"),
            expected);
  const std::string page = IngestPage();
  for (const std::string& text : {others, with_uniform, "its mu counts, " + Rounded(mu, 4)})
    EXPECT_NE(page.find(text), std::string::npos) << text;
}

TEST(IngestPageTest, StatesTheNoiseOfAJobThatPlansForALeak) {
  const double sigma = Calibrate(DefaultJob(1), kUnleakedEpsilon);
  const std::string page = IngestPage();
  for (const auto& [colluders, text] :
       {std::pair(51, "has @ times the noise"), std::pair(11, "costs @ times the noise (`--col")}) {
    const double factor = Calibrate(DefaultJob(colluders), kUnleakedEpsilon) / sigma;
    std::string expected = text;
    expected.replace(expected.find('@'), 1, Rounded(factor, 2));
    EXPECT_NE(page.find(expected), std::string::npos) << expected;
  }
}

}  // namespace
}  // namespace sotto::privacy
