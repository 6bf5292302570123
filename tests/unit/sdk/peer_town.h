// A directory, a relay and nodes without a server, in memory: every message and every step can
// fail, and a node can be killed between any two of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/peer_node.h"
#include "unit/sdk/hex.h"
#include "unit/sdk/memory_store.h"

namespace sotto {

using Bytes = std::vector<uint8_t>;

inline Bytes BytesOf(ByteSpan span) { return {span.begin(), span.end()}; }

using TownNet = nn::Sequential<nn::Dense<6, 3>, nn::OneVsAll>;
inline constexpr ModelInfo kTownModel = MakeModelInfo<TownNet>("town");
constexpr uint32_t kTownBatch = 4;
constexpr uint32_t kTownSteps = 4;

inline PeerJob TownJob() {
  PeerJob job;
  job.batch_size = kTownBatch;
  job.noise_q20 = 1 << 14;
  return job;
}

// A directory that serves in turns, with the guarantees of server/PEER_PROTOCOL.md.
class TownDirectory {
 public:
  TownDirectory(uint32_t nodes, bool has_relay) : has_relay_(has_relay), seats_(nodes) {}

  PeerReply Answer(uint32_t node, const PeerRequest& request, uint64_t now_ms) {
    PeerReply reply;
    reply.head = head_;
    switch (request.kind) {
      case PeerRequest::Kind::kJoin:
        reply.kind = PeerReply::Kind::kWelcome;
        reply.node = node;
        reply.nodes = static_cast<uint32_t>(seats_.size());
        reply.max_frame = 256;
        reply.has_relay = has_relay_;
        seats_[node].address = BytesOf(request.address);
        return reply;
      case PeerRequest::Kind::kLease:
        return Lease(node, request.step, now_ms);
      case PeerRequest::Kind::kRelease:
        if (request.fence == fence_) holder_ = kNobody;
        reply.kind = PeerReply::Kind::kDone;
        return reply;
      case PeerRequest::Kind::kCommit:
        return Commit(node, request);
      case PeerRequest::Kind::kFinished:
        seats_[node].finished = true;
        reply.kind = PeerReply::Kind::kDone;
        return reply;
      case PeerRequest::Kind::kRosterEntry:
        name_ = "node-" + std::to_string(request.node);
        reply.kind = PeerReply::Kind::kEntry;
        reply.address = View(seats_[request.node].address);
        reply.device_id = {reinterpret_cast<const uint8_t*>(name_.data()), name_.size()};
        return reply;
      case PeerRequest::Kind::kStage:
        return Stage(node, request);
      case PeerRequest::Kind::kGetPublication:
        return Get(request);
      default:
        return reply;
    }
  }

  // A new process with the same files: leases and half staged bytes are gone.
  void Restart() {
    holder_ = kNobody;
    for (Seat& seat : seats_) seat.staged.clear();
  }

  const PeerHead& head() const { return head_; }
  const Bytes& head_bytes() const { return kept_[0]; }
  void SpoilHead() { kept_[0].back() ^= 1; }
  uint32_t lease_ms = 1000;

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;
  struct Seat {
    Bytes address;
    Bytes staged;
    Bytes staged_digest;
    bool has_asked = false;
    bool finished = false;
    uint32_t step = 0;
  };

  bool IsFirst(uint32_t node) const {
    const std::pair<uint32_t, uint32_t> mine(seats_[node].step, node);
    for (uint32_t i = 0; i < seats_.size(); ++i) {
      const Seat& seat = seats_[i];
      if (i == node || seat.finished) continue;
      if (!seat.has_asked || std::make_pair(seat.step, i) < mine) return false;
    }
    return true;
  }

  PeerReply Lease(uint32_t node, uint32_t step, uint64_t now_ms) {
    PeerReply reply;
    Seat& seat = seats_[node];
    EXPECT_TRUE(!seat.has_asked || step + 1 >= seat.step) << "a lease for a former step";
    seat.step = step;
    seat.has_asked = true;
    if (holder_ != kNobody && now_ms >= lease_end_ms_) holder_ = kNobody;
    const bool holds = holder_ == node;
    if (!holds && (holder_ != kNobody || !IsFirst(node))) {
      reply.kind = PeerReply::Kind::kWait;
      reply.wait_ms = 10;
      return reply;
    }
    if (!holds) {
      holder_ = node;
      ++fence_;
      lease_end_ms_ = now_ms + lease_ms;
    }
    reply.kind = PeerReply::Kind::kGranted;
    reply.fence = fence_;
    reply.wait_ms = static_cast<uint32_t>(lease_end_ms_ - now_ms);
    reply.head = head_;
    reply.parent = parent_;
    return reply;
  }

