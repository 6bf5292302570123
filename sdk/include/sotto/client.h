// The device's side of a job as a state machine without I/O. Part of sotto/client.
//
// The caller moves messages between the client and the server over whatever link it has:
//
//   Client::Progress progress = Client::Progress::kAgain;
//   while (progress != Client::Progress::kDone) {
//     if (client.Step(&progress) != Status::kOk) Sleep(a while);  // this round is given up
//     if (progress == Client::Progress::kWait) Sleep(client.wait_ms());
//     if (progress != Client::Progress::kSend) continue;
//     Reply reply;                                                // at most one message a step
//     if (!Exchange(client.request(), &reply)) {                  // the link: yours
//       client.OnLinkLost();
//     } else if (client.OnReply(reply) != Status::kOk) {
//       Sleep(a while);                                           // the next Step() starts over
//     }
//   }
//
// A round has four parts:
//   1. Hello, repeated until the server has work.
//   2. Download of the model into the caller's buffer. The server may offer it as the difference
//      from the model that the device holds, or from one that the device can make
//      (model_download.h). The device checks the model against the offer. If they differ, it
//      forgets the model and sends Hello again.
//   3. A local round (local_round.h): training. The encoding begins once the server has answered
//      UpdateBegin, since its salt is part of the key.
//   4. Upload. The update stays in memory until the server has acknowledged all of it. A resumed
//      upload repeats the same bytes.
//
// Report time. The moment of an upload reveals how long the training took, and so how many samples
// the device has. A server may name a report time with the task (Reply::report_ms), which it has
// chosen from public figures. Step() then asks the caller to wait until that time before the
// upload:
//   1. During the wait the board may sleep, and the link may stay or close, as at any time. But the
//      caller must not let the beginning of this wait decide what it does with the link, since the
//      data decide when the wait begins.
//   2. A training that is not finished after three quarters of the time is given up before its next
//      mini-batch. Its update is zeros, with noise like any other. The last quarter is for the
//      mini-batch under way: so a device that gave up announces its update at the same time as one
//      that did not.
//   3. The server's answer to the announcement has the salt. The device then encodes the update.
//      The first bytes leave an eighth of the time after the announcement and not before, so nobody
//      sees how long the encoder worked. With LocalRoundBuffers::encoded no later work depends on
//      the data.
//
// A later Hello of a connection says only what has changed, if the server remembers the first one
// (kServerRemembersHello). So call OnLinkLost() for each link that ends, also if the device closes
// it, before the next request is prepared.
//
// The released model. FetchRelease() asks for the newest one between two rounds, or after the job.
// It takes the place of the round's model in the caller's buffer.
//
// Memory. The caller owns it: two vectors of the model's size, a third one for tasks with momentum,
// a fourth one for some gradient clips, and a workspace. Client::Check() tells before use whether
// the memory suffices. Each Hello states what the device can do with it (Abilities); a server gives
// the device no task that needs more.
//
// One thread at a time. The client blocks only in the caller's functions: samples, writer, port and
// stores.
//
// Privacy from the server:
//   1. Gau-LRQ's noise protects what the server releases. It does not protect the update from the
//      server, which can remove that noise.
//   2. A task with private noise (trust mode `private-noise`) makes the device add noise that only
//      the device knows. An untrusted server could ask for less noise, or for none. So the device
//      has its own limit, min_private_noise_q20. It compares the limit with
//      z = deviation / (2 clip_l2), computed from the task that it then executes.
//   3. Each update costs as much as one Gaussian mechanism of multiplier z under replace-one
//      adjacency. Sampling does not amplify this privacy, since the server knows who takes part.
//   4. Costs add up over updates. private_updates() counts the updates; an untrusted server may ask
//      for more of them than it has announced. With a ledger in the port's persistent store the
//      device counts over resets, and refuses what exceeds its owner's limit. An update is charged
//      before its first byte can leave, whether or not the server gets it. Sending the same bytes
//      again after a lost link costs nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/local_round.h"
#include "sotto/messages.h"
#include "sotto/model_download.h"
#include "sotto/net_memory.h"
#include "sotto/nn.h"
#include "sotto/retry_pace.h"
#include "sotto/update_ledger.h"

