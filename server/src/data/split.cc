#include "data/split.h"

#include <fmt/format.h>
#include <stdexcept>
#include <utility>

#include "sotto/data/sample_split.h"

namespace sotto::server {

TrainTest SplitOff(const SharedDataset& data, double share) {
  SplitParts parts = SplitSamples(*data, {{}, 0, static_cast<uint32_t>(data->size())}, share);
  if (parts.training.empty() || parts.held_out.empty()) {
    throw std::invalid_argument(
        fmt::format("{}: of its {} samples the share {} cannot be split off for evaluation; name "
                    "test data with --test",
                    data->name(), data->size(), share));
  }
  return {std::make_shared<Subset>(data->name(), data, std::move(parts.training)),
          std::make_shared<Subset>(data->name(), data, std::move(parts.held_out))};
}

}  // namespace sotto::server
