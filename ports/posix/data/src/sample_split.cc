#include "sotto/data/sample_split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace sotto {
namespace {

using ClassOfGroup = std::pair<uint32_t, uint32_t>;

ClassOfGroup KeyOf(const Dataset& data, uint32_t sample) {
  return {data.Group(sample), data.Label(sample)};
}

// How many samples of each class of each group are for training.
std::map<ClassOfGroup, uint32_t> CountTraining(const Dataset& data, const DeviceIndices& indices,
                                               double share) {
  std::map<ClassOfGroup, uint32_t> counts;
  for (uint32_t i = 0; i < indices.size(); ++i) ++counts[KeyOf(data, indices[i])];
  double carried = 0.5;  // the rest of a share goes on to the next class
  for (auto& [key, count] : counts) {
    carried += share * count;
    const double held_out = std::floor(carried);
    carried -= held_out;
    count -= static_cast<uint32_t>(held_out);
  }
  return counts;
}

// Takes windows that share rows with a held-out one out of the training.
void KeepApart(const Dataset& data, const DeviceIndices& indices, SplitParts* parts) {
  if (!data.has_windows()) return;
  std::vector<size_t> places;
  for (const uint32_t i : parts->held_out) places.push_back(data.Place(indices[i]));
  std::sort(places.begin(), places.end());
  const size_t length = data.input_size();
  const auto shares_rows = [&](uint32_t i) {
    const size_t place = data.Place(indices[i]);
    const size_t least = place < length ? 0 : place - length + 1;
    const auto next = std::lower_bound(places.begin(), places.end(), least);
    return next != places.end() && *next < place + length;
  };
  std::vector<uint32_t>& training = parts->training;
  training.erase(std::remove_if(training.begin(), training.end(), shares_rows), training.end());
}

}  // namespace

SplitParts SplitSamples(const Dataset& data, const DeviceIndices& indices, double share) {
  std::map<ClassOfGroup, uint32_t> left = CountTraining(data, indices, share);
  SplitParts parts;
  for (uint32_t i = 0; i < indices.size(); ++i) {
    uint32_t& wanted = left[KeyOf(data, indices[i])];
    (wanted > 0 ? parts.training : parts.held_out).push_back(i);
    if (wanted > 0) --wanted;
  }
  KeepApart(data, indices, &parts);
  return parts;
}

}  // namespace sotto
