// A node without a server: samples, models, noise, ledger; no messages. Part of sotto/peer.
//
//   PeerTrainer trainer;
//   trainer.Begin(config, buffers);               // reads the ledger in the store
//   if (trainer.has_pending()) {
//     ... stage and commit trainer.publication() once more ...
//     trainer.Adopt(committed);
//   }
//   while (!trainer.is_done()) {
//     bool share = false;
//     trainer.Decide(policy, &share);
//     if (!share) { trainer.LearnAlone(); continue; }
//     ... get a lease and the newest publication, trainer.SetHead(its bytes) ...
//     trainer.Publish();                          // draws noise, fixes bytes, charges them, saves
//     ... stage and commit trainer.publication() ...
//     trainer.Adopt(committed);                   // w_L <- those bytes, committed or not
//   }
//
// The order is the guarantee. Publish() draws the noise, fixes the bytes and saves them with their
// cost in one record, before any byte can leave. A reset before that record forgets the step, of
// which no byte has left; after a later reset the node sends the same bytes again. So no batch is
// released twice. The steps on the node's own model since the last publication are not saved. After
// a reset the node takes them again, with the same batches and, for the policies never, always,
// coin and period, with the same decisions, up to the same model.
//
// The ledger. The record holds the next step, the publications of this job and their cost, and the
// cost of earlier jobs on this store, per unit. It refuses a publication that is not paid for: more
// than most_releases, passes beyond `passes`, or a total above the owner's limit. A damaged record,
// or one of another version, is an error and never counts as empty. A record of this job whose node
// has another secret or another number of samples is an error, too: the order of the samples, and
// so the published batches, would differ. The owner must keep the samples the same during a job.
//
// The caller owns all memory. One thread at a time. Failures of entropy and store are fatal for the
// publication at hand: nothing leaves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/keys.h"
#include "sotto/peer_job.h"
#include "sotto/persistent_store.h"
#include "sotto/port.h"
#include "sotto/publication.h"
#include "sotto/sample_source.h"
#include "sotto/share_policy.h"
#include "sotto/train.h"
#include "sotto/update_scale.h"

namespace sotto {

struct PeerConfig {
  const ModelInfo* model = nullptr;
  PeerJob job;
  ByteSpan device_id;    // see IsValidDeviceId()
  Key secret;            // decides the order of samples and the coin, but no byte that is sent
  SampleSource samples;  // the same ones in every pass and after every reset
  Port port;             // entropy: of the noise
  PersistentStore store;
  // The most that publications on this store may cost in all jobs together, zCDP in units of
  // 2^-40, of the job's unit. 0: the job's own limits alone.
  uint64_t most_rho_q40 = 0;

  // kOk or kInvalidArgument.
  Status Validate() const;
};

// Memory for a model of n parameters: 16 bytes a parameter, and what a training needs.
struct PeerBuffers {
  Span<float> local;            // [n] w_L
  Span<float> work;             // [n]
  Span<float> head;             // [n] G
  Span<float> last;             // [n] P
  Span<float> scratch;          // [model.training_floats(model, batch_size)]
  Span<uint32_t> indices;       // [batch_size]
  MutableByteSpan publication;  // [MaxPublicationBytes(n)]
};

// What the ledger holds.
struct PeerLedger {
  uint32_t next_step = 0;  // after a reset
  uint32_t releases = 0;   // of this job
  // zCDP in units of 2^-40 of all jobs on this store. Unit sample: of the worst sample, a pass
  // costs it as much as one publication. Unit device: every publication adds.
  uint64_t sample_rho_q40 = 0;
  uint64_t device_rho_q40 = 0;
};

class PeerTrainer {
 public:
  PeerTrainer() = default;
  ~PeerTrainer() { Wipe(); }
  PeerTrainer(const PeerTrainer&) = delete;
  PeerTrainer& operator=(const PeerTrainer&) = delete;

  // Starts, or goes on after a reset. config is copied, its spans and the buffers outlive the node.
  // Returns kOk; kInvalidArgument for a bad configuration or fewer samples than a batch; kMismatch
  // for a model with personal layers or that unit or rate do not suit, or a record with another
  // secret or number of samples; kBufferTooSmall; kStoreFailed; kMalformed for a damaged record;
  // kCryptoFailed.
  Status Begin(const PeerConfig& config, const PeerBuffers& buffers);

  ByteSpan job_id() const { return job_id_; }  // [kJobIdSize]
  uint32_t step() const { return step_; }      // the next one
  uint32_t steps() const { return steps_; }    // of all passes
  bool is_done() const { return step_ >= steps_ && !has_pending_; }
  const PeerLedger& ledger() const { return ledger_; }

