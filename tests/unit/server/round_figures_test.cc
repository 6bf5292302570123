// Tests of the table of a round's figures: who sees which row, and where.
#include "round/round_figures.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "overview/overview.h"
#include "round/ledger_entry.h"
#include "round/round_outcome.h"
#include "service/metrics.h"
#include "service/report.h"
#include "unit/server/store_fixture.h"
#include "views/ledger_output.h"
#include "views/report.h"
#include "views/round_output.h"
#include "views/simulation_csv.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;
using privacy::Plan;
using privacy::Sampling;

constexpr Sampling kSamplings[] = {Sampling::kUniform, Sampling::kPoisson, Sampling::kFull,
                                   Sampling::kNone};

Plan PlanOf(Sampling sampling) {
  Plan plan = SmallConfig().plan;
  plan.sampling = sampling;
  return plan;
}

bool Says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

// All names of fields in a JSON value, in any depth.
void AddNames(const Json& json, std::set<std::string>& names) {
  for (const auto& [name, value] : json.items()) {
    if (json.is_object()) names.insert(name);
    if (value.is_structured()) AddNames(value, names);
  }
}

std::set<std::string> NamesIn(const Json& json) {
  std::set<std::string> names;
  AddNames(json, names);
  return names;
}

// An attempt of which everything is known.
RoundOutcome KnownOutcome() {
  RoundOutcome outcome;
  outcome.released = true;
  outcome.devices = kSmallDevices;
  outcome.cohort = 4;
  outcome.checked_in = 11;
  outcome.reported = 2;
  outcome.rejected = 1;
  outcome.topped_up = 3;
  outcome.update_bytes = 1000;
  outcome.late_ms = 7;
  outcome.opened_ms = 1000;
  outcome.closed_ms = 2000;
  outcome.published_ms = 2500;
  outcome.clip_l2 = 0.4;
  outcome.noise_sigma = 0.2;
  outcome.unclipped_fraction = 0.5;
  outcome.device_accuracy = privacy::AccuracyEstimate{0.75, 0.01, 0.05};
  outcome.figures = UpdateFigures{2.0, {}, {}, 0.5};
  outcome.planned_epsilon = 6.0;
  return outcome;
}

LedgerEntry KnownRelease(Sampling sampling = Sampling::kUniform) {
  LedgerEntry release;
  release.job = 1;
  release.mechanism = "gau-lrq";
  release.plan = PlanOf(sampling);
  release.reported = 2;
  release.noise_multiplier = 1.25;
  release.attempts = 1;
  return release;
}

SimulationConfig SimulatedConfig() {
  SimulationConfig config;
  config.job = SmallConfig();
  return config;
}

SimulationResult SimulatedResult() {
  SimulationResult result;
  result.rounds.resize(1);
  result.rounds[0].outcome = KnownOutcome();
  Evaluation evaluation;
  evaluation.samples = 2;
  evaluation.classes = {{1, 2}};
  result.initial = result.last = evaluation;
  return result;
}

Json SimulatedJson() { return ResultToJson(SimulatedConfig(), SimulatedResult(), "data", {}); }

// Results of `sotto serve` of one release, which this start of the server saw.
Json ServedJson() {
  const DeviceRegistry devices;
  OperatorReport report([&] { return Unowned(devices); });
  report.Add(KnownOutcome());
  return {{"job_number", 1},
          {"model", "m"},
          {"parameters", 10},
          {"mechanism", "gau-lrq"},
          {"job", {{"sampling", "uniform"}}},
          {"claims", Json::array()},
          {"rounds", {report.RoundToJson(KnownRelease())}},
          {"operator", report.ToJson()}};
}

// An output, and the names of its fields.
struct Shown {
  std::string output;
  std::set<std::string> names;
};

void ExpectShows(const Shown& shown, const std::string& name) {
  EXPECT_EQ(shown.names.count(name), 1U) << shown.output << " lacks " << name;
}

TEST(RoundFigures, EachRowHasANameOfItsOwnAHelpAndAReader) {
  std::set<std::string> names;
  for (const RoundFigure& figure : RoundFigures()) {
    EXPECT_TRUE(names.insert(figure.name()).second) << figure.name();
    EXPECT_STRNE(figure.help(), "") << figure.name();
    EXPECT_TRUE(figure.IsSeen() || figure.IsKept()) << figure.name();
    EXPECT_EQ(&FigureByName(figure.name()), &figure);
  }
  EXPECT_THROW(FigureByName("none"), std::invalid_argument);
}

