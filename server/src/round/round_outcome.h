// The result of closing a round. Part of sotto::server/round.
//
// What of it is shown, where and to whom is a row of round_figures.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aggregate/partial_sum.h"
#include "plans/device_accuracy.h"
#include "plans/statement.h"
#include "round/release.h"

namespace sotto::server {

// The result of closing a round. The counts and the bytes are the operator's: they tell who took
// part, and no claim against the public covers that (PRIVACY.md, section 1).
struct RoundOutcome {
  bool released = false;
  uint32_t round = 0;
  uint32_t attempt = 0;
  uint32_t devices = 0;  // eligible, of which the cohort was drawn
  uint32_t cohort = 0;   // devices drawn
  // Devices heard in this or the previous attempt, drawn or not, that lack nothing.
  uint32_t checked_in = 0;
  uint32_t reported = 0;      // complete, valid updates
  uint32_t rejected = 0;      // drawn devices whose update was rejected
  LackCounts lacking;         // devices that were told to wait for what they lack, drawn or not
  uint32_t topped_up = 0;     // zero updates added so that the noise is constant
  uint64_t update_bytes = 0;  // encoded bytes of all reports
  // Set by the server: what the devices whose whole participation it saw over one connection have
  // moved for it, from their Hello to the end of their update, TLS included.
  struct Traffic {
    uint32_t devices = 0;
    uint64_t bytes_up = 0;
    uint64_t bytes_down = 0;
    uint64_t turns = 0;  // requests
  };
  Traffic traffic;
  // Set by the server: published so long after its time; and when the attempt opened, was closed
  // and had its result published, in milliseconds since 1970.
  uint64_t late_ms = 0;
  int64_t opened_ms = 0;
  int64_t closed_ms = 0;
  int64_t published_ms = 0;
  // Registry indices, ascending, of the devices that reported, and of those whose update was
  // refused for its norm; see AttemptCounts. For the operator alone, as are all counts of reports.
  std::vector<uint32_t> reporters;
  std::vector<uint32_t> beyond_bound;
  bool diverged = false;     // the next model would not be finite: the model is unchanged
  double clip_l2 = 0.0;      // the round's bound on an update's norm, model units
  double noise_sigma = 0.0;  // of one encoding, model units; 0 without noise
  // Of a release under adaptive clipping: the noisy share of the cohort that was not clipped, in
  // [0, 1]. A drop-out counts as half.
  std::optional<double> unclipped_fraction;
  // Of a release with evaluation on devices: how well the model that the round began with does.
  std::optional<privacy::AccuracyEstimate> device_accuracy;
  double next_clip_l2 = 0.0;             // of a release: the bound of the next round, model units
  std::optional<UpdateFigures> figures;  // of a release, if the configuration asks for them
  std::optional<ErrorHistogram> errors;  // of a release: see JobConfig::error_edges
  std::optional<double> threshold;       // found from them, a float32; absent: there is none
  // Once all rounds are released, if the fleet stays; only if somebody watches the job.
  std::optional<double> planned_epsilon;
  privacy::Statement spent;  // of the job so far, this attempt included, if it is accounted
};

}  // namespace sotto::server
