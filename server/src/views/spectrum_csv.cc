#include "views/spectrum_csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate/spectrum.h"

namespace sotto::server {

std::string SpectrumCsv(const SimulationConfig& config, const SimulationResult& result) {
  const AggregationOptions& options = config.job.aggregation;
  const std::vector<TrainedTensor> tensors =
      TrainedTensors(*config.job.model, options.smoothing_image);
  std::string text = "round,tensor,axes,extents,frequency,magnitude\n";
  for (const MeanUpdateOfRound& update : result.updates) {
    size_t first = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const TrainedTensor& tensor = tensors[i];
      const std::vector<float> magnitudes = SpectrumOf(
          {update.values.data() + first, tensor.size()}, tensor, options.smoothing_order);
      for (size_t k = 0; k < magnitudes.size(); ++k) {
        text += fmt::format("{},{},{},{},{},{}\n", update.round + 1, i + 1, tensor.axes,
                            fmt::join(tensor.extents, "x"), k, magnitudes[k]);
      }
      first += tensor.size();
    }
  }
  return text;
}

}  // namespace sotto::server
