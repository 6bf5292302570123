// Tests of a simulated training without a server, against a loop of this file.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "formulas/settings.h"
#include "plans/peer_privacy.h"
#include "sim/peer_data.h"
#include "sim/peer_request.h"
#include "sim/peers.h"
#include "sotto/key_labels.h"
#include "sotto/peer_trainer.h"
#include "sotto/posix/run_key.h"
#include "sotto/random.h"

namespace sotto::server {
namespace {

constexpr size_t kTrain = 600;

// Rows of norm 1 in three classes that one Dense layer tells apart.
SharedDataset Rows(size_t count, uint32_t stream) {
  RandomStream random(posix::RunKey(5), stream);
  StoredSamples samples;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t label = random.Below(3);
    float squares = 0;
    for (uint32_t k = 0; k < 6; ++k) {
      const float noise = static_cast<float>(random.NextU32()) * 0x1p-32f - 0.5f;
      samples.numbers.push_back(noise + (k == label ? 0.8f : 0.0f));
      squares += samples.numbers.back() * samples.numbers.back();
    }
    for (size_t k = samples.numbers.size() - 6; k < samples.numbers.size(); ++k) {
      samples.numbers[k] /= std::sqrt(squares);
    }
    samples.labels.push_back(label);
  }
  SampleInfo info;
  info.shape = {1, 1, 6};
  info.classes = 3;
  return std::make_shared<StoredDataset>("rows", info, std::move(samples));
}

TrainTest Data() { return {Rows(kTrain, 0), Rows(200, 1)}; }

PeersRequest Request(Settings options) {
  Settings settings = {{"peers", "4"}, {"seed", "3"}, {"batch-size", "10"}};
  for (const auto& [name, value] : options) settings[name] = value;
  return PeersRequestOf(settings);
}

struct Simulated {
  PeersPlan plan;
  PeersResult result;
  privacy::PeerStatement statement;
};

Simulated Simulate(const Settings& options, const TrainTest& data = Data(), int threads = 1) {
  Simulated s;
  s.plan = MakePeers(Request(options), data);
  s.plan.config.threads = threads;
  s.result = SimulatePeers(s.plan.config, data, [](uint32_t, uint32_t) {});
  s.statement = StatementOf(s.plan, s.result);
  return s;
}

TEST(PeersSimulation, ASeedRepeatsItBitForBitOnAnyNumberOfThreads) {
  const Simulated once = Simulate({});
  const Simulated again = Simulate({}, Data(), 3);
  EXPECT_GT(once.result.publications.size(), 0u);
  EXPECT_EQ(once.result.shared, again.result.shared);
  ASSERT_EQ(once.result.nodes.size(), again.result.nodes.size());
  for (size_t i = 0; i < once.result.nodes.size(); ++i) {
    EXPECT_EQ(once.result.nodes[i].local, again.result.nodes[i].local);
    EXPECT_EQ(once.result.nodes[i].publications, again.result.nodes[i].publications);
  }
  EXPECT_EQ(once.result.last().mean_own, again.result.last().mean_own);
  EXPECT_NE(once.result.shared, Simulate({{"seed", "4"}}).result.shared);
}

TEST(PeersSimulation, WithoutASeedTheNoiseIsTheSystems) {
  Settings options = {{"share", "always"}};
  PeersRequest request = Request(options);
  const TrainTest data = Data();
  PeersPlan plan = MakePeers(request, data);
  plan.config.is_seeded = false;  // all but the noise stays
  const auto run = [&] {
    return SimulatePeers(plan.config, data, [](uint32_t, uint32_t) {}).shared;
  };
  EXPECT_NE(run(), run());
}

// 15 steps a node: publications of 4, 4, 4 and 3 steps.
TEST(PeersSimulation, HandOverTakesItsStepsInTurns) {
  for (const char* order : {"turns", "random"}) {
    const Simulated s = Simulate({{"share", "always"},
                                  {"rule", "shared"},
                                  {"order", order},
                                  {"publication-steps", "4"},
                                  {"unit", "device"},
                                  {"clip", "0.5"}});
    EXPECT_EQ(s.plan.config.job.most_releases, 4u);
    ASSERT_EQ(s.result.publications.size(), 16u);
    for (size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(s.result.publications[i].step, 4 * (i / 4)) << order;
      if (std::string(order) == "turns") {
        EXPECT_EQ(s.result.publications[i].node, i % 4);
      }
    }
    EXPECT_EQ(s.result.turns, 15u);
    EXPECT_EQ(s.result.steps(), 60u);
    EXPECT_EQ(s.result.local_steps, 0u);
    for (const PeerNodeReport& node : s.result.nodes) {
      EXPECT_EQ(node.steps, 15u);
      EXPECT_EQ(node.publications, 4u);
      EXPECT_EQ(node.refused, 0u);
    }
  }
}

// Without noise the order of steps alone decides: it is SGD over the nodes' samples, node by node.
TEST(PeersSimulation, NodesOfOnePublicationAPassTrainOneAfterTheOther) {
  const Settings options = {{"share", "always"}, {"rule", "shared"}, {"unit", "none"}};
  Settings whole = options;
  whole["publication-steps"] = "15";
  const Simulated once = Simulate(whole);
  EXPECT_EQ(once.result.publications.size(), 4u);
  Settings in_parts = options;
  in_parts["publication-steps"] = "100";  // a publication ends with its pass
  EXPECT_EQ(Simulate(in_parts).result.publications.size(), 4u);
  EXPECT_NE(Simulate(options).result.shared, once.result.shared);
  EXPECT_GT(*once.result.last().shared.accuracy(), 0.7);
}

TEST(PeersSimulation, ARandomOrderIsAnotherOneAndEveryNodeHasItsTurn) {
  const Settings options = {{"share", "always"}, {"unit", "none"}};
  const Simulated turns = Simulate(options);
  Settings random_options = options;
  random_options["order"] = "random";
  const Simulated random = Simulate(random_options);
  EXPECT_NE(turns.result.shared, random.result.shared);
  bool differs = false;
  for (size_t at = 0; at < random.result.publications.size(); at += 4) {
    std::vector<uint32_t> nodes;
    for (size_t i = at; i < at + 4; ++i) {
      EXPECT_EQ(turns.result.publications[i].node, i - at);
      nodes.push_back(random.result.publications[i].node);
      differs = differs || nodes.back() != i - at;
    }
    std::sort(nodes.begin(), nodes.end());
    EXPECT_EQ(nodes, (std::vector<uint32_t>{0, 1, 2, 3}));
  }
  EXPECT_TRUE(differs);  // 15 turns: equal by chance with probability 24^-15
}

// The order in which a node visits its samples.
std::vector<uint32_t> OrderOf(const PeersConfig& config, uint32_t node, uint32_t count) {
  uint8_t id[16] = {};
  EXPECT_EQ(PeerJobId(*config.model, config.job, id), Status::kOk);
  const Key secret = posix::DeriveKey(config.run_key, key_label::kDevice, node);
  const std::string label = key_label::kPeerOrder;
  Key key;
  EXPECT_EQ(HkdfSha256(secret.bytes, id,
                       {reinterpret_cast<const uint8_t*>(label.data()), label.size()}, &key),
            Status::kOk);
  KeyedPermutation permutation;
  EXPECT_EQ(permutation.Reset(key, 0, count), Status::kOk);
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < count; ++i) order.push_back(permutation(i));
  return order;
}

