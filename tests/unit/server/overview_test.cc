// Tests of the overview that the operator's page and reports draw.
#include "overview/overview.h"

#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "overview/live_overview.h"
#include "overview/page_files.h"
#include "unit/server/store_fixture.h"
#include "views/ledger_output.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

// Fields that tell who took part, or when.
const std::set<std::string> kOperators = {
    "reported",  "refused",   "topped_up", "checked_in", "update_bytes", "noise_to_signal",
    "opened",    "closed",    "published", "late_ms",    "registered",   "seen",
    "connected", "last_seen", "network",   "log",        "spectrum",     "queue",
    "classes",   "listens",   "eligible"};

void ExpectNoOperatorFields(const Json& json, const std::string& where = "") {
  for (const auto& [name, value] : json.items()) {
    const bool is_operators = json.is_object() && kOperators.count(name) != 0;
    EXPECT_FALSE(is_operators) << where << "/" << name;
    if (value.is_structured()) ExpectNoOperatorFields(value, where + "/" + name);
  }
}

class OverviewTest : public StoredTest {
 protected:
  // A store with two jobs, of one and of `rounds` rounds, and an evaluation.
  void MakeStore(uint32_t rounds) {
    SqlStore store(path_, kCreate);
    store.AddDevices(SomeDevices(), false);
    JobConfig config = SmallConfig();
    store.BeginJob(RecordOf(config));
    store.CommitAttempt({0, 0, {0, 1, 2, 3}, kSmallDevices});
    Release(store, 0, 0);
    store.AllowNewJob();
    config.plan.rounds = 1000;
    store.BeginJob(OtherRecordOf(config));
    for (uint32_t round = 0; round < rounds; ++round) {
      store.CommitAttempt({round, 0, {0, 1, 2, 3}, kSmallDevices});
      Release(store, round, 0);
    }
    Evaluation evaluation;
    evaluation.samples = 4;
    evaluation.loss = 0.5;
    evaluation.classes = {{1, 2}, {2, 2}};
    store.CommitEvaluation(rounds - 1, {"test set", "", {"walk", "run"}}, evaluation);
  }
};

TEST_F(OverviewTest, OfAPastJobOfPassesHasNoDevicesForAnybody) {
  SqlStore store(path_, kCreate);
  store.AddDevices(SomeDevices(), false);
  store.BeginJob(RecordOf(SmallPassesConfig()));
  store.AllowNewJob();
  store.BeginJob(OtherRecordOf(SmallConfig()));
  const Json published = OverviewOfStore(store, Audience::kPublic);
  EXPECT_FALSE(published["jobs"][0].contains("turns"));
  const Json operators = OverviewOfStore(store, Audience::kOperator);
  EXPECT_TRUE(operators["jobs"][0]["turns"].contains("never_asked"));
  EXPECT_FALSE(operators["jobs"][0]["turns"].contains("devices"));
}

TEST_F(OverviewTest, OfAStoreHasItsJobsRoundsClaimsAndEvaluations) {
  MakeStore(3);
  SqlStore store(path_, StoreMode::kRead);
  const Json overview = OverviewOfStore(store, Audience::kOperator);
  EXPECT_EQ(overview["audience"], "operator");
  ASSERT_EQ(overview["jobs"].size(), 2U);
  const Json& job = overview["jobs"][1];
  EXPECT_EQ(job["job"], 2);
  EXPECT_EQ(job["rounds_planned"], 1000);
  EXPECT_EQ(job["rounds_released"], 3);
  EXPECT_EQ(job["state"], "interrupted");
  ASSERT_EQ(job["rounds"].size(), 3U);
  EXPECT_EQ(job["rounds"][2]["round"], 3);
  EXPECT_EQ(job["rounds"][2]["epsilon"]["epsilon"], 3.0);
  EXPECT_EQ(job["rounds"][2]["reported"], 0);
  EXPECT_EQ(job["claims"][0]["against"], "against a person who sees the released models");
  EXPECT_EQ(job["evaluations"][0]["accuracy"], 0.75);
  EXPECT_EQ(job["classes"]["rows"][0]["class"], "walk");
  EXPECT_EQ(job["classes"]["rows"][0]["correct"], 1);
  EXPECT_EQ(overview["devices"]["registered"], kSmallDevices);
}

