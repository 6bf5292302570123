// A node without a server: its dialogue with directory, relay and neighbours as a state machine
// without I/O. Part of sotto/client.
//
// The node takes the steps of sotto/peer_trainer.h. This class asks for a lease, fetches the newest
// publication, and delivers the node's own one to the others. The caller moves messages:
//
//   PeerTrainer trainer;
//   if (trainer.Begin(config, buffers) != Status::kOk) give up;
//   PeerNode node(&trainer, policy, node_config);
//   PeerNode::Progress progress = PeerNode::Progress::kAgain;
//   while (progress != PeerNode::Progress::kDone) {
//     if (node.Step(&progress) != Status::kOk) begin again: a new trainer, a new node;
//     if (progress == PeerNode::Progress::kWait) Sleep(node.wait_ms());
//     if (progress != PeerNode::Progress::kSend) continue;
//     PeerReply reply;
//     if (!Exchange(node.where(), node.request(), &reply)) {  // the link: yours
//       node.OnLinkLost();
//     } else if (node.OnReply(reply) != Status::kOk) {
//       close the link; Sleep(a while);                       // the next Step() asks again
//     }
//   }
//
// where() names the receiver of request(): a neighbour, or the directory, which is also the relay.
// The link to the directory may stay open while the caller talks to a neighbour. A caller that
// cannot open links to neighbours calls OnLinkLost() instead; with a relay the node never asks for
// such a link.
//
// A publication has these parts:
//   1. kLease, until it is granted: one node publishes at a time.
//   2. kRosterEntry, kGreet, kGetPublication: the granted head, from the relay or else from the
//      node that published it. Nothing is fetched if the node holds the head already. Size,
//      SHA-256, version, publisher and contents are checked. If a head is invalid, or cannot be
//      fetched in kFetchTries tries or within the time of two leases, the node does not ask for it
//      again. It builds on the head's parent or, if that fails too, on the newest publication that
//      it holds; it always holds the initial model. The new version is still the granted one plus
//      one, and the publication names the base that it really has.
//   3. PeerTrainer::Publish(), unless the lease has ended meanwhile: then the node asks again. If
//      it ends during the steps, the node asks for another one for the same bytes.
//   4. kStage with a relay, from the byte that the relay names, and kCommit. From Publish() on the
//      bytes are fixed. After a cut link or a reset the same bytes go out again: the node asks for
//      a lease for the pending publication or, if the head is past it, only whether it was
//      accepted. The node repeats a refused commit under a new lease as long as the head is still
//      the one that the publication follows.
//   5. Adopt(): w_L <- those bytes, accepted or not, since others may have seen them.
//
// The node checks every reply. A directory's head never goes back, and a version keeps its digest:
// any other reply is kMalformed. The caller owns all memory. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/net_memory.h"
#include "sotto/nn.h"
#include "sotto/peer_messages.h"
#include "sotto/peer_trainer.h"
#include "sotto/retry_pace.h"

namespace sotto {

struct PeerNodeConfig {
  Port port;                              // now_ms
  uint32_t max_frame = kDefaultMaxFrame;  // that the link takes; kMinMaxFrame to kMaxMaxFrame
  // Where neighbours reach this node, "HOST:PORT"; outlives the node. Empty: the node does not
  // listen, and can publish only through a relay.
  ByteSpan address;
  // [MaxPublicationBytes(n)] for a publication that is being fetched. Fetching and training take
  // turns: it may overlap with PeerBuffers::scratch.
  MutableByteSpan fetched;
};

// Who gets a request. The spans point into the node, valid until its next Step() or OnReply().
struct PeerPlace {
  bool is_directory = true;
  // Of a neighbour.
  uint32_t node = 0;
  ByteSpan address;    // "HOST:PORT"
  ByteSpan device_id;  // its name
  // Secret of the TLS link with the neighbour, instead of the device's own. Null: the directory.
  const Key* pair_key = nullptr;
};

class PeerNode {
 public:
  enum class Progress : uint8_t {
    kAgain,  // call Step() again
    kSend,   // send request() to where() and give the answer to OnReply()
    kWait,   // call Step() again after wait_ms()
    kDone,   // this node takes no further step
  };

  enum class State : uint8_t {
    kDecide,   // and learn alone
    kLease,    // for the next publication, or for the pending one
    kLocate,   // address and key of the node that published
    kFetch,    // the publication to build on
    kPublish,  // the step itself
    kStage,
    kCommit,
    kRelease,  // of a lease under which nothing was accepted
    kFinish,
    kDone,
    kFailed,  // Step() has returned why, and does so again
  };

