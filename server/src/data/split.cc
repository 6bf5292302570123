#include "data/split.h"

#include <cmath>
#include <fmt/format.h>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace sotto::server {

TrainTest SplitOff(const SharedDataset& data, double share) {
  // How many samples each class of each group has.
  std::map<std::pair<uint32_t, uint32_t>, size_t> left;
  for (size_t i = 0; i < data->size(); ++i) ++left[{data->Group(i), data->Label(i)}];
  // How many of these are for training, the rest of the shares carried on from one to the next.
  double carried = 0.5;
  std::map<std::pair<uint32_t, uint32_t>, size_t> training;
  for (const auto& [key, count] : left) {
    carried += share * static_cast<double>(count);
    const double test = std::floor(carried);
    carried -= test;
    training[key] = count - static_cast<size_t>(test);
  }
  std::vector<uint32_t> train_part;
  std::vector<uint32_t> test_part;
  for (size_t i = 0; i < data->size(); ++i) {
    size_t& wanted = training[{data->Group(i), data->Label(i)}];
    (wanted > 0 ? train_part : test_part).push_back(static_cast<uint32_t>(i));
    if (wanted > 0) --wanted;
  }
  if (train_part.empty() || test_part.empty()) {
    throw std::invalid_argument(
        fmt::format("{}: of its {} samples the share {} cannot be split off for evaluation; name "
                    "test data with --test",
                    data->name(), data->size(), share));
  }
  return {std::make_shared<Subset>(data->name(), data, std::move(train_part)),
          std::make_shared<Subset>(data->name(), data, std::move(test_part))};
}

}  // namespace sotto::server
