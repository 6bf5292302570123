// One round on a device: from the round's model to its encoded update. Part of sotto/local.
//
// A local round needs no message and no server. Client runs it for the tasks of a server. A program
// that has a model, a task and samples can run it directly:
//
//   Status status = round.Begin(task, device, buffers);          // buffers.base: the round's model
//   for (bool done = false; status == Status::kOk && !done;) status = round.Step(&done);
//   bool is_last = false;
//   while (status == Status::kOk && !is_last) {
//     size_t written = 0;
//     status = round.Read(chunk, &written, &is_last);            // the encoded update
//     ...
//   }
//   round.Wipe();
//
// An update is encoded under a fresh round key: Begin() draws a nonce from the port's entropy, and
// the key depends on it (keys.h), and on the salt if there is one. Decoding needs the device's
// secret, its id, the task, nonce() and the salt.
//
// One length. If the task names a length (UpdateFormat::length), the update is encoded once to see
// whether it fits, before a byte of it can be read. One that does not is forgotten, and an update
// of zeros takes its place, which counts as a training that failed with kBufferTooSmall. It has the
// same key, since the server knows the nonce by then; so each key still encodes what leaves the
// device at most once. The zeros have the noise that made the update too long: all this lies within
// one event, whose probability the plan has in its delta (server/src/accounting/one_length.h).
//
// Private noise. The seed of the noise is drawn together with the nonce, in one call of the port's
// entropy.
//
// A training that fails gives an update of zeros, plus noise, and counts as clipped. It fails if it
// diverges, if a feature is not finite, if a label is outside the model's classes, if the sample
// callback reports an error, or if the caller gives it up, because it takes too long. All of these
// depend on the data, and a server may choose options that make a training diverge, so a missing
// report would tell something about the data. failure() tells the device's owner. The time of the
// training still depends on the data: Client keeps to a report time. A device without samples
// trains no step: its update of zeros (in fixed point what rounding to the format changes), plus
// noise, is no failure and counts as not clipped.
//
// Personal layers (personal.h). Begin() takes their values from the device's store. A training that
// has ended well replaces the record at its end, whether or not the update then arrives: so the
// time of the write lies before the report time, and an update never leaves with values behind it
// that the device has lost. A training that failed changes nothing, and one that leaves a personal
// value that is not finite has failed. The update has the shared parameters alone.
//
// Measuring. A task with error_edges asks for the histogram of the device's prediction errors in
// place of an update: of its held-out samples if it has some, else of those that it trains on.
// Nothing is trained. The error of a sample is the loss that a training step would have for it. A
// sample whose error is not finite counts as one above all edges; a sample that cannot be read ends
// the measuring as it ends a training, with zeros. Personal layers have no such task.
//
// Evaluation. If the task asks for it, the update has one more coordinate: how well the round's
// model does on the device's held-out samples. It gets the same noise as the update. A device whose
// held-out samples cannot be read sends what a device without such samples sends.
//
// Nothing is allocated. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/held_out.h"
#include "sotto/persistent_store.h"
#include "sotto/port.h"
#include "sotto/train_task.h"
#include "sotto/update_codec.h"

namespace sotto {

// The device that trains.
struct LocalDevice {
  const ModelInfo* model = nullptr;
  ByteSpan device_id;  // see IsValidDeviceId(); the bytes must outlive all rounds
  Key secret;          // unique to this device
  SampleSource samples;
  Port port;
  // Evaluation: null for a device that takes no task with an accuracy (TrainTask::accuracy_q20).
  // Must outlive all rounds.
  const HeldOut* held_out = nullptr;
  // Where the values of personal layers are; a model without such layers needs none. Must outlive
  // all rounds.
  const PersistentStore* store = nullptr;

  // Whether the device can take tasks with error_edges: its model has prediction errors, and no
  // personal layers.
  bool CanMeasure() const;

  // Whether the device can take tasks with an accuracy.
  //   scratch  of LocalRoundBuffers
  bool CanEvaluate(Span<const float> scratch) const;

