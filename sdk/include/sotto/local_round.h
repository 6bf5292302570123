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
// One length. If the task names a length (UpdateFormat::length), the round first encodes the update
// once to see whether it fits, before a byte of it can be read. If it does not fit, the round
// forgets it, an update of zeros takes its place, and the training counts as failed with
// kBufferTooSmall. The zeros have the same key, since the server knows the nonce by then; so each
// key still encodes at most one update that leaves the device. The zeros have the noise that made
// the update too long: this is one event, and the plan's delta contains its probability
// (server/src/accounting/one_length.h).
//
// Private noise. The seed of the noise is drawn together with the nonce, in one call of the port's
// entropy.
//
// A training that fails gives an update of zeros, plus noise, and counts as clipped. It fails if
//   1. it diverges,
//   2. a feature is not finite,
//   3. a label is outside the model's classes,
//   4. the sample callback reports an error, or
//   5. the caller gives it up because it takes too long.
// All of these depend on the data, and a server may choose options that make a training diverge, so
// a missing report would reveal something about the data. failure() tells the device's owner. The
// time of the training still depends on the data: Client waits for a report time. A device without
// samples takes no step. Its update of zeros (in fixed point: of what rounding to the format
// changes), plus noise, is no failure and counts as not clipped.
//
// Personal layers (personal.h). Begin() reads their values from the device's store. A training that
// succeeds replaces the record at its end, whether or not the update then arrives. So the write
// comes before the report time, and a device never sends an update after it has lost the personal
// values of that training. A training that fails does not change the record. A training that gives
// a personal value that is not finite has failed. The update has only the shared parameters.
//
// Measuring. A task with error_edges asks for the histogram of the device's prediction errors
// instead of an update: on its held-out samples if it has some, else on its training samples.
// Nothing is trained. The error of a sample is the loss that a training step would have for it. A
// sample whose error is not finite counts above all edges. A sample that cannot be read ends the
// measuring as it ends a training, with zeros. A model with personal layers takes no such task.
//
// Evaluation. If the task asks for it, the update has one more coordinate: the accuracy of the
// round's model on the device's held-out samples, with the same noise as the update. A device whose
// held-out samples cannot be read sends the value of a device without such samples.
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
  // Holds the values of personal layers; a model without such layers needs none. Must outlive all
  // rounds.
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
  // [model.trained()] float32. During training it is the working memory, see WorkingParameters.
  // After the last Step() it holds the update [model.parameters], then the device's personal
  // values.
  Span<float> update;
  Span<float> scratch;     // [model.training_floats(batch size)] for Step() only
  Span<uint32_t> indices;  // [batch size]
  // [model.trained()] for tasks with momentum: 4 bytes a parameter. Empty: the device has none.
  Span<float> velocity = {};
  // The same for tasks with the gradient clip that ModelInfo::gradient_for names.
  Span<float> gradient = {};
  // [any size] If the encoded update fits, the first Read() or Seek() encodes all of it and later
  // calls copy it: so the pace of an upload does not depend on the data. The memory is in use from
  // then to Wipe(). A longer update, or one without this memory, is encoded as it is read.
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

  // Does one mini-batch: first of held-out samples, if the task asks for the accuracy, then of the
  // training. After the last mini-batch, or after one that fails, it makes the update and sets
  // *done. Returns kOk, or kWrongState if there is nothing to do.
  Status Step(bool* done);

  // Sets the salt of the server that takes the update. An update has one salt, as it is encoded
  // under one key. Returns kOk; kWrongState before the update is made; kMalformed if the update has
  // another salt already, or was encoded without one.
  Status SetSalt(const Salt& salt);

  // Call it instead of Step() to end a training that takes too long: it fails with kTooLate, and an
  // accuracy that is not complete is left out. Sets *done. Returns as Step().
  Status GiveUpTraining(bool* done);

  // Writes the next bytes of the encoded update: as many as fit, or as there are. Under
  // Coding::kFloat32 `out` needs at least 4 bytes, and gets whole numbers. The first Read() or
  // Seek() begins to encode the update, and so fixes its key.
  //   is_last  the encoded update ends with these bytes
  // Returns kOk; kWrongState before the update is made; kCryptoFailed; kBufferTooSmall if even an
  // update of zeros is longer than the task's length; or the statuses of UpdateEncoder::Begin()
  // that do not depend on the data. After these failures the round is over.
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

  // Mean training loss, and whether training was clipped, in the current round or the last one.
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
  // kOk, or why the store has not taken the personal values of this training: kStoreFailed or
  // kCryptoFailed. The next round starts from the store's values. For the device's owner.
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
  // Of a round that measures: its source, the number of measured samples, and their bins.
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
