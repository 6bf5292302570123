// Tests of a store that is read while another process has it for itself.
#include <atomic>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sotto/posix/files.h"
#include "store/open_store.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

class StoreBesideTest : public SqliteStoreTest {
 protected:
  StoreBesideTest() { SqliteStore(path_, kCreate).AddDevices(SomeDevices(), false); }

  void Begin(SqliteStore& store) const {
    JobRecord record = RecordOf(config_);
    const std::vector<float> first = ModelOf(99);
    record.parameters = {first.data(), first.size()};
    store.BeginJob(record);
  }

  static void ReleaseRound(SqliteStore& store, uint32_t round) {
    store.CommitAttempt({round, 0, {0}});
    Release(store, round, 0, 650);
  }

  // The last model, read beside whoever has the store.
  std::vector<float> LastModel(int64_t* round = nullptr) const {
    std::vector<float> parameters;
    ReadStore(path_, [&](Store& store) {
      const int64_t last = store.ListModels(1).back();
      parameters = store.ReadModel(1, last).parameters;
      if (round != nullptr) *round = last;
    });
    return parameters;
  }

  const JobConfig config_ = SmallConfig();
};

TEST_F(StoreBesideTest, EveryReleaseIsReadWhileTheServerHasTheStore) {
  SqliteStore server(path_);
  Begin(server);
  for (uint32_t round = 0; round < 3; ++round) {
    ReleaseRound(server, round);
    EXPECT_EQ(LastModel(), ModelOf(round));
  }
  EXPECT_THROW(SqliteStore(path_, StoreMode::kRead), std::runtime_error) << "the server has it";
}

TEST_F(StoreBesideTest, ManyCommitsMeanwhileMixNothing) {
  SqliteStore server(path_);
  Begin(server);
  ReleaseRound(server, 0);
  std::atomic<bool> is_done{false};
  std::thread reader([&] {
    while (!is_done) {
      int64_t round = 0;
      const std::vector<float> model = LastModel(&round);
      EXPECT_EQ(model, ModelOf(static_cast<uint32_t>(round)));
    }
  });
  for (uint32_t round = 1; round < 30; ++round) ReleaseRound(server, round);
  is_done = true;
  reader.join();
  EXPECT_EQ(LastModel(), ModelOf(29));
}

TEST_F(StoreBesideTest, NothingIsWritten) {
  {
    SqliteStore server(path_);
    Begin(server);
  }
  ReadStore(path_,
            [&](Store& store) { EXPECT_THROW(store.RevokeDevice("small-0"), std::runtime_error); });
}

TEST_F(StoreBesideTest, WhatTheReaderThrowsArrives) {
  SqliteStore server(path_);
  Begin(server);
  EXPECT_THROW(ReadStore(path_, [](Store& store) { store.ReadModel(1, 77); }), std::runtime_error);
  EXPECT_THROW(ReadStore(path_, [](Store&) { throw std::invalid_argument("no such round"); }),
               std::invalid_argument);
}

TEST_F(StoreBesideTest, AFileThatIsNoStoreIsRefused) {
  const std::string empty = folder_.Path("empty");
  posix::CreatePrivateFile(empty);
  EXPECT_THROW(ReadStore(empty, [](Store&) {}), std::runtime_error);
  EXPECT_THROW(ReadStore(folder_.Path("nothing"), [](Store&) {}), std::runtime_error);
}

}  // namespace
}  // namespace sotto::server
