#include "sotto/peer/peer_options.h"

#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "sotto/options/nearest.h"
#include "sotto/options/numbers.h"
#include "sotto/options/toml.h"
#include "sotto/posix/files.h"
#include "sotto/posix/hex.h"

namespace sotto::posix {
namespace {

constexpr double kUnit = 1048576.0;  // parameters are multiples of 1 / kUnit
constexpr char kSaltDigits[] = "0123456789abcdef";

constexpr const char* kRules[] = {"average", "shared", "accumulate"};
constexpr const char* kUnits[] = {"none", "sample", "device"};

struct Row {
  const char* name;
  const char* expected;  // for help and messages
  const char* help;
  bool (*set)(const std::string& text, PeerJob* job);  // false: not what is expected
  std::string (*get)(const PeerJob& job);
};

template <typename Enum, size_t N>
bool SetName(const char* const (&names)[N], const std::string& text, Enum* out) {
  for (size_t i = 0; i < N; ++i) {
    if (text != names[i]) continue;
    *out = static_cast<Enum>(i);
    return true;
  }
  return false;
}

bool SetCount(const std::string& text, uint64_t least, uint64_t most, uint32_t* out) {
  const std::optional<uint64_t> count = ParseCount(text);
  if (!count || *count < least || *count > most) return false;
  *out = static_cast<uint32_t>(*count);
  return true;
}

// A float32 in [0, most].
bool SetReal(const std::string& text, double most, float* out) {
  const std::optional<double> value = ParseReal(text);
  if (!value || !(*value >= 0 && *value <= most)) return false;
  *out = static_cast<float>(*value);
  return true;
}

// A multiple of 2^-20: what is asked for, rounded up.
bool SetNoise(const std::string& text, uint32_t* out) {
  const std::optional<double> value = ParseReal(text);
  if (!value || !(*value >= 0 && *value <= 64)) return false;
  *out = static_cast<uint32_t>(std::ceil(*value * kUnit));
  return true;
}

bool SetSalt(const std::string& text, uint8_t (&out)[16]) {
  const std::string digits = kSaltDigits;
  if (text.size() != 2 * sizeof(out)) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t digit = digits.find(text[i]);
    if (digit == std::string::npos) return false;
    out[i / 2] = static_cast<uint8_t>(out[i / 2] << 4 | digit);
  }
  return true;
}

std::string Text(float value) { return fmt::format("{}", value); }
std::string Text(uint32_t value) { return fmt::format("{}", value); }

using Job = PeerJob;
using Input = const std::string&;

constexpr Row kRows[] = {
    {"rule", "average, shared or accumulate",
     "what a publication adds to: half the newest model and half the node's own, or the newest "
     "model, its own steps or all since the last",
     [](Input text, Job* job) { return SetName(kRules, text, &job->rule); },
     [](const Job& job) { return std::string(NameOf(job.rule)); }},
    {"unit", "sample, device or none",
     "what the noise hides: one sample of a node, convex models alone; all samples of a node; "
     "nothing",
     [](Input text, Job* job) { return SetName(kUnits, text, &job->unit); },
     [](const Job& job) { return std::string(NameOf(job.unit)); }},
    {"batch-size", "a whole number from 1 to 65535", "samples of a step",
     [](Input text, Job* job) { return SetCount(text, 1, 65535, &job->batch_size); },
     [](const Job& job) { return Text(job.batch_size); }},
    {"learning-rate", "a number from 0 on", "step size, eta",
     [](Input text, Job* job) { return SetReal(text, 3e38, &job->learning_rate); },
     [](const Job& job) { return Text(job.learning_rate); }},
    {"weight-decay", "a number from 0 on", "weight of |w|^2 / 2 in the loss",
     [](Input text, Job* job) { return SetReal(text, 3e38, &job->weight_decay); },
     [](const Job& job) { return Text(job.weight_decay); }},
    {"range", "a number from 0 to 16", "every parameter is kept within this of 0",
     [](Input text, Job* job) { return SetReal(text, 16, &job->range); },
     [](const Job& job) { return Text(job.range); }},
    {"error-clip", "a number from 0 to 1",
     "the most magnitude of an output's error, unit sample; 0: no clip",
     [](Input text, Job* job) { return SetReal(text, 1, &job->error_clip); },
     [](const Job& job) { return Text(job.error_clip); }},
    {"feature-norm", "a number from 0 to 1024",
     "samples of a larger norm are scaled down to it, unit sample",
     [](Input text, Job* job) { return SetReal(text, 1024, &job->feature_norm); },
     [](const Job& job) { return Text(job.feature_norm); }},
    {"clip", "a number from 0 to 1024", "the most norm of what a publication adds, unit device",
     [](Input text, Job* job) { return SetReal(text, 1024, &job->clip_l2); },
     [](const Job& job) { return Text(job.clip_l2); }},
    {"noise", "a number from 0 to 64",
     "standard deviation of a publication's noise in each parameter, rounded up to a multiple of "
     "2^-20",
     [](Input text, Job* job) { return SetNoise(text, &job->noise_q20); },
     [](const Job& job) { return fmt::format("{}", job.noise_q20 / kUnit); }},
    {"passes", "a whole number from 1 to 65535", "over a node's samples",
     [](Input text, Job* job) { return SetCount(text, 1, 65535, &job->passes); },
     [](const Job& job) { return Text(job.passes); }},
    {"most-local-steps", "a whole number from 0 to 1048576",
     "steps taken alone that one publication carries; a node drops more",
     [](Input text, Job* job) { return SetCount(text, 0, 1048576, &job->most_local_steps); },
     [](const Job& job) { return Text(job.most_local_steps); }},
    {"publication-steps", "a whole number from 1 to 65535",
     "steps that one publication takes on the shared model, and pays for once; rule average: 1",
     [](Input text, Job* job) { return SetCount(text, 1, 65535, &job->publication_steps); },
     [](const Job& job) { return Text(job.publication_steps); }},
    {"most-releases", "a whole number", "publications of one node that are paid for, unit device",
     [](Input text, Job* job) { return SetCount(text, 0, UINT32_MAX, &job->most_releases); },
     [](const Job& job) { return Text(job.most_releases); }},
    {"salt", "32 hexadecimal digits, 0 to 9 and a to f", "tells jobs of equal settings apart",
     [](Input text, Job* job) { return SetSalt(text, job->salt); },
     [](const Job& job) { return Hex(ByteSpan(job.salt)); }},
};

const Row* FindRow(const std::string& name) {
  for (const Row& row : kRows) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

std::vector<std::string> RowNames() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

//   where  of the setting, for messages: "--noise" or "peers.toml:3: noise"
void Set(const std::string& where, const Row& row, const std::string& text, PeerJob* job) {
  if (row.set(text, job)) return;
  throw std::invalid_argument(fmt::format("{} {}: expected {}", where, text, row.expected));
}

// Which settings do not go together. Null: all do.
const char* WhyWrong(const PeerJob& job) {
  if (!(job.learning_rate > 0)) return "--learning-rate must be above 0";
  if (!(job.range > 0)) return "--range must be above 0";
  if (!(job.feature_norm > 0)) return "--feature-norm must be above 0";
  if (job.unit == PeerUnit::kNone) {
    if (job.noise_q20 != 0) return "--unit none is without noise: leave --noise out";
  } else if (job.noise_q20 == 0) {
    return "give the noise of a publication, --noise SIGMA, or --unit none for no privacy";
  }
  if (job.rule == PeerRule::kAverage && job.publication_steps > 1) {
    return "--publication-steps above 1 needs --rule shared or accumulate";
  }
  if (job.unit == PeerUnit::kDevice) {
    if (!(job.clip_l2 > 0)) return "--unit device needs --clip, the most norm of an update";
    if (job.most_releases == 0) return "--unit device needs --most-releases";
  } else if (job.clip_l2 > 0 || job.most_releases != 0) {
    return "--clip and --most-releases belong to --unit device";
  }
  return job.Validate() == Status::kOk ? nullptr : "a number is outside its range";
}

void RequireValid(const PeerJob& job) {
  const char* why = WhyWrong(job);
  if (why != nullptr) throw std::invalid_argument(fmt::format("the nodes' job: {}", why));
}

void ReadSettings(const std::string& path, const std::string& text, PeerJob* job) {
  std::set<std::string> seen;
  std::vector<Setting> settings;
  try {
    settings = ParseToml(text);
  } catch (const TomlError& error) {
    throw std::invalid_argument(error.In(path));
  }
  for (const Setting& setting : settings) {
    const std::string where = fmt::format("{}:{}: {}", path, setting.line, FullName(setting));
    const Row* row = setting.section.empty() ? FindRow(setting.key) : nullptr;
    if (row == nullptr) {
      throw std::invalid_argument(fmt::format("{} is no setting of the nodes' job{}", where,
                                              DidYouMean(setting.key, RowNames())));
    }
    Set(where, *row, setting.value, job);
  }
}

}  // namespace

const char* NameOf(PeerRule rule) { return kRules[static_cast<size_t>(rule)]; }
const char* NameOf(PeerUnit unit) { return kUnits[static_cast<size_t>(unit)]; }

void AddPeerJobOptions(CLI::App& app, PeerJobOptions* options) {
  constexpr char kGroup[] = "The nodes' job, the same for the directory and all nodes";
  app.add_option("--job", options->file, "file of the settings below, as --job-out writes it")
      ->group(kGroup);
  for (const Row& row : kRows) {
    const std::string name = row.name;
    app.add_option_function<std::string>(
           "--" + name, [options, name](const std::string& text) { options->given[name] = text; },
           row.help)
        ->default_str(row.get(PeerJob()))
        ->group(kGroup);
  }
}

PeerJob PeerJobOf(const PeerJobOptions& options) {
  PeerJob job;
  if (!options.file.empty()) {
    const std::optional<std::string> text = ReadTextFile(options.file);
    if (!text) throw FileError(fmt::format("--job {}: there is no such file", options.file));
    ReadSettings(options.file, *text, &job);
  }
  for (const auto& [name, text] : options.given) Set("--" + name, *FindRow(name), text, &job);
  RequireValid(job);
  return job;
}

PeerJob ParsePeerJob(const std::string& path, const std::string& text) {
  PeerJob job;
  ReadSettings(path, text, &job);
  RequireValid(job);
  return job;
}

std::string PeerJobText(const PeerJob& job) {
  std::string text;
  for (const Row& row : kRows) {
    const std::string value = row.get(job);
    const bool is_number = ParseReal(value).has_value() && std::string_view(row.name) != "salt";
    text += fmt::format(is_number ? "{} = {}\n" : "{} = \"{}\"\n", row.name, value);
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