  PeerReply Commit(uint32_t node, const PeerRequest& request) {
    PeerReply reply;
    reply.kind = PeerReply::Kind::kDone;
    const PeerHead& own = request.publication;
    const Bytes digest = BytesOf(ByteSpan(own.digest));
    const auto known = versions_.find(own.version);
    reply.accepted = known != versions_.end() && known->second == digest;
    const bool may = holder_ == node && fence_ == request.fence &&
                     own.version == head_.version + 1 &&
                     BytesOf(request.previous) == BytesOf(ByteSpan(head_.digest)) &&
                     (!has_relay_ || IsStaged(seats_[node], own));
    if (!reply.accepted && may) {
      reply.accepted = true;
      versions_[own.version] = digest;
      parent_ = head_;
      head_ = own;
      kept_[1] = kept_[0];
      kept_[0] = seats_[node].staged;
      holder_ = kNobody;
      seats_[node].step = seats_[node].step + 1;
    }
    reply.head = head_;
    return reply;
  }

  static bool IsStaged(const Seat& seat, const PeerHead& own) {
    return seat.staged.size() == own.size && seat.staged_digest == BytesOf(ByteSpan(own.digest));
  }

  PeerReply Stage(uint32_t node, const PeerRequest& request) {
    Seat& seat = seats_[node];
    const Bytes digest = BytesOf(ByteSpan(request.publication.digest));
    if (seat.staged_digest != digest) seat.staged.clear();
    seat.staged_digest = digest;
    if (request.offset == seat.staged.size()) {
      seat.staged.insert(seat.staged.end(), request.bytes.begin(), request.bytes.end());
    }
    PeerReply reply;
    reply.kind = PeerReply::Kind::kStaged;
    reply.offset = static_cast<uint32_t>(seat.staged.size());
    return reply;
  }

  PeerReply Get(const PeerRequest& request) {
    PeerReply reply;
    reply.final = true;
    const bool is_head = request.publication.version == head_.version;
    const bool is_parent = request.publication.version == parent_.version;
    if (!is_head && !is_parent) return reply;
    const ByteSpan bytes = View(kept_[is_head ? 0 : 1]);
    reply.kind = PeerReply::Kind::kChunk;
    reply.bytes =
        bytes.subspan(request.offset, std::min<size_t>(50, bytes.size() - request.offset));
    return reply;
  }

  bool has_relay_;
  std::vector<Seat> seats_;
  PeerHead head_;
  PeerHead parent_;
  Bytes kept_[2];  // of head and parent
  std::map<uint32_t, Bytes> versions_;
  uint32_t holder_ = kNobody;
  uint32_t fence_ = 0;
  uint64_t lease_end_ms_ = 0;
  std::string name_;
};

// A node: what a reset takes is in Life.
class TownNode {
 public:
  struct Life {
    std::vector<float> vectors = std::vector<float>(4 * TownNet::kParameters);
    std::vector<std::byte> workspace =
        std::vector<std::byte>(PeerWorkspaceBytes<TownNet, kTownBatch>());
    PeerTrainer trainer;
    std::unique_ptr<CoinPolicy> coin;
    std::unique_ptr<SeededPeerEntropy> entropy;
    std::unique_ptr<PeerNode> node;
  };

  TownNode(uint32_t number, bool listens, uint64_t* now_ms)
      : number_(number), now_ms_(now_ms), name_("node-" + std::to_string(number)) {
    if (listens) address_ = "10.0.0." + std::to_string(number + 1) + ":7000";
    for (uint8_t& byte : secret_.bytes) byte = static_cast<uint8_t>(number + 1);
  }

  void Kill() { life_.reset(); }