  // kOk or kInvalidArgument.
  Status Validate() const;
};

// The caller's memory for a round.
struct LocalRoundBuffers {
  // [model.parameters] the round's model, float32. The round only reads it: it may lie in external
  // memory or in flash that the CPU reads like memory.
  Span<const float> base;
  // [model.trained()] during training the working memory, see WorkingParameters. Once the last
  // Step() is done: the update [model.parameters], and behind it the personal values of the device.
  Span<float> update;
  Span<float> scratch;     // [model.training_floats(batch size)] for Step() only
  Span<uint32_t> indices;  // [batch size]
  // [model.trained()] for tasks with momentum: 4 bytes a parameter. Empty: the device has none.
  Span<float> velocity = {};
  // The same for tasks with the gradient clip that ModelInfo::gradient_for names.
  Span<float> gradient = {};
  // [any size] An encoded update that fits is encoded whole in the first Read() or Seek(), and the
  // others copy it: so the pace of an upload does not depend on the data. The memory is in use from
  // then to Wipe(). A longer update, or one without such memory, is encoded as it is read.
  MutableByteSpan encoded = {};
};

class LocalRound {
 public:
  // engine and words: as for UpdateEncoder().
  explicit LocalRound(const DitherEngine& engine = {}, Span<uint64_t> words = {})
      : encoder_(engine, words) {}
  ~LocalRound() { Wipe(); }
  LocalRound(const LocalRound&) = delete;
  LocalRound& operator=(const LocalRound&) = delete;

  // Starts a round. Draws the nonce and, with private noise, the seed of the noise.
  //   task, device, buffers  are not copied: they must outlive the round, unchanged
  // Returns kOk, kInvalidArgument, kMalformed for a task that a device does not take, and the
  // statuses of LocalTrainer::Begin(), the port's entropy and LoadPersonal().
  Status Begin(const TrainTask& task, const LocalDevice& device, const LocalRoundBuffers& buffers);

  // Evaluates a mini-batch of held-out samples, if the task asks for the accuracy; after these,
  // trains on one mini-batch. After the last one, or after one that fails, it makes the update and
  // sets *done. Returns kOk, or kWrongState if there is nothing to do.
  Status Step(bool* done);

  // The salt of the server that takes the update. An update has one: it is encoded under one key.
  // Returns kOk; kWrongState before the update is made; kMalformed if the update has another salt
  // already, or none and is encoded.
  Status SetSalt(const Salt& salt);

  // In place of a Step(): ends a training that takes too long. It has failed, with kTooLate, and an
  // accuracy that is not yet counted is left out. Sets *done. Returns as Step().
  Status GiveUpTraining(bool* done);

  // Writes the next bytes of the encoded update: as many as fit, or as there are. Under
  // Coding::kFloat32 out has at least 4 bytes, and whole numbers are written. The first Read() or
  // Seek() begins to encode the update, and so fixes its key.
  //   is_last  the encoded update ends with these bytes
  // Returns kOk, kWrongState before the update is made, kCryptoFailed, kBufferTooSmall if
  // zeros are longer than the task's length, too, or the statuses of UpdateEncoder::Begin() that do
  // not depend on the data; after these the round is over.
  Status Read(MutableByteSpan out, size_t* written, bool* is_last);

  // The next Read() starts at byte `offset` and repeats the same bytes. Returns kOk,
  // kInvalidArgument for an offset beyond the end, or under Coding::kFloat32 at the end or between
  // two numbers; else as Read().
  Status Seek(uint32_t offset);

  // The clipped update without noise, as the quantizer's integers: Q20, in units of the task's
  // quantizer_scale. For codecs other than UpdateEncoder.
  //   v_q20  [model.parameters]
  // Returns kOk, kWrongState before the update is made, kInvalidArgument for another size, and the
  // statuses of ComputeUpdateScale() (v_q20 unchanged).
  Status ClippedUpdate(Span<int32_t> v_q20) const;

  // Ends the round: wipes its keys and forgets the update. The buffers are the caller's to wipe.
  void Wipe();

