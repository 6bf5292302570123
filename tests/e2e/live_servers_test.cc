// Devices that know several addresses of their server: one of them at a time has it.
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "e2e/fake_server.h"
#include "e2e/live.h"
#include "sotto/posix/acceptor.h"

namespace sotto::live {
namespace {

const Arguments kJob = {"--cohort", "2", "--rounds", "3", "--noise-multiplier", "1"};

Arguments And(Arguments all, const Arguments& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string Addresses(uint16_t first, uint16_t second) {
  return Address(first) + "," + Address(second);
}

// The words of a device's log at its first link to that server.
std::string Connected(uint16_t port) { return "connected to " + Address(port); }

TEST(LiveServersTest, ADeadServerCostsNoPause) {
  Site site(2);
  Server server = site.Serve(kJob);
  std::vector<Process> clients = site.Clients(0, {"--server", Addresses(1, server.port)});
  ExpectAllDone(site, clients);
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  for (size_t i = 0; i < clients.size(); ++i) {
    EXPECT_TRUE(Says(ReadFile(site.ClientLog(i)), Connected(server.port)))
        << ReadFile(site.ClientLog(i));
    EXPECT_FALSE(Says(ReadFile(site.ClientLog(i)), " again in ")) << ReadFile(site.ClientLog(i));
  }
}

TEST(LiveServersTest, OneThatRefusesOrSaysNothingIsLeftForTheNext) {
  Site site(2);
  Site other(2);  // of the same names
  const Server wrong = other.Serve(kJob);
  FakeServer silent(Host(), [](int socket) { shutdown(socket, SHUT_RDWR); });
  Server server = site.Serve(kJob);
  std::vector<Process> clients;
  clients.push_back(site.Client(0, 0, {"--server", Addresses(wrong.port, server.port)}));
  clients.push_back(site.Client(1, 0, {"--server", Addresses(silent.port(), server.port)}));
  ExpectAllDone(site, clients);
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  EXPECT_TRUE(Says(ReadFile(site.ClientLog(0)),
                   Address(wrong.port) + ": it does not accept the key of device-000000"))
      << ReadFile(site.ClientLog(0));
  EXPECT_EQ(silent.connections(), 1u) << "it stays with the one that answers";
}

// As when a second machine takes over the store.
TEST(LiveServersTest, AServerThatMovesIsFoundAndTheJobGoesOn) {
  Site site(2);
  const Arguments job = {"--cohort", "2", "--rounds", "40", "--noise-multiplier", "1"};
  Server server = site.Serve(job);
  const uint16_t first = server.port;
  const uint16_t second = posix::Acceptor(Host(), 0).port();
  std::vector<Process> clients = site.Clients(0, {"--server", Addresses(first, second)});
  ASSERT_TRUE(server.WaitForReleases(3));
  server.process.Signal(SIGTERM);
  EXPECT_EQ(server.process.Wait(), 143);
  server = site.Serve(And(job, {"--listen", Address(second)}));
  ExpectAllDone(site, clients);
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  EXPECT_EQ(server.releases(), 40u);
  for (size_t i = 0; i < clients.size(); ++i) {
    EXPECT_TRUE(Says(ReadFile(site.ClientLog(i)), Connected(first)));
    EXPECT_TRUE(Says(ReadFile(site.ClientLog(i)), Connected(second)));
  }
}

TEST(LiveServersTest, WhereNoneAnswersAllAreNamed) {
  Site site(1);
  EXPECT_EQ(site.Client(0, 0, {"--server", Addresses(1, 2), "--give-up", "1"}).Wait(), 4);
  EXPECT_TRUE(Says(ReadFile(site.ClientLog(0)), "cannot connect: " + Address(1) +
                                                    ": Connection refused; " + Address(2) +
                                                    ": Connection refused"))
      << ReadFile(site.ClientLog(0));
}

TEST(LiveServersTest, ACheckSaysWhatEachHasSaid) {
  Site site(2);
  const Server server = site.Serve(kJob);
  const auto check = [&](const std::string& servers) {
    std::filesystem::remove(site.ClientLog(0));
    return site.Client(0, 0, {"--check", "--server", servers}).Wait();
  };
  EXPECT_EQ(check(Addresses(1, server.port)), 0) << ReadFile(site.ClientLog(0));
  EXPECT_TRUE(Says(ReadFile(site.ClientLog(0)),
                   "server: " + Address(1) + ": cannot connect: Connection refused\nserver: " +
                       Address(server.port) + ": it knows this device's key"))
      << ReadFile(site.ClientLog(0));
  EXPECT_EQ(check(Addresses(1, 2)), 4);
}

// Without --give-up a fetch ends when each has been tried.
TEST(LiveServersTest, AFetchTriesEach) {
  Site site(2);
  const Server server = site.Serve({"--cohort", "2", "--rounds", "500", "--noise-multiplier", "1"});
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(1));
  FakeServer silent(Host(), [](int socket) { shutdown(socket, SHUT_RDWR); });
  const auto fetch = [&](const std::string& servers) {
    return site
        .Start(SOTTO_CLIENT_PROGRAM,
               {"--fetch-only", "--keep-model", site.Path("kept"), "--server", servers, "--key",
                site.Path("keys/" + site.key(0).device_id + ".key")},
               "fetch.log")
        .Wait();
  };
  EXPECT_EQ(fetch(Addresses(silent.port(), server.port)), 0) << ReadFile(site.Path("fetch.log"));
  EXPECT_EQ(silent.connections(), 1u);
  EXPECT_EQ(fetch(Addresses(silent.port(), 1)), 4);
}

}  // namespace
}  // namespace sotto::live