  // Begins, or goes on after a reset.
  void Start() {
    life_ = std::make_unique<Life>();
    Life& life = *life_;
    const PeerMemory memory = MakePeerBuffers<TownNet, kTownBatch>(
        {life.vectors.data(), life.vectors.size()}, {life.workspace.data(), life.workspace.size()});
    life.entropy = std::make_unique<SeededPeerEntropy>(secret_, &life.trainer);
    PeerConfig config;
    config.model = &kTownModel;
    config.job = job;
    config.device_id = {reinterpret_cast<const uint8_t*>(name_.data()), name_.size()};
    config.secret = secret_;
    config.samples = {kTownSteps * kTownBatch, ReadSample, this};
    config.port.entropy = noise_is_fresh ? FreshNoise : SeededPeerEntropy::Fill;
    config.port.context = noise_is_fresh ? static_cast<void*>(&draws_) : life.entropy.get();
    config.store = store.store();
    config.most_rho_q40 = most_rho_q40;
    ASSERT_EQ(life.trainer.Begin(config, memory.trainer), Status::kOk);
    life.coin = std::make_unique<CoinPolicy>(secret_, life.trainer.job_id(), coin_q32);
    PeerNodeConfig talk;
    talk.port.now_ms = [](void* context) { return *static_cast<const uint64_t*>(context); };
    talk.port.context = now_ms_;
    talk.max_frame = 256;
    talk.address = {reinterpret_cast<const uint8_t*>(address_.data()), address_.size()};
    talk.fetched = memory.fetched;
    const SharePolicy policy = coin_q32 == UINT32_MAX ? AlwaysShare() : life.coin->policy();
    life.node = std::make_unique<PeerNode>(&life.trainer, policy, talk);
  }

  bool is_alive() const { return life_ != nullptr; }
  PeerNode& node() { return *life_->node; }
  PeerTrainer& trainer() { return life_->trainer; }
  SharePolicy policy() { return coin_q32 == UINT32_MAX ? AlwaysShare() : life_->coin->policy(); }
  uint32_t number() const { return number_; }

  MemoryStore store;
  PeerJob job = TownJob();
  uint32_t coin_q32 = UINT32_MAX;  // always
  uint64_t most_rho_q40 = 0;
  uint32_t ms_per_sample = 0;   // that training takes
  bool noise_is_fresh = false;  // other noise at each try, as real entropy gives

 private:
  static Status FreshNoise(void* context, MutableByteSpan out) {
    const uint32_t draw = ++*static_cast<uint32_t*>(context);
    std::memset(out.data(), 0, out.size());
    StoreU32Le(draw, out.data());
    return Status::kOk;
  }
  static Status ReadSample(void* context, uint32_t index, Span<float> x, uint32_t* label) {
    const auto& self = *static_cast<const TownNode*>(context);
    *self.now_ms_ += self.ms_per_sample;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = 0.05f * static_cast<float>((7 * self.number_ + 3 * index + 5 * i) % 13) - 0.3f;
    }
    *label = (index + self.number_) % 3;
    return Status::kOk;
  }

  uint32_t number_;
  uint64_t* now_ms_;
  std::string name_;
  std::string address_;
  Key secret_;
  uint32_t draws_ = 0;
  std::unique_ptr<Life> life_;
};

// What goes wrong at one event.
enum class Trouble : uint8_t {
  kNone,
  kRequestLost,
  kReplyLost,
  kKillBefore,       // the node, before its step
  kKillAfterStep,    // and before its request leaves
  kKillAfterRequest  // the other side has acted
};
inline constexpr Trouble kTroubles[] = {Trouble::kRequestLost, Trouble::kReplyLost,
                                        Trouble::kKillBefore, Trouble::kKillAfterStep,
                                        Trouble::kKillAfterRequest};

class Town {
 public:
  Town(uint32_t count, bool has_relay) : directory(count, has_relay), has_relay_(has_relay) {
    answer = [this](uint32_t node, const PeerRequest& request) {
      return directory.Answer(node, request, now_ms);
    };
    head = [this] { return directory.head(); };
    head_bytes = [this] { return directory.head_bytes(); };
    for (uint32_t i = 0; i < count; ++i) {
      nodes.push_back(std::make_unique<TownNode>(i, !has_relay, &now_ms));
    }
  }

  void Start() {
    for (auto& node : nodes) node->Start();
  }

  // Runs all nodes in turn until they are done. Trouble comes at one event.
  void Run(Trouble trouble = Trouble::kNone, uint32_t at = 0) {
    bool all_done = false;
    for (uint32_t i = 0; !all_done && i < 20000; ++i) {
      all_done = true;
      for (auto& node : nodes) {
        const bool done = Pump(*node, events == at ? trouble : Trouble::kNone);
        all_done = all_done && done;
        ++events;
        if (testing::Test::HasFatalFailure()) return;
      }
      now_ms += 1;
    }
    ASSERT_TRUE(all_done) << "the nodes stand still";
  }

  void RunOne(size_t i) { (void)Pump(*nodes[i], Trouble::kNone); }