namespace sotto {

// The device (its model, id, secret, samples and port) and how it talks to the server.
struct ClientConfig : LocalDevice {
  // The largest frame that the link takes; kMinMaxFrame to kMaxMaxFrame.
  uint32_t max_frame = kDefaultMaxFrame;
  // False: a task without Gaussian dither is refused with kPeerRefused. This guards against a job
  // that was set up wrongly, not against the server.
  bool allow_training_without_privacy = false;
  // A task with less private noise than this is refused with kPeerRefused: PrivateNoiseLimitQ20(z)
  // for a multiplier z. 0: the server is trusted.
  uint32_t min_private_noise_q20 = 0;
  // Counts updates with private noise over resets: LedgerIn(store) for the port's store. Empty: the
  // device counts since its start. A record that is damaged or cannot be read stops the device:
  // Step() returns kMalformed or kStoreFailed, and no request is made.
  UpdateLedger ledger;
  // A task with private noise is refused with kPeerRefused once the ledger counts this many
  // updates. 0: no limit. A limit needs a ledger and min_private_noise_q20: a server that may ask
  // for an update without noise needs only one update.
  uint32_t most_private_updates = 0;
  // Milliseconds for which the server may hold its answer to a Hello until it has work: the device
  // then learns of a round at once. The link must wait longer for a reply. 0: the device polls, and
  // may sleep while it waits.
  // If an answer asks for another Hello at once, the device sends it at once if the server held the
  // last Hello for three quarters of this time; else it first waits a second, doubling
  // (retry_pace.h).
  uint32_t hold_ms = 0;
  // True: the device stays when a job is over (kFeatureStays). The server tells it to wait, and it
  // takes part in the next job. False: the job's end is Progress::kDone.
  bool stays = false;
  // True: each Wait of the server says whether there is a newer release (kFeatureReleases, news()).
  bool wants_news = false;
  DitherEngine engine;  // encodes the updates; the default is for boards

