// The configuration of a training job. Part of sotto::server/round.
//
// A plain value: any thread may read it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "codec/codecs.h"
#include "plans/adaptive_clip.h"
#include "plans/device_accuracy.h"
#include "plans/learning_rate.h"
#include "plans/plan.h"
#include "plans/turns.h"
#include "sotto/messages.h"
#include "sotto/nn.h"
#include "sotto/research/aggregation_options.h"
#include "sotto/train.h"

namespace sotto {

const char* Name(Coding coding);      // "range", "fixed", "float32"
const char* Name(Clipping clipping);  // "every-step", "at-end"
const char* Name(Batches batches);    // "passes", "with-replacement"
const char* Name(GradientClipOf of);  // "batch", "sample"
const char* Name(ClipByLayer by);     // "none", "equal", "size"

}  // namespace sotto

namespace sotto::server {

// How a process works on a job. Another process may work otherwise on the same job: nothing here is
// stored with it, and no released model depends on it.
struct ProcessOptions {
  int threads = 1;             // for decoding zero updates
  uint32_t max_attempts = 10;  // at one round in one process; then the job gives up

  // How long a device that has no work waits before it asks again, milliseconds. The same for every
  // device at every time, so the answer tells neither the draw nor the load. A server adds a random
  // part that depends on neither.
  uint32_t poll_interval_ms = 1000;
  // The work of a release does not depend on the number of reports: as many zero updates are
  // computed as the plan has reports, and the sum takes those that are missing. For a server, whose
  // load devices can feel.
  bool constant_work = false;
  // The report time of each attempt, milliseconds after its draw, which the devices of its cohort
  // learn with their task: each trains, waits, and uploads then (sotto/client.h). It must follow
  // from public figures alone. 0: there is none, and a device uploads when it has trained.
  uint32_t report_after_ms = 0;
  // Sampling::kPasses asks devices that asked for work within so long, or that were heard in an
  // attempt that closed within so long: the longest silence of a device that waits for work,
  // milliseconds.
  uint32_t heard_within_ms = 120'000;
  // Every eligible device counts as heard: in a simulation, whose devices have no connection.
  bool hears_all = false;
  // A release also computes UpdateFigures. The work does not depend on who reports.
  bool observes_updates = false;
};

// What a job is, and how this process works on it.
struct JobConfig {
  const ModelInfo* model = nullptr;

  // The same, if the configuration itself must keep it. Null: another owner does.
  std::shared_ptr<const ModelInfo> owned_model;

  // [model->parameters] of the model with which a new job begins; empty: initial_weights.h.
  std::vector<float> initial_parameters;

  // The model as bytes that need no other file, for devices that ask for it
  // (Request::Kind::kGetDescription). Null: they get none.
  std::shared_ptr<const std::vector<uint8_t>> description;

  // How updates are protected and encoded. Code that depends on it asks its traits. Never null.
  const CodecInfo* codec = &Codecs()[0];

  // How updates become bytes, where the codec leaves a choice; see UpdateFormat.
  Coding coding = Coding::kRange;
  uint32_t padding = kDefaultPadding;
  // The one length of all updates of the job, bytes: at least LeastLength(). 0: none.
  uint32_t update_length = 0;

  // Fleet, cohort, rounds, clipping bound, noise and how they change from round to round. clip_l2
  // and noise_sigma are float32 values, because devices compute in float32: see RoundToDevice().
  // Noise and delta are unused without privacy.
  privacy::Plan plan;

  // Adaptive clipping: how the bound moves from round to round. The first round trains with the
  // plan's bound. The bits that move the bound have the scale plan.clip_bit_scale. Absent: the
  // bound is constant.
  std::optional<privacy::ClipSchedule> clip_schedule;

  // Evaluation on devices: each device's accuracy on its held-out samples is one more coordinate,
  // of the scale plan.accuracy_scale.
  bool evaluates_on_devices = false;

  // Rising upper ends of the bins of a histogram of prediction errors (error_histogram.h), at most
  // kMaxErrorEdges and fewer than the model has parameters; empty: none is asked for. In the plan's
  // last round the devices send C times their histograms in place of updates, as the first
  // coordinates, and the model stays as it is. To the accountants it is a round like any other.
  std::vector<float> error_edges;
  std::string threshold_bins;        // the same as the operator wrote them
  double threshold_quantile = 0.99;  // in (0, 1], see ThresholdOf()
  bool MeasuresErrors(uint32_t round) const {
    return !error_edges.empty() && int64_t{round} + 1 == plan.rounds;
  }

  // Local training. learning_rate is the base rate; TaskFor() sets it, rate_first and rate_power
  // for a round, from LearningRates().
  TrainingOptions training;
  double learning_rate_decay = 0.99;  // in (0, 1]
  privacy::LearningRateSchedule learning_rate_schedule = privacy::LearningRateSchedule::kConstant;

  // How a sum of updates becomes the next model.
  AggregationOptions aggregation;