  // The decision of the next step. With a private policy it computes two losses.
  // Returns kOk, kWrongState if the node is done or has a pending publication, or the policy's
  // status.
  Status Decide(const SharePolicy& policy, bool* share);

  // A Local step. Returns kOk or kWrongState. A batch that cannot be trained on changes nothing.
  Status LearnAlone();

  // Sets the newest published model, on which the next publication builds. An empty span stands for
  // version 0, the initial model. The node's own publication is allowed.
  // Returns kOk, kMalformed for bytes that are no publication of this job (the head stays as it
  // was), or kCryptoFailed.
  Status SetHead(ByteSpan publication);
  uint32_t head_version() const { return head_version_; }
  // SHA-256 of the head's publication; zeros for version 0. [kSha256Size]
  ByteSpan head_digest() const { return head_digest_; }

  // A Global step on the head, to be published as `version` by node number `node`: the next
  // publication_steps batches of the pass, or the rest of it. From then on has_pending() holds.
  // Returns kOk; kWrongState; kPeerRefused if it is not paid for (nothing happened);
  // kEntropyFailed, kStoreFailed, kCryptoFailed: nothing may be sent, and Begin() must be called
  // before the node goes on.
  Status Publish(uint32_t version, uint32_t node);

  bool has_pending() const { return has_pending_; }
  // The bytes of the last publication; empty: there is none. They stay the same until the next
  // Publish().
  ByteSpan publication() const { return ByteSpan(buffers_.publication).first(publication_size_); }
  uint32_t publication_version() const { return publication_version_; }
  uint32_t publication_step() const { return publication_step_; }      // its first one
  ByteSpan publication_digest() const { return publication_digest_; }  // [kSha256Size]

  // w_L <- the last publication. It also becomes the head if `committed`. Returns kOk or
  // kWrongState.
  Status Adopt(bool committed);

  // The node's own model, w_L, [n].
  Span<const float> local() const { return buffers_.local; }
  float last_loss() const { return last_loss_; }  // of the last batch, before its step

  // Wipes keys. The node must then Begin() again.
  void Wipe();

 private:
  struct Record;  // peer_record.cc

  Status CheckModel() const;
  Status CheckBuffers() const;
  Status DeriveKeys();
  Status LoadRecord();
  Status TakeRecord(const Record& record);
  Status SaveRecord();
  void ForgetLocalSteps();
  Status Order(uint32_t step, Span<uint32_t> indices);
  uint32_t NextPublicationSteps() const;
  Status TrainOn(uint32_t step, float rate, Span<const float> base, float* loss);
  Status LossOn(uint32_t step, float* loss);
  bool IsPaidFor(uint64_t* cost) const;
  Status MakeUpdate(uint32_t steps);
  Status AddToBase(const UpdateScale& scale);
  Status Fix(uint32_t version, uint32_t node);

  PeerConfig config_;
  PeerBuffers buffers_;
  uint8_t job_id_[kJobIdSize] = {};
  Key order_key_;
  uint8_t samples_mark_[16] = {};
  KeyedPermutation order_;
  uint32_t order_pass_ = 0;  // of order_
  uint32_t steps_of_pass_ = 0;
  uint32_t steps_ = 0;
  uint32_t step_ = 0;
  uint32_t local_steps_ = 0;
  uint64_t release_rho_q40_ = 0;
  PeerLedger ledger_;
  uint32_t head_version_ = 0;
  uint8_t head_digest_[kSha256Size] = {};
  uint32_t publication_version_ = 0;
  uint32_t publication_step_ = 0;
  uint8_t publication_digest_[kSha256Size] = {};
  size_t publication_size_ = 0;
  bool has_pending_ = false;
  bool is_ready_ = false;
  float last_loss_ = 0.0f;
};

// The initial model of a job, version 0: zeros for a single Dense layer, else InitialWeights()
// under a key that the job's id decides, rounded to units of 2^-20. Returns kOk or kCryptoFailed.
//   parameters  [n]
Status PeerInitialModel(const ModelInfo& model, const PeerJob& job, Span<float> parameters);

// A node's entropy in a seeded run. INSECURE: for simulations and tests. The noise of a step is a
// function of the node's secret, the job and the step alone.
class SeededPeerEntropy {
 public:
  SeededPeerEntropy(const Key& secret, const PeerTrainer* trainer)
      : secret_(secret), trainer_(trainer) {}
  // A sotto::Port's entropy callback; context is a SeededPeerEntropy. The bytes are stream 0 of
  // HKDF(secret, salt = job id, info = key_label::kPeerNoise | u32le step).
  static Status Fill(void* context, MutableByteSpan out);

 private:
  Key secret_;
  const PeerTrainer* trainer_;
};

}  // namespace sotto