// One-vs-all in double: w <- w - rate * mean gradient, on [3][6] weights, then [3] biases.
void Step(const Dataset& data, const std::vector<uint32_t>& batch, double rate,
          std::vector<double>* w) {
  std::vector<double> gradient(w->size(), 0);
  for (const uint32_t index : batch) {
    float x[6];
    data.CopyFeatures(index, x);
    for (uint32_t k = 0; k < 3; ++k) {
      double score = (*w)[18 + k];
      for (uint32_t i = 0; i < 6; ++i) score += (*w)[6 * k + i] * static_cast<double>(x[i]);
      const double error = 1 / (1 + std::exp(-score)) - (data.Label(index) == k ? 1 : 0);
      for (uint32_t i = 0; i < 6; ++i) gradient[6 * k + i] += error * static_cast<double>(x[i]);
      gradient[18 + k] += error;
    }
  }
  for (size_t i = 0; i < w->size(); ++i) {
    (*w)[i] -= rate * gradient[i] / static_cast<double>(batch.size());
  }
}

TEST(PeersSimulation, AlwaysSharingWithoutNoiseIsPlainSgdOnOneModel) {
  const TrainTest data = Data();
  for (const char* rule : {"shared", "accumulate"}) {
    const Simulated s = Simulate(
        {{"share", "always"}, {"rule", rule}, {"unit", "none"}, {"learning-rate", "0.5"}}, data);
    const Partition partition = PeerPartition(s.plan.config, *data.train);
    std::vector<std::vector<uint32_t>> orders;
    for (uint32_t node = 0; node < 4; ++node) orders.push_back(OrderOf(s.plan.config, node, 150));
    std::vector<double> w(21, 0);
    for (uint32_t turn = 0; turn < 15; ++turn) {
      for (uint32_t node = 0; node < 4; ++node) {
        std::vector<uint32_t> batch;
        for (uint32_t i = 0; i < 10; ++i) {
          batch.push_back(partition.DeviceSamples(node)[orders[node][10 * turn + i]]);
        }
        Step(*data.train, batch, 0.5, &w);
      }
    }
    ASSERT_EQ(s.result.shared.size(), w.size());
    // Each of 60 publications rounds toward zero to units of 2^-20.
    for (size_t i = 0; i < w.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(s.result.shared[i]), w[i], 60 * 0x1p-20 + 1e-5) << rule;
    }
    EXPECT_EQ(s.result.publications.size(), 60u);
    EXPECT_EQ(s.result.local_steps, 0u);
  }
}

