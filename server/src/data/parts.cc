#include "data/parts.h"

#include <fmt/format.h>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sotto/data/sample_split.h"
#include "sotto/options/numbers.h"

namespace sotto::server {
namespace {

struct ClassRange {
  uint64_t first = 0;
  uint64_t last = 0;
};

ClassRange Parse(const std::string& text, uint32_t classes) {
  const size_t dash = text.find('-');
  const auto first = posix::ParseCount(text.substr(0, dash));
  const auto last = dash == std::string::npos ? first : posix::ParseCount(text.substr(dash + 1));
  if (!first || !last || *first > *last || *last >= classes) {
    throw std::invalid_argument(
        fmt::format("--classes {}: expected a class or a range of classes from 0 to {}, for "
                    "example 0-4",
                    text, classes - 1));
  }
  return {*first, *last};
}

SharedDataset Only(const SharedDataset& data, const ClassRange& range) {
  std::vector<uint32_t> kept;
  for (size_t i = 0; i < data->size(); ++i) {
    const uint32_t label = data->Label(i);
    if (label >= range.first && label <= range.last) kept.push_back(static_cast<uint32_t>(i));
  }
  return std::make_shared<Subset>(
      fmt::format("{}, classes {} to {}", data->name(), range.first, range.last), data,
      std::move(kept));
}

}  // namespace

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

TrainTest OnlyClasses(const TrainTest& data, const std::string& classes) {
  const ClassRange range = Parse(classes, data.train->info().classes);
  return {Only(data.train, range), Only(data.test, range)};
}

}  // namespace sotto::server