  // kOk or kInvalidArgument.
  Status Validate() const;
};

// Writes a downloaded model to the memory that LocalRoundBuffers::base reads. The client collects
// the download in LocalRoundBuffers::update and passes it on in one call, once it is complete. So a
// writer to flash sees every page at once: it erases and programs the pages in its own order, and
// may skip a page that holds the same values already.
struct ModelWriter {
  // Replaces the model. It may block; the link may close meanwhile.
  //   model  [model.parameters] float32, finite; valid during the call
  // Returns kOk, or a status of the port: the round is then given up, and the next one writes anew.
  Status (*write)(void* context, Span<const float> model) = nullptr;
  void* context = nullptr;
};

namespace internal {

Status WriteToMemory(void* base, Span<const float> model);

}  // namespace internal

// Writes to RAM, or to external memory that is written like RAM.
//   base  [model.parameters], the same as LocalRoundBuffers::base
inline ModelWriter WriterTo(Span<float> base) { return {internal::WriteToMemory, base.data()}; }

// The caller's memory for rounds and for messages. Its contents are unspecified before and after a
// round; wipe it if other programs share the device.
//
// chunk may overlap with scratch, because training and messages take turns: Step() uses scratch
// while it trains, and chunk is in use from the Step() that sets kSend until OnReply() or
// OnLinkLost(). scratch and indices decide the largest batch that the device trains with.
struct ClientBuffers : LocalRoundBuffers {
  ModelWriter writer;  // to `base`
  // The bytes of one upload message, >= 16; more than MaxChunkBytes(max_frame) are not used.
  MutableByteSpan chunk;
  // Optional: more memory for the encoder, see UpdateEncoder(); [a multiple of kDitherBatch].
  Span<uint64_t> words;
  // Frames of the caller's link, while it exchanges a request for a reply. The client does not use
  // this buffer. It may overlap with scratch, not with chunk.
  MutableByteSpan frames;
};

namespace internal {

template <class Net, uint32_t max_batch_size>
constexpr size_t kScratchFloats = nn::TrainingMemory(Net::Plan(), Net::kLoss, max_batch_size);

// Bytes of the memory that training and messages share: a multiple of a float's size.
template <class Net, uint32_t max_batch_size>
constexpr size_t SharedBytes(size_t message_bytes) {
  const size_t training = sizeof(float) * kScratchFloats<Net, max_batch_size>;
  return training > message_bytes ? training : (message_bytes + 3) / 4 * 4;
}

}  // namespace internal

// Bytes of workspace besides the vectors, for batches of at most max_batch_size samples.
//   chunk_size   bytes of ClientBuffers::chunk, >= 16
//   frame_bytes  bytes of ClientBuffers::frames
template <class Net, uint32_t max_batch_size = 16, size_t chunk_size = 1000, size_t frame_bytes = 0>
constexpr size_t ClientWorkspaceBytes() {
  return alignof(uint32_t) - 1 +
         internal::SharedBytes<Net, max_batch_size>(chunk_size + frame_bytes) +
         sizeof(uint32_t) * max_batch_size;
}

// Lays the buffers out in static memory, chunk and frames over scratch, for a model that is kept
// elsewhere:
//   base       [Net::kParameters] in external memory, or in flash that the CPU reads like memory
//   writer     writes base
//   vectors    float32, one of
//                [Net::kTrained]      update
//                [2 * Net::kTrained]  update, velocity: the device can train with momentum
//                [3 * Net::kTrained]  update, velocity, gradient: and with both gradient clips
//              Without personal layers kTrained is kParameters
//   workspace  [ClientWorkspaceBytes() of the same arguments], any alignment
template <class Net, uint32_t max_batch_size = 16, size_t chunk_size = 1000, size_t frame_bytes = 0>
ClientBuffers MakeClientBuffers(Span<const float> base, const ModelWriter& writer,
                                Span<float> vectors, Span<std::byte> workspace) {
  const auto address = reinterpret_cast<uintptr_t>(workspace.data());
  std::byte* const shared = workspace.data() + (0 - address) % alignof(uint32_t);
  std::byte* const rest =
      shared + internal::SharedBytes<Net, max_batch_size>(chunk_size + frame_bytes);
  auto* const bytes = reinterpret_cast<uint8_t*>(shared);
  ClientBuffers buffers;
  buffers.base = base;
  buffers.writer = writer;
  buffers.update = vectors.first(Net::kTrained);
  const Span<float> more = vectors.subspan(Net::kTrained);
  buffers.velocity = more.size() > Net::kTrained ? more.first(Net::kTrained) : more;
  buffers.gradient = more.subspan(buffers.velocity.size());
  buffers.scratch = {reinterpret_cast<float*>(shared),
                     internal::kScratchFloats<Net, max_batch_size>};
  buffers.indices = {reinterpret_cast<uint32_t*>(rest), max_batch_size};
  buffers.chunk = {bytes, chunk_size};
  buffers.frames = {bytes + chunk_size, frame_bytes};
  return buffers;
}

// The same with the model in RAM:
//   vectors    [2 * Net::kParameters] base, then update; or [3 * Net::kParameters] base, update,
//              velocity; or [4 * Net::kParameters] base, update, velocity, gradient. With personal
//              layers each but base is [Net::kTrained]
//   workspace  [ClientWorkspaceBytes() of the same arguments], any alignment
template <class Net, uint32_t max_batch_size = 16, size_t chunk_size = 1000, size_t frame_bytes = 0>
ClientBuffers MakeClientBuffers(Span<float> vectors, Span<std::byte> workspace) {
  const Span<float> base = vectors.first(Net::kParameters);
  return MakeClientBuffers<Net, max_batch_size, chunk_size, frame_bytes>(
      base, WriterTo(base), vectors.subspan(Net::kParameters), workspace);
}

// The shortest wait between two Hellos, whatever the server asks for.
constexpr uint32_t kShortestWaitMs = 100;

// The wait of a refused client before it sends Hello again.
constexpr uint32_t kRefusedWaitMs = 60000;

// A released model that a device has fetched.
struct Release {
  uint8_t job_id[kJobIdSize] = {};
  uint32_t rounds = 0;    // of the job, up to this model
  bool is_final = false;  // the job is over
  ByteSpan claims;        // the privacy claims for it, a text for people; may hold any bytes
  // The prediction error (predict.h) above which a sample is an anomaly, positive and normal; 0:
  // the release came without one.
  float threshold = 0.0f;
};

class Client {
 public:
  enum class Progress : uint8_t {
    kAgain,  // call Step() again
    kSend,   // send request() and give the answer to OnReply()
    kWait,   // call Step() again after wait_ms()
    kDone,   // the job is over
  };

  enum class State : uint8_t {
    kHello,
    kDownload,
    kTrain,
    kUploadBegin,
    kUpload,
    kDone,
    kAskRelease,    // asks for the newest released model
    kFetchRelease,  // downloads it
  };
  // The last Wait's statement about released models.
  enum class News : uint8_t {
    kUnknown,   // none: an older server, no Wait yet, or ClientConfig::wants_news is false
    kNone,      // no model is released, or the device has fetched the newest one
    kReleased,  // FetchRelease() would get another model, or more facts about the same one
  };

  // Tells whether a configuration and its buffers suffice.
  //   bytes_needed  bytes of scratch that the model needs for batches of indices.size() samples,
  //                 at most 65535; unchanged on kInvalidArgument
  // Returns
  //   kOk
  //   kInvalidArgument  the configuration is bad; base is not [model.parameters]; update is not
  //                     [model.trained()]; velocity or gradient is neither [model.trained()] nor
  //                     empty; there is no writer; or indices is empty
  //   kBufferTooSmall   scratch has fewer bytes than needed, or chunk fewer than 16. With less
  //                     scratch a client takes part in jobs of smaller batches, if it holds a
  //                     sample: see AbilitiesOf()
  static Status Check(const ClientConfig& config, const ClientBuffers& buffers,
                      size_t* bytes_needed);

