#include "e2e/peer_site.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>

#include <nlohmann/json.hpp>

#include "sotto/data/device_share.h"
#include "sotto/data/partitions.h"
#include "sotto/data/source.h"
#include "sotto/key_labels.h"
#include "sotto/models.h"
#include "sotto/peer_node.h"
#include "sotto/peer_trainer.h"
#include "sotto/policy/policies.h"
#include "sotto/posix/acceptor.h"
#include "sotto/posix/record_store.h"
#include "sotto/posix/run_key.h"

namespace sotto::live {
namespace {

using Json = nlohmann::json;
using Model = std::vector<float>;

constexpr uint32_t kBatch = 2;

// What PeerSite::job says.
PeerJob Job() {
  PeerJob job;
  job.batch_size = kBatch;
  job.noise_q20 = 1 << 14;
  job.passes = 2;
  return job;
}

Model ReadModel(const std::string& path) {
  const std::string bytes = ReadFile(path);
  Model model(bytes.size() / sizeof(float));
  std::memcpy(model.data(), bytes.data(), model.size() * sizeof(float));
  return model;
}

// The ports of nodes that listen. Nobody else uses this host.
uint16_t FreePort() { return posix::Acceptor(Host(), 0).port(); }

// A trainer with the memory, the samples and the ledger of a node.
class Driven {
 public:
  Driven(const Site& site, const Dataset& data, const Partition& partition, uint32_t number,
         const std::string& share)
      : store_(site.Path("driven-" + std::to_string(number))),
        samples_(data, partition.DeviceSamples(number)),
        entropy_(site.key(number).secret, &trainer_) {
    const ModelInfo& model = *FindModel("softmax-784-10");
    const std::string& id = site.key(number).device_id;
    for (Model& vector : vectors_) vector.resize(model.parameters);
    scratch_.resize(model.training_floats(model, kBatch));
    publication_.resize(MaxPublicationBytes(model.parameters));
    PeerConfig config;
    config.model = &model;
    config.job = Job();
    config.device_id = {reinterpret_cast<const uint8_t*>(id.data()), id.size()};
    config.secret = site.key(number).secret;
    config.samples = samples_.source();
    config.port.entropy = SeededPeerEntropy::Fill;
    config.port.context = &entropy_;
    config.store = store_.store();
    const auto span = [](Model& v) { return Span<float>(v.data(), v.size()); };
    EXPECT_EQ(trainer_.Begin(config, {span(vectors_[0]),
                                      span(vectors_[1]),
                                      span(vectors_[2]),
                                      span(vectors_[3]),
                                      span(scratch_),
                                      {indices_, kBatch},
                                      {publication_.data(), publication_.size()}}),
              Status::kOk);
    SharePolicyContext context;
    context.secret = config.secret;
    context.job_id = trainer_.job_id();
    context.parameters = model.parameters;
    policy_ = MakeSharePolicy(share, context);
  }

  PeerTrainer& trainer() { return trainer_; }
  SharePolicy policy() { return policy_->policy(); }
  const Model& head() const { return vectors_[2]; }

