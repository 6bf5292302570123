#include "cli/model_attach.h"

#include <fmt/format.h>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

#include "backends/open_store.h"
#include "cli/commands.h"
#include "export/format.h"
#include "export/parameters.h"
#include "export/predictor.h"
#include "sotto/num.h"
#include "sotto/posix/files.h"
#include "store/history.h"

namespace sotto::server {
namespace {

constexpr double kLargestThreshold = std::numeric_limits<float>::max();

struct AttachOptions {
  ModelSource source;
  double threshold = 0;
};

// The format in which a file keeps a threshold; null if it has no place for one.
const ExportFormat* FormatWithMetadata(const std::string& path, const ModelInfo& model) {
  const ExportFormat* const format = FormatOfContent(ReadModelBytes(path), model);
  return format != nullptr && format->keeps_metadata ? format : nullptr;
}

std::string AttachInStore(const std::string& path, const OpenedModel& opened, float threshold) {
  const std::unique_ptr<Store> store = OpenStore(path);
  store->AttachThreshold({opened.job, opened.round, threshold});
  std::string text =
      fmt::format("{}: threshold {:.9g} is attached to the model of round {} of job {}", path,
                  threshold, opened.round + 1, opened.job);
  for (const JobEntry& job : store->ReadHistory().jobs) {
    if (job.number != opened.job || job.released == opened.round + 1) continue;
    return text + fmt::format("; devices fetch the newest one, of round {}\n", job.released);
  }
  return text + "; a device that fetches it gets both\n";
}

std::string AttachInFile(const std::string& path, OpenedModel opened, float threshold) {
  const ExportFormat& format = *FormatWithMetadata(path, *opened.model);
  SetThreshold(threshold, *opened.model, &opened.metadata);
  posix::ReplaceTextFile(path, FileOf(format, opened.trained()));
  return fmt::format("{}: threshold {:.9g} is attached to model {}\n", path, threshold,
                     opened.model->name);
}

void RunAttach(const AttachOptions& o) {
  OpenedModel opened = OpenModelSource(o.source);
  fmt::print("{}", AttachThreshold(o.source, std::move(opened), static_cast<float>(o.threshold)));
}

}  // namespace

void RequireErrors(const ModelInfo& model) {
  if (!HasErrors(model)) {
    throw std::invalid_argument(
        fmt::format("model {} tells classes apart: it has no prediction errors; a threshold is for "
                    "an autoencoder or a regression",
                    model.name));
  }
  if (model.personal > 0) {
    throw std::invalid_argument(fmt::format(
        "model {} has personal layers, whose values only its devices have: each device has other "
        "prediction errors, and no threshold can be found here",
        model.name));
  }
}

void RequirePlaceForThreshold(const ModelSource& source, const OpenedModel& opened) {
  if (opened.job == 0 && FormatWithMetadata(source.path, *opened.model) == nullptr) {
    throw std::invalid_argument(fmt::format(
        "{}: it has only parameters, and no place for a threshold; write it as another format: "
        "`sotto model export {} --threshold ERROR --out NAME.safetensors`",
        source.path, source.path));
  }
  if (opened.job != 0 && opened.round == kFirstModel) {
    throw std::invalid_argument(fmt::format(
        "{}: --round 0 is the model with which job {} began, and devices fetch released ones; name "
        "a round from 1 on",
        source.path, opened.job));
  }
}

std::string AttachThreshold(const ModelSource& source, OpenedModel opened, float threshold) {
  RequireErrors(*opened.model);
  RequirePlaceForThreshold(source, opened);
  if (!IsPositiveNormal(threshold)) {
    throw std::invalid_argument(fmt::format(
        "{}: threshold {:.9g} cannot be attached: it must be above 0", source.path, threshold));
  }
  if (opened.job != 0) return AttachInStore(source.path, opened, threshold);
  return AttachInFile(source.path, std::move(opened), threshold);
}

posix::Command ModelAttachCommand() {
  return posix::CommandFor<AttachOptions>(
             "attach",
             "give a released model, or a file, the threshold with which devices tell anomalies")
      .TakesFor(&AttachOptions::source, ModelSourceFields())
      .Takes({
          posix::Field<AttachOptions>(
              "threshold", &AttachOptions::threshold,
              "the prediction error above which a sample is an anomaly, as `sotto model threshold` "
              "finds it; in place of the one that SOURCE has")
              .Within({0, kLargestThreshold, true})
              .Required(),
      })
      .Footer(
          "In a store it belongs to the released model: devices that fetch the model get it, also "
          "from a server\nthat runs. A file is written anew, in its format: safetensors or npz.")
      .Runs(RunAttach);
}

}  // namespace sotto::server
