// A server that is started on a store again and again: its jobs, without a network.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>

#include "jobs/life_start.h"
#include "store/life.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {

// One start: it resumes the last job, or begins one.
class ServerStart {
 public:
  explicit ServerStart(const std::string& path, const JobConfig& config = SmallPassesConfig(),
                       bool is_new_job = false)
      : store_(path, StoreMode::kExisting), devices_(store_.LoadDevices()) {
    const History history = store_.ReadHistory();
    const JobEntry* resumed = is_new_job ? nullptr : LastJob(history);
    JobConfig now = config;
    now.plan.devices = resumed == nullptr ? devices_.eligible() : PlanOf(history, *resumed).devices;
    now.spent_before = SpentBefore(history, resumed);
    GoOnInLife(path, history, resumed, false, &now);
    if (is_new_job) store_.AllowNewJob();
    static uint8_t starts = 0;
    Key key;
    key.bytes[0] = ++starts;
    job_ = std::make_unique<Job>(now, devices_, store_, key, ReadState(store_, resumed));
  }

  bool Open() { return job_->OpenRound(); }

  void Report() {
    static uint32_t reports = 0;
    for (const uint32_t device : job_->cohort()) {
      SmallDevice client(devices_[device], device, *job_->config().model, ++reports);
      EXPECT_EQ(client.Run(*job_, device), Status::kOk);
    }
  }

  void RunToItsEnd() {
    while (Open()) {
      Report();
      EXPECT_TRUE(job_->CloseRound().released);
    }
  }

  Job& job() { return *job_; }
  SqlStore& store() { return store_; }
  const DeviceRegistry& devices() const { return devices_; }

 private:
  SqlStore store_;
  DeviceRegistry devices_;
  std::unique_ptr<Job> job_;
};

// How often each device was drawn, over all jobs.
inline std::map<int64_t, int> TurnsIn(Store& store) {
  std::map<int64_t, int> turns;
  const History history = store.ReadHistory();
  for (const JobEntry& job : history.jobs) {
    for (const SealRecord& seal : job.seals) {
      for (const int64_t device : seal.devices) ++turns[device];
    }
  }
  return turns;
}

}  // namespace sotto::server
