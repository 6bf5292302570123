// Sessions that resume over real connections: `sotto serve`, `sotto-client --resume-tls`, and what
// `sotto keys` does to tickets.
#include <csignal>
#include <gtest/gtest.h>
#include <string>

#include <nlohmann/json.hpp>

#include "e2e/live.h"
#include "sotto/tls_tickets.h"

namespace sotto::live {
namespace {

Arguments JobOf(const std::string& rounds, const Arguments& more = {}) {
  Arguments job = {"--cohort",           "2",  "--rounds", rounds,
                   "--noise-multiplier", "50", "--delta",  "0.1"};
  job.insert(job.end(), more.begin(), more.end());
  return job;
}

void Keys(const Site& site, const Arguments& arguments) {
  Process process = site.Sotto(arguments, "keys.log");
  EXPECT_EQ(process.Wait(), 0) << ReadFile(site.Path("keys.log"));
}

bool LogSays(const Server& server, const std::string& words) {
  return Eventually([&] { return Says(ReadFile(server.log), words); });
}

// Connects once. Returns what the server answers to Hello.
Reply Meet(const Server& server, const posix::DeviceKey& key, TlsTicket* ticket, bool* is_resumed) {
  Caller caller(server.port, key, ticket);
  EXPECT_EQ(caller.Connect(), Status::kOk);
  *is_resumed = caller.is_resumed();
  return caller.Hello();
}

// SECURITY.md S3, S4, S32.
TEST(LiveTickets, ATicketOpensASessionUntilItsKeyIsTakenAway) {
  Site site(3);
  const std::string store = site.Path("store");
  Server server = site.Serve(JobOf("10000"));
  TlsTicket tickets[2];
  bool is_resumed = true;
  for (size_t device = 0; device < 2; ++device) {
    EXPECT_NE(Meet(server, site.key(device), &tickets[device], &is_resumed).kind,
              Reply::Kind::kError);
    EXPECT_FALSE(is_resumed);
    EXPECT_NE(Meet(server, site.key(device), &tickets[device], &is_resumed).kind,
              Reply::Kind::kError);
    EXPECT_TRUE(is_resumed);
  }
  Keys(site, {"keys", "revoke", store, site.key(0).device_id});
  Keys(site, {"keys", "rotate", store, site.key(1).device_id, "--key", site.Path("new.key")});
  ASSERT_TRUE(LogSays(server, site.key(0).device_id + " was revoked")) << ReadFile(server.log);
  ASSERT_TRUE(LogSays(server, "has a new key")) << ReadFile(server.log);
  EXPECT_EQ(Meet(server, site.key(0), &tickets[0], &is_resumed).code, ErrorCode::kKeyRevoked);
  EXPECT_FALSE(is_resumed);
  EXPECT_EQ(Meet(server, site.key(1), &tickets[1], &is_resumed).code, ErrorCode::kKeyRotated);
  EXPECT_FALSE(is_resumed);
  EXPECT_FALSE(tickets[0].is_there() || tickets[1].is_there()) << "nor is there a new one";
  const posix::DeviceKey renewed = posix::ReadKeyFile(site.Path("new.key"));
  for (const bool resumes : {false, true}) {
    EXPECT_NE(Meet(server, renewed, &tickets[1], &is_resumed).kind, Reply::Kind::kError);
    EXPECT_EQ(is_resumed, resumes);
  }
}

// SECURITY.md S5: a ticket brings no second session.
TEST(LiveTickets, TheNewestOfTwoResumedSessionsWins) {
  Site site(2);
  Server server = site.Serve(JobOf("10000"));
  TlsTicket ticket;
  bool is_resumed = true;
  Meet(server, site.key(0), &ticket, &is_resumed);
  Caller first(server.port, site.key(0), &ticket);
  Caller second(server.port, site.key(0), &ticket);
  ASSERT_EQ(first.Connect(), Status::kOk);
  EXPECT_NE(first.Hello().kind, Reply::Kind::kError);
  ASSERT_EQ(second.Connect(), Status::kOk);
  EXPECT_TRUE(first.is_resumed() && second.is_resumed());
  Reply last;
  EXPECT_EQ(first.Receive(&last), Status::kOk);
  EXPECT_EQ(last.code, ErrorCode::kOtherMachine);
  EXPECT_NE(second.Hello().kind, Reply::Kind::kError);
}

// The server closes the connection between two polls, as if a board slept.
TEST(LiveTickets, AClientResumesIfItIsToldTo) {
  Site site(2);
  const std::string json = site.Path("results.json");
  Server server = site.Serve(JobOf("1", {"--request-timeout", "0.1", "--poll-interval", "0.3",
                                         "--round-timeout", "1", "--json", json}));
  Process resumes = site.Client(0, server.port, {"--hold", "0", "--resume-tls"});
  EXPECT_EQ(resumes.Wait(), 0) << ReadFile(site.ClientLog(0));
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  const auto results = nlohmann::json::parse(ReadFile(json));
  EXPECT_GE(results["operator"]["network"]["resumed_sessions"], 1);
}

TEST(LiveTickets, AServerRefusesThemIfItIsToldTo) {
  Site site(2);
  Server server = site.Serve(JobOf("10000", {"--refuse-tickets"}));
  TlsTicket ticket;
  bool is_resumed = true;
  for (int i = 0; i < 2; ++i) {
    EXPECT_NE(Meet(server, site.key(0), &ticket, &is_resumed).kind, Reply::Kind::kError);
    EXPECT_FALSE(is_resumed || ticket.is_there());
  }
}

}  // namespace
}  // namespace sotto::live