// All samples alike and a small rate: the gradient is nearly constant. A cycle of M publications
// then moves the model by 2 M / (M + 1) steps of one node: M nodes are worth at most two.
TEST(PeersSimulation, AveragingIsWorthAtMostTwoNodes) {
  StoredSamples samples;
  for (int i = 0; i < 8000; ++i) {
    for (int k = 0; k < 6; ++k) samples.numbers.push_back(k == 0 ? 1.0f : 0.0f);
    samples.labels.push_back(0);
  }
  SampleInfo info;
  info.shape = {1, 1, 6};
  info.classes = 3;
  const auto all = std::make_shared<StoredDataset>("alike", info, std::move(samples));
  const TrainTest data = {all, all};
  for (const uint32_t peers : {2u, 5u, 10u}) {
    const auto moved_after = [&](const char* rule, const char* each) {
      const Simulated s = Simulate({{"peers", std::to_string(peers)},
                                    {"samples-per-device", each},
                                    {"share", "always"},
                                    {"rule", rule},
                                    {"unit", "none"},
                                    {"learning-rate", "0.0002"}},
                                   data);
      return static_cast<double>(s.result.shared[18]);  // the bias of class 0
    };
    // From cycle 30 to 60: the first ones differ, since w_L begins at version 0.
    const auto moved = [&](const char* rule) {
      return moved_after(rule, "600") - moved_after(rule, "300");
    };
    const double law = 2.0 * peers / (peers + 1);
    EXPECT_NEAR(moved("average") / (moved("shared") / peers), law, 0.05 * law) << peers;
  }
}

