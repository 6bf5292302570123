#include "spec/threshold_bins.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "export/predictor.h"
#include "sotto/num.h"
#include "sotto/options/numbers.h"

namespace sotto::server {
namespace {

// Rising numbers above 0 with a comma between them.
std::vector<float> ParseEdges(const std::string& text) {
  std::vector<float> edges;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::optional<double> edge = posix::ParseReal(part);
    const auto value = static_cast<float>(edge.value_or(0));
    const float least = edges.empty() ? 0 : edges.back();
    if (!edge || !IsPositiveNormal(value) || value <= least) {
      throw std::invalid_argument(fmt::format(
          "--threshold-bins {}: '{}' is {}; expected rising numbers above 0, for example "
          "0.1,0.2,0.5",
          text, part,
          !edge           ? "no number"
          : edges.empty() ? "not above 0"
                          : "not above the one before it"));
    }
    edges.push_back(value);
    begin = end + 1;
  }
  return edges;
}

[[noreturn]] void RefuseBins(const std::string& why) {
  throw std::invalid_argument("--threshold-bins: " + why);
}

}  // namespace

// The last round's update is a histogram of the bins: see JobConfig::error_edges.
void AskForThreshold(JobConfig* asked) {
  JobConfig& job = *asked;
  job.error_edges.clear();
  if (job.threshold_bins.empty()) return;
  job.error_edges = ParseEdges(job.threshold_bins);
  if (!HasErrors(*job.model)) {
    RefuseBins(
        fmt::format("model {} tells classes apart and has no prediction errors; take an "
                    "autoencoder or a regression",
                    job.model->name));
  }
  if (job.model->personal > 0) {
    RefuseBins(
        fmt::format("model {} has personal layers, and the server cannot know the errors of "
                    "devices that predict with their own; leave one of the two out",
                    job.model->name));
  }
  if (!job.codec->servable) {
    RefuseBins(
        fmt::format("not with --mechanism {}, a baseline; take gau-lrq, or none for a "
                    "histogram without noise",
                    job.codec->name));
  }
  if (job.training.clip_by_layer != ClipByLayer::kNone) {
    RefuseBins("not with --clip-by-layer: a histogram has no layers; leave one of the two out");
  }
  if (job.error_edges.size() > kMaxErrorEdges) {
    RefuseBins(fmt::format("{} edges, and a device has memory for {}; name fewer",
                           job.error_edges.size(), kMaxErrorEdges));
  }
  if (job.error_edges.size() >= job.model->parameters) {
    RefuseBins(
        fmt::format("{} bins with the one above all edges, and model {} has {} parameters, "
                    "whose places they take; name fewer edges",
                    job.error_edges.size() + 1, job.model->name, job.model->parameters));
  }
  if (job.plan.rounds < 2) {
    RefuseBins("--rounds 1 leaves no round to train in: the last one measures; give more rounds");
  }
}

}  // namespace sotto::server
