// A node without a server: what its steps compute, and that a reset, a failure or a bad sample
// never makes it publish more than is paid for.
#include "sotto/peer_trainer.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "peers.h"

namespace sotto {
namespace {

constexpr PeerRule kRules[] = {PeerRule::kAverage, PeerRule::kShared, PeerRule::kAccumulate};

Status FailEntropy(void*, MutableByteSpan) { return Status::kEntropyFailed; }

TEST(PeerTrainer, FollowsTheRules) {
  for (const PeerRule rule : kRules) {
    PeerJob job = QuietJob(rule);
    job.weight_decay = 0.01f;
    Peer other(job, 9);
    Peer peer(job, 1);
    ASSERT_EQ(other.Begin(), Status::kOk);
    ASSERT_EQ(peer.Begin(), Status::kOk);
    ASSERT_EQ(other.trainer.Publish(1, 0), Status::kOk);
    const std::vector<double> g = Doubles(other.local);
    ASSERT_EQ(peer.trainer.Publish(1, 0), Status::kOk);
    ASSERT_EQ(peer.trainer.Adopt(false), Status::kOk);
    const std::vector<double> p = Doubles(peer.local);
    const double eta = 0.25;
    Reads(peer);

    const double local_rate = rule == PeerRule::kAverage ? 2 * eta : eta;
    ASSERT_EQ(peer.trainer.LearnAlone(), Status::kOk);
    const std::vector<double> w = Step(peer.samples, Reads(peer), p, local_rate, 0.01);
    EXPECT_LT(Distance(w, Doubles(peer.local)), 1e-6);

    ASSERT_EQ(peer.trainer.SetHead(other.trainer.publication()), Status::kOk);
    ASSERT_EQ(peer.trainer.Publish(2, 1), Status::kOk);
    const std::vector<uint32_t> batch = Reads(peer);
    std::vector<double> expected(w.size());
    for (size_t i = 0; i < w.size(); ++i) expected[i] = g[i] + w[i] - p[i];
    if (rule == PeerRule::kAccumulate) {
      expected = Step(peer.samples, batch, expected, eta, 0.01);
    } else {
      expected = Step(peer.samples, batch, g, eta, 0.01);
      if (rule == PeerRule::kAverage) {
        for (size_t i = 0; i < w.size(); ++i) expected[i] += (w[i] - g[i]) / 2;
      }
    }
    EXPECT_LT(Distance(expected, Doubles(peer.local)), 1e-5) << static_cast<int>(rule);
    ASSERT_EQ(peer.trainer.Adopt(true), Status::kOk);
    EXPECT_EQ(peer.trainer.head_version(), 2u);
    EXPECT_EQ(peer.last, peer.local);
    EXPECT_EQ(peer.head, peer.local);
  }
}

TEST(PeerTrainer, VisitsEachSampleOnceAPassAndDropsThePartialBatch) {
  PeerJob job = QuietJob(PeerRule::kAverage);
  job.passes = 3;
  Peer peer(job, 1, 42);
  ASSERT_EQ(peer.Begin(), Status::kOk);
  EXPECT_EQ(peer.trainer.steps(), 30u);
  std::set<std::vector<uint32_t>> orders;
  for (int pass = 0; pass < 3; ++pass) {
    Reads(peer);
    for (int i = 0; i < 10; ++i) ASSERT_EQ(peer.trainer.LearnAlone(), Status::kOk);
    const std::vector<uint32_t> reads = Reads(peer);
    EXPECT_EQ(reads.size(), 40u);
    EXPECT_EQ(std::set<uint32_t>(reads.begin(), reads.end()).size(), 40u);
    orders.insert(reads);
  }
  EXPECT_EQ(orders.size(), 3u);
  EXPECT_TRUE(peer.trainer.is_done());
  EXPECT_EQ(peer.trainer.LearnAlone(), Status::kWrongState);
  EXPECT_EQ(peer.trainer.Publish(1, 0), Status::kWrongState);
}

TEST(PeerTrainer, StartsAPassFromItsLastPublicationIfSomethingIsClaimed) {
  for (const bool has_noise : {true, false}) {
    PeerJob job = has_noise ? SampleJob() : QuietJob(PeerRule::kAverage);
    job.passes = 2;
    Peer peer(job, 1, 8);
    ASSERT_EQ(peer.Begin(), Status::kOk);
    ASSERT_EQ(peer.trainer.LearnAlone(), Status::kOk);
    EXPECT_NE(peer.local, peer.last);
    ASSERT_EQ(peer.trainer.LearnAlone(), Status::kOk);
    EXPECT_EQ(peer.local == peer.last, has_noise);
  }
}

// The noise is the same in both runs, so the publications differ by u - u' alone.
double PublishedDifference(const PeerJob& job, const std::vector<float>& features, uint32_t label,
                           uint32_t at, uint32_t local_steps) {
  Peer a(job, 1, 4 * (local_steps + 1));
  Peer b(job, 1, 4 * (local_steps + 1));
  b.samples.features[at] = features;
  b.samples.labels[at] = label;
  for (Peer* peer : {&a, &b}) {
    EXPECT_EQ(peer->Begin(), Status::kOk);
    for (uint32_t i = 0; i < local_steps; ++i) EXPECT_EQ(peer->trainer.LearnAlone(), Status::kOk);
    EXPECT_EQ(peer->trainer.Publish(1, 0), Status::kOk);
  }
  return Distance(Doubles(a.local), Doubles(b.local)) * 0x1p20;
}

TEST(PeerTrainer, OneSampleNeverMovesAPublicationByMoreThanTheSensitivity) {
  const std::vector<std::vector<float>> hostile = {{1e30f, -1e30f, 1e30f, 1e30f, -1e30f, 1e30f},
                                                   {std::nanf(""), 0, 0, 0, 0, 0},
                                                   {INFINITY, 0, 0, 0, 0, 0},
                                                   {-1, -1, -1, -1, -1, -1},
                                                   {0, 0, 0, 0, 0, 0},
                                                   {-0.6f, 0.8f, 0, 0, 0, 0},
                                                   {1e-40f, 0, 0, 0, 0, 0}};
  double most = 0;
  for (const PeerRule rule : kRules) {
    for (const float clip : {0.0f, 0.25f}) {
      PeerJob job = SampleJob(rule);
      job.noise_q20 = 15;  // no coarse steps
      job.error_clip = clip;
      job.learning_rate = LargestPeerRate(kOva, job);
      job.weight_decay = 0.001f;
      job.learning_rate = LargestPeerRate(kOva, job);
      for (const uint32_t local_steps : {0u, 1u, 5u}) {
        double sensitivity = 0;
        ASSERT_EQ(PeerSensitivityQ20(kOva, job, local_steps, &sensitivity), Status::kOk);
        for (const auto& features : hostile) {
          for (const uint32_t label : {0u, 2u, 77u}) {
            const uint32_t at = 4 * local_steps / 2;
            const double moved = PublishedDifference(job, features, label, at, local_steps);
            EXPECT_LE(moved, sensitivity);
            most = std::max(most, moved / sensitivity);
          }
        }
      }
    }
  }
  EXPECT_GT(most, 0.4);  // the bound is not far from what hostile samples reach
}

TEST(PeerTrainer, OneDeviceNeverMovesAPublicationByMoreThanTwiceTheClip) {
  PeerJob job = DeviceJob(PeerRule::kAverage);
  job.noise_q20 = 15;
  job.learning_rate = 4.0f;
  std::vector<std::vector<double>> models;
  for (const float scale : {1.0f, -1.0f, 1e20f}) {
    Peer peer(job, 1);
    for (auto& features : peer.samples.features) {
      for (float& x : features) x *= scale;
    }
    ASSERT_EQ(peer.Begin(), Status::kOk);
    ASSERT_EQ(peer.trainer.Publish(1, 0), Status::kOk);
    models.push_back(Doubles(peer.local));
  }
  EXPECT_GT(Distance(models[0], models[1]), 0.25);
  EXPECT_LE(Distance(models[0], models[1]), 0.5);
  EXPECT_LE(Distance(models[0], models[2]), 0.5);
}

TEST(PeerTrainer, NoiseHasTheDeviationOfTheJob) {
  PeerJob job = SampleJob();
  job.noise_q20 = 40000;
  double squares = 0;
  int count = 0;
  for (uint8_t number = 1; number <= 100; ++number) {
    Peer noisy(job, number);
    ASSERT_EQ(noisy.Begin(), Status::kOk);
    ASSERT_EQ(noisy.trainer.Publish(1, 0), Status::kOk);
    for (const float x : noisy.local) {
      squares += static_cast<double>(x) * x * 0x1p40;
      ++count;
    }
  }
  // u moves a parameter by at most 0.25 x 1; the noise's variance is 40000^2. 2,100 draws: the
  // sample variance is within 25 % (8 deviations of sqrt(2 / 2100)) but for a chance below 1e-14.
  const double u = 0.25 * 0x1p20;
  EXPECT_GT(squares / count, 0.75 * 40000.0 * 40000.0);
  EXPECT_LT(squares / count, 1.25 * 40000.0 * 40000.0 + u * u);
}

// A run of a node to its end. Records what left.
struct Released {
  std::map<uint32_t, std::set<std::vector<uint8_t>>> by_step;
  std::vector<float> model;
};

// Goes on until the end, or until `lives` calls were made. True at the end.
bool Live(Peer& peer, const SharePolicy& policy, int lives, Released* released) {
  if (peer.trainer.has_pending()) {
    released->by_step[peer.trainer.publication_step()].insert(peer.Publication());
    EXPECT_EQ(peer.trainer.Adopt(true), Status::kOk);
  }
  while (!peer.trainer.is_done()) {
    if (lives-- == 0) return false;
    bool share = false;
    EXPECT_EQ(peer.trainer.Decide(policy, &share), Status::kOk);
    if (!share) {
      EXPECT_EQ(peer.trainer.LearnAlone(), Status::kOk);
      continue;
    }
    EXPECT_EQ(peer.trainer.Publish(peer.trainer.ledger().releases + 1, 0), Status::kOk);
    if (lives-- == 0) return false;  // fixed and saved, and perhaps sent
    released->by_step[peer.trainer.publication_step()].insert(peer.Publication());
    EXPECT_EQ(peer.trainer.Adopt(true), Status::kOk);
  }
  released->model = peer.local;
  return true;
}

// Resets a node of this job after any number of calls, and again after as many.
void ExpectNothingTwiceOverResets(const PeerJob& job, const SharePolicy& policy,
                                  size_t publications) {
  Released whole;
  Peer undisturbed(job, 3);
  ASSERT_EQ(undisturbed.Begin(), Status::kOk);
  ASSERT_TRUE(Live(undisturbed, policy, -1, &whole));
  ASSERT_EQ(whole.by_step.size(), publications);
  for (int lives = 1; lives < 14; ++lives) {
    Released released;
    MemoryStore kept;
    bool ended = false;
    for (int start = 0; start < 3 && !ended; ++start) {
      Peer peer(job, 3);
      peer.ram = kept;
      ASSERT_EQ(peer.Begin(), Status::kOk);
      ended = Live(peer, policy, start < 2 ? lives : -1, &released);
      kept = peer.ram;
    }
    ASSERT_TRUE(ended);
    for (const auto& [step, bytes] : released.by_step) {
      EXPECT_EQ(bytes.size(), 1u) << "step " << step << ", " << lives << " calls";
      EXPECT_EQ(whole.by_step.count(step), 1u) << "step " << step << ", " << lives << " calls";
    }
    EXPECT_EQ(released.model, whole.model) << lives;
  }
}

TEST(PeerTrainer, ResetAtAnyMomentReleasesNoBatchTwiceAndEndsAtTheSameModel) {
  PeriodPolicy period(3);
  ExpectNothingTwiceOverResets(SampleJob(), period.policy(), 3);
  // Ten steps a pass: publications of four, four and two.
  PeerJob hand_over = SampleJob(PeerRule::kShared);
  hand_over.publication_steps = 4;
  hand_over.passes = 2;
  ExpectNothingTwiceOverResets(hand_over, AlwaysShare(), 6);
}

// With fresh entropy a step that is taken again draws other noise. So its bytes must not have left.
TEST(PeerTrainer, AFailureWithinAPublicationLetsNothingLeave) {
  for (const char* what : {"entropy", "store"}) {
    Peer peer(SampleJob(), 3);
    ASSERT_EQ(peer.Begin(), Status::kOk);
    Peer failing(SampleJob(), 3);
    if (*what == 'e') failing.config.port.entropy = FailEntropy;
    failing.ram.fail_save = *what == 's' ? 0 : -1;
    ASSERT_EQ(failing.Begin(), Status::kOk);
    EXPECT_EQ(failing.trainer.Publish(1, 0),
              *what == 'e' ? Status::kEntropyFailed : Status::kStoreFailed);
    EXPECT_EQ(failing.ram.saves, *what == 's' ? 1 : 0);
    EXPECT_FALSE(failing.trainer.has_pending());
    EXPECT_EQ(failing.trainer.Publish(1, 0), Status::kWrongState);
    EXPECT_EQ(failing.trainer.LearnAlone(), Status::kWrongState);
    failing.config.port.entropy = SeededPeerEntropy::Fill;
    ASSERT_EQ(failing.Begin(), Status::kOk);
    EXPECT_EQ(failing.trainer.step(), 0u);
    EXPECT_EQ(failing.trainer.ledger().sample_rho_q40, 0u);
  }
}

// With other batches a sample of a charged pass would be published again.
TEST(PeerTrainer, RefusesAnotherKeyOrNumberOfSamplesDuringAJob) {
  Peer peer(SampleJob(), 3);
  ASSERT_EQ(peer.Begin(), Status::kOk);
  ASSERT_EQ(peer.trainer.Publish(1, 0), Status::kOk);
  Peer more(SampleJob(), 3, 41);
  more.ram = peer.ram;
  EXPECT_EQ(more.Begin(), Status::kMismatch);
  Peer other(SampleJob(), 4);
  other.ram = peer.ram;
  EXPECT_EQ(other.Begin(), Status::kMismatch);
  Peer same(SampleJob(), 3);
  same.ram = peer.ram;
  EXPECT_EQ(same.Begin(), Status::kOk);
  PeerJob next = SampleJob();
  next.salt[0] = 1;
  Peer in_another_job(next, 3, 41);
  in_another_job.ram = peer.ram;
  EXPECT_EQ(in_another_job.Begin(), Status::kOk);
  EXPECT_EQ(in_another_job.trainer.ledger().sample_rho_q40, peer.trainer.ledger().sample_rho_q40);
}

TEST(PeerTrainer, RefusesARecordThatIsDamaged) {
  Peer peer(SampleJob(), 3);
  ASSERT_EQ(peer.Begin(), Status::kOk);
  ASSERT_EQ(peer.trainer.Publish(1, 0), Status::kOk);
  const std::vector<uint8_t> good = peer.ram.records[StoreSlot::kPeer];
  for (size_t i = 0; i < good.size(); ++i) {
    Peer again(SampleJob(), 3);
    again.ram.records[StoreSlot::kPeer] = good;
    again.ram.records[StoreSlot::kPeer][i] ^= 4;
    EXPECT_EQ(again.Begin(), Status::kMalformed) << i;
  }
  for (size_t size = 1; size < good.size(); ++size) {
    Peer again(SampleJob(), 3);
    again.ram.records[StoreSlot::kPeer] = good;
    again.ram.records[StoreSlot::kPeer].resize(size);
    EXPECT_EQ(again.Begin(), Status::kMalformed) << size;
  }
  for (int load = 0;; ++load) {
    Peer again(SampleJob(), 3);
    again.ram.records[StoreSlot::kPeer] = good;
    again.ram.fail_load = load;
    const Status status = again.Begin();
    if (again.ram.loads <= load) {
      EXPECT_EQ(status, Status::kOk);
      EXPECT_GT(load, 3);
      break;
    }
    EXPECT_EQ(status, Status::kStoreFailed) << load;
  }
}

TEST(PeerTrainer, ChargesAPassOnceAndEveryPublicationOfADevice) {
  PeerJob job = SampleJob();
  job.passes = 2;
  uint64_t rho = 0;
  ASSERT_EQ(PeerReleaseRhoQ40(kOva, job, &rho), Status::kOk);
  Peer peer(job, 3);
  ASSERT_EQ(peer.Begin(), Status::kOk);
  uint32_t version = 0;
  while (!peer.trainer.is_done()) {
    ASSERT_EQ(peer.trainer.Publish(++version, 0), Status::kOk);
    ASSERT_EQ(peer.trainer.Adopt(true), Status::kOk);
    EXPECT_EQ(peer.trainer.ledger().sample_rho_q40, version <= 10 ? rho : 2 * rho);
  }
  EXPECT_EQ(peer.trainer.ledger().device_rho_q40, 0u);

  const PeerJob device_job = DeviceJob(PeerRule::kAverage);
  ASSERT_EQ(PeerReleaseRhoQ40(kOva, device_job, &rho), Status::kOk);
  Peer device(device_job, 3);
  ASSERT_EQ(device.Begin(), Status::kOk);
  for (uint32_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(device.trainer.Publish(i, 0), Status::kOk);
    ASSERT_EQ(device.trainer.Adopt(true), Status::kOk);
    EXPECT_EQ(device.trainer.ledger().device_rho_q40, i * rho);
  }
  EXPECT_EQ(device.trainer.Publish(4, 0), Status::kPeerRefused);
  EXPECT_EQ(device.trainer.LearnAlone(), Status::kOk);  // alone it may go on
}

TEST(PeerTrainer, TheOwnersLimitHoldsAcrossJobsAndResets) {
  PeerJob job = SampleJob();
  uint64_t rho = 0;
  ASSERT_EQ(PeerReleaseRhoQ40(kOva, job, &rho), Status::kOk);
  MemoryStore kept;
  for (uint8_t salt = 0; salt < 3; ++salt) {
    job.salt[0] = salt;
    Peer peer(job, 3);
    peer.ram = kept;
    peer.config.most_rho_q40 = 2 * rho + rho / 2;
    ASSERT_EQ(peer.Begin(), Status::kOk);
    EXPECT_EQ(peer.trainer.step(), 0u);
    EXPECT_EQ(peer.trainer.ledger().sample_rho_q40, salt * rho);
    EXPECT_EQ(peer.trainer.Publish(1, 0), salt < 2 ? Status::kOk : Status::kPeerRefused);
    kept = peer.ram;
  }
}

TEST(PeerTrainer, DropsLocalStepsThatThePublicationCannotCarry) {
  PeerJob job = QuietJob(PeerRule::kAccumulate);
  job.most_local_steps = 2;
  Peer carried(job, 1);
  Peer dropped(job, 1);
  ASSERT_EQ(carried.Begin(), Status::kOk);
  ASSERT_EQ(dropped.Begin(), Status::kOk);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(dropped.trainer.LearnAlone(), Status::kOk);
  Reads(dropped);
  ASSERT_EQ(dropped.trainer.Publish(1, 0), Status::kOk);
  const std::vector<double> expected =
      Step(dropped.samples, Reads(dropped), std::vector<double>(21), 0.25, 0);
  EXPECT_LT(Distance(expected, Doubles(dropped.local)), 1e-5);
}

TEST(PeerTrainer, RefusesWhatTheLemmasDoNotCover) {
  PeerJob job = SampleJob();
  job.learning_rate = 1.01f;  // above 1 / (2 mu), mu = 2 / 4
  EXPECT_EQ(Peer(job, 1).Begin(), Status::kMismatch);
  job.learning_rate = LargestPeerRate(kOva, job);
  EXPECT_GT(job.learning_rate, 0.999f);
  EXPECT_LE(job.learning_rate, 1.0f);
  EXPECT_EQ(Peer(job, 1).Begin(), Status::kOk);
  job.rule = PeerRule::kAccumulate;
  EXPECT_NEAR(LargestPeerRate(kOva, job), 2.0f, 1e-4f);
  job.weight_decay = 0.5f;
  EXPECT_NEAR(LargestPeerRate(kOva, job), 1.0f, 1e-4f);

  static constexpr ModelInfo kHidden =
      MakeModelInfo<nn::Sequential<nn::Dense<6, 4>, nn::Relu, nn::Dense<4, 3>>>("hidden");
  static constexpr ModelInfo kFixed =
      MakeModelInfo<nn::FixedPoint<nn::Sequential<nn::Dense<6, 3>, nn::OneVsAll>>>("fixed");
  static constexpr ModelInfo kSoftmax = MakeModelInfo<nn::Sequential<nn::Dense<6, 3>>>("softmax");
  static constexpr ModelInfo kUnitNorm =
      MakeModelInfo<nn::Sequential<nn::Input<6>, nn::UnitNorm, nn::Dense<6, 3>, nn::OneVsAll>>(
          "unit norm");
  for (const ModelInfo* model : {&kHidden, &kFixed}) {
    EXPECT_EQ(Peer(SampleJob(), 1, 40, *model).Begin(), Status::kMismatch) << model->name;
    EXPECT_EQ(Peer(DeviceJob(PeerRule::kAverage), 1, 40, *model).Begin(), Status::kOk)
        << model->name;
  }
  EXPECT_EQ(Peer(SampleJob(), 1, 40, kSoftmax).Begin(), Status::kOk);
  EXPECT_EQ(Peer(SampleJob(), 1, 40, kUnitNorm).Begin(), Status::kOk);
  PeerJob clipped = SampleJob();
  clipped.error_clip = 0.5f;
  EXPECT_EQ(Peer(clipped, 1, 40, kSoftmax).Begin(), Status::kMismatch);
  EXPECT_EQ(Peer(SampleJob(), 1, 3).Begin(), Status::kInvalidArgument);  // less than a batch
}

TEST(PeerTrainer, PublicationsOfAnotherJobAreNoHead) {
  PeerJob job = SampleJob();
  Peer peer(job, 1);
  job.salt[3] = 1;
  Peer stranger(job, 2);
  ASSERT_EQ(peer.Begin(), Status::kOk);
  ASSERT_EQ(stranger.Begin(), Status::kOk);
  ASSERT_EQ(stranger.trainer.Publish(1, 0), Status::kOk);
  const std::vector<float> head = peer.head;
  EXPECT_EQ(peer.trainer.SetHead(stranger.trainer.publication()), Status::kMalformed);
  EXPECT_EQ(peer.head, head);
  EXPECT_EQ(peer.trainer.head_version(), 0u);
}

}  // namespace
}  // namespace sotto