// SECURITY.md S29.
TEST_F(OverviewTest, ThePublishedOneTellsNobodyWhoTookPart) {
  MakeStore(3);
  SqlStore store(path_, StoreMode::kRead);
  const Json overview = OverviewOfStore(store, Audience::kPublic);
  EXPECT_EQ(overview["audience"], "public");
  ExpectNoOperatorFields(overview);
  EXPECT_EQ(overview["jobs"][1]["rounds"].size(), 3U);
  EXPECT_EQ(overview["jobs"][1]["evaluations"].size(), 1U);
  const Json without = OverviewOfStore(store, Audience::kPublic, TestFigures::kLeftOut);
  EXPECT_TRUE(without["jobs"][1]["evaluations"].empty());
}

// What a start of the server saw is there after it, and stays the operator's.
TEST_F(OverviewTest, FiguresOfAnEarlierStartAreInTheOperatorsAlone) {
  MakeStore(3);
  {
    SqlStore store(path_);
    JobConfig config = SmallConfig();
    config.plan.rounds = 1000;
    store.BeginJob(OtherRecordOf(config));
    RoundOutcome outcome;
    outcome.released = true;
    outcome.round = 1;
    outcome.cohort = 4;
    outcome.topped_up = 2;
    outcome.published_ms = 5000;
    outcome.device_accuracy = privacy::AccuracyEstimate{0.5, 0.25, 0.125};
    outcome.unclipped_fraction = 0.75;
    store.CommitFigures({0, 1, 0, true, FiguresToRecord(outcome)});
  }
  SqlStore store(path_, StoreMode::kRead);
  const Json rounds = OverviewOfStore(store, Audience::kOperator)["jobs"][1]["rounds"];
  EXPECT_EQ(rounds[1]["drawn"], 4);
  EXPECT_EQ(rounds[1]["topped_up"], 2);
  EXPECT_EQ(rounds[1]["published"], 5.0);
  EXPECT_EQ(rounds[1]["device_accuracy"]["bar"], 0.125);
  EXPECT_EQ(rounds[1]["reported"], 0) << "the release's own";
  EXPECT_TRUE(rounds[0]["drawn"].is_null());
  const Json published = OverviewOfStore(store, Audience::kPublic);
  ExpectNoOperatorFields(published);
  EXPECT_FALSE(published["jobs"][1]["rounds"][1].contains("drawn"));
  EXPECT_EQ(published["jobs"][1]["rounds"][1]["unclipped_fraction"], 0.75);
}

TEST_F(OverviewTest, OfResultsIsThePublishedOrTheOperators) {
  const Json claim = {{"adversary", "public"},
                      {"view", "releases"},
                      {"epsilon", 1.5},
                      {"delta", 1e-5},
                      {"assumptions", {"server-follows-protocol"}}};
  Json results = {{"model", "m"}, {"parameters", 10}, {"mechanism", "gau-lrq"}, {"claims", {claim}},
                  {"seed", 7},    {"data", "d"},      {"finish_reason", "over"}};
  results["rounds"] = {{{"round", 1},
                        {"epsilon", 1.5},
                        {"cohort", 5},
                        {"reported", 4},
                        {"update_bytes", 100},
                        {"clip_l2", 0.5},
                        {"evaluation", {{"samples", 3}, {"loss", 2.0}, {"accuracy", 0.5}}}}};
  const Json published = OverviewOfResults("r.json", results, Audience::kPublic);
  ExpectNoOperatorFields(published);
  const Json& job = published["jobs"][0];
  EXPECT_EQ(job["seeded"], true);
  EXPECT_EQ(job["rounds"][0]["epsilon"]["epsilon"], 1.5);
  EXPECT_FALSE(job["rounds"][0].contains("cohort")) << "under Poisson sampling it is a draw";
  EXPECT_EQ(job["evaluations"][0]["loss"], 2.0);
  EXPECT_NE(job["claims"][0]["assumptions"][0].get<std::string>().find("The server"),
            std::string::npos);
  const Json operators = OverviewOfResults("r.json", results, Audience::kOperator);
  EXPECT_EQ(operators["jobs"][0]["rounds"][0]["reported"], 4);
  EXPECT_EQ(operators["jobs"][0]["rounds"][0]["drawn"], 5);
  EXPECT_TRUE(operators["jobs"][0]["rounds"][0]["late_ms"].is_null());
  EXPECT_THROW(OverviewOfResults("x.json", {{"a", 1}}, Audience::kPublic), std::invalid_argument);
}