TEST(RoundFigures, ARowThatNamesNoAudienceIsTheOperatorsUnderEveryPlanAndInEveryPlace) {
  const RoundFigure table[] = {RoundFigure("stragglers", "devices", "devices that came late")};
  for (const Sampling sampling : kSamplings) {
    EXPECT_EQ(table[0].AudienceOf(PlanOf(sampling)), Audience::kOperator);
    for (uint32_t bit = 0; bit < 32; ++bit) {
      const auto place = static_cast<Place>(1U << bit);
      EXPECT_TRUE(FiguresFor(Audience::kPublic, PlanOf(sampling), place, table).empty());
      EXPECT_EQ(FiguresFor(Audience::kOperator, PlanOf(sampling), place, table).size(), 1U);
    }
  }
}

TEST(RoundFigures, TheAudienceIsAskedOfThePlan) {
  const RoundFigure table[] = {
      RoundFigure("reported", "updates", "reports")
          .Kept([](const RoundFacts& facts) { return FigureValue(facts.release->reported); })
          .For([](const Plan& plan) {
            return plan.sampling == Sampling::kFull ? Audience::kPublic : Audience::kOperator;
          })};
  for (const Sampling sampling : kSamplings) {
    const LedgerEntry release = KnownRelease(sampling);
    Json shown = Json::object();
    AddFigures(FiguresFor(Audience::kPublic, release.plan, kLedger, table), {nullptr, &release},
               shown);
    EXPECT_EQ(shown.dump(), sampling == Sampling::kFull ? R"({"reported":2})" : "{}");
    AddFigures(FiguresFor(Audience::kOperator, release.plan, kLedger, table), {nullptr, &release},
               shown);
    EXPECT_EQ(shown["reported"], 2);
  }
}

TEST(RoundFigures, CountsBytesAndTimesAreTheOperatorsInEveryModeThatThereIs) {
  for (const Sampling sampling : kSamplings) {
    for (const char* name :
         {"drawn", "reported", "refused", "topped_up", "checked_in", "update_bytes",
          "noise_to_signal", "opened", "closed", "published", "late_ms"}) {
      EXPECT_EQ(FigureByName(name).AudienceOf(PlanOf(sampling)), Audience::kOperator) << name;
    }
  }
}

class RoundFiguresTest : public StoredTest {
 protected:
  void MakeStore() {
    SqlStore store(path_, kCreate);
    store.AddDevices(SomeDevices(), false);
    store.BeginJob(RecordOf(SmallConfig()));
    store.CommitAttempt({0, 0, {0, 1, 2, 3}, kSmallDevices});
    Release(store, 0, 0);
  }
};

TEST_F(RoundFiguresTest, NoOperatorsFigureIsInAnyPublishedOutput) {
  MakeStore();
  SqlStore store(path_, StoreMode::kRead);
  const RoundOutcome outcome = KnownOutcome();
  const LedgerEntry release = KnownRelease();
  const std::vector<Shown> published = {
      {"overview of a store", NamesIn(OverviewOfStore(store, Audience::kPublic))},
      {"overview of a round", NamesIn(OverviewOfRound(release, Audience::kPublic, &outcome))},
      {"published ledger", NamesIn(ReleaseToJson(release, Audience::kPublic))},
      {"overview of a simulation",
       NamesIn(OverviewOfResults("r", SimulatedJson(), Audience::kPublic))},
      {"overview of a served job",
       NamesIn(OverviewOfResults("r", ServedJson(), Audience::kPublic))},
  };
  size_t checked = 0;
  for (const RoundFigure& figure : RoundFigures()) {
    if (figure.AudienceOf(release.plan) == Audience::kPublic) continue;
    ++checked;
    for (const Shown& output : published) {
      EXPECT_EQ(output.names.count(figure.name()), 0U) << output.output << ": " << figure.name();
    }
  }
  EXPECT_GE(checked, 11U);
}