TEST(PeersSimulation, PublishedNoiseIsLessThanAnEpsilonNeeds) {
  const Settings options = {{"share", "always"}, {"epsilon", "1"}, {"delta", "1e-6"}};
  Settings published = options;
  published["peer-noise"] = "published";
  const Simulated sound = Simulate(options);
  const Simulated paper = Simulate(published);
  const double sigma = std::sqrt(2 * std::log(1.25 / 1e-6)) * (2 * 0.1 / 10) / 1;
  EXPECT_NEAR(paper.plan.config.job.noise_q20 * 0x1p-20, sigma, 0x1p-19);
  EXPECT_GT(sound.plan.config.job.noise_q20, paper.plan.config.job.noise_q20);
  ASSERT_EQ(sound.statement.claims.size(), 1u);
  ASSERT_EQ(paper.statement.claims.size(), 1u);
  EXPECT_LE(sound.statement.claims[0].epsilon, 1.0);
  EXPECT_GT(sound.statement.claims[0].epsilon, 0.999);
  EXPECT_GT(paper.statement.claims[0].epsilon, 1.0);
}

TEST(PeersSimulation, TheStatementIsTheNodesLedgers) {
  const Simulated s = Simulate({{"share", "coin:0.3"},
                                {"passes", "2"},
                                {"samples-per-device", "300"},
                                {"partition", "iid-overlap"}});
  EXPECT_GT(s.plan.training.copies, 1);
  for (const PeerNodeReport& node : s.result.nodes) {
    EXPECT_EQ(node.passes, 2u);  // 30 steps each: a silent pass has probability 0.7^30, by the seed
    EXPECT_NEAR(std::ldexp(static_cast<double>(node.rho_q40), -40), 2 * s.statement.release_rho,
                1e-9);
  }
  EXPECT_NEAR(s.statement.rho,
              2.0 * static_cast<double>(s.plan.training.copies) * s.statement.release_rho, 1e-9);
}

TEST(PeersSimulation, ANodeOfUnitDeviceLearnsAloneOnceItsReleasesAreSpent) {
  const Simulated s = Simulate({{"share", "always"},
                                {"unit", "device"},
                                {"clip", "0.05"},
                                {"most-releases", "5"},
                                {"epsilon", "20"}});
  for (const PeerNodeReport& node : s.result.nodes) {
    EXPECT_EQ(node.publications, 5u);
    EXPECT_EQ(node.refused, 10u);
    EXPECT_EQ(node.steps, 15u);
  }
  ASSERT_EQ(s.statement.claims.size(), 2u);
  EXPECT_LE(s.statement.claims[0].epsilon, 20.0);
}

TEST(PeersSimulation, DeepQHasNoEpsilonUnlessItsInputsArePublic) {
  const Simulated hidden = Simulate({{"share", "deep-q"}});
  EXPECT_TRUE(hidden.statement.claims.empty());
  EXPECT_NE(hidden.statement.refusal.find("private data"), std::string::npos);
  EXPECT_GT(hidden.plan.config.job.noise_q20, 0u);
  const Simulated open = Simulate({{"share", "deep-q-public"}});
  ASSERT_EQ(open.statement.claims.size(), 1u);
  EXPECT_LE(open.statement.claims[0].epsilon, 6.0);
}

TEST(PeersSimulation, NodesAreThoseOfAFleetOfTheSameKey) {
  const TrainTest data = Data();
  const Simulated s = Simulate({{"share", "never"}}, data);
  FleetOptions fleet;
  fleet.devices = 4;
  fleet.samples_per_device = 150;
  const Fleet devices(fleet, *s.plan.config.model, *data.train, s.plan.config.run_key);
  const Partition partition = PeerPartition(s.plan.config, *data.train);
  for (uint32_t node = 0; node < 4; ++node) {
    ASSERT_EQ(partition.DeviceSamples(node).size(), 150u);
    for (uint32_t i = 0; i < 150; ++i) {
      EXPECT_EQ(partition.DeviceSamples(node)[i], devices.partition().DeviceSamples(node)[i]);
    }
  }
  EXPECT_TRUE(s.result.publications.empty());
  EXPECT_EQ(s.result.bytes(), 0u);
  EXPECT_EQ(s.result.shared, std::vector<float>(21, 0.0f));
}