TEST_F(OverviewTest, AnEntryMadeFromAReleaseIsTheLedgersOwn) {
  SqlStore store(path_, kCreate);
  store.AddDevices(SomeDevices(), false);
  JobConfig config = SmallConfig();
  config.plan.clip_bit_scale = 0.1;
  config.plan.accuracy_scale = 0.2;
  store.BeginJob(RecordOf(config));
  store.CommitAttempt({0, 0, {0, 1, 2, 3}, kSmallDevices});
  const std::vector<float> model = ModelOf(0);
  ReleaseRecord record;
  record.reported = 3;
  record.parameters = {model.data(), model.size()};
  record.codec = FindCodec("gau-lrq");
  record.clip_l2 = 0.3;
  record.noise_sigma = 0.15;
  record.plan = config.plan;
  record.attempts = 2;
  record.spent.noise_multiplier = 1.25;
  record.spent.accounted_noise_multiplier = 1.125;
  record.spent.rounds = 1;
  record.spent.earlier_rounds = 5;
  privacy::Claim claim;
  claim.epsilon = 2.5;
  record.spent.claims = {claim};
  store.CommitRelease(record);
  const LedgerEntry held = store.Ledger().back();
  const LedgerEntry made = EntryOf(1, record, false);
  EXPECT_EQ(OverviewOfRound(made, Audience::kOperator), OverviewOfRound(held, Audience::kOperator));
  EXPECT_EQ(ReleaseToJson(made, Audience::kOperator), ReleaseToJson(held, Audience::kOperator));
}

TEST_F(OverviewTest, AJobThatEndsBeforeItsPlanIsOverInEveryView) {
  MakeStore(1);
  SqlStore store(path_, kCreate);
  const auto ended = [&](Audience audience) {
    const Json overview = OverviewOfStore(store, audience);
    return overview["jobs"].back();
  };
  EXPECT_TRUE(ended(Audience::kPublic)["ended"].is_null());
  EXPECT_EQ(ended(Audience::kPublic)["state"], "interrupted") << "no server runs it";
  EXPECT_EQ(OverviewOfStore(store, Audience::kPublic)["jobs"][0]["ended"], "replaced");
  JobConfig config = SmallConfig();
  config.plan.rounds = 1000;
  store.BeginJob(OtherRecordOf(config));
  store.HaltJob({Halt::kBudget, "3 devices would cost too much"});
  EXPECT_EQ(ended(Audience::kOperator)["state"], "finished");
  EXPECT_EQ(ended(Audience::kOperator)["ended"], "budget");
  EXPECT_EQ(ended(Audience::kOperator)["reason"], "3 devices would cost too much");
  EXPECT_EQ(ended(Audience::kPublic)["ended"], "budget");
  EXPECT_FALSE(Says(ended(Audience::kPublic)["reason"], "3 devices"));
}

TEST_F(OverviewTest, NobodyIsSentToServeAnOlderCopy) {
  MakeStore(1);
  const auto advice = [&] {
    SqlStore store(path_, StoreMode::kRead);
    return OverviewOfStore(store, Audience::kOperator)["jobs"].back()["reason"].get<std::string>();
  };
  EXPECT_EQ(advice(), "no server runs; `sotto serve` goes on with it");
  JobConfig config = SmallConfig();
  config.plan.rounds = 1000;
  {
    SqlStore store(path_, kCreate);
    store.BeginJob(OtherRecordOf(config));
    store.HaltJob({Halt::kWaiting, kOlderCopy});
  }
  EXPECT_EQ(advice(),
            std::string("no server runs; leave it so; the last server said: ") + kOlderCopy);
}

