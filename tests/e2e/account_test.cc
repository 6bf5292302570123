// `sotto account` as a user runs it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "e2e/program.h"
#include "unit/test_folder.h"
#include "unit/trials.h"

namespace sotto {
namespace {

Json AccountJson(const std::string& arguments) { return SottoJson("account " + arguments); }

constexpr char kPoissonRounds[] =
    "--sampling poisson --noise-multiplier 1 --rate 0.05 --delta 1e-5 ";

TEST(Account, EpsilonSaysWhatItsFigureMeans) {
  const Json json = AccountJson("epsilon --rounds 10 " + std::string(kPoissonRounds));
  ASSERT_FALSE(json.is_discarded());
  EXPECT_GE(json["epsilon"], 1.6555);  // the reference's bounds, widened in the last digit
  EXPECT_LE(json["epsilon"], 1.6561);
  EXPECT_LE(json["epsilon_lower"], json["epsilon"]);
  EXPECT_EQ(json["delta"], 1e-5);
  EXPECT_EQ(json["adjacency"], "add-remove");
  EXPECT_EQ(json["sampling"], "poisson");
  EXPECT_EQ(json["unit"], "device");
  EXPECT_EQ(json["trust_mode"], "trusted-server");
  EXPECT_EQ(json["accountant"], "best");
  EXPECT_EQ(json["winner"], "pld");
  EXPECT_EQ(json["is_upper_bound"], true);
  const Json none =
      AccountJson("epsilon --sampling none --noise-multiplier 0 --rounds 1 --delta 0.1");
  EXPECT_EQ(none["epsilon"], "Infinity");
  const Outcome sampled = Sotto("account epsilon --rounds 10 " + std::string(kPoissonRounds));
  EXPECT_EQ(sampled.output.find("no epsilon is proved"), std::string::npos) << sampled.output;
}

TEST(Account, MarksTheApproximationWhereverItIsPrinted) {
  const std::string plan = "--rounds 10 " + std::string(kPoissonRounds);
  EXPECT_EQ(AccountJson("epsilon --accountant gdp " + plan)["is_upper_bound"], false);
  for (const std::string command : {"epsilon --accountant gdp ", "compare "}) {
    const Outcome run = Sotto("account " + command + plan);
    EXPECT_NE(run.output.find("approximate, not an upper bound"), std::string::npos) << run.output;
  }
  const Json compared = AccountJson("compare " + plan);
  ASSERT_EQ(compared["accountants"].size(), 5u);
  for (const Json& row : compared["accountants"]) {
    EXPECT_EQ(row["is_upper_bound"], row["accountant"] != "gdp");
    if (row["is_upper_bound"]) {
      EXPECT_GE(row["epsilon"], compared["accountants"][0]["epsilon"]);
    }
  }
}

// The rows of `sotto-lab published` by their source.
std::map<std::string, Json> PublishedRows(const std::string& plan) {
  std::map<std::string, Json> rows;
  const Json json = SottoLabJson("published --delta 1e-5 " + plan);
  for (const Json& row : json["published"]) rows[row["source"]] = row;
  return rows;
}

TEST(Account, ShowsWhatPapersPrintBesideASoundFigure) {
  const auto lemmas = PublishedRows(
      "--sampling poisson --noise-multiplier 0.51624 --rate 0.041666666667 --cohort 80 "
      "--dimension 61706 --clip 2.1 --rounds 30");
  const Json& lemma = lemmas.at("Gau-LRQ, Lemma 1");
  EXPECT_NEAR(lemma["published_epsilon"], 3, 1e-3);
  EXPECT_GT(lemma["epsilon_lower"], 9.6);
  EXPECT_EQ(lemma["verdict"], "refuted");
  EXPECT_EQ(lemmas.at("Gau-LRQ, Lemma 7, of BQ-SGD")["verdict"], "open");
  // The counterexample of Theorem 12 (a) is a loss that is linear in the model.
  const auto theorems = PublishedRows(
      "--devices 20 --noise-sigma 0.3 --rounds 40 --local-steps 5 --learning-rate 0.02 "
      "--gradient-clip 10 --smoothness 1");
  const Json& constant = theorems.at("Noisy-FedAvg, Theorem 12 (a), constant rate");
  EXPECT_LT(constant["published_epsilon"], constant["epsilon_lower"]);
  EXPECT_EQ(constant["verdict"], "refuted");
  EXPECT_EQ(SottoLabJson("published --delta 1e-5 --devices 20 --noise-sigma 0.3 --rounds 2 "
                         "--local-steps 5 --learning-rate 0.02 --gradient-clip 10 --smoothness "
                         "1")["sampling"],
            "full");
  EXPECT_EQ(theorems.at("Noisy-FedAvg, Theorem 12 (c), stage-wise rate")["verdict"], "holds");
}

TEST(Account, WhatPapersPrintHasMovedToTheLab) {
  ExpectUsageError("account compare --published --delta 1e-5",
                   "--published is no option of `sotto account compare`; it is now "
                   "`sotto-lab published`");
  const std::string help = SottoLab("published --help").output;
  EXPECT_NE(help.find("What papers print of Noisy-FedAvg and Noisy-FedProx:\n  --devices"),
            std::string::npos)
      << help;
}

TEST(Account, TheLedgersStoreIsNamedOnce) {
  ExpectUsageError("account ledger", "STORE is required: `sotto account ledger STORE`");
  ExpectUsageError("account ledger a --store b", "STORE: it comes more than once");
  const std::string store = TestFile("named.db");
  std::remove(store.c_str());
  ASSERT_EQ(Sotto("keys new " + store + " --id a").exit_code, 0);
  const std::string settings = TestFile("ledger.toml");
  WriteFile(settings, "store = \"" + store + "\"\n");
  const Json ledger = AccountJson("ledger " + store);
  EXPECT_EQ(ledger["total"]["epsilon"], 0.0);
  EXPECT_EQ(AccountJson("ledger --store " + store), ledger);
  EXPECT_EQ(AccountJson("ledger --config " + settings), ledger);
}

TEST(Account, FindsNoiseAndRoundsForABudget) {
  const Json noise =
      AccountJson("sigma --sampling poisson --rate 0.05 --rounds 10 --epsilon 2 --delta 1e-5");
  EXPECT_LE(noise["epsilon"], 2.0);
  EXPECT_GT(noise["epsilon"], 2 - 1e-5);
  const Json rounds = AccountJson("rounds --epsilon 2 " + std::string(kPoissonRounds));
  EXPECT_LE(rounds["epsilon"], 2.0);
  EXPECT_GE(rounds["rounds"], 10);
  EXPECT_EQ(rounds["or_more"], false);
}

TEST(Account, PassesHaveAClosedFormInEveryDirection) {
  const std::string four = "--sampling passes --participations 4 --delta 1e-5 ";
  const Json noise = AccountJson("sigma --epsilon 6 " + four);
  EXPECT_NEAR(noise["noise_multiplier"], 1.5273, 1e-4);
  EXPECT_NEAR(noise["mu"], 1.3095, 1e-4);
  EXPECT_NEAR(noise["attacker_right"], 0.7437, 1e-4);
  EXPECT_NEAR(noise["epsilon_zero_out"], 2.698, 1e-3);
  EXPECT_EQ(noise["adjacency"], "replace-one");
  EXPECT_EQ(noise["winner"], "gaussian");
  const Json back = AccountJson("epsilon --noise-multiplier 1.52731 " + four);
  EXPECT_NEAR(back["epsilon"], 6, 1e-3);
  const std::string budget = "--sampling passes --noise-multiplier 1.528 --epsilon 6 --delta 1e-5 ";
  EXPECT_EQ(AccountJson("rounds " + budget)["participations"], 4);
  EXPECT_EQ(AccountJson("rounds --rate 0.1 " + budget)["rounds"], 40);
  const Json derived = AccountJson(
      "epsilon --sampling passes --rounds 40 --rate 0.1 --noise-multiplier 1.52731 --delta 1e-5");
  EXPECT_EQ(derived["epsilon"], back["epsilon"]);
  EXPECT_EQ(derived["participations"], 4);
  const std::string text = Sotto("account epsilon --noise-multiplier 1.528 " + four).output;
  for (const char* part : {"each device takes part in at most 4 rounds", "74.4 % of the time",
                           "had added nothing wherever it was asked"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(Account, AFleetOfPassesHasOneFigureWhateverItsSize) {
  const std::string plan =
      "epsilon --sampling passes --participations 4 --noise-multiplier 1.5351 --delta 1e-5 "
      "--cohort 100 --dimension 7850 ";
  const Json small = AccountJson(plan + "--rate 0.1");
  EXPECT_NEAR(small["epsilon"], 6, 0.01);
  EXPECT_EQ(small["epsilon_network"], small["epsilon"]);
  EXPECT_EQ(small["claims"][0]["participations"], 4);
  EXPECT_NEAR(small["signal_to_noise"], 2.337, 5e-3);  // of 1,000 devices
  EXPECT_FALSE(AccountJson(plan).contains("signal_to_noise"));
  EXPECT_EQ(AccountJson(plan + "--rate 0.001")["epsilon"], small["epsilon"]);
  EXPECT_EQ(AccountJson(plan)["epsilon"], small["epsilon"]);
  const std::string decay = plan + "--noise-decay 0.99 ";
  EXPECT_GT(AccountJson(decay + "--rounds 50")["epsilon"],
            AccountJson(decay + "--rounds 40")["epsilon"]);
  ExpectUsageError("account epsilon --sampling passes --noise-multiplier 1 --delta 1e-5",
                   "--participations is missing");
  ExpectUsageError("account epsilon --participations 2 --rounds 2 " + std::string(kPoissonRounds),
                   "--participations is for --sampling passes");
}

TEST(Account, AnEpsilonAtALargeDeltaSaysWhatItLeavesOut) {
  const std::string four = "--sampling passes --participations 1 --delta 0.06 ";
  const Json noise = AccountJson("sigma --epsilon 0.001 --rate 0.25 " + four);
  EXPECT_NE(noise["delta_note"].get<std::string>().find("may leave out 0.24 or more of 4 devices"),
            std::string::npos);
  const std::string fleet = "--noise-multiplier 9 --cohort 2 --dimension 9 --rate 0.5 " + four;
  for (const char* question : {"epsilon ", "compare "}) {
    const std::string text = Sotto("account " + (question + fleet)).output;
    EXPECT_NE(text.find("note: at delta 0.06 the guarantee may leave out 0.24 of 4 devices"),
              std::string::npos)
        << text;
  }
  EXPECT_NE(Sotto("account rounds --noise-multiplier 9 --epsilon 1 --rate 0.05 --delta 0.06")
                .output.find("1.2 or more of 20 devices"),
            std::string::npos);
  const std::string small = "--rate 0.25 --sampling passes --participations 1 --delta 1e-5 ";
  EXPECT_FALSE(AccountJson("sigma --epsilon 1 " + small).contains("delta_note"));
}

TEST(Account, AClaimWithoutMuStatesItsEpsilonAtOtherDeltas) {
  const Json fleet = AccountJson(
      "epsilon --noise-multiplier 0.7 --rate 0.05 --rounds 30 --delta 1e-5 --cohort 50 "
      "--dimension 7850");
  const Json& headline = fleet["claims"][0];
  EXPECT_FALSE(headline.contains("mu"));
  ASSERT_EQ(headline["pairs"].size(), 2u);
  EXPECT_EQ(headline["pairs"][0]["epsilon"], headline["epsilon"]);
  EXPECT_GT(headline["pairs"][1]["epsilon"], headline["epsilon"]);
  EXPECT_TRUE(fleet["claims"][1].contains("mu"));
}

TEST(Account, PlanRecommendsOneOfItsRowsAndPrintsTheCommandsForIt) {
  const Json json = AccountJson("plan --devices 1000 --epsilon 6");
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["delta"], 1e-5);
  EXPECT_NEAR(json["mu"], 1.3095, 1e-3);
  int recommended = 0;
  for (const Json& plan : json["plans"]) {
    EXPECT_EQ(plan["rounds"], plan["participations"].get<int>() * 1000 / plan["cohort"].get<int>());
    EXPECT_GT(plan["bytes_up"], 0);
    // Differences: a fraction of the 31,400 bytes of float32.
    EXPECT_GT(plan["bytes_down"], 2000 * plan["participations"].get<int>());
    EXPECT_LT(plan["bytes_down"], 5500 * plan["participations"].get<int>());
    if (!plan["recommended"]) continue;
    ++recommended;
    EXPECT_EQ(plan["cohort"], 100);
    EXPECT_EQ(plan["participations"], 4);
    EXPECT_NEAR(plan["signal_to_noise"], 2.337, 5e-3);
    EXPECT_NEAR(plan["noise_multiplier"], 1.535, 1e-3);
  }
  EXPECT_EQ(recommended, 1);
  EXPECT_EQ(json["usefulness"], "good");
  EXPECT_TRUE(json["needs"].is_null());
  EXPECT_EQ(json["simulate"],
            "sotto simulate --devices 1000 --sampling passes --cohort 100 --participations 4 "
            "--epsilon 6");
  EXPECT_EQ(json["serve"],
            "sotto serve STORE --sampling passes --cohort 100 --participations 4 --epsilon 6");
  const std::string fixed = "plan --devices 1000 --cohort 50 --participations 2 --clip 0.3";
  EXPECT_EQ(AccountJson(fixed)["plans"].size(), 1u);
  const std::string text = Sotto("account " + fixed).output;
  EXPECT_NE(text.find("--cohort 50 --participations 2 --epsilon 6 --clip 0.3"), std::string::npos)
      << text;
}

TEST(Account, PlanSaysThatSixDevicesAreTooFewAndWhatWouldHelp) {
  const std::string text = Sotto("account plan --devices 6 --delta 0.05").output;
  for (const char* part :
       {"nothing useful comes out of this: the noise is", "may leave out 0.3 of",
        "signal to noise 1 would take", "a net of at most", "or epsilon", "--accept-delta"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(AccountJson("plan --devices 6")["usefulness"], "none");
  ExpectUsageError("account plan --devices 1", "1 device and 1 colluder leave no cohort");
  ExpectUsageError("account plan --participations 1000000", "in more than 200 rounds");
  ExpectUsageError("account plan --epsilon inf", "--epsilon inf");
  ExpectUsageError("account plan --clip-runs 3", "--data");
}

// Half a million devices in a cohort, of a large net: the encoder's terms are above the budget.
TEST(Account, PlanLeavesOutWhatNoNoiseAttains) {
  const Json json = AccountJson("plan --devices 1000000 --model svhn-cnn --epsilon 0.1");
  ASSERT_FALSE(json.is_discarded());
  EXPECT_GE(json["plans"].size(), 1u);
  EXPECT_LT(json["plans"].size(), 8u);
  ExpectUsageError("account plan --devices 1000000 --model svhn-cnn --epsilon 0.0001",
                   "out of reach");
}

TEST(Account, PlanFindsAClipOnDataAndItsCommandRuns) {
  const std::string plan =
      "plan --devices 40 --samples-per-device 20 --data synthetic --model softmax-64-10 "
      "--cohort 10 --participations 1 --clip-runs 3 ";
  const Json json = AccountJson(plan);
  ASSERT_FALSE(json.is_discarded());
  const Json& clip = json["clip"];
  ASSERT_GE(clip["runs"].size(), 2u);
  double best = 0;
  double accuracy_of_best = 0;
  for (const Json& run : clip["runs"]) {
    const double accuracy = run["evaluation"]["accuracy"];
    best = std::max(best, accuracy);
    if (run["clip"] == clip["clip"]) accuracy_of_best = accuracy;
  }
  EXPECT_EQ(accuracy_of_best, best);
  if (kEveryTrial == 1) {
    EXPECT_EQ(AccountJson(plan + "--seed 1"), json) << "it repeats";
  }
  const Outcome run = Sotto("account " + plan);
  for (const char* part : {"at most 3 runs of 4 rounds", "no epsilon covers this choice"}) {
    EXPECT_NE(run.output.find(part), std::string::npos) << run.output;
  }
  const std::string command = json["simulate"];
  ASSERT_EQ(command.rfind("sotto ", 0), 0u);
  const Json simulated = SottoJson(command.substr(6) + " --seed 1");
  EXPECT_LE(simulated["epsilon"], 6.0);
  EXPECT_EQ(simulated["clip_l2"], clip["clip"]);
  const double planned = json["plans"][0]["noise_multiplier"];
  EXPECT_NEAR(simulated["noise_multiplier"], planned, 1e-6);  // both are float32 on devices
}

TEST(Account, SaysWhereItStopsToCountRounds) {
  const std::string plan =
      "rounds --sampling none --noise-multiplier 1e9 --epsilon 1 --delta 1e-5 ";
  const Json rounds = AccountJson(plan);
  EXPECT_EQ(rounds["rounds"], 1000000000);
  EXPECT_EQ(rounds["or_more"], true);
  const Outcome run = Sotto("account " + plan);
  EXPECT_EQ(run.output.find("1000000000 or more rounds"), 0u) << run.output;
}

TEST(Account, ChargesAFleetForColludersAndTheCertificate) {
  const std::string plan = "epsilon --noise-multiplier 0.7 --rate 0.05 --rounds 30 --delta 5e-4 ";
  const Json ideal = AccountJson(plan);
  const Json fleet = AccountJson(plan + "--cohort 50 --colluders 2 --dimension 7850");
  EXPECT_GT(fleet["epsilon"], ideal["epsilon"]);
  EXPECT_GT(fleet["epsilon_network"], fleet["epsilon"]);
  EXPECT_EQ(fleet["colluders"], 2);
  EXPECT_LT(fleet["accounted_noise_multiplier"], 0.7);
  EXPECT_FALSE(ideal.contains("claims")) << "ideal rounds promise nothing to anybody";
  EXPECT_GT(fleet["epsilon_network"], fleet["epsilon_watcher"]);
  EXPECT_GT(fleet["epsilon_watcher"], fleet["epsilon"]);
  ASSERT_EQ(fleet["claims"].size(), 3U);
  EXPECT_EQ(fleet["claims"][0]["epsilon"], fleet["epsilon"]);
  EXPECT_EQ(fleet["claims"][1]["epsilon"], fleet["epsilon_network"]);
  EXPECT_FALSE(ideal.contains("epsilon_lower")) << "no lower bound is known for uniform cohorts";
}

TEST(Account, ReadsAScheduleOfRounds) {
  const std::string path = TestFile("schedule.csv");
  WriteFile(path, "1,0.05,4\n1,0.05,6\n");
  const std::string budget = "--sampling poisson --delta 1e-5 --schedule " + path;
  EXPECT_EQ(AccountJson("epsilon " + budget)["epsilon"],
            AccountJson("epsilon --rounds 10 " + std::string(kPoissonRounds))["epsilon"]);
  EXPECT_GT(AccountJson("sigma --epsilon 1 " + budget)["noise_factor"], 1.0);
  const Json plain = AccountJson("epsilon " + budget);
  for (const char* text :
       {"Z,Q,T\n1,0.05,4\n1,0.05,6\n", "# a plan\n1,0.05,4\n\n1,0.05,6\n",
        "\xEF\xBB\xBFnoise_multiplier,rate,rounds\r\n1,0.05,4\r\n1,0.05,6\r\n"}) {
    WriteFile(path, text);
    EXPECT_EQ(AccountJson("epsilon " + budget)["epsilon"], plain["epsilon"]) << text;
  }
  WriteFile(path, "Q,Z,T\n0.05,1,4\n");
  ExpectUsageError("account epsilon " + budget, "a header names the columns in this order: Z,Q,T");
  WriteFile(path, "1,0.05,4\n1,0.05\n");
  ExpectUsageError("account epsilon " + budget, "schedule.csv:2: \"1,0.05\": expected Z,Q,T");
  WriteFile(path, "1;0.05;4\n");
  ExpectUsageError("account epsilon " + budget, "Z,Q,T");
  ExpectUsageError("account epsilon --rate 0.1 " + budget, "--schedule");
}

// Each of these ran for minutes, or for ever. CTest's limit on the time of a test is the check.
TEST(Account, AnswersHoweverLargeTheQuestionIs) {
  const std::string uniform = "--noise-multiplier 1 --rate 0.01 --delta 1e-5 ";
  for (const std::string& question : std::vector<std::string>{
           "epsilon --rounds 120000 " + uniform,
           "epsilon --rounds 1000000 " + uniform,
           "epsilon --rounds 100000000 " + uniform,
           "epsilon --rounds 1000000 " + std::string(kPoissonRounds),
           "epsilon --rounds 100 --noise-multiplier 1 --rate 0.01 --delta 0.999999999",
           "epsilon --sampling poisson --noise-multiplier 0.033 --rate 0.05 --rounds 30 "
           "--delta 1e-5",
           "rounds --noise-multiplier 2 --rate .001 --epsilon 1.5 --delta 1e-6",
           "rounds --epsilon 500 " + uniform,
       }) {
    const Json answer = AccountJson(question);
    ASSERT_FALSE(answer.is_discarded()) << question;
    EXPECT_TRUE(answer["epsilon"].is_number()) << question;
  }
}

TEST(Account, AnswersForAScheduleOfThousandsOfRows) {
  const std::string path = TestFile("schedule.csv");
  std::string rows;
  for (int i = 0; i < 5000; i += kEveryTrial) {
    rows += fmt::format("{},{},{}\n", 1 + i * 1e-4, 0.01 + i * 1e-6, kEveryTrial);
  }
  WriteFile(path, rows);
  const std::string budget = "--delta 1e-5 --schedule " + path;
  const Json ideal = AccountJson("epsilon --sampling poisson " + budget);
  EXPECT_GT(ideal["epsilon"], 1.0);
  EXPECT_LT(ideal["epsilon"], 10.0);
  EXPECT_LE(AccountJson("sigma --epsilon 3 " + budget)["epsilon"], 3.0);
}

TEST(Account, RefusesBadInput) {
  const std::string start = "account epsilon ";
  for (const auto& [plan, message] : std::vector<std::pair<std::string, std::string>>{
           {"--noise-multiplier 1 --rate 1.1 --rounds 5 --delta 1e-5", "rate"},
           {"--noise-multiplier 1 --rate 0.1 --rounds 5 --delta 0", "delta"},
           {"--noise-multiplier 1 --rate 0.1 --rounds 5 --delta nan", "delta"},
           {"--noise-multiplier -1 --rate 0.1 --rounds 5 --delta 1e-5", "noise multiplier"},
           {"--noise-multiplier nan --rate 0.1 --rounds 5 --delta 1e-5", "--noise-multiplier"},
           {"--noise-multiplier 1 --rate 0.1 --rounds 0 --delta 1e-5", "--rounds"},
           {"--noise-multiplier 1 --rate 0.1 --rounds 5", "--delta"},
           {"--noise-multiplier 1 --rate 0.1 --rounds 5 --delta 1e-5 --cohort 0 --dimension 9",
            "--cohort"},
           {"--noise-multiplier 1 --rate 0.1 --rounds 5 --delta 1e-5 --cohort 5", "--dimension"},
           {"--rate 0.1 --rounds 5 --delta 1e-5", "--noise-multiplier"},
           {"--accountant moments", "moments"}}) {
    ExpectUsageError(start + plan, message);
  }
  ExpectUsageError("account sigma --accountant gdp --rate 0.1 --rounds 5 --epsilon 1 --delta 1e-5",
                   "no upper bound");
  EXPECT_NE(Sotto("account epsilon --help").output.find("Example"), std::string::npos);
}

TEST(Account, DeltaIsTheInverseOfEpsilonWithTheSameMeaning) {
  const std::string plan = "--sampling none --noise-multiplier 2 --rounds 3 ";
  const Json found = AccountJson("delta --epsilon 1.5 " + plan);
  const double delta = found["delta"];
  const Json there = AccountJson(fmt::format("epsilon --delta {:.17g} {}", delta, plan));
  for (const char* field : {"epsilon", "adjacency", "sampling", "unit", "trust_mode", "winner",
                            "mu", "is_upper_bound"}) {
    EXPECT_EQ(found[field], there[field]) << field;
  }
  EXPECT_LE(there["epsilon"], 1.5);
  const Json less = AccountJson(fmt::format("epsilon --delta {:.17g} {}", delta * 0.9999, plan));
  EXPECT_GT(less["epsilon"], 1.5);
  const Outcome none =
      Sotto("account delta --sampling none --noise-multiplier 0 --rounds 1 --epsilon 1");
  EXPECT_NE(none.output.find("delta 1 at epsilon 1"), std::string::npos) << none.output;
  const Outcome guess = Sotto(
      "account delta --epsilon 2 --accountant gdp --sampling poisson --rate 0.1 "
      "--noise-multiplier 1 --rounds 9");
  EXPECT_NE(guess.output.find("approximate, not an upper bound"), std::string::npos);
  EXPECT_EQ(guess.output.find(", an upper bound"), std::string::npos);
}

// The numbers of a CSV file with two columns and a header.
std::vector<std::pair<double, double>> ReadPairs(const std::string& path,
                                                 const std::string& header) {
  std::istringstream csv(ReadFile(path));
  std::string line;
  std::getline(csv, line);
  EXPECT_EQ(line, header);
  std::vector<std::pair<double, double>> pairs;
  while (std::getline(csv, line)) {
    const size_t comma = line.find(',');
    pairs.emplace_back(std::stod(line.substr(0, comma)), std::stod(line.substr(comma + 1)));
  }
  return pairs;
}

TEST(Account, AProfileIsWhatEpsilonSaysAtEachDeltaAndItsCurvesOnlyFall) {
  const std::string plan = "--sampling poisson --noise-multiplier 2 --rate 0.1 --rounds 5 ";
  const std::string epsilons = TestFile("epsilon.csv");
  const std::string curve = TestFile("trade-off.csv");
  const Json json = AccountJson(
      fmt::format("profile {}--epsilon-csv {} --trade-off-csv {}", plan, epsilons, curve));
  EXPECT_EQ(json["mu_is_exact"], false);
  EXPECT_NEAR(json["mu"], std::sqrt(5) / 2, 1e-9);
  EXPECT_EQ(json["adjacency"], "add-remove");
  EXPECT_FALSE(json.contains("delta"));
  const auto pairs = ReadPairs(epsilons, "delta,epsilon");
  ASSERT_EQ(pairs.size(), json["profile"].size());
  for (size_t i = 1; i < pairs.size(); ++i) {
    EXPECT_LT(pairs[i].first, pairs[i - 1].first);
    EXPECT_GE(pairs[i].second, pairs[i - 1].second);
  }
  const Json at = AccountJson(fmt::format("epsilon --delta {:.17g} {}", pairs.back().first, plan));
  EXPECT_EQ(at["epsilon"], pairs.back().second);
  const auto levels = ReadPairs(curve, "alpha,beta");
  for (size_t i = 0; i < levels.size(); ++i) {
    EXPECT_LE(levels[i].first + levels[i].second, 1) << "no better than a coin";
    if (i > 0) {
      EXPECT_LE(levels[i].second, levels[i - 1].second);
    }
  }
  ExpectUsageError("account profile --accountant gdp " + plan, "are no bounds");
}

TEST(Account, AFleetHasAProfileAndNoMu) {
  const std::string fleet =
      "--noise-multiplier 0.5725 --rate 0.05 --rounds 3 --cohort 50 --dimension 7850";
  const Json json = AccountJson("profile " + fleet);
  EXPECT_TRUE(json["mu"].is_null());
  const Json delta = AccountJson("delta --epsilon 3 " + fleet);
  EXPECT_EQ(delta["adjacency"], "replace-one");
  EXPECT_LE(delta["epsilon"], 3);
}

}  // namespace
}  // namespace sotto
