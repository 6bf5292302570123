// For the tests of the directory: a job, a log in memory that can fail, nodes that ask.
#pragma once

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "peers/directory.h"
#include "sotto/bytes.h"
#include "sotto/models.h"
#include "sotto/peer_wire.h"
#include "sotto/publication.h"

namespace sotto::server {

constexpr uint32_t kNodes = 3;
constexpr uint64_t kLeaseMs = 1000;

inline const ModelInfo& PeerModel() { return *FindModel("softmax-784-10"); }

inline PeerJob TestPeerJob() {
  PeerJob job;
  job.unit = PeerUnit::kNone;
  job.salt[3] = 7;
  return job;
}

inline PeerRequest Ask(PeerRequest::Kind kind) {
  PeerRequest request;
  request.kind = kind;
  return request;
}

// A publication, its name, and what is needed to commit it.
struct Published {
  std::vector<uint8_t> bytes;
  PeerHead name;

  ByteSpan view() const { return {bytes.data(), bytes.size()}; }
};

inline void NameBytes(Published* published) {
  Sha256 hash;
  ASSERT_EQ(hash.Update(published->view()), Status::kOk);
  ASSERT_EQ(hash.Finish(published->name.digest), Status::kOk);
  published->name.size = static_cast<uint32_t>(published->bytes.size());
}

// Of a model whose parameters all have this value.
inline Published PublicationOf(const uint8_t (&job)[kJobIdSize], uint32_t version, uint32_t node,
                               float value) {
  Published published;
  PublicationHeader header;
  std::copy(std::begin(job), std::end(job), header.job_id);
  header.version = published.name.version = version;
  header.node = published.name.publisher = node;
  const std::vector<float> parameters(PeerModel().parameters, value);
  published.bytes.resize(MaxPublicationBytes(parameters.size()));
  size_t size = 0;
  EXPECT_EQ(EncodePublication(header, {parameters.data(), parameters.size()},
                              {published.bytes.data(), published.bytes.size()}, &size),
            Status::kOk);
  published.bytes.resize(size);
  NameBytes(&published);
  return published;
}

// What would survive the end of the process.
class MemoryLog final : public DirectoryLog {
 public:
  void Save(const DirectoryState& state, ByteSpan head) override {
    if (fails_before) throw std::runtime_error("the disk is full");
    state_ = state;
    if (!head.empty()) bytes_[state.head.version].assign(head.begin(), head.end());
    ++saves;
    if (fails_after) throw std::runtime_error("the power is gone");
  }

  const DirectoryState& state() const { return state_; }
  std::vector<uint8_t> BytesOf(const PeerHead& head) const {
    const auto found = bytes_.find(head.version);
    return found == bytes_.end() ? std::vector<uint8_t>() : found->second;
  }

  int saves = 0;
  bool fails_before = false;
  bool fails_after = false;

 private:
  DirectoryState state_;
  std::map<uint32_t, std::vector<uint8_t>> bytes_;
};

class DirectoryTest : public testing::Test {
 protected:
  explicit DirectoryTest(bool has_relay = true, LeaseOrder order = LeaseOrder::kAny)
      : has_relay_(has_relay) {
    options_.model = &PeerModel();
    options_.job = TestPeerJob();
    options_.order = order;
    options_.lease_ms = kLeaseMs;
    options_.tell = [this](const std::string& line, bool) { last_line_ = line; };
    key_.bytes[0] = 9;
    Start();
  }

  // The directory anew, from what the log has. All nodes join.
  void Start() {
    DirectoryState state = log_.state();
    ContinueState(PeerModel(), options_.job, has_relay_, {"a", "b", "c"}, &state);
    log_.Save(state, {});
    std::vector<uint8_t> head = log_.BytesOf(state.head);
    std::vector<uint8_t> parent = log_.BytesOf(state.parent);
    directory_ = std::make_unique<Directory>(options_, state, key_, std::move(head),
                                             std::move(parent), &log_);
    for (uint32_t node = 0; node < kNodes; ++node) {
      sessions_[node] = {};
      sessions_[node].node = node;
      ASSERT_EQ(Join(node).kind, PeerReply::Kind::kWelcome);
    }
  }