  // The device's abilities with these buffers: the most samples that scratch and indices hold, the
  // features of the model that need no memory, momentum if there is a velocity, and both gradient
  // clips if there is a gradient. largest_batch is 0 if there is no room for a sample.
  static Abilities AbilitiesOf(const ModelInfo& model, const LocalRoundBuffers& buffers);

  // The configuration is copied; the secret is wiped by the destructor.
  Client(const ClientConfig& config, const ClientBuffers& buffers);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Does at most one mini-batch, or prepares one request. On any status but kOk the round is given
  // up: keys are wiped and the next Step() starts over with Hello. Returns the statuses of
  // LocalRound, the ledger and the port, and for a bad configuration the statuses of Check(). A
  // training that fails is no failure of the round: see local_round.h and local_round().failure().
  Status Step(Progress* progress);

  // Takes the answer to request(). The last part of a model is written before it returns.
  // kMalformed or kWrongState for an answer that does not fit, kPeerRefused for a final error or a
  // task that costs more privacy than the configuration allows; the round is then given up.
  Status OnReply(const Reply& reply);

  // Gives up the training under way: the next Step() ends it before another mini-batch, and its
  // update is zeros. Use it if the device's owner limits the time of a training.
  void GiveTrainingUp() { train_until_ms_ = 1; }

  // Call it when the link was cut or closed. An interrupted upload resumes at the byte that the
  // server names, an interrupted download at the first missing byte.
  void OnLinkLost();

  // Call it before the first Step() if `base` is in flash and may hold a model of an earlier run:
  // the next download may then be the difference from it. The client computes the check of the
  // contents, so other contents do no harm. Returns kOk or kCryptoFailed.
  Status RestoreModel();
  // The same with a check that the caller knows, which saves the computation. With the check of
  // another model the next download fails, and is repeated from a model that every device can make.
  //   check  [kModelCheckSize]
  void RestoreModel(ByteSpan check);

  // Asks for the newest released model of this net, once no round is under way; also after kDone.
  // Go on with Step() and OnReply() until is_fetching() is false; a round may come first.
  //
  // The request fails if nothing is released yet, if the server is an old one, or if the link is
  // lost before the server has answered. OnReply() then returns kPeerRefused or the failure's
  // status, and release() does not change. If the download fails, release() is null. Ask again
  // later: rounds go on, and is_refused() does not change. An interrupted download resumes. A model
  // that the device holds already is not sent again.
  //   claims  [0 to kMaxClaimsSize] for Release::claims, which are cut to its size; must outlive
  //           the client
  void FetchRelease(MutableByteSpan claims);
  bool is_fetching() const { return is_fetching_; }
  News news() const;
  // The released model that `base` holds; null if it holds none, or the model of a round.
  const Release* release() const { return holds_release_ ? &release_ : nullptr; }

  const Request& request() const { return request_; }
  uint32_t wait_ms() const { return wait_ms_; }
  // True, until the next reply, once the server has refused the device's model, version or key, or
  // the device has refused a task with too little privacy or beyond most_private_updates. No later
  // round can succeed before somebody changes the job, the device or its options, so a program may
  // end. A program that goes on waits for kRefusedWaitMs each time.
  bool is_refused() const { return is_refused_; }
  // Code of the last error that the server answered; kUnknown if there was none.
  ErrorCode error_code() const { return error_code_; }
  State state() const { return state_; }

  // The receipt that the server gave with its last task; empty: none. Each Hello returns it, so a
  // server can notice that an older store has replaced its own (server/PROTOCOL.md). A device that
  // keeps it over a restart passes it to RestoreReceipt() before the first Step().
  ByteSpan receipt() const { return ByteSpan(receipt_).first(receipt_size_); }
  //   receipt  copied; not taken if it is empty or longer than kMaxReceiptSize
  void RestoreReceipt(ByteSpan receipt);

  // Bytes of the last complete download of a model: of its code, or 4 a parameter. 0: the device
  // held the model already.
  uint32_t downloaded_bytes() const { return downloaded_bytes_; }

  // The round at hand, or the last one; meaningful from the first task on.
  const TrainTask& task() const { return task_; }

  // Training and update of that round. The update exists from State::kUploadBegin until the server
  // has all of it.
  const LocalRound& local_round() const { return round_; }