  enum class Refusal : uint8_t {
    kNone,
    kNotPaidFor,   // the ledger does not pay for the next publication
    kUnreachable,  // the node does not listen, and there is no relay: nobody could fetch
    kByDirectory,  // a final error: error_code()
  };

  // From the same place, for one publication.
  static constexpr uint32_t kFetchTries = 3;

  //   trainer  begun; outlives the node; others may only read it meanwhile
  //   policy   copied; the objects that it points to outlive the node
  PeerNode(PeerTrainer* trainer, const SharePolicy& policy, const PeerNodeConfig& config);
  PeerNode(const PeerNode&) = delete;
  PeerNode& operator=(const PeerNode&) = delete;

  // Learns one step alone, or makes a publication with all its steps, or prepares one request.
  // Returns kOk; kWrongState while a reply is awaited; kInvalidArgument for a bad configuration;
  // kBufferTooSmall for `fetched`; the policy's status; or the failure of Publish(). After any but
  // kOk and kWrongState nothing more is sent: start again from PeerTrainer::Begin().
  Status Step(Progress* progress);

  // Takes the answer to request(). Returns kOk; kWrongState; kMalformed for an answer that does not
  // fit; or the failure of PeerTrainer::SetHead() or Adopt(), which the next Step() returns, too.
  // After kMalformed the link must be closed: the node goes on as after OnLinkLost().
  Status OnReply(const PeerReply& reply);

  // Call it when the link to where() was cut, or could not be opened. The requests on a new link
  // begin with kJoin or kGreet; then the node repeats the request that was cut.
  void OnLinkLost();

  // Call it when the link to the directory was cut while the node talks to a neighbour, or closed
  // in a pause.
  void OnDirectoryLinkClosed() { joined_ = false; }

  const PeerRequest& request() const { return request_; }
  PeerPlace where() const;
  uint32_t wait_ms() const { return wait_ms_; }

  State state() const { return state_; }
  // Why the node is done before its last step, if so.
  Refusal refusal() const { return refusal_; }
  bool is_refused() const { return refusal_ != Refusal::kNone; }
  // Code of the last error that another side answered; kUnknown if there was none.
  ErrorCode error_code() const { return error_code_; }

  // Meaningful once the directory has answered.
  uint32_t number() const { return number_; }  // of this node in the roster
  uint32_t nodes() const { return nodes_; }    // in the roster
  bool has_relay() const { return has_relay_; }
  const PeerHead& head() const { return head_; }  // the newest one that the directory has told

  uint32_t accepted() const { return accepted_; }    // own publications that became a version
  uint32_t fallbacks() const { return fallbacks_; }  // publications that do not build on the head

 private:
  bool IsPending() const { return trainer_->has_pending(); }
  bool IsToDirectory() const;
  bool IsUnreachable() const { return !has_relay_ && config_.address.empty(); }
  Status CheckConfig() const;
  Status Fail(Status status);
  void Wait(uint32_t ms);
  void Refuse(Refusal why, State next);

  Status Work();
  Status StepDecide();
  Status StepPublish();
  bool IsPast(uint64_t end_ms) const;
  Status Adopt(bool accepted);

  void Prepare();
  void PrepareJoin();
  void PrepareGreet();
  void PrepareStage();
  void PrepareCommit();
  PeerHead Own() const;

  Status HandleReply(const PeerReply& reply);
  Status OnError(const PeerReply& reply);
  Status OnFetchError(const PeerReply& reply);
  Status OnWelcome(const PeerReply& reply);
  Status OnGreeted(const PeerReply& reply);
  Status OnLease(const PeerReply& reply);
  Status OnEntry(const PeerReply& reply);
  Status OnChunk(const PeerReply& reply);
  Status OnStaged(const PeerReply& reply);
  Status OnReleased(const PeerReply& reply);
  Status OnCommitted(const PeerReply& reply);
  Status TakeHead(const PeerHead& head);
  Status CheckFetched(bool* is_valid);

  void Resume();
  void SendPending();
  Status StartFetch();
  Status Choose();
  Status NextCandidate();
  void CountTry();

  PeerTrainer* trainer_;
  SharePolicy policy_;
  PeerNodeConfig config_;

