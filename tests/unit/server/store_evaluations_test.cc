// Tests of the evaluations in a store.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>

#include "backends/open_store.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

Evaluation Some() {
  Evaluation evaluation;
  evaluation.samples = 30;
  evaluation.loss = 1.0 / 3;
  evaluation.classes = {{9, 10}, {0, 0}, {3, 20}};
  return evaluation;
}

class StoreEvaluationsTest : public StoredTest {
 protected:
  StoreEvaluationsTest() {
    SqlStore store(path_, kCreate);
    store.AddDevices(SomeDevices(), false);
    store.BeginJob(RecordOf(SmallConfig()));
    for (uint32_t round = 0; round < 2; ++round) {
      store.CommitAttempt({round, 0, {0}});
      Release(store, round, 0);
      if (round == 0) store.CommitEvaluation(0, {"flowers", "ab"}, Some());
    }
  }
};

TEST_F(StoreEvaluationsTest, AreReadAsTheyWereWritten) {
  SqlStore store(path_);
  const std::vector<StoredEvaluation> all = store.Evaluations();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].job, 1);
  EXPECT_EQ(all[0].round, 0u);
  EXPECT_EQ(all[0].data.name, "flowers");
  EXPECT_EQ(all[0].data.sha256, "ab");
  EXPECT_EQ(all[0].evaluation.samples, 30u);
  EXPECT_EQ(all[0].evaluation.loss, 1.0 / 3);
  EXPECT_EQ(all[0].evaluation.classes, Some().classes);
  EXPECT_GT(all[0].evaluated, 0);
  EXPECT_EQ(store.Evaluations().size(), 1u);
}

TEST_F(StoreEvaluationsTest, ALossThatIsNotFiniteAndNoClassesAreKept) {
  SqlStore store(path_);
  store.BeginJob(RecordOf(SmallConfig()));
  Evaluation diverged;
  diverged.samples = 1;
  diverged.loss = std::numeric_limits<double>::infinity();
  store.CommitEvaluation(1, {"flowers", ""}, diverged);
  const std::vector<StoredEvaluation> all = store.Evaluations();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(std::isnan(all[1].evaluation.loss));
  EXPECT_TRUE(all[1].evaluation.classes.empty());
}

TEST_F(StoreEvaluationsTest, AreChainedLikeEveryRecord) {
  OF_A_FILE_ONLY();
  for (const char* sql : {"UPDATE evaluations SET loss = 0", "UPDATE evaluations SET data = 'x'",
                          "UPDATE evaluated_classes SET correct = 10 WHERE class = 0",
                          "DELETE FROM evaluated_classes WHERE class = 2"}) {
    const std::string whole = [&] {
      std::ifstream file(path_, std::ios::binary);
      return std::string((std::istreambuf_iterator<char>(file)), {});
    }();
    RunSql(sql);
    EXPECT_TRUE(Says(Refusal(), "the evaluation of round 1 of job 1")) << sql;
    WriteRaw(whole);
  }
  SqlStore store(path_);
  EXPECT_EQ(store.Evaluations().size(), 1u);
}

TEST_F(StoreEvaluationsTest, ThereIsOneOfARoundAndNoneOfARoundThatReleasedNothing) {
  SqlStore store(path_);
  store.BeginJob(RecordOf(SmallConfig()));
  EXPECT_THROW(store.CommitEvaluation(0, {"flowers", "ab"}, Some()), std::runtime_error);
  EXPECT_THROW(store.CommitEvaluation(7, {"flowers", "ab"}, Some()), std::runtime_error);
  EXPECT_EQ(store.Evaluations().size(), 1u);
}

TEST_F(StoreEvaluationsTest, WhatWasSeenOfAttemptsIsARecordOfEachOnce) {
  SqlStore store(path_);
  store.BeginJob(RecordOf(SmallConfig()));
  store.CommitAttempt({2, 0, {0}});
  store.CommitFigures({0, 1, 0, true, R"({"drawn":4})"});
  store.CommitFigures({0, 2, 0, false, R"({"drawn":3})"});
  EXPECT_THROW(store.CommitFigures({0, 2, 0, false, "{}"}), std::runtime_error);
  EXPECT_THROW(store.CommitFigures({0, 7, 0, false, "{}"}), std::runtime_error);
  const std::vector<RoundRecord> all = store.RoundRecords();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].round, 2u);
  EXPECT_FALSE(all[1].released);
  EXPECT_EQ(all[1].figures, R"({"drawn":3})");
  InspectStore(path_);  // throws unless all of it is in the chain
}

}  // namespace
}  // namespace sotto::server
