// An audit of `sotto serve` over several rounds, with real clients: four sotto-clients whose
// learning rate is 0, so that each sends an update of zeros; a device that never comes, so that
// rounds are topped up; and a canary, which sends the longest update that is allowed, or its
// opposite. The auditor reads the released models from the store and the plan from the ledger:
// audit.h says what it checks, how sure it is and what it can see. Draws and keys derive from a
// seed.
//
// A build that halves the noise in the job's task, one whose release skips the zero updates and one
// whose mean divides by the reports fail this test; audit_test.cc has the same three in a process.
#include <future>
#include <gtest/gtest.h>

#include "backends/sql_store.h"
#include "e2e/live.h"
#include "sotto/posix/port.h"
#include "unit/server/audit.h"

namespace sotto::live {
namespace {

constexpr size_t kHonest = 4;
constexpr size_t kCanary = 5;  // device 4 never comes
constexpr uint32_t kRounds = 8;

// Takes part as the canary until the server is gone. Returns the rounds in which it reported.
std::vector<bool> RunCanary(const Site& site, uint16_t port, int sign) {
  std::vector<bool> reported(kRounds);
  const posix::DeviceKey& key = site.key(kCanary);
  Caller caller(port, key);
  if (caller.Connect() != Status::kOk) return reported;
  for (;;) {
    const Reply reply = caller.Hello();
    if (reply.kind == Reply::Kind::kWait) {
      posix::SleepMs(reply.wait_ms);
    } else if (reply.kind == Reply::Kind::kTrain) {
      const TrainTask task = reply.task;
      uint8_t nonce[kNonceSize] = {static_cast<uint8_t>(task.round + 1),
                                   static_cast<uint8_t>(task.attempt)};
      const std::vector<uint8_t> bytes = audit::Encoded(
          {key.device_id, key.secret}, task, nonce,
          audit::CanaryUpdate(7850, static_cast<double>(task.training.clip_l2), sign));
      const Reply last = caller.Upload(task, nonce, {bytes.data(), bytes.size()});
      if (last.kind == Reply::Kind::kAck && last.complete) reported[task.round] = true;
    } else {
      return reported;
    }
  }
}

struct Audited {
  std::vector<audit::Round> rounds;
  privacy::Plan plan;
};

Audited Serve(int sign) {
  Site site(6, {"--seed", "7", "--insecure-seed"});
  Server server = site.Serve({"--cohort",
                              "4",
                              "--rounds",
                              std::to_string(kRounds),
                              "--noise-multiplier",
                              "0.02",
                              "--colluders",
                              "0",
                              "--learning-rate",
                              "0",
                              "--delta",
                              "0.1",
                              "--seed",
                              "7",
                              "--insecure-seed",
                              "--round-timeout",
                              "1.5",
                              "--release-allowance",
                              "0.25",
                              "--poll-interval",
                              "0.25",
                              "--farewell",
                              "1"});
  std::vector<Process> clients;
  for (size_t i = 0; i < kHonest; ++i) {
    clients.push_back(site.Client(i, server.port, {"--seed", "7", "--insecure-seed"}));
  }
  const std::vector<bool> canary = RunCanary(site, server.port, sign);
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  Audited run;
  server::SqlStore store(site.Path("store"));
  const std::vector<server::LedgerEntry> ledger = store.Ledger();
  EXPECT_EQ(ledger.size(), kRounds);
  std::vector<float> before(7850);
  for (const server::LedgerEntry& entry : ledger) {
    const std::vector<float> after = store.ReadModel(entry.job, entry.round).parameters;
    run.rounds.push_back({before, after, canary[entry.round] ? sign : 0});
    before = after;
    run.plan = entry.plan;
  }
  // Else the audit sees nothing of a faulty top-up.
  EXPECT_GT(Count(ReadFile(server.log), "3 of 4 reported, 1 topped up"), 0u)
      << ReadFile(server.log);
  return run;
}

TEST(LiveAudit, TheModelsOfARealServerKeepWhatItsPlanPromises) {
  std::future<Audited> other = std::async(std::launch::async, [] { return Serve(-1); });
  const Audited in = Serve(1);
  const Audited out = other.get();
  EXPECT_EQ(audit::FaultsOf(in.rounds, in.plan), std::vector<std::string>());
  EXPECT_EQ(audit::FaultsOf(out.rounds, out.plan), std::vector<std::string>());
  EXPECT_NEAR(audit::NoiseMultiplierSeen(in.rounds, out.rounds, in.plan), 0.02, 0.002);
}

}  // namespace
}  // namespace sotto::live