TEST(PeersSimulation, ALagCountsTheVersionsOfOthers) {
  const Simulated s = Simulate({{"share", "always"}, {"unit", "none"}});
  for (size_t i = 4; i < s.result.publications.size(); ++i) {
    EXPECT_EQ(s.result.publications[i].lag, 3u);
    EXPECT_EQ(s.result.publications[i].version, i + 1);
    EXPECT_EQ(s.result.publications[i].local_steps, 0u);
  }
}

TEST(PeersSimulation, ComponentsAreRowsOfNormOne) {
  const PeersRequest request =
      PeersRequestOf({{"data", "synthetic"}, {"peers", "2"}, {"pca", "7"}});
  const TrainTest data = OpenPeerData(request);
  ASSERT_EQ(data.train->input_size(), 7u);
  float row[7];
  for (const SharedDataset& part : {data.train, data.test}) {
    for (size_t i = 0; i < 100; ++i) {
      part->CopyFeatures(i, row);
      double squares = 0;
      for (const float x : row) squares += static_cast<double>(x) * static_cast<double>(x);
      EXPECT_NEAR(squares, 1, 1e-5);
    }
  }
  EXPECT_EQ(PeerModel(request, data.train->info())->parameters, 80u);
}

TEST(PeersSimulation, BoundsFollowFromThePolicy) {
  EXPECT_EQ(BoundsOf("never", 100).most_releases, 0u);
  EXPECT_EQ(BoundsOf("always", 100).most_releases, 100u);
  EXPECT_EQ(BoundsOf("always", 100).most_local_steps, 1u);
  EXPECT_EQ(BoundsOf("period:10", 100).most_releases, 10u);
  EXPECT_EQ(BoundsOf("period:10", 100).most_local_steps, 10u);
  EXPECT_EQ(BoundsOf("coin:0.1", 1000).most_local_steps, 66u);  // 0.9^66 < 1/1000 < 0.9^65
  EXPECT_EQ(BoundsOf("deep-q", 100).most_local_steps, 100u);
  // P(Binomial(1000, 0.1) >= 139) = 6e-5, and P(>= 131) = 1e-3.
  EXPECT_GE(BoundsOf("coin:0.1", 1000).most_releases, 131u);
  EXPECT_LE(BoundsOf("coin:0.1", 1000).most_releases, 139u);
}

void ExpectRefused(const Settings& options, const std::string& words) {
  try {
    MakePeers(Request(options), Data());
    FAIL() << words;
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(PeersSimulation, WhatIsNoTrainingIsRefusedByName) {
  ExpectRefused({{"cohort", "5"}}, "`sotto peers simulate` has no option --cohort");
  ExpectRefused({{"mechanism", "gau-lrq"}}, "--mechanism gau-lrq: a publication carries");
  ExpectRefused({{"clip", "1"}}, "--clip");
  ExpectRefused({{"publication-steps", "2"}}, "--publication-steps above 1 is for --rule");
  ExpectRefused({{"most-releases", "1"}}, "--most-releases is for --unit device");
  ExpectRefused({{"unit", "device"}, {"most-releases", "0"}}, "--most-releases above 0");
  ExpectRefused({{"unit", "device"}, {"clip", "0"}}, "--clip above 0");
  ExpectRefused({{"learning-rate", "3"}}, "learning rate");
  ExpectRefused({{"batch-size", "200"}}, "--batch-size 200");
  ExpectRefused({{"share", "sometimes"}}, "sometimes");
  ExpectRefused({{"peer-noise", "published"}, {"unit", "device"}}, "--peer-noise published");
}

}  // namespace
}  // namespace sotto::server
