// What a training job is made of. Part of sotto::server/round.
#ifndef SOTTO_ROUND_JOB_CONFIG_H_
#define SOTTO_ROUND_JOB_CONFIG_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "aggregate/options.h"
#include "codec/codecs.h"
#include "plans/adaptive_clip.h"
#include "plans/plan.h"
#include "sotto/messages.h"
#include "sotto/nn.h"
#include "sotto/train.h"

namespace sotto::server {

const char* Name(Coding coding);      // "range", "fixed", "float32"
const char* Name(Clipping clipping);  // "every-step", "at-end"

struct JobConfig {
  const ModelInfo* model = nullptr;

  // How updates are protected and encoded; whoever must know asks its traits. Never null.
  const CodecInfo* codec = &Codecs()[0];

  // How updates become bytes, where the codec leaves a choice; see UpdateFormat.
  Coding coding = Coding::kRange;
  uint32_t padding = kDefaultPadding;

  // Fleet, cohort, rounds, clipping bound and noise. clip_l2 and noise_sigma are float32 values, as
  // devices compute with them: see RoundToDevice(). Noise and delta are unused without privacy.
  privacy::Plan plan;

  // Adaptive clipping: how the bound moves from that of the plan, in which the first round trains,
  // by the bits that plan.clip_bit_scale makes room for. Absent: the bound stays.
  std::optional<privacy::ClipSchedule> clip_schedule;

  // Local training of round 0; round k trains with learning_rate * learning_rate_decay^k.
  TrainingOptions training;
  double learning_rate_decay = 0.99;  // in (0, 1]

  // From a sum of updates to the next model.
  AggregationOptions aggregation;

  // What earlier jobs have spent on some of these devices: it counts in every epsilon of this job.
  std::vector<privacy::SpentRounds> spent_before;
  // No round starts that would take epsilon above this; infinity: no limit but the plan.
  double epsilon_budget = std::numeric_limits<double>::infinity();
  // If fewer devices, drawn or not, checked in by the deadline, the attempt is given up, at no
  // cost: see GiveAttemptUp() in job.cc. At most plan.devices; 0 for Poisson sampling.
  uint32_t min_devices = 1;
  uint32_t max_attempts = 10;  // of one round in one process, before the job fails
  int threads = 1;             // for decoding top-ups
  bool seeded = false;  // randomness derives from a known number: NOT private; for the ledger

  // The form in which a device hands over its update.
  UpdateFormat format() const { return codec->FormatFor(coding, padding); }

  // Of an encoded update: the model's parameters and, under adaptive clipping, the bit.
  uint32_t coordinates() const;

  // The size of the bit's coordinate: plan.clip_bit_scale / 2 in Q20 of the noise's deviation,
  // rounded down. The same in every round. 0: there is no bit.
  uint32_t ClipBitQ20() const;

  // Each round has a bound of its own, a float32 value, and all that follows from it:

  // The noise's deviation, as a float32 value: plan.noise_sigma at plan.clip_l2, and never less in
  // proportion to the bound.
  float NoiseSigmaFor(float clip_l2) const;

  // What round `round` asks of each of its devices; job id and attempt are left empty.
  TrainTask TaskFor(uint32_t round, float clip_l2) const;

  // The bound of the next round.
  //   bit_sum   of the bits' coordinate, as an integer sum
  //   fraction  receives the noisy share of the cohort that was not clipped, in [0, 1]
  float NextClip(float clip_l2, int64_t bit_sum, double* fraction) const;

  // Throws std::invalid_argument that names the field and its range.
  void Validate() const;

 private:
  void RequireAdaptable() const;
};

// The plan with clip_l2 rounded to the float32 that devices will use, and noise_sigma rounded up.
privacy::Plan RoundToDevice(privacy::Plan plan);

}  // namespace sotto::server

#endif  // SOTTO_ROUND_JOB_CONFIG_H_
