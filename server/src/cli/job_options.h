// The options that say what a training job is, shared by every command that runs one. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_JOB_OPTIONS_H_
#define SOTTO_CLI_JOB_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "round/job_config.h"

namespace CLI {
class App;
}

namespace sotto::server {

// As the user typed them; defaults are those of DP-Fed-LS's logistic regression.
struct JobOptions {
  std::string model = "softmax-784-10";
  std::string sampling = "uniform";
  uint32_t cohort = 50;
  uint32_t rounds = 30;
  std::optional<uint32_t> min_devices;  // absent: 1 for uniform sampling, 0 for Poisson

  uint32_t local_epochs = 5;
  uint32_t batch_size = 10;
  double learning_rate = 0.1;
  double learning_rate_decay = 0.99;
  double weight_decay = 0.0;
  double clip = 0.4;
  std::string clipping = "every-step";
  bool adaptive_clip = false;
  double clip_quantile = 0.5;
  double clip_learning_rate = 0.2;
  std::optional<double> clip_noise;  // absent: cohort / 20, more if that takes above a tenth
  double server_learning_rate = 1.0;
  double smoothing = 0.0;

  std::string mechanism = "gau-lrq";
  std::string coding = "range";
  uint32_t padding = kDefaultPadding;
  double epsilon = 6.0;
  std::optional<double> epsilon_budget;  // absent: epsilon, or none with noise_multiplier
  std::optional<double> noise_multiplier;
  std::optional<double> delta;  // absent: devices^-1.1
  uint32_t colluders = 1;
  std::string trust_mode = "trusted-server";
  std::optional<double> private_noise_multiplier;  // there exactly if the mode is private-noise

  int threads = 0;  // 0: one a processor
};

// The codec that the options ask for. An infinite epsilon turns gau-lrq into uniform dither.
// Throws std::invalid_argument for a baseline with an infinite epsilon.
const CodecInfo& ChooseCodec(const JobOptions& options);

// Declares the options on a command; `options` must outlive the parse.
void AddJobOptions(CLI::App& command, JobOptions& options);

// The job that the options ask for in a fleet of so many devices, with the noise calibrated to what
// earlier jobs on them have left of the budget. Throws std::invalid_argument or
// privacy::UnattainableEpsilon, saying what to change.
JobConfig MakeJob(const JobOptions& options, uint32_t devices,
                  const std::vector<privacy::SpentRounds>& before = {});

}  // namespace sotto::server

#endif  // SOTTO_CLI_JOB_OPTIONS_H_
