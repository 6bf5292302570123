// The request for a training job, before defaults and noise are resolved. Part of
// sotto::server/spec.
//
// A plain value: any thread may read it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "round/job_config.h"
#include "sotto/model/model_file.h"

namespace sotto::server {

// Whether all updates of a job have one length (JobConfig::update_length).
enum class OneLength {
  kAuto,  // with passes and --mechanism gau-lrq, unless a padding is named or epsilon is above 100
  kOn,
  kOff,
};
const char* Name(OneLength one_length);  // "auto", "on", "off"

// The defaults train the logistic regression of DP-Fed-LS. MakeJob() (make_job.h) turns a
// request into the configuration of a job.
struct JobRequest {
  JobRequest();

  // The fields whose requested values MakeJob() uses unchanged. MakeJob() overwrites the other
  // fields:
  // - in the plan: the number of devices, planned_reports, dimension, clip_l2, noise and
  //   certificate; with passes participations, and the cohort and the rounds that nobody gave;
  // - aggregation.smoothing_axes; with smoothing_auto aggregation.smoothing;
  // - update_length, initial_parameters, clip_schedule, epsilon_budget, min_devices, spent_before,
  //   learning_rate_decay.
  // threads = 0 asks for one thread per processor.
  JobConfig job;

  // Keeps job.model if that came from a file: the request must outlive the job.
  posix::SharedModel opened_model;
  std::string model_file;  // it; empty: the model has a name

  // The names of the options that somebody gave, see Give() in field.h. What is not here may have
  // another default without a server.
  std::set<std::string> given;
  bool Has(const char* option) const { return given.count(option) > 0; }

  // The values that MakeJob() must resolve:
  double epsilon = 6.0;  // > 0; +infinity: fine uniform dither instead of noise, WITHOUT privacy
  std::optional<double> noise_multiplier;  // instead of epsilon
  std::optional<double> noise_sigma;       // instead of both
  std::optional<double> epsilon_budget;    // absent: epsilon, or none with noise_multiplier
  std::optional<double> delta;             // absent: privacy::DefaultDelta()
  bool adaptive_clip = false;
  bool clip_from_steps = false;           // each round's bound follows from its local steps
  privacy::ClipSchedule clip_schedule;    // with adaptive_clip
  std::optional<double> clip_noise;       // absent: cohort / 20, more if that takes above a tenth
  std::optional<double> accuracy_noise;   // absent: 0.05, more if that takes above a tenth
  std::optional<uint32_t> min_devices;    // absent: 1; 0 for passes, and for Poisson with noise
  std::optional<int64_t> participations;  // of passes; absent: 4, or as few as --rounds needs
  bool deadlines = false;                 // of passes: reports have no time, rounds no early end
  std::optional<uint32_t> quorum;         // of passes; absent: 1, in the order fixed 0
  OneLength one_length = OneLength::kAuto;
  std::optional<double> learning_rate_decay;  // absent: 0.99 with a constant schedule, else 1
  privacy::TrustMode trust_mode = privacy::TrustMode::kTrustedServer;
  std::optional<double> private_noise_multiplier;  // present if and only if kPrivateNoise
  // Instead of job.aggregation.smoothing: chosen by AutoSmoothing() (aggregate/smoothing.h).
  bool smoothing_auto = false;
  std::optional<uint32_t> smoothing_axes;    // absent: 1; with smoothing_auto 2 if there are images
  std::optional<std::string> initial_model;  // file of parameters; absent: initial_weights.h
};

}  // namespace sotto::server
