// The stored bytes and labels of a whole data set.
#pragma once

#include <cstdint>
#include <vector>

#include "sotto/data/dataset.h"

namespace sotto {

inline std::vector<uint8_t> BytesOf(const Dataset& data) {
  std::vector<uint8_t> all;
  for (size_t i = 0; i < data.size(); ++i) {
    const Span<const uint8_t> bytes = data.Bytes(i);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

inline std::vector<uint32_t> LabelsOf(const Dataset& data) {
  std::vector<uint32_t> labels;
  for (size_t i = 0; i < data.size(); ++i) labels.push_back(data.Label(i));
  return labels;
}

}  // namespace sotto