  // What earlier jobs have spent on some of these devices. It counts in every epsilon of this job.
  std::vector<privacy::SpentRounds> spent_before;
  // Of Sampling::kPasses: what earlier jobs of the store charged each device for, by
  // DeviceRegistry::NumberOf(), and the limit on that and this job's turns; absent: there is none.
  std::map<int64_t, privacy::Turns> turns_before;
  std::optional<privacy::Turns> life_limit;
  // A round that would raise epsilon above this value does not start; infinity: no limit but the
  // plan. Of Sampling::kPasses the epsilon of this job alone: its limit is.
  double epsilon_budget = std::numeric_limits<double>::infinity();
  // If fewer devices, drawn or not, check in by the deadline, the attempt is given up, at no
  // privacy cost: see GiveAttemptUp() in job.cc. At most plan.devices; 0 for Poisson sampling with
  // noise.
  uint32_t min_devices = 1;
  // Only updates under a salt of the server are taken: see GivesSalts().
  bool requires_salt = false;
  // If fewer devices report by the deadline, the attempt is given up before its sum is read, at no
  // privacy cost (plans/turns.h, lemma 6). For Sampling::kPasses with Order::kConnected only, where
  // no draw is secret; 0: every attempt is released.
  uint32_t quorum = 0;
  bool seeded = false;  // randomness derives from a known number: NOT private; for the ledger

  ProcessOptions process;

  // The learning rate of every round and step. Its K is training.local_steps.
  privacy::LearningRate LearningRates() const {
    return {static_cast<double>(training.learning_rate), learning_rate_decay,
            learning_rate_schedule};
  }

  // The local training from which a bound follows: every device takes the same steps, whose rates
  // and gradients are bounded. plan.schedule.bound is this or not set.
  privacy::StepBound BoundFromSteps() const {
    return {static_cast<double>(training.gradient_clip), static_cast<double>(training.proximal),
            training.local_steps, LearningRates()};
  }

  // A round closes as soon as its whole cohort has reported. See Plan::participants_known, which
  // makes the claims say so.
  bool close_early() const { return plan.participants_known; }

  // Whether devices get salts for the keys of their updates. None in a seeded run, where the seed
  // gives all dither away, nor for codecs that devices do not have.
  bool GivesSalts() const { return codec->servable && !seeded; }

  // The format in which a device hands over its update.
  UpdateFormat format() const { return codec->FormatFor(coding, padding, update_length); }

  // Coordinates of an encoded update: the model's parameters, under adaptive clipping the bit, and
  // with evaluation on devices the accuracy.
  uint32_t coordinates() const;

  // The magnitude of the bit's coordinate: plan.clip_bit_scale / 2 in units of the noise's
  // deviation, Q20, rounded down. It is the same in every round. 0: there is no bit.
  uint32_t ClipBitQ20() const;

  // The same of the accuracy's largest magnitude: plan.accuracy_scale / 2. 0: there is none.
  uint32_t AccuracyQ20() const;

  // The bound of a round by the plan's schedule, a float32 value in model units, rounded up. Under
  // adaptive clipping the bound of a round follows from the releases before it instead.
  float ClipFor(uint32_t round) const;

  // Each round has its own clipping bound `clip_l2`, a float32 value in model units. The next three
  // methods depend on it.

  // The noise's deviation, a float32 value in model units. Its ratio to the bound is never below
  // the ratio that the plan has in this round.
  float NoiseSigmaFor(float clip_l2, uint32_t round = 0) const;

  // The task of each device in round `round`; job id and attempt are left empty.
  TrainTask TaskFor(uint32_t round, float clip_l2) const;

  // The length which an update of any round exceeds with a probability of at most plan.too_long,
  // > 0: LengthFor() in codec/length_bound.h, of the least noisy round.
  uint32_t LeastLength() const;

  // The bound of the next round.
  //   bit_sum   the noisy sum of the bits' coordinate, an integer
  //   cohort    Plan::ExpectedCohort() of the round
  //   fraction  receives the noisy share of the cohort that was not clipped, in [0, 1]
  float NextClip(float clip_l2, int64_t bit_sum, double cohort, double* fraction) const;

  // What devices' accuracies say of the round's model.
  //   accuracy_sum  the noisy sum of the accuracies' coordinate, an integer
  //   of_round      the round's plan
  privacy::AccuracyEstimate EstimateAccuracy(int64_t accuracy_sum,
                                             const privacy::Plan& of_round) const;

  // Throws std::invalid_argument that names the field and its range.
  void Validate() const;

 private:
  // The round with the least noise in proportion to its bound.
  uint32_t LeastNoisyRound() const;
  void RequireTrainable() const;
  void RequireBoundFromSteps() const;
  void RequireAdaptable() const;
  void RequireEvaluable() const;
  void RequireMeasurable() const;
  void RequireOneLength() const;
};

// The smallest float32 that is no smaller.
float FloatAtLeast(double value);

// The plan with clip_l2 rounded to the float32 that devices use, and noise_sigma rounded up to one.
privacy::Plan RoundToDevice(privacy::Plan plan);

}  // namespace sotto::server
