#include "data/classes.h"

#include <fmt/format.h>
#include <stdexcept>

#include "sotto/options/numbers.h"

namespace sotto::server {
namespace {

struct ClassRange {
  uint64_t first = 0;
  uint64_t last = 0;
};

ClassRange Parse(const std::string& text, int classes) {
  const size_t dash = text.find('-');
  const auto first = posix::ParseCount(text.substr(0, dash));
  const auto last = dash == std::string::npos ? first : posix::ParseCount(text.substr(dash + 1));
  if (!first || !last || *first > *last || *last >= static_cast<uint64_t>(classes)) {
    throw std::invalid_argument(
        fmt::format("--classes {}: expected a class or a range of classes from 0 to {}, for "
                    "example 0-4",
                    text, classes - 1));
  }
  return {*first, *last};
}

Dataset Only(const Dataset& data, const ClassRange& range) {
  Dataset part;
  part.name = fmt::format("{}, classes {} to {}", data.name, range.first, range.last);
  part.rows = data.rows;
  part.columns = data.columns;
  part.classes = data.classes;
  const size_t size = data.input_size();
  for (size_t i = 0; i < data.size(); ++i) {
    if (data.labels[i] < range.first || data.labels[i] > range.last) continue;
    const uint8_t* pixels = data.features.data() + i * size;
    part.features.insert(part.features.end(), pixels, pixels + size);
    part.labels.push_back(data.labels[i]);
  }
  return part;
}

}  // namespace

TrainTest OnlyClasses(const TrainTest& data, const std::string& classes) {
  const ClassRange range = Parse(classes, data.train.classes);
  return {Only(data.train, range), Only(data.test, range)};
}

}  // namespace sotto::server