// A page draws the columns that its overview names.
TEST_F(RoundFiguresTest, APublishedPageHasNoColumnOfAnOperatorsFigure) {
  MakeStore();
  SqlStore store(path_, StoreMode::kRead);
  const auto columns_of = [](const Json& overview) {
    std::set<std::string> fields;
    for (const Json& column : overview["jobs"][0]["columns"]) fields.insert(column["field"]);
    return fields;
  };
  for (const auto& overview : {OverviewOfStore(store, Audience::kPublic),
                               OverviewOfResults("r", SimulatedJson(), Audience::kPublic),
                               OverviewOfResults("r", ServedJson(), Audience::kPublic)}) {
    EXPECT_TRUE(columns_of(overview).empty()) << overview["jobs"][0]["columns"];
  }
  const std::set<std::string> shown = columns_of(OverviewOfStore(store, Audience::kOperator));
  for (const RoundFigure* figure : FiguresForOperator(kPageTable)) {
    EXPECT_EQ(shown.count(figure->name()), 1U) << figure->name();
    EXPECT_TRUE(figure->IsIn(kOverview)) << figure->name() << ": a column without values";
  }
}

TEST(RoundFigures, EachRowIsInTheOperatorsOutputsThatItNames) {
  const RoundOutcome outcome = KnownOutcome();
  const LedgerEntry release = KnownRelease();
  const Json served = ServedJson();
  const Shown ledger = {"ledger", NamesIn(ReleaseToJson(release, Audience::kOperator))};
  const Shown results = {"results", NamesIn(served["rounds"])};
  const Shown attempts = {"attempts", NamesIn(served["operator"]["attempts"])};
  const Shown overview = {"overview",
                          NamesIn(OverviewOfRound(release, Audience::kOperator, &outcome))};
  const Shown of_results = {
      "overview of results",
      NamesIn(OverviewOfResults("r", served, Audience::kOperator)["jobs"][0]["rounds"])};
  RoundMetrics metrics;
  metrics.Add(outcome);
  JobFigures job;
  job.rounds = metrics;
  const std::string text = MetricsText({}, job);
  const std::string log = DescribeOutcome(SmallConfig(), outcome, false);
  for (const RoundFigure& figure : RoundFigures()) {
    const std::string name = figure.name();
    if (figure.IsIn(kLedger) && figure.IsKept()) ExpectShows(ledger, name);
    if (figure.IsIn(kResults)) ExpectShows(results, name);
    if (figure.IsIn(kAttempts) && figure.IsSeen()) ExpectShows(attempts, name);
    if (figure.IsIn(kOverview)) ExpectShows(overview, name);
    if (figure.IsIn(kOverview)) ExpectShows(of_results, name);
    const bool is_number = NumberOf(figure.Read({&outcome})).has_value();
    if (figure.IsIn(kMetrics) && is_number) {
      EXPECT_TRUE(Says(text, figure.gauge() + " ")) << figure.gauge();
    }
    if (figure.counter().name != nullptr) {
      EXPECT_TRUE(Says(text, figure.counter().name)) << name;
    }
    if (figure.IsIn(kServeLog) && is_number) {
      EXPECT_TRUE(Says(log, figure.words())) << log;
    }
  }
}

TEST(RoundFigures, EachRowOfASimulationIsInItsReportAndItsCsvAndIsMarkedIfItIsTheOperators) {
  const Json json = SimulatedJson();
  const Json marked = json["operator_fields"];
  for (const auto& [figure, field] : SimulatedFigures(kReport)) {
    EXPECT_TRUE(json["rounds"][0].contains(field)) << field;
    const bool is_marked =
        std::find(marked.begin(), marked.end(), "rounds." + std::string(field)) != marked.end();
    EXPECT_EQ(is_marked, figure->AudienceOf(SmallConfig().plan) == Audience::kOperator) << field;
  }
  for (const RoundFigure& figure : RoundFigures()) {
    const auto shows = [&](Place place) {
      const std::vector<FigureField> fields = SimulatedFigures(place);
      return std::any_of(fields.begin(), fields.end(),
                         [&](const FigureField& each) { return each.figure == &figure; });
    };
    EXPECT_EQ(shows(kReport), figure.IsIn(kReport) && figure.IsSeen()) << figure.name();
    EXPECT_EQ(shows(kRoundsCsv), figure.IsIn(kRoundsCsv) && figure.IsSeen()) << figure.name();
  }
}

TEST(RoundFigures, TheColumnsOfTheCsvKeepTheirOrder) {
  const std::string first =
      "seed,round,attempts,cohort,reported,topped_up,update_bytes,clip_l2,noise_sigma,"
      "unclipped_fraction,";
  EXPECT_EQ(RoundsCsvHeader().rfind(first, 0), 0U) << RoundsCsvHeader();
  const std::string rows = RoundsCsvRows(SimulatedConfig(), SimulatedResult());
  EXPECT_EQ(rows.rfind(",1,0,4,2,3,1000,0.4,0.2,0.5,", 0), 0U) << rows;
}