 private:
  posix::RecordStore store_;
  DeviceShare samples_;
  Model vectors_[4];
  Model scratch_;
  uint32_t indices_[kBatch] = {};
  std::vector<uint8_t> publication_;
  PeerTrainer trainer_;
  SeededPeerEntropy entropy_;
  std::unique_ptr<OwnedSharePolicy> policy_;
};

}  // namespace

PeerSite::PeerSite(bool has_relay, std::string share)
    : site(kNodes, {"--seed", "7", "--insecure-seed"}),
      has_relay_(has_relay),
      share_(std::move(share)) {
  for (uint32_t i = 0; i < kNodes; ++i) ports_.push_back(has_relay ? uint16_t{0} : FreePort());
}

void PeerSite::StartDirectory(const Arguments& more) {
  std::remove(site.Path("port").c_str());
  Arguments arguments = {"peers",
                         "directory",
                         "--store",
                         site.Path("store"),
                         "--state",
                         site.Path("state"),
                         "--listen",
                         Address(port_),
                         "--port-file",
                         site.Path("port"),
                         "--peers",
                         std::to_string(kNodes),
                         "--order",
                         "turns",
                         "--seed",
                         "7",
                         "--insecure-seed",
                         "--json",
                         site.Path("directory.json"),
                         "-v"};
  arguments.insert(arguments.end(), job.begin(), job.end());
  if (has_relay_) arguments.insert(arguments.end(), {"--relay", "--model-out", HeadPath()});
  arguments.insert(arguments.end(), more.begin(), more.end());
  directory = site.Sotto(arguments, "directory.log");
  ASSERT_TRUE(Eventually([&] {
    std::ifstream file(site.Path("port"));
    return static_cast<bool>(file >> port_) || directory.Wait(0) != -1;
  }));
  ASSERT_NE(port_, 0) << ReadFile(site.Path("directory.log"));
}

Process PeerSite::Node(uint32_t i, const Arguments& more) const {
  Arguments arguments = {"--peer",
                         "--share",
                         share_,
                         "--device",
                         std::to_string(i),
                         "--devices",
                         std::to_string(kNodes),
                         "--samples-per-device",
                         std::to_string(Site::kSamples),
                         "--partition-seed",
                         "7",
                         "--seed",
                         "7",
                         "--insecure-seed",
                         "--json",
                         NodePath(i, "json"),
                         "--model-out",
                         NodePath(i, "local"),
                         "--head-out",
                         NodePath(i, "head"),
                         "--serve-after",
                         "20"};
  arguments.insert(arguments.end(), job.begin(), job.end());
  if (!has_relay_) arguments.insert(arguments.end(), {"--listen", Address(ports_[i])});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return site.Client(i, port_, arguments);
}

void PeerSite::StartNodes() {
  for (uint32_t i = 0; i < kNodes; ++i) nodes.push_back(Node(i));
}

std::string PeerSite::NodePath(uint32_t i, const std::string& name) const {
  return site.Path("node-" + std::to_string(i) + "." + name);
}

PeerSite::Expected PeerSite::Drive() const {
  DataSource source = ParseDataSource(site.Path("data/train-images-idx3-ubyte"));
  source.options = {{"labels", site.Path("data/train-labels-idx1-ubyte")}, {"format", "idx"}};
  const SharedDataset data = ReadDataset(source, FindModel("softmax-784-10"));
  const Partition partition =
      MakePartition(kDefaultPartition, *data, kNodes, Site::kSamples,
                    posix::DeriveKey(posix::RunKey(7), key_label::kPartition));
  std::vector<std::unique_ptr<Driven>> driven;
  for (uint32_t i = 0; i < kNodes; ++i) {
    driven.push_back(std::make_unique<Driven>(site, *data, partition, i, share_));
  }
  Expected expected;
  std::vector<uint8_t> head;
  for (uint32_t step = 0; step < driven[0]->trainer().steps(); ++step) {
    for (uint32_t i = 0; i < kNodes; ++i) {
      PeerTrainer& trainer = driven[i]->trainer();
      bool share = false;
      EXPECT_EQ(trainer.Decide(driven[i]->policy(), &share), Status::kOk);
      if (!share) {
        EXPECT_EQ(trainer.LearnAlone(), Status::kOk);
        continue;
      }
      EXPECT_EQ(trainer.SetHead({head.data(), head.size()}), Status::kOk);
      EXPECT_EQ(trainer.Publish(++expected.version, i), Status::kOk);
      head.assign(trainer.publication().begin(), trainer.publication().end());
      EXPECT_EQ(trainer.Adopt(true), Status::kOk);
      expected.head = driven[i]->head();
    }
  }
  for (auto& node : driven) {
    expected.local.emplace_back(node->trainer().local().begin(), node->trainer().local().end());
  }
  return expected;
}

void PeerSite::ExpectEndsOfNodes() {
  for (uint32_t i = 0; i < kNodes; ++i) {
    EXPECT_EQ(nodes[i].Wait(), 0) << ReadFile(site.ClientLog(i));
  }
}

void PeerSite::ExpectEnds() {
  ExpectEndsOfNodes();
  EXPECT_EQ(directory.Wait(), 0) << ReadFile(site.Path("directory.log"));
}

void PeerSite::ExpectTheModelOf(const Expected& expected) const {
  if (has_relay_) {
    EXPECT_EQ(ReadModel(HeadPath()), expected.head);
  }
  const Json results = Json::parse(ReadFile(site.Path("directory.json")));
  EXPECT_EQ(results["version"], expected.version);
  const uint32_t last = results["publisher"];
  EXPECT_EQ(ReadModel(NodePath(last, "head")), expected.head);
  for (uint32_t i = 0; i < kNodes; ++i) {
    EXPECT_EQ(ReadModel(NodePath(i, "local")), expected.local[i]) << "node " << i;
  }
}

}  // namespace sotto::live
