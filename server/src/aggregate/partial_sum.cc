#include "aggregate/partial_sum.h"

#include <algorithm>
#include <stdexcept>

namespace sotto::server {

void LackCount::Merge(const LackCount& other) {
  if (other.devices == 0) return;
  least = devices == 0 ? other.least : std::min(least, other.least);
  needed = other.needed;
  devices += other.devices;
  drawn += other.drawn;
}

void LackCounts::Merge(const LackCounts& other) {
  devices += other.devices;
  drawn += other.drawn;
  if (by_need.size() < other.by_need.size()) by_need.resize(other.by_need.size());
  for (size_t i = 0; i < other.by_need.size(); ++i) by_need[i].Merge(other.by_need[i]);
}

void AttemptCounts::Merge(const AttemptCounts& other) {
  checked_in += other.checked_in;
  reported += other.reported;
  rejected += other.rejected;
  update_bytes += other.update_bytes;
  const auto merge = [](std::vector<uint32_t>& all, const std::vector<uint32_t>& more) {
    all.insert(all.end(), more.begin(), more.end());
    std::sort(all.begin(), all.end());
  };
  merge(reporters, other.reporters);
  merge(beyond_bound, other.beyond_bound);
  lacking.Merge(other.lacking);
}

void PartialSum::Merge(const PartialSum& other) {
  if (other.sums.size() != sums.size()) {
    throw std::invalid_argument("the parts of an attempt have the same number of coordinates");
  }
  for (size_t j = 0; j < sums.size(); ++j) sums[j] += other.sums[j];
  counts.Merge(other.counts);
}

}  // namespace sotto::server