TEST(RoundFigures, ACohortsSizeHasANameForEachOfItsMeanings) {
  LedgerEntry release = KnownRelease(Sampling::kPoisson);
  release.plan.rate_devices = 2 * kSmallDevices;  // half of the fleet has left
  const RoundOutcome outcome = KnownOutcome();
  const RoundFacts facts = {&outcome, &release};
  EXPECT_EQ(NumberOf(FigureByName("cohort").Read(facts)), 4.0);
  EXPECT_EQ(NumberOf(FigureByName("expected_cohort").Read(facts)), 2.0);
  EXPECT_EQ(NumberOf(FigureByName("drawn").Read(facts)), 4.0);
  const Json shown = OverviewOfRound(release, Audience::kOperator, &outcome);
  EXPECT_EQ(shown["expected_cohort"], 2.0);
  EXPECT_EQ(shown["drawn"], 4);
  EXPECT_FALSE(shown.contains("cohort"));
}

TEST(RoundFigures, TheLedgerIsBelievedBeforeTheOutcomeAndNoNoiseIsNoFigure) {
  RoundOutcome outcome = KnownOutcome();
  outcome.reported = 9;
  const LedgerEntry release = KnownRelease();
  const RoundFigure& reported = FigureByName("reported");
  EXPECT_EQ(NumberOf(reported.Read({&outcome, &release})), 2.0);
  EXPECT_EQ(NumberOf(reported.Read({&outcome})), 9.0);
  EXPECT_EQ(NumberOf(reported.Read({})), std::nullopt);
  const RoundFigure& sigma = FigureByName("noise_sigma");
  EXPECT_TRUE(NumberOf(sigma.Read({&outcome})));
  EXPECT_FALSE(NumberOf(sigma.Read({&outcome, nullptr, nullptr, true})));
}

TEST(RoundFigures, ValuesInJsonAndCsvSayWhatIsUnknownOrInfinite) {
  EXPECT_TRUE(ValueToJson({}).is_null());
  EXPECT_EQ(ValueToJson(HUGE_VAL), "Infinity");
  EXPECT_EQ(ValueToJson(-HUGE_VAL), "-Infinity");
  EXPECT_TRUE(ValueToJson(std::nan("")).is_null());
  EXPECT_EQ(ValueToCell({}) + ValueToCell(HUGE_VAL), "");
  EXPECT_EQ(ValueToJson(int64_t{7}), 7);
  EXPECT_EQ(ValueToCell(0.1), "0.1");
  EXPECT_EQ(ValueToJson(std::string("uniform")), "uniform");
  EXPECT_EQ(ValueToCell(privacy::AccuracyEstimate{0.75, 0.01, 0.05}), "0.75");
  EXPECT_EQ(ValueToJson(privacy::AccuracyEstimate{0.75, 0.01, 0.05})["bar"], 0.05);
}

TEST(RoundFigures, MetricsKeepAReleasesFiguresThroughAnAttemptThatIsGivenUp) {
  RoundMetrics metrics;
  const Span<const RoundFigure> table = RoundFigures();
  const auto at = [&](const char* name) {
    return static_cast<size_t>(&FigureByName(name) - table.data());
  };
  EXPECT_EQ(metrics.gauges[at("reported")], 0.0);
  EXPECT_EQ(metrics.gauges[at("noise_to_signal")], std::nullopt);
  metrics.Add(KnownOutcome());
  RoundOutcome given_up;
  given_up.reported = 1;
  given_up.rejected = 1;
  metrics.Add(given_up);
  EXPECT_EQ(metrics.gauges[at("reported")], 1.0);
  EXPECT_EQ(metrics.gauges[at("noise_to_signal")], 2.0);
  EXPECT_EQ(metrics.sums[at("reported")], 2.0) << "the other one released nothing";
  EXPECT_EQ(metrics.sums[at("refused")], 2.0);
  RoundOutcome unknown;
  unknown.released = true;
  metrics.Add(unknown);
  EXPECT_EQ(metrics.gauges[at("noise_to_signal")], std::nullopt);
}

}  // namespace
}  // namespace sotto::server