  // The head of a direct run of the trainers in turns.
  static Bytes ExpectedHead(Town& town, std::vector<std::vector<float>>* local) {
    Bytes newest;
    uint32_t version = 0;
    town.Start();
    for (uint32_t step = 0; step < kTownSteps; ++step) {
      for (auto& node : town.nodes) {
        PeerTrainer& trainer = node->trainer();
        bool share = false;
        EXPECT_EQ(trainer.Decide(node->policy(), &share), Status::kOk);
        if (!share) {
          EXPECT_EQ(trainer.LearnAlone(), Status::kOk);
          continue;
        }
        EXPECT_EQ(trainer.SetHead(View(newest)), Status::kOk);
        EXPECT_EQ(trainer.Publish(++version, node->number()), Status::kOk);
        newest = BytesOf(trainer.publication());
        EXPECT_EQ(trainer.Adopt(true), Status::kOk);
      }
    }
    for (auto& node : town.nodes) {
      const Span<const float> model = node->trainer().local();
      local->emplace_back(model.begin(), model.end());
    }
    return newest;
  }

  // The newest publication, from its maker if there is no relay.
  Bytes HeadBytes() {
    if (has_relay_) return head_bytes();
    return BytesOf(nodes[head().publisher]->trainer().publication());
  }

  // No step of a node has two publications of which bytes have left.
  void ExpectOneReleaseAStep() const {
    for (const auto& [step, digests] : released) {
      EXPECT_EQ(digests.size(), 1u) << "node " << step.first << ", step " << step.second;
    }
  }

  uint64_t now_ms = 1000;
  TownDirectory directory;
  // Another directory may take its place.
  std::function<PeerReply(uint32_t node, const PeerRequest& request)> answer;
  std::function<PeerHead()> head;
  std::function<Bytes()> head_bytes;
  std::vector<std::unique_ptr<TownNode>> nodes;
  uint32_t events = 0;
  std::map<std::pair<uint32_t, uint32_t>, std::set<Bytes>> released;

 private:
  void Restart(TownNode& node) {
    node.Kill();
    node.Start();
  }

  // One step of a node and its message. True: it is done.
  bool Pump(TownNode& node, Trouble trouble) {
    if (trouble == Trouble::kKillBefore) Restart(node);
    PeerNode::Progress progress = PeerNode::Progress::kAgain;
    EXPECT_EQ(node.node().Step(&progress), Status::kOk);
    if (trouble == Trouble::kKillAfterStep) return Restart(node), false;
    if (progress == PeerNode::Progress::kDone) return true;
    if (progress == PeerNode::Progress::kWait) now_ms += node.node().wait_ms();
    if (progress != PeerNode::Progress::kSend) return false;
    if (trouble == Trouble::kRequestLost) return node.node().OnLinkLost(), false;
    PeerReply reply;
    const bool answered = Exchange(node, &reply);
    if (trouble == Trouble::kKillAfterRequest) return Restart(node), false;
    if (trouble == Trouble::kReplyLost || !answered) return node.node().OnLinkLost(), false;
    EXPECT_EQ(node.node().OnReply(reply), Status::kOk);
    EXPECT_GE(head().version, newest_) << "the head went back";
    newest_ = head().version;
    return false;
  }

  bool Exchange(TownNode& node, PeerReply* reply) {
    const PeerRequest& request = node.node().request();
    NoteRelease(node, request);
    const PeerPlace place = node.node().where();
    if (place.is_directory) {
      *reply = answer(node.number(), request);
      return true;
    }
    TownNode& other = *nodes[place.node];
    reply->node = place.node;
    reply->kind = PeerReply::Kind::kWelcome;
    if (request.kind == PeerRequest::Kind::kGreet) return true;
    const ByteSpan bytes = other.trainer().publication();
    reply->kind = PeerReply::Kind::kChunk;
    reply->bytes =
        bytes.subspan(request.offset, std::min<size_t>(50, bytes.size() - request.offset));
    return true;
  }

  void NoteRelease(TownNode& node, const PeerRequest& request) {
    const bool leaves =
        request.kind == PeerRequest::Kind::kStage || request.kind == PeerRequest::Kind::kCommit;
    if (!leaves) return;
    released[{node.number(), node.trainer().publication_step()}].insert(
        BytesOf(ByteSpan(request.publication.digest)));
  }

  bool has_relay_;
  uint32_t newest_ = 0;
};

}  // namespace sotto