  State state_ = State::kDecide;
  Status failure_ = Status::kOk;
  Refusal refusal_ = Refusal::kNone;
  ErrorCode error_code_ = ErrorCode::kUnknown;
  bool awaiting_reply_ = false;
  bool wait_pending_ = false;
  bool joined_ = false;       // on the present link to the directory
  bool greeted_ = false;      // on the present link to the neighbour
  bool is_new_ = true;        // the directory has not answered yet
  bool was_checked_ = false;  // the configuration
  uint32_t wait_ms_ = 0;
  RetryPace pace_{RetryPace::kAtOnceMs};
  uint64_t asked_ms_ = 0;
  PeerRequest request_;

  uint32_t number_ = 0;
  uint32_t nodes_ = 0;
  bool has_relay_ = false;
  uint32_t directory_frame_ = kMinMaxFrame;
  PeerHead head_;

  uint32_t fence_ = 0;  // 0: no lease
  uint32_t last_fence_ = 0;
  uint64_t lease_end_ms_ = 0;
  PeerHead candidates_[2];  // head and parent of the lease
  uint32_t candidate_ = 0;
  PeerHead given_up_[2];  // the last candidates that could not be fetched
  uint64_t fetch_end_ms_ = 0;
  uint32_t tries_ = 0;
  uint32_t fetched_ = 0;  // bytes
  uint32_t commits_ = 0;  // of the pending publication, refused ones
  uint32_t staged_ = 0;   // bytes
  uint8_t previous_[kSha256Size] = {};

  uint8_t address_[kMaxPeerAddressSize] = {};
  size_t address_size_ = 0;
  uint8_t device_id_[kMaxDeviceIdSize] = {};
  size_t device_id_size_ = 0;
  Key pair_key_;

  uint32_t accepted_ = 0;
  uint32_t fallbacks_ = 0;
};

// The caller's memory for a node.
struct PeerMemory {
  PeerBuffers trainer;
  MutableByteSpan fetched;
  // Frames of the caller's link, while it exchanges a request for a reply. The node does not use
  // it.
  MutableByteSpan frames;
};

namespace internal {

// Bytes of the memory that training, fetching and frames share: a multiple of a float's size.
template <class Net, uint32_t batch_size>
constexpr size_t PeerSharedBytes(size_t frame_bytes) {
  const size_t training = sizeof(float) * nn::TrainingMemory(Net::Plan(), Net::kLoss, batch_size);
  const size_t messages = MaxPublicationBytes(Net::kParameters) + frame_bytes;
  return training > messages ? training : (messages + 3) / 4 * 4;
}

}  // namespace internal

// Bytes of workspace besides the four vectors, for jobs of batches of at most batch_size samples.
template <class Net, uint32_t batch_size, size_t frame_bytes = 0>
constexpr size_t PeerWorkspaceBytes() {
  return alignof(uint32_t) - 1 + internal::PeerSharedBytes<Net, batch_size>(frame_bytes) +
         sizeof(uint32_t) * batch_size + MaxPublicationBytes(Net::kParameters);
}

// Lays a node's memory out in static memory:
//   vectors    [4 * Net::kParameters] w_L, work, G, P
//   workspace  [PeerWorkspaceBytes() of the same arguments], any alignment
template <class Net, uint32_t batch_size, size_t frame_bytes = 0>
PeerMemory MakePeerBuffers(Span<float> vectors, Span<std::byte> workspace) {
  constexpr size_t kN = Net::kParameters;
  const auto address = reinterpret_cast<uintptr_t>(workspace.data());
  std::byte* const shared = workspace.data() + (0 - address) % alignof(uint32_t);
  std::byte* const rest = shared + internal::PeerSharedBytes<Net, batch_size>(frame_bytes);
  auto* const bytes = reinterpret_cast<uint8_t*>(shared);
  PeerMemory memory;
  memory.trainer.local = vectors.first(kN);
  memory.trainer.work = vectors.subspan(kN).first(kN);
  memory.trainer.head = vectors.subspan(2 * kN).first(kN);
  memory.trainer.last = vectors.subspan(3 * kN).first(kN);
  memory.trainer.scratch = {reinterpret_cast<float*>(shared),
                            nn::TrainingMemory(Net::Plan(), Net::kLoss, batch_size)};
  memory.trainer.indices = {reinterpret_cast<uint32_t*>(rest), batch_size};
  memory.trainer.publication = {reinterpret_cast<uint8_t*>(rest + sizeof(uint32_t) * batch_size),
                                MaxPublicationBytes(kN)};
  memory.fetched = {bytes, MaxPublicationBytes(kN)};
  memory.frames = {bytes + MaxPublicationBytes(kN), frame_bytes};
  return memory;
}

}  // namespace sotto
