#include "recorded_samples.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>
#include <utility>

#include "sotto/posix/check.h"
#include "sotto/posix/files.h"

namespace sotto::posix {
namespace {

constexpr double kShortestRun = 8;

SampleLogConfig ConfigOf(const SampleFileInfo& info, double held_out) {
  SampleLogConfig config = info.LogConfig();
  config.held_out = RuleOf(info, held_out);
  return config;
}

void RequireFits(const std::string& path, const SampleFileInfo& info, const ModelInfo& model) {
  const uint32_t numbers = info.window * info.axes;
  if (model.layers[0].tokens == 0 && model.loss.target != nn::TargetKind::kVector &&
      numbers == model.inputs) {
    return;
  }
  const char* const also = model.layers[0].tokens > 0 ? " tokens"
                           : model.loss.target == nn::TargetKind::kVector
                               ? " numbers, and a vector as target"
                               : " numbers";
  throw std::invalid_argument(
      fmt::format("{}: its windows have {} readings of {} numbers, {} in all, but model {} takes "
                  "{}{}; record windows of the model's size",
                  path, info.window, info.axes, numbers, model.name, model.inputs, also));
}

std::string ClassText(const ModelInfo& model, uint32_t label) {
  return model.class_names.empty() ? fmt::format("class {}", label)
                                   : fmt::format("class {} ({})", label, model.class_names[label]);
}

}  // namespace

HeldOutRule RuleOf(const SampleFileInfo& info, double share) {
  constexpr double kLeastShare = 1e-6;  // a period that a sequence number counts
  if (share <= 0) return {};
  if (share < kLeastShare) {
    throw std::invalid_argument(fmt::format(
        "--held-out {:g}: of recorded windows it is 0, or at least {:g}", share, kLeastShare));
  }
  const uint32_t gap = OverlapOf(info.window, info.hop);
  // So that a run has its length, and as many windows as in the gaps are left to train on.
  const double period = std::ceil(std::max(kShortestRun / share, (4.0 * gap + 2) / (1 - share)));
  return {static_cast<uint32_t>(period), static_cast<uint32_t>(std::lround(share * period)), gap};
}

// One reading of the file.
struct RecordedSamples::Reading {
  Reading(const std::string& path, double held_out, const ModelInfo& model)
      : copy(path),
        log(copy.memory(), ConfigOf(copy.info(), held_out)),
        marks(log.config().SnapshotWords(copy.info().page_size)),
        snapshot(&log, model, {marks.data(), marks.size()}) {
    RequireFits(path, copy.info(), model);
    if (log.Open() != Status::kOk) {
      throw FileError(path +
                      ": it is damaged: its pages are of another log; remove it and record "
                      "anew");
    }
    Check(snapshot.Take(), path.c_str());
  }

  SampleFileCopy copy;
  SampleLog log;
  std::vector<uint32_t> marks;
  SampleSnapshot snapshot;
};

RecordedSamples::RecordedSamples(std::string path, double held_out, const ModelInfo& model)
    : path_(std::move(path)),
      share_(held_out),
      model_(model),
      reading_(std::make_unique<Reading>(path_, share_, model_)) {}

RecordedSamples::~RecordedSamples() = default;

uint32_t RecordedSamples::training() const {
  return reading_ == nullptr ? 0 : reading_->snapshot.source().count;
}

uint32_t RecordedSamples::held_out() const {
  return reading_ == nullptr ? 0 : reading_->snapshot.held_out_source().count;
}

SampleSource RecordedSamples::source() { return {training(), Read, this, nullptr, Begin, nullptr}; }

SampleSource RecordedSamples::held_out_source() {
  return {held_out(), ReadHeldOut, this, nullptr, HeldOutCount, nullptr};
}

// Whether a device takes part does not depend on its samples, so no failure leaves this function.
uint32_t RecordedSamples::Begin(void* context) {
  auto* const self = static_cast<RecordedSamples*>(context);
  self->reading_.reset();
  self->why_unread_.clear();
  try {
    self->reading_ = std::make_unique<Reading>(self->path_, self->share_, self->model_);
  } catch (const std::exception& error) {
    self->why_unread_ = error.what();
  }
  return self->training();
}

uint32_t RecordedSamples::HeldOutCount(void* context) {
  return static_cast<const RecordedSamples*>(context)->held_out();
}

Status RecordedSamples::Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
  const auto* const self = static_cast<const RecordedSamples*>(context);
  if (self->reading_ == nullptr) return Status::kSampleFailed;
  const SampleSource source = self->reading_->snapshot.source();
  return source.read(source.context, index, features, label);
}

Status RecordedSamples::ReadHeldOut(void* context, uint32_t index, Span<float> features,
                                    uint32_t* label) {
  const auto* const self = static_cast<const RecordedSamples*>(context);
  if (self->reading_ == nullptr) return Status::kSampleFailed;
  const SampleSource source = self->reading_->snapshot.held_out_source();
  return source.read(source.context, index, features, label);
}

std::vector<std::string> RecordedSamples::Describe() {
  if (reading_ == nullptr || model_.classes == 0) return {};
  const SampleLog& log = reading_->log;
  std::vector<uint32_t> counts(model_.classes);
  uint32_t unlabelled = 0;
  uint32_t others = 0;
  std::vector<uint8_t> raw(log.config().SampleBytes());
  for (uint32_t sequence = log.begin(); sequence < log.end(); ++sequence) {
    uint32_t label = kUnlabelled;
    if (log.Read(sequence, {raw.data(), raw.size()}, &label) != Status::kOk) continue;
    if (label < model_.classes) {
      ++counts[label];
    } else {
      ++(label == kUnlabelled ? unlabelled : others);
    }
  }
  std::vector<std::string> held;
  std::vector<std::string> lacks;
  for (uint32_t label = 0; label < model_.classes; ++label) {
    const std::string name = ClassText(model_, label);
    if (counts[label] > 0) held.push_back(fmt::format("{}: {}", name, counts[label]));
    if (counts[label] == 0) lacks.push_back(name);
  }
  std::string text =
      fmt::format("labels: {}", held.empty() ? "none" : fmt::format("{}", fmt::join(held, ", ")));
  if (!lacks.empty()) text += fmt::format("; no window of {}", fmt::join(lacks, ", "));
  if (unlabelled > 0) text += fmt::format("; {} windows without a label are left out", unlabelled);
  if (others > 0) text += fmt::format("; {} windows have the label of no class", others);
  return {text};
}

}  // namespace sotto::posix
