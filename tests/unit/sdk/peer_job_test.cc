// The job of nodes without a server: its id, what a publication costs, the bound of float32 errors;
// and the policies that decide from public numbers.
#include "sotto/peer_job.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <set>

#include "peers.h"
#include "sotto/share_policy.h"

namespace sotto {
namespace {

TEST(PeerJob, HasAnIdOfAllItsNumbers) {
  std::set<std::vector<uint8_t>> ids;
  const auto add = [&](void (*change)(PeerJob&)) {
    PeerJob job = DeviceJob(PeerRule::kAverage);
    change(job);
    uint8_t id[16] = {};
    EXPECT_EQ(PeerJobId(kOva, job, id), Status::kOk);
    EXPECT_TRUE(ids.insert({id, id + 16}).second);
  };
  add([](PeerJob&) {});
  add([](PeerJob& j) { j.rule = PeerRule::kShared; });
  add([](PeerJob& j) { j.batch_size = 5; });
  add([](PeerJob& j) { j.learning_rate = 0.5f; });
  add([](PeerJob& j) { j.weight_decay = 0.5f; });
  add([](PeerJob& j) { j.range = 4; });
  add([](PeerJob& j) { j.error_clip = 0.5f; });
  add([](PeerJob& j) { j.feature_norm = 0.5f; });
  add([](PeerJob& j) { j.clip_l2 = 1; });
  add([](PeerJob& j) { j.noise_q20 = 1; });
  add([](PeerJob& j) { j.passes = 2; });
  add([](PeerJob& j) { j.most_local_steps = 1; });
  add([](PeerJob& j) {
    j.rule = PeerRule::kShared;
    j.publication_steps = 2;
  });
  add([](PeerJob& j) { j.most_releases = 1; });
  add([](PeerJob& j) { j.salt[15] = 1; });
}

TEST(PeerJob, ReleaseCostsHalfTheSquaredRatio) {
  PeerJob job = DeviceJob(PeerRule::kAverage);  // 2 C = 0.5 = 524,288 units; noise 40,000
  uint64_t rho = 0;
  ASSERT_EQ(PeerReleaseRhoQ40(kOva, job, &rho), Status::kOk);
  EXPECT_NEAR(static_cast<double>(rho) * 0x1p-40, 0.5 * 524288.0 * 524288.0 / 1.6e9, 1e-6);
  // Ten models of 51 weights each: sqrt(10) 2 eta sqrt(2) / b, and what rounding adds.
  static constexpr ModelInfo kTen =
      MakeModelInfo<nn::Sequential<nn::Dense<50, 10>, nn::OneVsAll>>("ten");
  PeerJob paper;
  paper.noise_q20 = 1;
  double sensitivity = 0;
  ASSERT_EQ(PeerSensitivityQ20(kTen, paper, 0, &sensitivity), Status::kOk);
  const double ideal = std::sqrt(10.0) * 2 * 0.1 * std::sqrt(2.0) / 50 * 0x1p20;
  EXPECT_GT(sensitivity, ideal);
  EXPECT_LT(sensitivity, 1.02 * ideal);
  ASSERT_EQ(PeerSensitivityQ20(kTen, paper, 64, &sensitivity), Status::kOk);
  EXPECT_LT(sensitivity, 1.15 * ideal);
}

// Lemma 6: float32 against double, on a batch that is as bad as the bounds allow.
TEST(PeerJob, StepErrorBoundsFloat32) {
  PeerJob job = SampleJob();
  job.range = 8;
  std::mt19937 random(5);
  std::uniform_real_distribution<float> weight(-8, 8);
  double most = 0;
  for (int n = 0; n < 200; ++n) {
    Peer peer(job, static_cast<uint8_t>(n % 250 + 1), 4);
    ASSERT_EQ(peer.Begin(), Status::kOk);
    for (float& w : peer.local) w = weight(random);
    for (auto& features : peer.samples.features) {
      double norm = 0;
      for (float& x : features) {
        x = weight(random);
        norm += static_cast<double>(x) * x;
      }
      for (float& x : features) x = static_cast<float>(x / std::sqrt(norm) * 0.999999);
    }
    const std::vector<double> before = Doubles(peer.local);
    ASSERT_EQ(peer.trainer.LearnAlone(), Status::kOk);
    std::vector<double> after = Step(peer.samples, Reads(peer), before, 0.5, 0);
    for (size_t k = 0; k < 3; ++k) {
      double squares = 0;
      for (size_t i = 0; i < 7; ++i) {
        const size_t at = i < 6 ? 6 * k + i : 18 + k;
        const double exact = std::max(-8.0, std::min(8.0, after[at]));
        squares += std::pow(exact - peer.local[at], 2);
      }
      most = std::max(most, std::sqrt(squares));
    }
  }
  const double bound = PeerStepError(kOva, job, 0.5);
  EXPECT_LT(most, bound);
  EXPECT_GT(most, 0.02 * bound);
}

TEST(SharePolicy, NeverAlwaysCoinAndPeriod) {
  PrivateSituation now;
  bool share = true;
  ASSERT_EQ(NeverShare().Decide(now, &share), Status::kOk);
  EXPECT_FALSE(share);
  ASSERT_EQ(AlwaysShare().Decide(now, &share), Status::kOk);
  EXPECT_TRUE(share);
  PeriodPolicy period(4);
  const uint8_t job_id[kJobIdSize] = {1};
  CoinPolicy coin(Peer::Secret(1), job_id, 0x1999999a);  // 0.1
  CoinPolicy other(Peer::Secret(2), job_id, 0x1999999a);
  int shared = 0;
  int equal = 0;
  for (now.step = 0; now.step < 20000; ++now.step) {
    ASSERT_EQ(period.policy().Decide(now, &share), Status::kOk);
    EXPECT_EQ(share, now.step % 4 == 3);
    bool again = false;
    bool others = false;
    ASSERT_EQ(coin.policy().Decide(now, &share), Status::kOk);
    ASSERT_EQ(coin.policy().Decide(now, &again), Status::kOk);
    ASSERT_EQ(other.policy().Decide(now, &others), Status::kOk);
    EXPECT_EQ(share, again);
    shared += share ? 1 : 0;
    equal += share == others ? 1 : 0;
  }
  // 7 deviations of sqrt(20000 p (1 - p)) = 42: chance below 1e-11.
  EXPECT_NEAR(shared, 2000, 300);
  EXPECT_NEAR(equal, 16400, 400);
  EXPECT_TRUE(coin.policy().has_public_inputs());
}

}  // namespace
}  // namespace sotto