  // The byte of the encoded update at which the next Read() starts.
  uint32_t position() const { return position_; }

  // [kNonceSize] the nonce of the current round, from Begin() to Wipe().
  ByteSpan nonce() const { return ByteSpan(drawn_).first(kNonceSize); }

  // Number of updates with private noise since construction, each with its own noise. An update
  // counts once it is encoded, whether or not it is read; reading it again does not count again.
  uint32_t private_updates() const { return private_updates_; }

  // Mean training loss, and whether training was clipped: of the current round or the last one.
  // After a round that measures both are 0 and false.
  float mean_loss() const { return measures_ ? 0.0f : trainer_.mean_loss(); }
  bool clipped() const { return failure_ != Status::kOk || (!measures_ && trainer_.clipped()); }
  // kOk, or why the training failed: the status of LocalTrainer::Step(), kTooLate, or,
  // from the first Read() on, kBufferTooSmall for an update that is longer than the task's length.
  // For the device's owner.
  Status failure() const { return failure_; }
  // Steps of the training so far.
  uint32_t steps() const { return measures_ ? 0 : trainer_.steps(); }
  // Steps of the training in which a number of a net in fixed point saturated: see LocalTrainer.
  // For the device's owner, since it depends on the data.
  uint32_t saturated_steps() const { return measures_ ? 0 : trainer_.saturated_steps(); }
  // Whether the current round, or the last one, measures in place of training.
  bool measures() const { return measures_; }
  // kOk, or why the store has not taken the personal values that this training has made:
  // kStoreFailed or kCryptoFailed. The next round starts from what the store holds. For the
  // device's owner.
  Status kept() const { return kept_; }

 private:
  Status DrawNonceAndSeed();
  void EndSamples();
  bool EvaluateSome();
  Status BeginMeasuring(uint32_t samples);
  Status Measure(uint32_t index, uint32_t* bin) const;
  Status MeasureSome(bool* done);
  void MakeHistogram();
  Status StepTrainer(bool* done);
  bool is_active() const { return is_measuring_ || trainer_.is_active(); }
  int32_t Accuracy() const;
  UpdateIdentity Identity() const;
  // As long as the round's model, whatever lies behind it.
  Span<float> Update() const { return buffers_->update.first(buffers_->base.size()); }
  void MakeUpdate();
  PrivateNoise TakePrivateNoise();
  Status BeginEncoding();
  Status BeginEncoder();
  Status ReplaceByZeros();
  Status RequireEncoding();
  Status EncodeAhead();
  bool is_float32() const { return task_->format.coding == Coding::kFloat32; }

  const TrainTask* task_ = nullptr;  // null: there is no round
  const LocalDevice* device_ = nullptr;
  const LocalRoundBuffers* buffers_ = nullptr;
  bool has_update_ = false;
  bool is_encoded_ = false;  // under its one key
  Status failure_ = Status::kOk;
  Status kept_ = Status::kOk;
  void (*end_samples_)(void* context) = nullptr;  // null: it was called, or there is none
  void* samples_context_ = nullptr;
  uint32_t held_out_ = 0;  // samples
  // Held-out samples that were counted, and those that the round's model got right.
  uint32_t evaluated_ = 0;
  uint32_t correct_ = 0;
  // Of a round that measures: samples of this source, so many so far, and their bins.
  bool measures_ = false;
  bool is_measuring_ = false;
  const SampleSource* measured_ = nullptr;
  uint32_t measured_count_ = 0;
  uint32_t measured_so_far_ = 0;
  uint32_t counts_[kMaxErrorEdges + 1] = {};
  // Entropy of the round: the nonce, then the seed of the private noise, until the encoder has it.
  uint8_t drawn_[kNonceSize + kKeySize] = {};
  Salt salt_;
  uint32_t private_updates_ = 0;
  uint32_t position_ = 0;
  ByteSpan encoded_;  // the whole update, in LocalRoundBuffers::encoded; empty: the encoder's
  LocalTrainer trainer_;
  UpdateEncoder encoder_;
};

}  // namespace sotto
