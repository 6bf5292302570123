#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/model_source.h"
#include "export/format.h"
#include "export/tensors.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

constexpr char kTakesRaw[] = "It takes raw samples: what prepares them is part of it.";
constexpr char kTakesPrepared[] =
    "It has the parameters alone: its user prepares samples as `sotto model show` says.";

struct ExportOptions {
  ModelSource source;
  std::string format;
  std::string out;
  std::optional<double> threshold;
};

constexpr double kLargest = std::numeric_limits<float>::max();

using ExportRow = posix::Field<ExportOptions>;

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const ExportFormat& format : ExportFormats()) names.emplace_back(format.name);
  return names;
}

std::string FormatsText() {
  std::string text = "Formats:\n";
  for (const ExportFormat& format : ExportFormats()) {
    text += fmt::format("  {:<12} {:<13} {}\n", format.name, format.ending, format.does);
  }
  return text + "server/EXPORT.md has the names, shapes and orders of the tensors.";
}

const ExportFormat& ChooseFormat(const ExportOptions& o) {
  if (!o.format.empty()) return *FindFormat(o.format);
  if (const ExportFormat* format = FormatOfFile(o.out)) return *format;
  throw std::invalid_argument(
      fmt::format("--out {}: its ending says no format; name one by --format: {}", o.out,
                  fmt::join(FormatNames(), ", ")));
}

// "round 12, epsilon 3.2 at delta 1e-05", as far as it is known.
std::string DescribeRelease(const Metadata& metadata) {
  const std::string round = ValueOf(metadata, "round");
  const std::string epsilon = ValueOf(metadata, "epsilon");
  const std::string delta = ValueOf(metadata, "delta");
  std::string text;
  if (!round.empty()) text += fmt::format(", round {}", round);
  if (!epsilon.empty()) text += fmt::format(", epsilon {}", epsilon);
  if (!delta.empty()) text += fmt::format(" at delta {}", delta);
  if (!ValueOf(metadata, "privacy").empty()) text += ", no privacy";
  return text;
}

void ExportModel(const ExportOptions& o) {
  const Output output = {"--out", o.out};
  RequireOutputs({output}, o.source.path, {o.source.model});
  const ExportFormat& format = ChooseFormat(o);
  RequireWriter(format);
  OpenedModel opened = OpenModelSource(o.source);
  RequireAllShared(*opened.model);
  if (o.threshold) {
    SetThreshold(static_cast<float>(*o.threshold), *opened.model, &opened.metadata);
  }
  OutputFile file(output);
  file.stream() << FileOf(format, opened.trained());
  file.Finish();
  fmt::print("{}: {}, {} parameters of model {}{}\n", o.out, format.name, opened.parameters.size(),
             opened.model->name, DescribeRelease(opened.metadata));
  if (!opened.model->preparation.empty()) {
    fmt::print("{}\n", format.holds_net ? kTakesRaw : kTakesPrepared);
  }
}

}  // namespace

posix::Command ModelExportCommand() {
  return posix::CommandFor<ExportOptions>(
             "export", "write a trained model for other programs, or for a firmware's inference")
      .TakesFor(&ExportOptions::source, ModelSourceFields())
      .Takes({
          ExportRow("format", &ExportOptions::format, "format of the file")
              .OneOfNames(FormatNames())
              .ByDefault("by the ending of --out"),
          ExportRow("threshold", &ExportOptions::threshold,
                    "for an autoencoder or a regression: the prediction error above which a sample "
                    "is an anomaly, as `sotto model threshold` finds it; a header names it "
                    "kThreshold, other files have it in their metadata")
              .Within({0, kLargest, true})
              .ByDefault("the one that SOURCE has, if any"),
          ExportRow("out", &ExportOptions::out, "the file to write").Required(),
      })
      .Footer(FormatsText())
      .Runs(ExportModel);
}

}  // namespace sotto::server
