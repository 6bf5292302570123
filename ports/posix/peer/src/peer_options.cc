#include "sotto/peer/peer_options.h"

#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <vector>

#include "sotto/options/nearest.h"
#include "sotto/options/toml.h"
#include "sotto/posix/files.h"
#include "sotto/posix/hex.h"
#include "sotto/posix/text.h"

namespace sotto {

const char* Name(PeerRule rule) {
  switch (rule) {
    case PeerRule::kAverage:
      return "average";
    case PeerRule::kShared:
      return "shared";
    case PeerRule::kAccumulate:
      return "accumulate";
  }
  return "unknown";
}

const char* Name(PeerUnit unit) {
  switch (unit) {
    case PeerUnit::kNone:
      return "none";
    case PeerUnit::kSample:
      return "sample";
    case PeerUnit::kDevice:
      return "device";
  }
  return "unknown";
}

}  // namespace sotto

namespace sotto::posix {
namespace {

using Row = Field<PeerJob>;
using Fields = std::vector<Row>;

constexpr double kUnit = 1048576.0;  // parameters are multiples of 1 / kUnit
constexpr char kSaltDigits[] = "0123456789abcdef";

// A multiple of 2^-20: what is asked for, rounded up.
double Noise(const PeerJob& job) { return job.noise_q20 / kUnit; }
void SetNoise(PeerJob& job, double noise) {
  job.noise_q20 = static_cast<uint32_t>(std::ceil(noise * kUnit));
}

std::string WhyNoSalt(const std::string& text) {
  const bool is_salt = text.size() == 2 * sizeof(PeerJob::salt) &&
                       text.find_first_not_of(kSaltDigits) == std::string::npos;
  return is_salt ? "" : text + " is not 32 hexadecimal digits, 0 to 9 and a to f";
}

std::string Salt(const PeerJob& job) { return Hex(ByteSpan(job.salt)); }
void SetSalt(PeerJob& job, const std::string& text) {
  const std::string digits = kSaltDigits;
  for (size_t i = 0; i < text.size(); ++i) {
    uint8_t& byte = job.salt[i / 2];
    byte = static_cast<uint8_t>(byte << 4 | digits.find(text[i]));
  }
}

Fields StepsOfANode() {
  return {
      Row("rule", &PeerJob::rule,
          "how a node makes a publication; average: half the newest model, half the node's own; "
          "shared: steps on the newest model; accumulate: the newest model plus all steps of the "
          "node since its last publication")
          .OneOf(PeerRule::kAverage, PeerRule::kShared, PeerRule::kAccumulate),
      Row("unit", &PeerJob::unit,
          "what the noise protects; sample: one sample of a node, for convex models only; device: "
          "all samples of a node; none: NO PRIVACY")
          .OneOf(PeerUnit::kSample, PeerUnit::kDevice, PeerUnit::kNone),
      Row("batch-size", &PeerJob::batch_size,
          "samples in a node's mini-batch; a step takes one batch")
          .Within({1, 65535}),
      Row("learning-rate", &PeerJob::learning_rate, "step size of a node's SGD, eta")
          .Within({0, 1e6, true}),
      Row("weight-decay", &PeerJob::weight_decay,
          "L2 regularisation: the weight of |w|^2 / 2 in a node's loss")
          .Within({0, 1e6}),
      Row("range", &PeerJob::range,
          "largest magnitude of a parameter; steps and publications are clamped to it")
          .Within({0, 16, true}),
      Row("error-clip", &PeerJob::error_clip,
          "largest magnitude of an output's error, for --unit sample; less needs less noise; 0: no "
          "clip")
          .Within({0, 1}),
      Row("feature-norm", &PeerJob::feature_norm,
          "largest L2 norm of a sample, for --unit sample; longer samples are scaled down to it")
          .Within({0, 1024, true}),
  };
}

Fields Publications() {
  return {
      Row("clip", &PeerJob::clip_l2,
          "largest L2 norm of what a publication adds, for --unit device; 0: no clip")
          .Within({0, 1024}),
      Row("noise", Noise, SetNoise,
          "standard deviation of a publication's noise in each parameter, rounded up to a multiple "
          "of 2^-20; 0: none, for --unit none only")
          .Within({0, 64}),
      Row("passes", &PeerJob::passes,
          "passes over a node's samples; each pass drops a partial last batch")
          .Within({1, 65535}),
      Row("most-local-steps", &PeerJob::most_local_steps,
          "most steps on the node's own model that one publication carries; a node that took more "
          "drops them all")
          .Within({0, 1048576}),
      Row("publication-steps", &PeerJob::publication_steps,
          "steps that one publication takes on the newest model, before its noise; 1 with rule "
          "average")
          .Within({1, 65535}),
      Row("most-releases", &PeerJob::most_releases,
          "most publications of one node, for which the noise is computed, with --unit device; 0 "
          "with the other units")
          .Within({0, 4294967295}),
      Row("salt", Salt, SetSalt, "32 hexadecimal digits that distinguish jobs of equal settings")
          .Checked(WhyNoSalt),
  };
}

const Field<PeerJob>* FindRow(const std::string& name) {
  for (const Field<PeerJob>& row : PeerJobFields()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

std::vector<std::string> RowNames() {
  std::vector<std::string> names;
  for (const Field<PeerJob>& row : PeerJobFields()) names.emplace_back(row.name);
  return names;
}

// Which settings do not go together. Null: all do.
const char* WhyWrong(const PeerJob& job) {
  if (job.unit == PeerUnit::kNone) {
    if (job.noise_q20 != 0) return "--unit none is without noise: leave --noise out";
  } else if (job.noise_q20 == 0) {
    return "give the noise of a publication, --noise SIGMA, or --unit none for no privacy";
  }
  if (job.rule == PeerRule::kAverage && job.publication_steps > 1) {
    return "--publication-steps above 1 needs --rule shared or accumulate";
  }
  if (job.unit == PeerUnit::kDevice) {
    if (!(job.clip_l2 > 0)) return "--unit device needs --clip, the largest norm of an update";
    if (job.most_releases == 0) return "--unit device needs --most-releases";
  } else if (job.clip_l2 > 0 || job.most_releases != 0) {
    return "--clip and --most-releases belong to --unit device";
  }
  return job.Validate() == Status::kOk ? nullptr : "a number is outside its range";
}

//   file  that the job was read from; empty: none
void RequireValidPeerJob(const std::string& file, const PeerJob& job) {
  const char* why = WhyWrong(job);
  if (why == nullptr) return;
  throw std::invalid_argument(
      fmt::format("{}{}the nodes' job: {}", file, file.empty() ? "" : ": ", why));
}

void ReadSettings(const std::string& path, const std::string& text, PeerJob* job) {
  std::vector<Setting> settings;
  try {
    settings = ParseToml(text);
  } catch (const TomlError& error) {
    throw std::invalid_argument(error.In(path));
  }
  for (const Setting& setting : settings) {
    const std::string where = fmt::format("{}:{}: {}", path, setting.line, FullName(setting));
    const Field<PeerJob>* row = setting.section.empty() ? FindRow(setting.key) : nullptr;
    if (row == nullptr) {
      throw std::invalid_argument(fmt::format("{} is no setting of the nodes' job{}", where,
                                              DidYouMean(setting.key, RowNames())));
    }
    try {
      row->set(*job, ParseValue(*row, setting.value));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("{}: {}", where, error.what()));
    }
  }
}

}  // namespace

const Fields& PeerJobFields() {
  static const Fields kFields = Under(kPeerJobGroup, Joined({StepsOfANode(), Publications()}));
  return kFields;
}

std::vector<Field<PeerJobOptions>> PeerJobOptionFields() {
  std::vector<Field<PeerJobOptions>> all = {
      Field<PeerJobOptions>("job", &PeerJobOptions::file,
                            "file of the settings below, as --job-out writes it")
          .In(kPeerJobGroup)};
  for (const Field<PeerJob>& row : PeerJobFields()) {
    all.emplace_back(row, &PeerJobOptions::settings);
  }
  return all;
}

PeerJob PeerJobOf(const PeerJobOptions& options) {
  PeerJob job;
  if (!options.file.empty()) {
    const std::optional<std::string> text = ReadCleanText(options.file);
    if (!text) throw FileError(fmt::format("--job {}: there is no such file", options.file));
    ReadSettings(options.file, *text, &job);
  }
  for (const Field<PeerJob>& row : PeerJobFields()) {
    if (options.given.count(row.name) > 0) row.set(job, row.get(options.settings));
  }
  RequireValidPeerJob(options.file, job);
  return job;
}

PeerJob ParsePeerJob(const std::string& path, const std::string& text) {
  PeerJob job;
  ReadSettings(path, text, &job);
  RequireValidPeerJob(path, job);
  return job;
}

std::string PeerJobText(const PeerJob& job) {
  std::string text;
  for (const Field<PeerJob>& row : PeerJobFields()) {
    const std::string value = ExactText(row, row.get(job));
    text += fmt::format(row.kind == Kind::kText ? "{} = \"{}\"\n" : "{} = {}\n", row.name, value);
  }
  return text;
}

void RequirePeerJobSuits(const ModelInfo& model, const PeerJob& job) {
  double sensitivity = 0;
  if (job.unit == PeerUnit::kNone) return;
  if (PeerSensitivityQ20(model, job, job.most_local_steps, &sensitivity) == Status::kOk) return;
  if (!IsConvexPeerModel(model)) {
    throw std::invalid_argument(
        fmt::format("--unit sample needs a convex model, one dense layer in float32, and {} is "
                    "none: take --unit device",
                    model.name));
  }
  throw std::invalid_argument(
      fmt::format("--learning-rate {} is too large for --unit sample with this model and rule: at "
                  "most {}",
                  job.learning_rate, LargestPeerRate(model, job)));
}

}  // namespace sotto::posix