TEST_F(OverviewTest, AReportRunsNothingButWhatIsInIt) {
  MakeStore(1);
  SqlStore store(path_, StoreMode::kRead);
  Json overview = OverviewOfStore(store, Audience::kPublic);
  overview["source"] = "</script><img src=x>";
  const std::string html = ReportHtml(overview);
  EXPECT_TRUE(
      Says(html, "Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-"));
  EXPECT_FALSE(Says(html, "<img src=x>"));
  EXPECT_TRUE(Says(html, "\\u003c/script>\\u003cimg src=x>"));
  EXPECT_FALSE(Says(html, "src=\"/"));
  EXPECT_FALSE(Says(html, "href=\"/"));
}

TEST_F(OverviewTest, AReportHasItsHeadingsAndFiguresWithoutScripts) {
  MakeStore(2);
  SqlStore store(path_, StoreMode::kRead);
  Json overview = OverviewOfStore(store, Audience::kOperator);
  overview["source"] = "<b>";
  const std::string html = ReportHtml(overview);
  const size_t begin = html.find("<noscript>");
  ASSERT_NE(begin, std::string::npos);
  const std::string plain = html.substr(begin, html.find("</noscript>") - begin);
  for (const char* text :
       {"<h1>&lt;b&gt;</h1>", "<h2>Job 1: ", "<h2>Job 2: ", "<h3>Privacy statement</h3>",
        "<h4>epsilon ", "<h3>Last rounds</h3>", "<td>accuracy 0.75</td>", "<td>close early</td>"}) {
    EXPECT_TRUE(Says(plain, text)) << text << "\n" << plain;
  }
  const std::string published = ReportHtml(OverviewOfStore(store, Audience::kPublic));
  EXPECT_FALSE(Says(published.substr(0, published.find("</noscript>")), "<th>reported</th>"));
}

TEST_F(OverviewTest, NamedReportTimesAreNoRoundsThatCloseEarly) {
  SqlStore store(path_, kCreate);
  store.AddDevices(SomeDevices(), false);
  JobConfig config = SmallPassesConfig();
  config.plan.participants_known = config.plan.timed_reports = true;
  store.BeginJob(RecordOf(config));
  const Json job = OverviewOfStore(store, Audience::kPublic)["jobs"][0];
  EXPECT_FALSE(Says(job["settings"].dump(), "close early")) << job["settings"];
  EXPECT_TRUE(Says(job["settings"].dump(), "timed reports")) << job["settings"];
}

// The data of the events in a text, by name.
std::vector<std::pair<std::string, Json>> EventsIn(const std::string& text) {
  std::vector<std::pair<std::string, Json>> events;
  for (size_t at = 0; (at = text.find("event: ", at)) != std::string::npos;) {
    const size_t end = text.find('\n', at);
    const std::string name = text.substr(at + 7, end - at - 7);
    const size_t data = text.find("data: ", end) + 6;
    at = text.find("\n\n", data);
    events.emplace_back(name, Json::parse(text.substr(data, at - data)));
  }
  return events;
}

RoundOutcome OutcomeOf(uint32_t round) {
  RoundOutcome outcome;
  outcome.released = true;
  outcome.round = round;
  outcome.reported = 4;
  outcome.update_bytes = 1000;
  outcome.published_ms = 1500;
  outcome.figures = UpdateFigures{2.0, {1, 2}, {1, 1}, 0.5};
  return outcome;
}