  PeerReply Answer(uint32_t node, const PeerRequest& request) {
    return directory_->Answer(&sessions_[node], request, now_ms_);
  }

  PeerReply Join(uint32_t node) {
    PeerRequest request = Ask(PeerRequest::Kind::kJoin);
    request.job_id = log_.state().job_id;
    request.max_frame = 512;
    return Answer(node, request);
  }

  PeerReply Lease(uint32_t node, uint32_t step = 0) {
    PeerRequest request = Ask(PeerRequest::Kind::kLease);
    request.step = step;
    return Answer(node, request);
  }

  // A grant. Fails the test if there is none.
  uint32_t FenceOf(uint32_t node, uint32_t step = 0) {
    const PeerReply reply = Lease(node, step);
    EXPECT_EQ(reply.kind, PeerReply::Kind::kGranted);
    return reply.fence;
  }

  PeerReply Release(uint32_t node, uint32_t fence) {
    PeerRequest request = Ask(PeerRequest::Kind::kRelease);
    request.fence = fence;
    return Answer(node, request);
  }

  PeerReply Finish(uint32_t node) { return Answer(node, Ask(PeerRequest::Kind::kFinished)); }

  PeerReply StageAt(uint32_t node, const Published& published, uint32_t offset, size_t count) {
    PeerRequest request = Ask(PeerRequest::Kind::kStage);
    request.publication = published.name;
    request.offset = offset;
    request.bytes = published.view().subspan(offset, count);
    return Answer(node, request);
  }

  // All of it, in pieces. The last answer.
  PeerReply StageAll(uint32_t node, const Published& published) {
    PeerReply reply;
    for (size_t at = 0; at < published.bytes.size(); at += 400) {
      const size_t count = std::min<size_t>(400, published.bytes.size() - at);
      reply = StageAt(node, published, static_cast<uint32_t>(at), count);
      if (reply.kind != PeerReply::Kind::kStaged) return reply;
    }
    return reply;
  }

  PeerReply Commit(uint32_t node, const Published& published, const PeerHead& previous,
                   uint32_t fence) {
    PeerRequest request = Ask(PeerRequest::Kind::kCommit);
    request.publication = published.name;
    request.previous = previous.digest;
    request.fence = fence;
    return Answer(node, request);
  }

  const PeerHead& head() const { return directory_->state().head; }

  Published Next(uint32_t node, float value = 0.5f) const {
    return PublicationOf(log_.state().job_id, head().version + 1, node, value);
  }

  // One whole publication of a node.
  Published Publish(uint32_t node, uint32_t step, float value = 0.5f) {
    const uint32_t fence = FenceOf(node, step);
    const PeerHead previous = head();
    const Published published = Next(node, value);
    if (has_relay_) {
      EXPECT_EQ(StageAll(node, published).offset, published.bytes.size());
    }
    const PeerReply reply = Commit(node, published, previous, fence);
    EXPECT_EQ(reply.kind, PeerReply::Kind::kDone);
    EXPECT_TRUE(reply.accepted);
    return published;
  }

  static void ExpectRefused(const PeerReply& reply, ErrorCode code) {
    EXPECT_EQ(reply.kind, PeerReply::Kind::kError);
    EXPECT_EQ(reply.code, code) << ErrorCodeName(reply.code);
    EXPECT_TRUE(reply.final);
  }

  const bool has_relay_;
  DirectoryOptions options_;
  std::string last_line_;  // that the directory told
  Key key_;
  MemoryLog log_;
  uint64_t now_ms_ = 5000;
  DirectorySession sessions_[kNodes];
  std::unique_ptr<Directory> directory_;
};

}  // namespace sotto::server
