// Tests of the operator's page of a real server: who gets it, and what it shows.
#include <csignal>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "e2e/live.h"
#include "unit/http_client.h"

namespace sotto::live {
namespace {

using Json = nlohmann::json;

// A job of `rounds` rounds with a page, on the site's own address.
Arguments JobWithPage(const Site& site, int rounds, const Arguments& more = {}) {
  Arguments job = {"--cohort",
                   "2",
                   "--rounds",
                   std::to_string(rounds),
                   "--noise-multiplier",
                   "50",
                   "--delta",
                   "0.1",
                   "--http",
                   Address(0),
                   "--test",
                   site.Path("data")};
  job.insert(job.end(), more.begin(), more.end());
  return job;
}

struct Page {
  uint16_t port = 0;
  std::string token;

  std::vector<std::string> Bearer() const { return {"Authorization: Bearer " + token}; }
  HttpAnswer Ask(const std::string& path) const { return Get(Host(), port, path, Bearer()); }
  Json Overview() const { return Json::parse(Ask("/api/overview").body, nullptr, false); }
};

// The page of a server, by its log.
Page PageOf(const Site& site, const Server& server) {
  const std::string sign = "page: http://" + Host() + ":";
  EXPECT_TRUE(Eventually([&] { return Says(ReadFile(server.log), sign); })) << ReadFile(server.log);
  const std::string log = ReadFile(server.log);
  const size_t at = log.rfind(sign) + sign.size();
  return {static_cast<uint16_t>(std::stoi(log.substr(at))), ReadFile(site.Path("store.token"))};
}

// SECURITY.md S27 and SECURITY.md S28.
TEST(LivePageTest, NobodyGetsItWithoutTokenOrByAnotherName) {
  Site site(2);
  Server server = site.Serve(JobWithPage(site, 1000));
  const Page page = PageOf(site, server);
  ASSERT_EQ(page.token.size(), 64U);
  EXPECT_FALSE(Says(ReadFile(server.log), page.token));
  for (const char* path : {"/api/overview", "/api/devices", "/api/events", "/metrics", "/x"}) {
    const HttpAnswer answer = Get(Host(), page.port, path);
    EXPECT_EQ(answer.status, 401) << path;
    EXPECT_FALSE(Says(answer.body, "softmax")) << path;
  }
  const std::string token = page.Bearer().front();
  EXPECT_EQ(Get(Host(), page.port, "/api/overview", {token, "Host: evil.example"}).status, 421);
  EXPECT_EQ(Get(Host(), page.port, "/", {"Host: evil.example:" + std::to_string(page.port)}).status,
            421);
  for (const char* header :
       {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: http://evil.example"}) {
    EXPECT_EQ(Get(Host(), page.port, "/api/overview", {token, header}).status, 403) << header;
  }
  EXPECT_EQ(HttpExchange(Host(), page.port, "POST", "/api/overview", {token}, "x").Finish().status,
            405);
  const HttpAnswer healthy = Get(Host(), page.port, "/healthz");
  EXPECT_EQ(healthy.status, 200);
  EXPECT_EQ(healthy.body, "ok\n");
  const HttpAnswer shell = Get(Host(), page.port, "/");
  EXPECT_EQ(shell.status, 200);
  EXPECT_TRUE(Says(shell.head, "Content-Security-Policy: default-src 'none'; script-src 'self'"));
  EXPECT_FALSE(Says(shell.head, "Access-Control-Allow"));
}

TEST(LivePageTest, ACookieStandsForTheToken) {
  Site site(2);
  Server server = site.Serve(JobWithPage(site, 1000));
  const Page page = PageOf(site, server);
  const auto login = [&](const std::string& body) {
    return HttpExchange(Host(), page.port, "POST", "/login", {}, body).Finish();
  };
  EXPECT_EQ(login("token=" + std::string(64, '0')).status, 403);
  EXPECT_EQ(login("").status, 403);
  const HttpAnswer answer = login("token=" + page.token);
  EXPECT_EQ(answer.status, 204);
  const size_t at = answer.head.find("Set-Cookie: ") + 12;
  const std::string cookie = "Cookie: " + answer.head.substr(at, answer.head.find(';', at) - at);
  EXPECT_EQ(Get(Host(), page.port, "/api/overview", {cookie}).status, 200);
}

TEST(LivePageTest, ShowsARunningJobAndItsEventsAreTheOverview) {
  Site site(2);
  Server server = site.Serve(JobWithPage(site, 6, {"--farewell", "20"}));
  const Page page = PageOf(site, server);
  EXPECT_EQ(page.Overview()["jobs"].back()["rounds_released"], 0);
  HttpExchange events(Host(), page.port, "GET", "/api/events", page.Bearer());
  std::vector<Process> clients = site.Clients(server.port);
  const std::string text = events.ReadUntil("event: end", kPatienceMs);
  EXPECT_EQ(Count(text, "event: round\n"), 6U) << text;
  EXPECT_EQ(Count(text, "event: evaluation\n"), 6U) << text;
  EXPECT_TRUE(Says(text, R"("state":"finished")")) << text;
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  ExpectAllDone(site, clients);
}

TEST(LivePageTest, ARestartGoesOnWithTheRoundsOfTheStore) {
  Site site(2);
  Server server = site.Serve(JobWithPage(site, 1000));
  std::vector<Process> clients = site.Clients(server.port);
  const std::string token = PageOf(site, server).token;
  ASSERT_TRUE(server.WaitForReleases(3)) << ReadFile(server.log);
  server.process.Signal(SIGTERM);
  EXPECT_EQ(server.process.Wait(), 128 + SIGTERM) << ReadFile(server.log);
  Server again = site.Serve(JobWithPage(site, 1000, {"--listen", Address(server.port)}));
  const Page page = PageOf(site, again);
  EXPECT_EQ(page.token, token);
  ASSERT_TRUE(again.WaitForReleases(again.releases() + 2)) << ReadFile(again.log);
  const Json job = page.Overview()["jobs"].back();
  const size_t rounds = job["rounds"].size();
  EXPECT_GE(rounds, 5U);
  EXPECT_EQ(job["rounds_released"], rounds);
  for (size_t i = 0; i < rounds; ++i) EXPECT_EQ(job["rounds"][i]["round"], i + 1);
  EXPECT_GT(job["rounds"][0]["update_bytes"], 0) << "the store keeps the operator's figures";
  EXPECT_GT(job["rounds"][rounds - 1]["update_bytes"], 0);
  const Json devices = Json::parse(page.Ask("/api/devices").body)["devices"];
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0]["connected"], true) << devices;
  EXPECT_GE(devices[0]["reports"], 2) << devices;
  EXPECT_GE(devices[0]["last_reported"], 5) << devices;
  const HttpAnswer metrics = page.Ask("/metrics");
  EXPECT_TRUE(Says(metrics.head, "text/plain; version=0.0.4"));
  EXPECT_TRUE(Says(metrics.body, "sotto_epsilon{")) << metrics.body;
  EXPECT_TRUE(Says(metrics.body, "sotto_test_accuracy")) << metrics.body;
}

TEST(LivePageTest, AStopWritesModelStatementAndRounds) {
  Site site(2);
  Server server = site.Serve(JobWithPage(
      site, 1000, {"--json", site.Path("results.json"), "--model-out", site.Path("model.f32")}));
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(3)) << ReadFile(server.log);
  server.process.Signal(SIGTERM);
  EXPECT_EQ(server.process.Wait(), 128 + SIGTERM) << ReadFile(server.log);
  const Json results = Json::parse(ReadFile(site.Path("results.json")), nullptr, false);
  ASSERT_TRUE(results.is_object()) << ReadFile(server.log);
  EXPECT_TRUE(Says(results["finish_reason"], "stopped")) << results["finish_reason"];
  EXPECT_EQ(results["rounds"].size(), results["rounds_released"]);
  EXPECT_GE(results["rounds"].size(), 3U);
  EXPECT_EQ(results["rounds"][0]["reported"], 2);
  EXPECT_EQ(results["claims"][0]["epsilon"], results["epsilon"]);
  EXPECT_FALSE(results["evaluations"].empty());
  EXPECT_EQ(ReadFile(site.Path("model.f32")).size(), 4 * results["parameters"].get<size_t>());
  const auto report = [&](const Arguments& more) {
    Arguments arguments = {"report", site.Path("results.json"), "--out", site.Path("report.html")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(site.Sotto(arguments, "report.log").Wait(), 0) << ReadFile(site.Path("report.log"));
    return ReadFile(site.Path("report.html"));
  };
  EXPECT_FALSE(Says(report({}), "\"reported\":"));
  EXPECT_TRUE(Says(report({"--operator"}), "\"reported\":2"));
}

TEST(LivePageTest, AnAddressThatOthersReachIsRefusedBeforeTheJobBegins) {
  Site site(2);
  for (const char* address : {"0.0.0.0:0", "[::]:0", "192.0.2.1:80", "8080x", "example.org:80"}) {
    Process refused = site.StartServe(
        {"--cohort", "2", "--rounds", "2", "--noise-multiplier", "50", "--http", address});
    EXPECT_EQ(refused.Wait(), 2) << address << ReadFile(site.Path("serve.log"));
  }
  EXPECT_TRUE(Says(ReadFile(site.Path("serve.log")), "ssh -L")) << ReadFile(site.Path("serve.log"));
  Process status = site.Sotto({"status", site.Path("store")}, "status.log");
  EXPECT_EQ(status.Wait(), 0);
  EXPECT_TRUE(Says(ReadFile(site.Path("status.log")), "none has begun"));
}

}  // namespace
}  // namespace sotto::live
