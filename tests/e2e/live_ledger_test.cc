// The privacy ledger as users see it: successive jobs in one store, budgets, and `sotto account
// ledger`.
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "e2e/live.h"
#include "round/round_figures.h"
#include "store/sqlite.h"

namespace sotto::live {
namespace {

using Json = nlohmann::json;

Arguments With(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Arguments JobOf(const std::string& rounds, const std::string& noise_multiplier) {
  return {"--cohort", "4", "--rounds", rounds, "--noise-multiplier", noise_multiplier};
}

// Serves a job to its end with all devices of the site.
void RunJob(const Site& site, const Arguments& arguments) {
  Server server = site.Serve(arguments);
  std::vector<Process> clients = site.Clients(server.port);
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  for (Process& client : clients) EXPECT_EQ(client.Wait(), 0);
}

// Expects that `sotto serve` is refused: the exit code is 2, and the log contains the reason.
void ExpectRefused(const Site& site, const Arguments& arguments,
                   const std::vector<std::string>& words) {
  const size_t before = ReadFile(site.Path("serve.log")).size();
  EXPECT_EQ(site.StartServe(arguments).Wait(), 2);
  const std::string said = ReadFile(site.Path("serve.log")).substr(before);
  for (const std::string& word : words) {
    EXPECT_NE(said.find(word), std::string::npos) << word << " is not in: " << said;
  }
}

Json LedgerOf(const Site& site, const std::string& store) {
  const std::string json = site.Path("ledger.json");
  EXPECT_EQ(site.Sotto({"account", "ledger", store, "--json", json}, "ledger.log").Wait(), 0)
      << ReadFile(site.Path("ledger.log"));
  return Json::parse(ReadFile(json));
}

Json LedgerOf(const Site& site) { return LedgerOf(site, site.Path("store")); }

TEST(LiveLedgerTest, ALaterJobIsChargedWithWhatTheEarlierOneSpentThroughAKill) {
  Site site(4);
  RunJob(site, JobOf("2", "1"));
  const Arguments second = JobOf("4", "2");
  const size_t before = ReadFile(site.Path("serve.log")).size();
  EXPECT_EQ(site.StartServe(second).Wait(), 1);
  const std::string said = ReadFile(site.Path("serve.log")).substr(before);
  EXPECT_NE(said.find("noise_sigma = "), std::string::npos) << said;
  EXPECT_NE(said.find("--new-job"), std::string::npos) << said;

  Server server = site.Serve(With(second, {"--new-job"}));
  const size_t released = server.releases();
  const uint16_t port = server.port;
  std::vector<Process> clients = site.Clients(port);
  ASSERT_TRUE(server.WaitForReleases(released + 1)) << ReadFile(server.log);
  server.process.Signal(SIGKILL);
  ASSERT_EQ(server.process.Wait(), 128 + SIGKILL);
  server.process = site.StartServe(With(second, {"--listen", Address(port)}));
  ASSERT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  for (Process& client : clients) EXPECT_EQ(client.Wait(), 0);
  EXPECT_NE(ReadFile(server.log).find("earlier jobs on these devices: 2 rounds"),
            std::string::npos);

  const Json ledger = LedgerOf(site);
  ASSERT_EQ(ledger["releases"].size(), 6u);
  EXPECT_EQ(ledger["jobs"][1]["composed_with"], Json::array({1}));
  double last = 0;
  double last_network = 0;
  for (size_t i = 0; i < 6; ++i) {
    const Json& release = ledger["releases"][i];
    EXPECT_EQ(release["job"], i < 2 ? 1 : 2);
    EXPECT_EQ(release["round"], i < 2 ? i + 1 : i - 1);
    EXPECT_EQ(release["charged_rounds"], release["round"]) << "neither forgotten nor counted twice";
    EXPECT_EQ(release["earlier_rounds"], i < 2 ? 0 : 2);
    EXPECT_GT(release["epsilon"], last);
    EXPECT_GT(release["epsilon_network"], last_network);
    last = release["epsilon"];
    last_network = release["epsilon_network"];
  }
  EXPECT_EQ(ledger["total"]["epsilon"], last);
  EXPECT_EQ(ledger["total"]["epsilon_network"], last_network);
  EXPECT_EQ(ledger["total"]["rounds_released"], 6);

  // The whole second job costs less alone in its own store.
  Site alone(4);
  RunJob(alone, second);
  EXPECT_LT(LedgerOf(alone)["total"]["epsilon"], last);
}

TEST(LiveLedgerTest, ABudgetThatIsSpentEndsTheJobInOrderAndTheNextStartSaysSo) {
  Site site(4);
  RunJob(site, JobOf("2", "1"));
  const double two_rounds = LedgerOf(site)["total"]["epsilon"];
  const std::string budget = std::to_string(two_rounds * 1.001);

  Site limited(4);
  const Arguments job = With(JobOf("5", "1"), {"--epsilon-budget", budget});
  RunJob(limited, job);  // all clients are told that the job is done
  const std::string log = ReadFile(limited.Path("serve.log"));
  EXPECT_EQ(Count(log, " released: "), 2u) << log;
  EXPECT_NE(log.find("the privacy budget cannot pay for another round"), std::string::npos) << log;
  EXPECT_NE(log.find("2 of 5 rounds"), std::string::npos) << log;
  RunJob(limited, job);  // as after a reboot
  const std::string both = ReadFile(limited.Path("serve.log"));
  EXPECT_EQ(Count(both, "would make it"), 2u) << both;
  EXPECT_EQ(Count(both, " released: "), 2u) << both;
  ExpectRefused(limited, With(JobOf("6", "1"), {"--epsilon-budget", budget}),
                {"budget", "2 of 6 rounds", "would make it", "larger budget"});
  ExpectRefused(limited, With(JobOf("1", "1"), {"--epsilon-budget", budget, "--new-job"}),
                {"budget", "2 of earlier jobs"});
  ExpectRefused(
      limited,
      {"--cohort", "4", "--rounds", "1", "--epsilon", std::to_string(two_rounds / 2), "--new-job"},
      {"out of reach", "earlier jobs in this store", "account ledger"});
  EXPECT_EQ(LedgerOf(limited)["jobs"].size(), 1u) << "a refused job leaves nothing behind";
}

TEST(LiveLedgerTest, AStoreThatCannotPayForOneRoundHoldsNoJob) {
  Site site(4);
  ExpectRefused(site, With(JobOf("5", "1"), {"--epsilon-budget", "0.001"}),
                {"budget", "0 of 5 rounds", "0.001"});
  const Json ledger = LedgerOf(site);
  EXPECT_TRUE(ledger["jobs"].empty());
  for (const char* field : {"epsilon", "epsilon_network", "delta"}) {
    EXPECT_EQ(ledger["total"][field], 0.0) << field;
  }
  EXPECT_EQ(ledger["total"]["rounds_released"], 0);
  EXPECT_TRUE(ledger["total"]["adjacency"].is_null()) << "it holds under any";
}

TEST(LiveLedgerTest, TheLedgerOfAStoreThatAServerHoldsIsReadBesideIt) {
  Site site(4);
  Server server = site.Serve(JobOf("3", "1"));
  EXPECT_EQ(LedgerOf(site)["jobs"].size(), 1u);
  server.process.Signal(SIGTERM);
  EXPECT_EQ(server.process.Wait(), 128 + SIGTERM);
  EXPECT_EQ(LedgerOf(site)["jobs"].size(), 1u);
}

TEST(LiveLedgerTest, EveryFigureStandsWithWhatItMeans) {
  Site site(4, {"--seed", "7", "--insecure-seed"});
  RunJob(site, {"--cohort", "2", "--rounds", "2", "--noise-multiplier", "3"});
  const Json ledger = LedgerOf(site);
  const Json& release = ledger["releases"][1];
  EXPECT_EQ(release["mechanism"], "gau-lrq");
  EXPECT_EQ(release["sampling"], "uniform");
  EXPECT_EQ(release["sampling_rate"], 0.5);
  EXPECT_EQ(release["planned_reports"], 2);
  EXPECT_EQ(release["dimension"], 7850);
  EXPECT_GT(release["certificate_eta"], 0);
  EXPECT_GT(release["certificate_tau"], 0);
  EXPECT_GE(release["numeric_error"], 0);
  EXPECT_EQ(release["attempts"], 2);
  EXPECT_NE(release["accountant"], "");
  for (const Json& figure : {release, ledger["total"]}) {
    EXPECT_GE(figure["epsilon_network"], figure["epsilon"]);
    EXPECT_GT(figure["delta"], 0);
    EXPECT_EQ(figure["adjacency"], "replace-one");
    EXPECT_EQ(figure["unit"], "device");
    EXPECT_EQ(figure["trust_mode"], "trusted-server");
    EXPECT_EQ(figure["colluders"], 1);
    EXPECT_EQ(figure["seeded"], true) << "the devices are";
  }
  const std::string table = ReadFile(site.Path("ledger.log"));
  for (const char* word : {"replace-one adjacency", "unit device", "trusted-server", "1 colluder",
                           "seeded: not private", "2 of 2 rounds released"}) {
    EXPECT_NE(table.find(word), std::string::npos) << word << " is not in:\n" << table;
  }
}

// Text for people and JSON do not mix, and nothing secret is in either.
TEST(LiveLedgerTest, JsonGoesToStandardOutputAloneAndTellsNoSecret) {
  Site site(2);
  Process shell({"/bin/sh", "-c",
                 std::string(SOTTO_PROGRAM) + " account ledger " + site.Path("store") +
                     " --json - > " + site.Path("json.log")},
                site.Path("table.log"));
  EXPECT_EQ(shell.Wait(), 0);
  EXPECT_EQ(Json::parse(ReadFile(site.Path("json.log")))["releases"], Json::array());
  EXPECT_NE(ReadFile(site.Path("table.log")).find("nothing is released: epsilon 0"),
            std::string::npos);
  EXPECT_EQ(site.Sotto({"account", "ledger"}, "usage.log").Wait(), 2);
  EXPECT_EQ(site.Sotto({"account", "ledger", "--store", site.Path("store")}, "table.log").Wait(),
            0);
  EXPECT_EQ(site.Sotto({"account", "ledger", site.Path("none")}, "none.log").Wait(), 1);
}

// All that a JSON value holds by this name, in any depth.
size_t CountFields(const Json& json, const std::string& name) {
  size_t count = 0;
  for (const auto& item : json.items()) {
    count += json.is_object() && item.key() == name ? 1 : 0;
    if (item.value().is_structured()) count += CountFields(item.value(), name);
  }
  return count;
}

// Whoever knows how many devices reported knows more than epsilon covers.
TEST(LiveLedgerTest, ThePublishedLedgerHoldsNoCountOfReports) {
  Site site(4);
  RunJob(site, {"--cohort", "2", "--rounds", "2", "--noise-multiplier", "1"});
  const std::string store = site.Path("store");
  const Json own = LedgerOf(site);
  EXPECT_EQ(own["audience"], "operator");
  EXPECT_EQ(own["jobs"][0]["closed_early_uncharged"], false);
  EXPECT_EQ(CountFields(own, "reported"), 2U);
  const std::string text = ReadFile(site.Path("ledger.log"));
  EXPECT_NE(text.substr(0, text.find('\n')).find("the operator's ledger"), std::string::npos);
  EXPECT_EQ(Count(text, " reported "), 1U) << text;

  ASSERT_EQ(
      site.Sotto({"account", "ledger", store, "--published", "--json", site.Path("public.json")},
                 "public.log")
          .Wait(),
      0);
  Json shown = Json::parse(ReadFile(site.Path("public.json")));
  EXPECT_EQ(shown["audience"], "public");
  for (const server::RoundFigure& figure : server::RoundFigures()) {
    if (figure.AudienceOf({}) == server::Audience::kPublic) continue;
    EXPECT_EQ(CountFields(shown, figure.name()), 0U) << figure.name();
    if (!figure.IsIn(server::kLedgerTable) || !figure.IsKept()) continue;
    EXPECT_EQ(Count(ReadFile(site.Path("public.log")), figure.words()), 0U) << figure.words();
  }
  // Nothing else is missing: it is another view of the same records.
  shown["audience"] = "operator";
  for (size_t i = 0; i < 2; ++i) shown["releases"][i]["reported"] = own["releases"][i]["reported"];
  shown["jobs"][0]["evaluations"] = own["jobs"][0]["evaluations"];
  EXPECT_EQ(shown, own);
}

// Makes a store from SQL text that an older program version wrote.
std::string OldStore(const Site& site, const std::string& vector) {
  const std::string path = site.Path("old");
  std::ofstream(path).close();
  EXPECT_EQ(chmod(path.c_str(), 0600), 0);
  std::ifstream file(SOTTO_VECTORS "/" + vector);
  const std::string sql((std::istreambuf_iterator<char>(file)), {});
  EXPECT_FALSE(sql.empty());
  server::Database(path).Run(sql.c_str());
  return path;
}

// Each field of the older program's ledger is present with the same value.
void ExpectHasAllOf(const Json& former, const Json& now, const std::string& where) {
  if (former.is_object()) {
    for (const auto& item : former.items()) {
      if (item.key() == "store") continue;
      ASSERT_TRUE(now.contains(item.key())) << where << "/" << item.key();
      ExpectHasAllOf(item.value(), now[item.key()], where + "/" + item.key());
    }
  } else if (former.is_array()) {
    ASSERT_EQ(former.size(), now.size()) << where;
    for (size_t i = 0; i < former.size(); ++i) {
      ExpectHasAllOf(former[i], now[i], where + "/" + std::to_string(i));
    }
  } else {
    EXPECT_EQ(former, now) << where;
  }
}

Json Vector(const std::string& name) { return Json::parse(ReadFile(SOTTO_VECTORS "/" + name)); }

TEST(LiveLedgerTest, AStoreOfTheFirstVersionIsRead) {
  Site site(1);
  const Json ledger = LedgerOf(site, OldStore(site, "store_v1.sql"));
  EXPECT_EQ(ledger["total"]["rounds_released"], 2);
  EXPECT_EQ(ledger["total"]["attempts"], 4);
  EXPECT_EQ(ledger["releases"][1]["charged_rounds"], 3);
  EXPECT_NEAR(ledger["total"]["epsilon"], 2.47773, 1e-5);
}

// A program of version 2 wrote the store and the JSON.
TEST(LiveLedgerTest, TheLedgerOfAStoreOfTheSecondVersionKeepsEveryFigure) {
  Site site(1);
  for (const std::string name : {"store_v2", "store_v2_apart"}) {
    Json former = Vector(name + "_ledger.json");
    // That program mixed two jobs here: the largest epsilon with the last job's trust mode.
    if (name == "store_v2_apart") {
      for (const char* field : {"epsilon", "epsilon_network", "delta", "adjacency", "unit",
                                "trust_mode", "colluders", "seeded"}) {
        former["total"][field] = nullptr;
      }
    }
    const Json now = LedgerOf(site, OldStore(site, name + ".sql"));
    ExpectHasAllOf(former, now, name);
    // That program closed rounds early and did not charge it.
    EXPECT_EQ(now["jobs"][0]["closed_early_uncharged"], true);
    EXPECT_NE(ReadFile(site.Path("ledger.log")).find("closed rounds early"), std::string::npos);
  }
}

// Jobs of two trust modes on different devices: no claim covers both jobs, and no figure is
// printed.
TEST(LiveLedgerTest, TheTotalClaimsNothingOfJobsThatDifferAndSaysWhy) {
  Site site(1);
  const Json total = LedgerOf(site, OldStore(site, "store_v2_apart.sql"))["total"];
  EXPECT_TRUE(total["claims"].empty());
  ASSERT_EQ(total["no_claims"].size(), 4u);
  EXPECT_NE(total["no_claims"][0]["why"].get<std::string>().find("differ"), std::string::npos);
  EXPECT_EQ(total["no_claims"][3]["view"], "one-update");
  const std::string text = ReadFile(site.Path("ledger.log"));
  EXPECT_NE(text.find("in all: no one figure\n"), std::string::npos) << text;
  EXPECT_NE(text.find("no one claim against"), std::string::npos) << text;
  const Json one = LedgerOf(site, OldStore(site, "store_v2.sql"))["total"];
  ASSERT_EQ(one["claims"].size(), 2u) << "the last job composes with all";
  EXPECT_EQ(one["claims"][0]["epsilon"], one["epsilon"]);
  EXPECT_TRUE(one["no_claims"].empty());
}

// A job that was stopped between two rounds continues. It needs no device, and it continues as the
// program version of that time did from the same seed. The figures of its new releases alone
// differ: they are those of a filter, since earlier jobs count.
TEST(LiveLedgerTest, AJobOfTheSecondVersionGoesOnAsTheProgramOfThatTimeDid) {
  Site site(1);
  const std::string store = OldStore(site, "store_v2.sql");
  const std::string json = site.Path("resumed.json");
  Process serve = site.Sotto({"serve",
                              "--store",
                              store,
                              "--model",
                              "softmax-64-10",
                              "--listen",
                              Address(0),
                              "--seed",
                              "4",
                              "--insecure-seed",
                              "--cohort",
                              "2",
                              "--sampling",
                              "poisson",
                              "--rounds",
                              "4",
                              "--noise-multiplier",
                              "1.5",
                              "--adaptive-clip",
                              "--epsilon-budget",
                              "90",
                              "--round-timeout",
                              "0.5",
                              "--poll-interval",
                              "0.25",
                              "--release-allowance",
                              "0.1",
                              "--farewell",
                              "0.1",
                              "--json",
                              json},
                             "resumed.log");
  ASSERT_EQ(serve.Wait(), 0) << ReadFile(site.Path("resumed.log"));
  ExpectHasAllOf(Vector("store_v2_resumed_ledger.json"), LedgerOf(site, store), "resumed");
  EXPECT_EQ(Json::parse(ReadFile(json))["parameters_sha256"],
            "7eeaa7a271596a96bd74fd4a0f89ccd9593c315a6b92c2ed0ca7fa4f4f2e7087");
}

}  // namespace
}  // namespace sotto::live