TEST_F(OverviewTest, ALiveOneIsWhatItsEventsSay) {
  MakeStore(1);
  LiveOverview live;
  EXPECT_EQ(Json::parse(live.Text())["jobs"], Json::array());
  std::string events = live.OnLog("begins");
  SqlStore store(path_, StoreMode::kRead);
  events += live.Begin(OverviewOfStore(store, Audience::kOperator), false);
  ServerPhase phase;
  phase.kind = ServerPhase::Kind::kOpen;
  phase.round = 1;
  phase.drawn = 4;
  events += live.OnPhase(phase, false);
  LedgerEntry entry = store.Ledger().back();
  entry.round = 1;
  entry.attempts = 2;
  events += live.OnOutcome(OutcomeOf(1), entry, JobTurns());
  events += live.OnEvaluation(1, {"d", ""}, {});
  phase.kind = ServerPhase::Kind::kFinished;
  phase.reason = "too few devices";
  phase.end = Halt::kDiverged;
  events += live.OnPhase(phase, false);
  const Json overview = Json::parse(live.Text());
  const Json& job = overview["jobs"].back();
  EXPECT_EQ(overview["jobs"].size(), 2U);
  EXPECT_EQ(overview["live"], true);
  EXPECT_EQ(overview["log"], Json({"begins"}));
  EXPECT_EQ(job["state"], "gave-up");
  EXPECT_EQ(job["ended"], "diverged");
  EXPECT_EQ(job["reason"], "too few devices");
  EXPECT_EQ(job["rounds_released"], 2);
  ASSERT_EQ(job["rounds"].size(), 2U);
  EXPECT_EQ(job["rounds"][1]["update_bytes"], 1000);
  EXPECT_EQ(job["rounds"][1]["published"], 1.5);
  EXPECT_TRUE(job["rounds"][0]["update_bytes"].is_null()) << "an earlier start saw it";
  EXPECT_EQ(job["spectrum"]["noise"], 0.5);
  EXPECT_TRUE(job["attempt"].is_null());
  const auto all = EventsIn(events);
  EXPECT_EQ(overview["sequence"], all.size());
  std::vector<std::string> names;
  for (const auto& [name, data] : all) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"log", "begin", "attempt", "round", "spectrum",
                                             "evaluation", "attempt", "state"}));
  EXPECT_EQ(all[3].second["round"], job["rounds"][1]);
  EXPECT_EQ(all[4].second["spectrum"], job["spectrum"]);
  EXPECT_EQ(all[5].second["evaluation"], job["evaluations"].back());
}

TEST_F(OverviewTest, ALiveOneKeepsTheLogsTailAndSurvivesAnyBytes) {
  LiveOverview live;
  for (int i = 0; i < 1000; ++i) live.OnLog("line " + std::to_string(i));
  const std::string event = live.OnLog("a\xff\xfe \"quoted\"\nsecond line");
  EXPECT_EQ(EventsIn(event).size(), 1U);
  EXPECT_EQ(event.find("\nsecond"), std::string::npos) << "a line feed would end the data";
  const Json overview = Json::parse(live.Text());
  EXPECT_EQ(overview["log"].size(), 200U);
  EXPECT_EQ(overview["log"][0], "line 801");
  EXPECT_EQ(overview["sequence"], 1001);
}

TEST_F(OverviewTest, AQueueHasTheJobsThatWaitAndIsAnEventWhenItChanges) {
  JobRequestEntry waiting;
  waiting.number = 7;
  waiting.ask.settings = "rounds = 3\n";
  JobRequestEntry begun = waiting;
  begun.answer = JobAnswer{JobOutcome::kBegun, 1, ""};
  const Json queue = OverviewOfQueue({begun, waiting});
  ASSERT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue[0]["request"], 7);
  LiveOverview live;
  EXPECT_EQ(EventsIn(live.OnQueue(queue)).size(), 1U);
  EXPECT_EQ(live.OnQueue(queue), "");
  EXPECT_EQ(Json::parse(live.Text())["queue"], queue);
}

TEST_F(OverviewTest, FiguresThatDoNotChangeAreNoEvent) {
  LiveOverview live;
  NetworkFigures figures;
  EXPECT_NE(live.OnNetwork(figures), "");
  EXPECT_EQ(live.OnNetwork(figures), "");
  figures.connections = 1;
  EXPECT_NE(live.OnNetwork(figures), "");
}

}  // namespace
}  // namespace sotto::server
