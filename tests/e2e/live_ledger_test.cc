// The privacy ledger as users see it: successive jobs in one store, budgets, and `sotto account
// ledger`.
#include <csignal>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "e2e/live.h"
#include "round/round_figures.h"

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

Json LedgerOf(const Site& site) {
  const std::string json = site.Path("ledger.json");
  EXPECT_EQ(
      site.Sotto({"account", "ledger", site.Path("store"), "--json", json}, "ledger.log").Wait(), 0)
      << ReadFile(site.Path("ledger.log"));
  return Json::parse(ReadFile(json));
}

TEST(LiveLedgerTest, ALaterJobIsChargedWithWhatTheEarlierOneSpentThroughAKill) {
  Site site(4);
  RunJob(site, JobOf("2", "1"));
  const Arguments second = JobOf("4", "2");
  Server server = site.Serve(second);  // the first one is over: other options begin another
  const size_t released = server.releases();
  const uint16_t port = server.port;
  std::vector<Process> clients = site.Clients(port);
  ASSERT_TRUE(server.WaitForReleases(released + 1)) << ReadFile(server.log);
  server.process.Signal(SIGKILL);
  ASSERT_EQ(server.process.Wait(), 128 + SIGKILL);
  const size_t before = ReadFile(server.log).size();
  EXPECT_EQ(site.StartServe(JobOf("4", "3")).Wait(), 1);
  const std::string said = ReadFile(server.log).substr(before);
  EXPECT_NE(said.find("noise_sigma = "), std::string::npos) << said;
  EXPECT_NE(said.find("sotto job start"), std::string::npos) << said;
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
  EXPECT_EQ(ledger["total"]["claims"].size(), 2u) << "the last job composes with all";
  EXPECT_TRUE(ledger["total"]["no_claims"].empty());

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

// A person who knows how many devices reported knows more than epsilon covers.
TEST(LiveLedgerTest, ThePublishedLedgerHoldsNoCountOfReports) {
  Site site(4);
  RunJob(site, {"--cohort", "2", "--rounds", "2", "--noise-multiplier", "1"});
  const std::string store = site.Path("store");
  const Json own = LedgerOf(site);
  EXPECT_EQ(own["audience"], "operator");
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
  for (const char* field : {"evaluations", "halt"}) {
    shown["jobs"][0][field] = own["jobs"][0][field];
  }
  EXPECT_EQ(shown, own);
}

// Serves one round to its end that no device reports to: its release is noise alone.
void RunRoundWithoutReports(const Site& site, const Arguments& arguments) {
  const Arguments quick = {"--cohort",           "1",   "--rounds",        "1",
                           "--noise-multiplier", "1",   "--min-devices",   "0",
                           "--round-timeout",    "0.5", "--poll-interval", "0.25",
                           "--farewell",         "0.1", "--delta",         "1e-3"};
  Process server = site.StartServe(With(quick, arguments));
  EXPECT_EQ(server.Wait(), 0) << ReadFile(site.Path("serve.log"));
}

// Jobs of two trust modes on different devices: no claim covers both jobs, and no figure is
// printed.
TEST(LiveLedgerTest, TheTotalClaimsNothingOfJobsThatDifferAndSaysWhy) {
  Site site(1);
  const std::string store = site.Path("store");
  RunRoundWithoutReports(site,
                         {"--trust-mode", "private-noise", "--private-noise-multiplier", "1"});
  const Json one = LedgerOf(site)["total"];
  EXPECT_EQ(one["claims"].size(), 4U) << "one job claims for all";
  EXPECT_TRUE(one["no_claims"].empty());
  for (const Arguments& command : {Arguments{"keys", "revoke", store, site.key(0).device_id},
                                   Arguments{"keys", "new", store, "--prefix", "other", "--count",
                                             "1", "--out", site.Path("others")}}) {
    ASSERT_EQ(site.Sotto(command, "keys.log").Wait(), 0) << ReadFile(site.Path("keys.log"));
  }
  RunRoundWithoutReports(site, {"--new-job"});
  const Json total = LedgerOf(site)["total"];
  EXPECT_TRUE(total["claims"].empty());
  ASSERT_EQ(total["no_claims"].size(), 4U);
  EXPECT_NE(total["no_claims"][0]["why"].get<std::string>().find("differ"), std::string::npos);
  EXPECT_EQ(total["no_claims"][3]["view"], "one-update");
  for (const char* field : {"epsilon", "epsilon_network", "delta", "trust_mode"}) {
    EXPECT_TRUE(total[field].is_null()) << field;
  }
  const std::string text = ReadFile(site.Path("ledger.log"));
  EXPECT_NE(text.find("in all: no one figure\n"), std::string::npos) << text;
  EXPECT_NE(text.find("no one claim against"), std::string::npos) << text;
}

}  // namespace
}  // namespace sotto::live