  // Number of updates with private noise: with a ledger over all resets, as of the last request;
  // without one since construction.
  uint32_t private_updates() const {
    return config_.ledger.is_there() ? spent_.updates : round_.private_updates();
  }
  // The ledger's contents, as of the last request; zeros without a ledger.
  const PrivateSpending& private_spending() const { return spent_; }

  // See LocalRound.
  float mean_loss() const { return round_.mean_loss(); }
  bool clipped() const { return round_.clipped(); }

 private:
  bool IsSameAttempt(const TrainTask& task) const;
  bool IsInFetch() const { return state_ == State::kAskRelease || state_ == State::kFetchRelease; }
  Status StepTrain();
  Status LoadSpending();
  Status ChargeUpdate();
  Status PrepareRequest(Request* request);
  Status PrepareHello(Request* request);
  void PrepareWholeHello(Request* request);
  void PrepareShortHello(Request* request) const;
  Status PrepareGetRelease(Request* request) const;
  void PrepareUploadBegin(Request* request) const;
  Status PrepareChunk(Request* request);
  Status HandleReply(const Reply& reply);
  Status OnError(const Reply& reply);
  Status OnErrorOfFetch(const Reply& reply, bool is_old_key);
  Status OnHelloReply(const Reply& reply);
  Status OnTask(const Reply& reply);
  Status OnRelease(const Reply& reply);
  bool IsPrivateEnough(const TrainTask& task) const;
  bool IsWithinLimit(const TrainTask& task) const;
  Status SetChunkSize(uint32_t server_max_frame);
  Status BeginDownload(const ModelOffer& offer);
  Status OnModelChunk(ByteSpan bytes);
  Status OnDownloaded();
  Status OnWrongModel(Status status);
  Status WriteModel();
  Span<float> DownloadMemory() const { return buffers_.update.first(config_.model->parameters); }
  Status UseModel();
  Status OnAck(const Reply& reply);
  void Refuse();
  bool WasHeld() const;
  void WaitAsAsked(uint32_t asked_ms);
  void Wait(uint32_t ms);
  void EndRound();
  void StepTowardsFetch();
  void LeaveFetch();
  void EndFetch();
  void GiveUp();
  uint64_t NowMs() const { return config_.port.now_ms(config_.port.context); }
  // Of a Hello: one before a fetch is answered at once.
  uint32_t HoldMs() const { return is_fetching_ ? 0 : config_.hold_ms; }
  void SetReportTime(uint32_t report_ms);
  bool IsBeforeReport();

  ClientConfig config_;
  ClientBuffers buffers_;
  State state_ = State::kHello;
  State resume_ = State::kHello;  // state in which an interrupted attempt continues after Hello
  bool awaiting_reply_ = false;
  bool is_refused_ = false;
  bool wait_pending_ = false;
  bool has_sent_ = false;  // the server has the whole update of task_
  uint32_t wait_ms_ = 0;
  RetryPace pace_{kShortestWaitMs};
  uint64_t asked_ms_ = 0;  // when the request was prepared
  ErrorCode error_code_ = ErrorCode::kUnknown;
  Request request_;

  uint8_t receipt_[kMaxReceiptSize] = {};
  size_t receipt_size_ = 0;
  PrivateSpending spent_;
  TrainTask task_;
  uint8_t error_edges_[sizeof(float) * kMaxErrorEdges] = {};  // of task_
  size_t chunk_size_ = 0;  // the most bytes of the update in one message of this session
  uint8_t model_digest_[kSha256Size] = {};
  ModelDownload download_;
  uint32_t downloaded_bytes_ = 0;
  HeldModel held_;  // in `base`
  // What this connection's server knows from the Hellos before.
  bool has_said_hello_ = false;
  uint32_t server_features_ = 0;
  bool has_said_receipt_ = false;
  bool has_said_held_ = false;

  uint32_t newest_release_ = 0;   // Reply::release of the last Wait
  uint32_t fetched_release_ = 0;  // Reply::release of the Wait before the last fetch
  bool is_fetching_ = false;
  bool fetch_began_ = false;  // download_ is of the release
  bool waits_after_fetch_ = false;
  bool holds_release_ = false;
  State after_fetch_ = State::kHello;
  Release release_;  // under way, or held
  MutableByteSpan claims_;
  // By the port's clock; 0: the round has no such time.
  uint64_t report_at_ms_ = 0;
  uint64_t bytes_at_ms_ = 0;  // of the first bytes of the update
  uint64_t train_until_ms_ = 0;
  LocalRound round_;
};

}  // namespace sotto
